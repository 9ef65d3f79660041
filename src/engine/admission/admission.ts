/**
 * Takes a snapshot of the source into the records: new objects get a record, changed ones a new generation, and
 * those that are gone are marked for deletion; unless too many are gone at once, or the source can't vouch for what
 * it does not show (deletion-gate.ts).
 *
 * Only those objects are examined of which something may have changed since the last admission: their documents (`changedKeys`), or their records
 * and intents, as the store tells. All others are counted as before (standings.ts). Everything is examined
 *
 * - for the first snapshot of this process, or of another source;
 * - after an admission that could not be saved: what was counted for it is not so.
 *
 * Beside these, the parts of the source are judged of which objects are missing: few are, or a brake is on.
 */
import type { Clock } from '../../base/index.ts';
import { changedKeys, type DesiredObject, type DesiredSnapshot } from '../../desired/index.ts';
import { derivedUid, type Gate } from '../plan/index.ts';
import { parseObjectKey, traitsOf, type ObjectKey } from '../../resources/index.ts';
import { newRecord, type ObjectRecord, type StateStore, type StoredManifest } from '../../state/index.ts';
import { DeletionGate, type Grace, type Judged } from './deletion-gate.ts';
import { Standings, type Standing } from './standings.ts';
import { wholeSource } from '../fleet/fleet.ts';

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
  /** Of the parts of which something is missing, or was a minute ago. */
  readonly #gates = new Map<string, DeletionGate>();
  readonly #digested = new WeakMap<DesiredObject, { specDigest: string; metadataDigest: string }>();
  readonly #metadataDigests = new WeakMap<object, string>();
  #standings = new Standings();
  /** The snapshot that was admitted and saved last; undefined: what was counted is not to be relied on. */
  #admitted: DesiredSnapshot | undefined;
  /** Objects whose record or intent has moved since the last admission. */
  #moved = new Set<ObjectKey>();
  #failures = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    options.store.listen((key) => this.#moved.add(key));
  }

  /** A snapshot that is there, and may never be admitted, since a newer one comes while it waits: what it shows was not gone all along. */
  notice(snapshot: DesiredSnapshot): void {
    const nowMs = this.#options.clock.monotonicMs();
    const isShown = (key: ObjectKey) => !isLeaving(key, snapshot);
    for (const gate of this.#gates.values()) gate.notice(snapshot, isShown, nowMs);
  }

  /** What it says is in memory when it returns, and on the disk when `durable` resolves; when that rejects, it is in neither. */
  admit(snapshot: DesiredSnapshot): { readonly admitted: Admitted; readonly durable: Promise<void> } {
    const { store, clock } = this.#options;
    const updates: ObjectRecord[] = [];
    for (const key of this.#toExamine(snapshot)) {
      const object = snapshot.objects.get(key);
      const update = object && this.#updatedRecord(object);
      if (update) updates.push(update);
      this.#standings.move(key, this.#standing(key, snapshot));
    }
    const judged = this.#judge(snapshot);
    const harmless = [...this.#standings.harmless].flatMap((key) => store.record(key) ?? []);
    for (const record of [...harmless, ...[...judged.values()].flatMap(({ gone }) => gone)]) {
      const askedAt = snapshot.objects.get(record.key)?.cluster?.deletionRequestedAt;
      updates.push({ ...record, deletionRequestedAt: askedAt ?? clock.wallMs() });
    }
    const durable = this.#writeDown(snapshot, updates, judged);
    const parts = [...judged.values()];
    const admitted = {
      changed: updates.map((record) => record.key),
      brakes: new Map([...judged].flatMap(([name, { brake }]) => (brake ? [[name, brake] as const] : []))),
      lingering: new Map(parts.flatMap(({ lingering }) => Array.from(lingering))),
      againAfterMs: longest(parts.map(({ againAfterMs }) => againAfterMs)),
    };
    return { admitted, durable };
  }

  #toExamine(snapshot: DesiredSnapshot): ReadonlySet<ObjectKey> {
    const { store } = this.#options;
    const moved = this.#moved;
    this.#moved = new Set();
    const changed = changedKeys(snapshot, this.#admitted);
    if (changed !== 'all') return new Set([...changed, ...moved]);
    this.#standings = new Standings();
    return new Set([...snapshot.objects.keys(), ...store.everyKey()]);
  }

  /** Only what is written down has left: who could not be written down will be judged anew. */
  async #writeDown(
    snapshot: DesiredSnapshot,
    updates: readonly ObjectRecord[],
    judged: ReadonlyMap<string, Judged>,
  ): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    const failures = this.#failures;
    try {
      if (updates.length > 0) await this.#options.store.saveAll(updates);
    } catch (error) {
      this.#failures += 1;
      this.#admitted = undefined;
      throw error;
    }
    // What rests on something that was not saved may not have been saved either.
    if (failures === this.#failures) this.#admitted = snapshot;
    for (const [name, { gone }] of judged) this.#gates.get(name)?.taken(gone, nowMs);
  }

  #judge(snapshot: DesiredSnapshot): Map<string, Judged> {
    const { store, clock, grace, massChangeAllowed } = this.#options;
    const judged = new Map<string, Judged>();
    const wholeKinds = snapshot.cluster ? this.#standings.kindsThatGoAsAWhole() : new Set<string>();
    // What has been cleaned up in a cluster was deleted by somebody who has seen that: it counts no more.
    const isUnderWay = (key: ObjectKey) => !snapshot.cluster || store.record(key) !== undefined;
    const busy = [...this.#gates].filter(([, gate]) => !gate.isIdle).map(([name]) => name);
    for (const name of new Set([...this.#standings.shortParts(), ...busy])) {
      const { live, missing: keys } = this.#standings.part(name);
      const missing = [...keys].sort().flatMap((key) => store.record(key) ?? []);
      const goesAsAWhole = missing.some(({ key }) => wholeKinds.has(parseObjectKey(key).kind));
      const gate = this.#gates.get(name) ?? new DeletionGate(grace);
      this.#gates.set(name, gate);
      const isAllowed = () => massChangeAllowed(snapshot, name === wholeSource ? undefined : name);
      const part = { live, missing, goesAsAWhole, isUnderWay };
      judged.set(name, gate.judge(part, snapshot, clock.monotonicMs(), isAllowed));
    }
    return judged;
  }

  /** By its record, its newest intent and its document, and by nothing else. */
  #standing(key: ObjectKey, snapshot: DesiredSnapshot): Standing | undefined {
    const record = this.#options.store.record(key);
    if (!record || record.deletionRequestedAt !== undefined) return undefined;
    const part = partOf(key, snapshot);
    const isMissing = isLeaving(key, snapshot);
    if (!snapshot.cluster || !this.#isHarmless(record, snapshot))
      return { part, is: isMissing ? 'missing' : 'there' };
    return isMissing ? { part, is: 'harmless' } : undefined;
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
    if (traitsOf(kind).countsForBrake === false || deletedByUs) return true;
    const spec: object = objects.get(key)?.spec ?? manifest.spec;
    const isMade = externalId !== undefined || this.#options.store.openIntent(key) !== undefined;
    return isRetained(spec) || !isMade;
  }

  /** The record that the document calls for, or undefined when the one there is as it should be. */
  #updatedRecord(object: DesiredObject): ObjectRecord | undefined {
    const { store } = this.#options;
    const { key, annotations, labels, location, cluster } = object;
    const { specDigest, metadataDigest } = this.#digests(object);
    const record = store.record(key);
    const manifest = () => ({ annotations, labels, spec: storedSpec(object) });
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

/** What can be lost by itself: one team's namespace says nothing of another's. */
function partOf(key: ObjectKey, { cluster }: DesiredSnapshot): string {
  return cluster ? parseObjectKey(key).namespace : wholeSource;
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

function isRetained(spec: object): boolean {
  return 'deletionPolicy' in spec && spec.deletionPolicy === 'Retain';
}

/** Values of the environment are left out. */
function storedSpec({ kind, spec }: DesiredObject): StoredManifest['spec'] {
  return { ...(traitsOf(kind).stored?.(spec) ?? spec) };
}
