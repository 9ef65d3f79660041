/**
 * Takes a snapshot of the source into the records: new objects get a record, changed ones a new generation, and
 * those that are gone are marked for deletion; unless too many are gone at once, or the source can't vouch for what
 * it does not show (departures.ts).
 */
import type { Clock } from '../base/index.ts';
import type { DesiredObject, DesiredSnapshot } from '../desired/index.ts';
import { derivedUid, isMassChange, type Gate } from '../plan/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import { newRecord, type ObjectRecord, type StateStore, type StoredManifest } from '../state/index.ts';
import { Departures, type Grace, type Judged } from './departures.ts';

export interface Admitted {
  /** New, changed, coming or going: to be looked at first. */
  readonly changed: readonly ObjectKey[];
  /** The brakes that are on, by the part of the source: `wholeSource`, or a namespace of a cluster. */
  readonly brakes: ReadonlyMap<string, Gate>;
  /** Wanted no more, but not yet taken as gone: why. */
  readonly lingering: ReadonlyMap<ObjectKey, Gate>;
  /** Milliseconds after which to admit the same snapshot again; undefined when nothing waits for time. */
  readonly againAfterMs: number | undefined;
}

export interface AdmissionOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly grace: Grace;
  /** A person has said that a mass change is wanted now. */
  readonly massChangeAllowed: (snapshot: DesiredSnapshot, namespace: string | undefined) => boolean;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #departures = new Map<string, Departures>();
  readonly #digested = new WeakMap<DesiredObject, { specDigest: string; metadataDigest: string }>();
  readonly #metadataDigests = new WeakMap<object, string>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** A snapshot that is there, and may never be admitted, since a newer one comes while it waits: what it shows was not gone all along. */
  notice(snapshot: DesiredSnapshot): void {
    const nowMs = this.#options.clock.monotonicMs();
    const isShown = (key: ObjectKey) => !isLeaving(key, snapshot);
    for (const departures of this.#departures.values()) departures.notice(snapshot, isShown, nowMs);
  }

  /** What it says is in memory when it returns, and on the disk when `durable` resolves; when that rejects, it is in neither. */
  admit(snapshot: DesiredSnapshot): { readonly admitted: Admitted; readonly durable: Promise<void> } {
    const { clock } = this.#options;
    const updates: ObjectRecord[] = [];
    for (const object of snapshot.objects.values()) {
      const update = this.#updatedRecord(object);
      if (update) updates.push(update);
    }
    const { judged, harmless } = this.#admitDepartures(snapshot);
    for (const record of [...harmless, ...[...judged.values()].flatMap(({ gone }) => gone)]) {
      const askedAt = snapshot.objects.get(record.key)?.cluster?.deletionRequestedAt;
      updates.push({ ...record, deletionRequestedAt: askedAt ?? clock.wallMs() });
    }
    const durable = this.#writeDown(updates, judged);
    const parts = [...judged.values()];
    const admitted = {
      changed: updates.map((record) => record.key),
      brakes: new Map([...judged].flatMap(([name, { brake }]) => (brake ? [[name, brake] as const] : []))),
      lingering: new Map(parts.flatMap(({ lingering }) => Array.from(lingering))),
      againAfterMs: longest(parts.map(({ againAfterMs }) => againAfterMs)),
    };
    return { admitted, durable };
  }

  /** Only what is written down has left: who could not be written down will be judged anew. */
  async #writeDown(updates: readonly ObjectRecord[], judged: ReadonlyMap<string, Judged>): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    if (updates.length > 0) await this.#options.store.saveAll(updates);
    for (const [name, { gone }] of judged) this.#departures.get(name)?.taken(gone, nowMs);
  }

  #admitDepartures(snapshot: DesiredSnapshot): { judged: Map<string, Judged>; harmless: ObjectRecord[] } {
    const { store, clock, grace, massChangeAllowed } = this.#options;
    const harmless: ObjectRecord[] = [];
    const parts = new Map<string, { live: ObjectRecord[]; missing: ObjectRecord[] }>();
    for (const record of store.records()) {
      if (record.deletionRequestedAt !== undefined) continue;
      if (snapshot.cluster && this.#isHarmless(record, snapshot)) {
        if (isLeaving(record.key, snapshot)) harmless.push(record);
        continue;
      }
      const name = partOf(record.key, snapshot);
      const part = parts.get(name) ?? { live: [], missing: [] };
      parts.set(name, part);
      part.live.push(record);
      if (isLeaving(record.key, snapshot)) part.missing.push(record);
    }
    const judged = new Map<string, Judged>();
    const wholeKinds = snapshot.cluster ? kindsThatGoAsAWhole([...parts.values()]) : new Set<string>();
    // What has been cleaned up in a cluster was deleted by somebody who has seen that: it counts no more.
    const isUnderWay = (key: ObjectKey) => !snapshot.cluster || store.record(key) !== undefined;
    for (const [name, part] of parts) {
      const goesAsAWhole = part.missing.some(({ key }) => wholeKinds.has(parseObjectKey(key).kind));
      const departures = this.#departures.get(name) ?? new Departures(grace);
      this.#departures.set(name, departures);
      const isAllowed = () => massChangeAllowed(snapshot, name === wholeSource ? undefined : name);
      judged.set(
        name,
        departures.judge({ ...part, goesAsAWhole, isUnderWay }, snapshot, clock.monotonicMs(), isAllowed),
      );
    }
    return { judged, harmless };
  }

  /**
   * Whoever deletes it in a cluster destroys nothing by that: a task (many come and go with their Jobs), an Account (it stays while it is
   * needed), what is left at the provider or was never made there, something whose deletion was admitted by the process before this one.
   */
  #isHarmless(
    { key, deletedByUs, externalId, manifest }: ObjectRecord,
    { objects }: DesiredSnapshot,
  ): boolean {
    const { kind } = parseObjectKey(key);
    if (kind === 'ProtectedTask' || kind === 'Account' || deletedByUs) return true;
    const spec = (objects.get(key)?.spec ?? manifest.spec) as { readonly deletionPolicy?: string };
    const isMade = externalId !== undefined || this.#options.store.openIntent(key) !== undefined;
    return spec.deletionPolicy === 'Retain' || !isMade;
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

function kindOf({ key }: ObjectRecord): string {
  return parseObjectKey(key).kind;
}

/** The part of a source that a folder is. */
export const wholeSource = '';

/** What can be lost by itself: one team's namespace says nothing of another's. */
function partOf(key: ObjectKey, { cluster }: DesiredSnapshot): string {
  return cluster ? parseObjectKey(key).namespace : wholeSource;
}

/** Of which more than a few are there, and all are being deleted, in whichever namespace: their definition goes, it seems. */
function kindsThatGoAsAWhole(
  parts: readonly { readonly live: readonly ObjectRecord[]; readonly missing: readonly ObjectRecord[] }[],
): ReadonlySet<string> {
  const live = Map.groupBy(
    parts.flatMap((part) => part.live),
    kindOf,
  );
  const missing = Map.groupBy(
    parts.flatMap((part) => part.missing),
    kindOf,
  );
  const whole = [...live].filter(
    ([kind, { length }]) => missing.get(kind)?.length === length && isMassChange(length, length, 0),
  );
  return new Set(whole.map(([kind]) => kind));
}

function longest(delaysMs: readonly (number | undefined)[]): number | undefined {
  const known = delaysMs.filter((delayMs) => delayMs !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Gone from a folder, or deleted in a cluster, where it stays to be seen until it has been cleaned up after. */
function isLeaving(key: ObjectKey, { objects, unusable }: DesiredSnapshot): boolean {
  const object = objects.get(key);
  return object ? object.cluster?.deletionRequestedAt !== undefined : !unusable.has(key);
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
