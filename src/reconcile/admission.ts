/**
 * Takes a snapshot of the source into the records: new objects get a record, changed ones a new generation, and
 * those that are gone are marked for deletion; unless too many are gone at once, or the source can't vouch for what
 * it does not show.
 *
 * An object is taken as gone only when every file could be read, it was missing for `graceMs` (files that are
 * moved or replaced are missing for a moment), and the mass-change brake allows it.
 */
import type { Clock } from '../base/index.ts';
import type { DesiredObject, DesiredSnapshot } from '../desired/index.ts';
import { brakeWindowMs, derivedUid, isMassChange, massChangeLimit, type Gate } from '../plan/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import { newRecord, type ObjectRecord, type StateStore, type StoredManifest } from '../state/index.ts';

export interface Admitted {
  /** New, changed, coming or going: to be looked at first. */
  readonly changed: readonly ObjectKey[];
  /** Set while the brake is on. */
  readonly brake: Gate | undefined;
  /** Wanted no more, but not yet taken as gone: why. */
  readonly lingering: ReadonlyMap<ObjectKey, Gate>;
  /** Milliseconds after which to admit the same snapshot again; undefined when nothing waits for time. */
  readonly againAfterMs: number | undefined;
}

export interface AdmissionOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly graceMs: number;
  /** A person has said that a mass change is wanted now. */
  readonly massChangeAllowed: (snapshot: DesiredSnapshot) => boolean;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #missingSinceMs = new Map<ObjectKey, number>();
  /** Monotonic times of deletions admitted in the window. */
  #deletions: number[] = [];
  /** The brake is on, and stays on until the objects are back or a person says go. */
  #braked = false;
  readonly #digested = new WeakMap<DesiredObject, { specDigest: string; metadataDigest: string }>();
  readonly #metadataDigests = new WeakMap<object, string>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  async admit(snapshot: DesiredSnapshot): Promise<Admitted> {
    const { store } = this.#options;
    const updates: ObjectRecord[] = [];
    for (const object of snapshot.objects.values()) {
      const update = this.#updatedRecord(object);
      if (update) updates.push(update);
      if (!isLeaving(object.key, snapshot)) this.#missingSinceMs.delete(object.key);
    }
    for (const key of snapshot.unusable.keys()) this.#missingSinceMs.delete(key);
    const gone = this.#admitDeletions(snapshot);
    updates.push(...gone.records);
    if (updates.length > 0) await store.saveAll(updates);
    return {
      changed: updates.map((record) => record.key),
      brake: gone.brake,
      lingering: gone.lingering,
      againAfterMs: gone.againAfterMs,
    };
  }

  #admitDeletions(snapshot: DesiredSnapshot) {
    const { store, clock, graceMs, massChangeAllowed } = this.#options;
    const nowMs = clock.monotonicMs();
    const live = [...store.records()].filter((record) => record.deletionRequestedAt === undefined);
    const missing = live.filter(({ key }) => isLeaving(key, snapshot));
    const lingering = new Map<ObjectKey, Gate>();
    const linger = (gate: Gate) => {
      for (const { key } of missing) lingering.set(key, gate);
    };
    const result = { records: [] as ObjectRecord[], lingering, brake: undefined as Gate | undefined };
    if (missing.length === 0) {
      this.#braked = false;
      return { ...result, againAfterMs: undefined };
    }
    this.#deletions = this.#deletions.filter((atMs) => atMs > nowMs - brakeWindowMs);
    const recently = this.#deletions.length;
    const total = live.length + recently;
    const tooMany = this.#braked || snapshot.empty || isMassChange(total, missing.length, recently);
    if (tooMany && !massChangeAllowed(snapshot)) {
      // What could not be read may be why: then the brake holds no longer than that lasts.
      this.#braked ||= snapshot.complete;
      result.brake = massChangeGate(missing.length + recently, total, snapshot.empty);
      linger(snapshot.complete ? result.brake : sourceIncomplete(snapshot));
      return { ...result, againAfterMs: undefined };
    }
    this.#braked = false;
    if (!snapshot.complete) {
      linger(sourceIncomplete(snapshot));
      return { ...result, againAfterMs: undefined };
    }
    let againAfterMs: number | undefined;
    for (const record of missing) {
      const sinceMs = this.#missingSinceMs.get(record.key) ?? nowMs;
      this.#missingSinceMs.set(record.key, sinceMs);
      const leftMs = sinceMs + graceMs - nowMs;
      if (leftMs > 0) {
        lingering.set(record.key, leaving);
        againAfterMs = Math.max(againAfterMs ?? 0, leftMs);
        continue;
      }
      this.#missingSinceMs.delete(record.key);
      this.#deletions.push(nowMs);
      const askedAt = snapshot.objects.get(record.key)?.cluster?.deletionRequestedAt;
      result.records.push({ ...record, deletionRequestedAt: askedAt ?? clock.wallMs() });
    }
    return { ...result, againAfterMs };
  }

  /** The record that the document calls for, or undefined when the one there is as it should be. */
  #updatedRecord(object: DesiredObject): ObjectRecord | undefined {
    const { store } = this.#options;
    const { key, annotations, labels, location, cluster } = object;
    const { specDigest, metadataDigest } = this.#digests(object);
    const record = store.record(key);
    const manifest = () => ({ annotations, labels, spec: withoutValues(object.spec) });
    const { file, line = 0 } = location;
    if (!record) {
      // In a cluster the store knows all objects but those that go without us.
      if (cluster) return undefined;
      const uid = derivedUid(store.ownerName, key);
      return { ...newRecord(key, uid), specDigest, manifest: manifest(), file, line };
    }
    const changed = record.specDigest !== specDigest;
    const generation = cluster?.generation ?? record.generation + (changed ? 1 : 0);
    const deletionRequestedAt =
      cluster?.deletionRequestedAt === undefined ? undefined : record.deletionRequestedAt;
    const isAsKept =
      !changed &&
      metadataDigest === this.#metadataDigest(record.manifest) &&
      record.generation === generation &&
      record.deletionRequestedAt === deletionRequestedAt &&
      record.file === file;
    if (isAsKept) return undefined;
    return { ...record, generation, specDigest, manifest: manifest(), file, line, deletionRequestedAt };
  }

  /** Thousands of objects come again with every snapshot, most of them as they were. */
  #digests(object: DesiredObject): { readonly specDigest: string; readonly metadataDigest: string } {
    const known = this.#digested.get(object);
    if (known) return known;
    const specDigest = this.#options.store.digestKey.digest(object.spec);
    const digests = { specDigest, metadataDigest: this.#metadataDigest(object) };
    this.#digested.set(object, digests);
    return digests;
  }

  #metadataDigest(manifest: Pick<StoredManifest, 'annotations' | 'labels'>): string {
    const known = this.#metadataDigests.get(manifest);
    if (known !== undefined) return known;
    const digest = this.#options.store.digestKey.digest([manifest.annotations, manifest.labels]);
    this.#metadataDigests.set(manifest, digest);
    return digest;
  }
}

/** Gone from a folder, or deleted in a cluster, where it stays to be seen until it has been cleaned up after. */
function isLeaving(key: ObjectKey, { objects, unusable }: DesiredSnapshot): boolean {
  const object = objects.get(key);
  return object ? object.cluster?.deletionRequestedAt !== undefined : !unusable.has(key);
}

const leaving: Gate = {
  kind: 'wait',
  reason: 'Leaving',
  message: 'the object has just left the source; it is deleted if it stays away',
};

function sourceIncomplete(snapshot: DesiredSnapshot): Gate {
  const files = [...new Set(snapshot.problems.map(({ file }) => file))];
  const where =
    files.length > 0 ? ` (see ${files.slice(0, 3).join(', ')}${files.length > 3 ? ', …' : ''})` : '';
  return {
    kind: 'hold',
    reason: 'SourceIncomplete',
    message: `the object is not in what could be read of the source, but not everything could be read${where}; nothing is deleted until it can`,
  };
}

function massChangeGate(missing: number, total: number, empty: boolean): Gate {
  const what = empty ? `the source is empty; all ${missing} objects` : `${missing} of ${total} objects`;
  return {
    kind: 'hold',
    reason: 'MassChangeBrake',
    message:
      `${what} have left the source within a minute (the limit is ${massChangeLimit(total)}): creations and deletions are stopped. ` +
      'If a folder or mount is wrong, put it right. If it is meant, annotate the Account with ' +
      'fleetkeeper.dev/allow-mass-change-until: "<time, RFC 3339>", or run `fleetkeeper apply --allow-mass-change`',
  };
}

/** A spec that may be stored: the values of the environment are left out, their names and references stay. */
function withoutValues(spec: object): Record<string, unknown> {
  const copy: Record<string, unknown> = { ...spec };
  if (Array.isArray(copy['env'])) {
    copy['env'] = (copy['env'] as { name: string; valueFrom?: unknown }[]).map(({ name, valueFrom }) =>
      valueFrom === undefined ? { name } : { name, valueFrom },
    );
  }
  return copy;
}
