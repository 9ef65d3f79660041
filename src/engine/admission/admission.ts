/**
 * Takes a snapshot of the source into the records. New objects get a record, changed ones a new generation, and missing ones
 * are marked for deletion. They are not marked if too many are missing at once, or if the source can't vouch for their absence
 * (deletion-gate.ts).
 *
 * Only objects that may have changed since the last admission are examined: those with changed documents (`changedKeys`), and
 * those whose record or intent the store reports as changed. All others are counted as before (standings.ts). Everything is
 * examined
 *
 * - for the first snapshot of this process, or of another source;
 * - after an admission that could not be saved, since its counts are wrong.
 *
 * In addition, the parts of the source that lack objects or have an engaged brake are judged. They are few.
 */
import { sameValue, type Clock } from '../../base/index.ts';
import { changedKeys, isWholeIn, type DesiredObject, type DesiredSnapshot } from '../../desired/index.ts';
import { derivedUid, type Gate } from '../plan/index.ts';
import { parseObjectKey, stateTraitsOf, traitsOf, type ObjectKey } from '../../resources/index.ts';
import {
  newRecord,
  type LastReport,
  type ObjectRecord,
  type StateStore,
  type StoredManifest,
} from '../../state/index.ts';
import { DeletionGate, type Grace, type Judged } from './deletion-gate.ts';
import { stakes, type Stake } from './protection.ts';
import { Standings, type Standing } from './standings.ts';
import { wholeSource } from '../fleet/fleet.ts';

export interface Admitted {
  /** New, changed, restored or removed objects. They have priority. */
  readonly changed: readonly ObjectKey[];
  /** The engaged brakes by part of the source: `wholeSource`, or a namespace of a cluster. */
  readonly brakes: ReadonlyMap<string, Gate>;
  /** Objects that are missing but do not count as removed yet, with the reason. */
  readonly lingering: ReadonlyMap<ObjectKey, Gate>;
  /** Milliseconds after which to admit the same snapshot again. Undefined if nothing waits for time. */
  readonly againAfterMs: number | undefined;
}

export interface AdmissionOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly grace: Grace;
  /** An operator has currently confirmed a mass change. */
  readonly massChangeAllowed: (snapshot: DesiredSnapshot, namespace: string | undefined) => boolean;
  /**
   * The objects that this process may change. The records of all others stay as they are. The brake counts them
   * as well, because it measures the source as a whole. Undefined: all.
   */
  readonly isSelected?: ((key: ObjectKey) => boolean) | undefined;
}

export class Admission {
  readonly #options: AdmissionOptions;
  /** Of the parts that lack something, or did so a minute ago. */
  readonly #gates = new Map<string, DeletionGate>();
  /** Of specs. One that did not change is the same one, also when its labels or annotations did. */
  readonly #digests = new WeakMap<object, string>();
  /** Reports of objects whose document has changed since. */
  readonly #outdated = new WeakSet<LastReport>();
  #standings = new Standings();
  /** The last snapshot that was admitted and saved. Undefined: the counts are not reliable. */
  #admitted: DesiredSnapshot | undefined;
  /** Objects whose record or intent has changed since the last admission. */
  #moved = new Set<ObjectKey>();
  #failures = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    options.store.listen((key) => this.#moved.add(key));
  }

  /**
   * Called for every snapshot, even if a newer one overtakes it before its admission. Objects in it were not
   * missing all along.
   */
  notice(snapshot: DesiredSnapshot): void {
    const nowMs = this.#options.clock.monotonicMs();
    const isShown = (key: ObjectKey) => !isLeaving(key, snapshot);
    for (const gate of this.#gates.values()) gate.notice(snapshot, isShown, nowMs);
  }

  /** The result is in memory on return, and durable when `durable` resolves. If that rejects, it is in neither. */
  admit(snapshot: DesiredSnapshot): { readonly admitted: Admitted; readonly durable: Promise<void> } {
    const { store, clock } = this.#options;
    const updates = new Map<ObjectKey, ObjectRecord>();
    for (const key of this.#toExamine(snapshot)) {
      const object = snapshot.objects.get(key);
      const update = object && this.#isSelected(key) ? this.#updatedRecord(object) : undefined;
      if (update) updates.set(key, update);
      this.#standings.move(key, this.#standing(key, snapshot));
    }
    const judged = this.#judge(snapshot);
    const harmless = [...this.#standings.harmless]
      .filter((key) => this.#isSelected(key) && isKnown(key, snapshot))
      .flatMap((key) => store.record(key) ?? []);
    for (const record of [...harmless, ...[...judged.values()].flatMap(({ gone }) => gone)]) {
      const askedAt = snapshot.objects.get(record.key)?.cluster?.deletionRequestedAt;
      // A new process may see it for the first time: then its document is taken in as well.
      const current = updates.get(record.key) ?? record;
      updates.set(record.key, { ...current, deletionRequestedAt: askedAt ?? clock.wallMs() });
    }
    const durable = this.#writeDown(snapshot, [...updates.values()], judged);
    const parts = [...judged.values()];
    const admitted = {
      changed: [...updates.keys()],
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

  /** Only recorded removals count. The others are judged again. */
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
    // A later admission that built on an unsaved one may not be saved either.
    if (failures === this.#failures) this.#admitted = snapshot;
    for (const [name, { gone }] of judged) this.#gates.get(name)?.taken(gone, nowMs);
  }

  #judge(snapshot: DesiredSnapshot): Map<string, Judged> {
    const { store, clock, grace, massChangeAllowed } = this.#options;
    const judged = new Map<string, Judged>();
    const wholeKinds = snapshot.cluster ? this.#standings.kindsThatGoAsAWhole() : new Set<string>();
    // In a cluster, an object with a finished cleanup was deleted by an earlier decision. It no longer
    // counts.
    const isUnderWay = (key: ObjectKey) => !snapshot.cluster || store.record(key) !== undefined;
    const busy = [...this.#gates].filter(([, gate]) => !gate.isIdle).map(([name]) => name);
    for (const name of new Set([...this.#standings.shortParts, ...busy])) {
      const { live, missing: keys } = this.#standings.part(name);
      const missing = [...keys].sort().flatMap((key) => store.record(key) ?? []);
      const isWholeKind = missing.some(({ key }) => wholeKinds.has(parseObjectKey(key).kind));
      const gate = this.#gates.get(name) ?? new DeletionGate(grace);
      this.#gates.set(name, gate);
      const isAllowed = () => massChangeAllowed(snapshot, name === wholeSource ? undefined : name);
      const part = { live, missing, isWholeKind, isUnderWay, stakes: this.#stakes(missing) };
      const found = gate.judge(part, shownFor(name, snapshot), clock.monotonicMs(), isAllowed);
      judged.set(name, { ...found, gone: found.gone.filter(({ key }) => this.#isSelected(key)) });
    }
    return judged;
  }

  #stakes(missing: readonly ObjectRecord[]): ReadonlyMap<ObjectKey, Stake> {
    const { store } = this.#options;
    const isUnreported = ({ report }: ObjectRecord) => report !== undefined && this.#outdated.has(report);
    return stakes(missing, { recordOf: (key) => store.record(key), isUnreported });
  }

  #isSelected(key: ObjectKey): boolean {
    return this.#options.isSelected?.(key) ?? true;
  }

  /** It depends on the record, its newest intent and its document only. */
  #standing(key: ObjectKey, snapshot: DesiredSnapshot): Standing | undefined {
    const record = this.#options.store.record(key);
    if (!record || record.deletionRequestedAt !== undefined) return undefined;
    const part = partOf(key, snapshot);
    const isMissing = isLeaving(key, snapshot);
    // Its owner has decided, or is counted itself. In a cluster, others may delete it.
    if (record.derived && isOwnersDecision(key, snapshot))
      return isMissing ? { part, is: 'harmless' } : undefined;
    if (!snapshot.cluster || !this.#isHarmless(record, snapshot))
      return { part, is: isMissing ? 'missing' : 'there' };
    return isMissing ? { part, is: 'harmless' } : undefined;
  }

  /**
   * Deleting it in a cluster destroys nothing. Examples: a task (many exist as long as their Jobs), an
   * Account (it stays while it is needed), a thing that is retained or was never made. The same is true if an
   * earlier process admitted its deletion.
   */
  #isHarmless(
    { key, deletedByUs, externalId, manifest, kind: kindState }: ObjectRecord,
    { objects }: DesiredSnapshot,
  ): boolean {
    const { kind } = parseObjectKey(key);
    if (traitsOf(kind).countsForBrake === false || deletedByUs) return true;
    const spec: object = objects.get(key)?.spec ?? manifest.spec;
    const isOwner = stateTraitsOf(key).owns?.(kindState) === true;
    const isMade = externalId !== undefined || isOwner || this.#options.store.openIntent(key) !== undefined;
    return isRetained(spec) || !isMade;
  }

  /** The record that the document requires. Undefined if the current one is up to date. */
  #updatedRecord(object: DesiredObject): ObjectRecord | undefined {
    const { store } = this.#options;
    const { key, annotations, labels, location, cluster } = object;
    const specDigest = this.#digestOf(object.spec);
    const record = store.record(key);
    const manifest = () => ({ annotations, labels, spec: storedSpec(object) });
    const { file, line = 0 } = location;
    if (!record) {
      // In a cluster the store knows all objects, apart from those without the finalizer that are being
      // deleted.
      if (cluster) return undefined;
      const uid = derivedUid(store.ownerName, key);
      const createdAt = this.#options.clock.wallMs();
      const added = { ...newRecord(key, uid), specDigest, manifest: manifest(), file, line, createdAt };
      return object.derived ? { ...added, derived: { owner: object.derived.owner } } : added;
    }
    const derived = derivedMark(record, object);
    const markedAs = marksOf(record, object);
    const changed = record.specDigest !== specDigest;
    if (changed && record.report) this.#outdated.add(record.report);
    const generation = cluster?.generation ?? record.generation + (changed ? 1 : 0);
    const deletionRequestedAt =
      cluster?.deletionRequestedAt === undefined ? undefined : record.deletionRequestedAt;
    const isAsKept =
      !changed &&
      sameValue(annotations, record.manifest.annotations) &&
      sameValue(labels, record.manifest.labels) &&
      record.generation === generation &&
      record.deletionRequestedAt === deletionRequestedAt &&
      record.derived?.owner === derived?.owner &&
      record.markedAs === markedAs &&
      record.file === file;
    if (isAsKept) return undefined;
    const updated = {
      ...record,
      generation,
      specDigest,
      manifest: manifest(),
      file,
      line,
      deletionRequestedAt,
    };
    return record.derived || derived
      ? { ...updated, derived, ...(markedAs === undefined ? {} : { markedAs }) }
      : updated;
  }

  /** Cached, since a snapshot has thousands of objects, and most are unchanged. */
  #digestOf(spec: object): string {
    const known = this.#digests.get(spec);
    if (known !== undefined) return known;
    const digest = this.#options.store.digestKey.digest(spec);
    this.#digests.set(spec, digest);
    return digest;
  }
}

/** A document takes the place of an owned object of its name, and the reverse. */
function derivedMark({ derived }: ObjectRecord, object: DesiredObject): ObjectRecord['derived'] {
  const owner = object.derived?.owner;
  if (owner === undefined) return undefined;
  return derived?.owner === owner ? derived : { owner };
}

/** They stay as they are once something carries them. An id that nobody has signed proves nothing of them. */
function marksOf(
  { markedAs, externalId, distrusted }: ObjectRecord,
  object: DesiredObject,
): string | undefined {
  const isFree = externalId === undefined || distrusted !== undefined;
  return markedAs ?? (isFree ? object.derived?.markedAs : undefined);
}

/** What can be lost separately: a team's namespace proves nothing about another one. */
function partOf(key: ObjectKey, { cluster }: DesiredSnapshot): string {
  return cluster ? parseObjectKey(key).namespace : wholeSource;
}

/** For a namespace that is not known as a whole, the snapshot is not complete. */
function shownFor(part: string, snapshot: DesiredSnapshot): DesiredSnapshot {
  return part === wholeSource ? snapshot : { ...snapshot, complete: isWholeIn(snapshot, part) };
}

/** It is shown, or would be if it existed. */
function isKnown(key: ObjectKey, { objects, unread }: DesiredSnapshot): boolean {
  return objects.has(key) || unread?.has(parseObjectKey(key).namespace) !== true;
}

function longest(delaysMs: readonly (number | undefined)[]): number | undefined {
  const known = delaysMs.filter((delayMs) => delayMs !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Removed from a folder, or being deleted in a cluster. There it stays visible until its cleanup is done. */
function isLeaving(key: ObjectKey, { objects, unusable }: DesiredSnapshot): boolean {
  const object = objects.get(key);
  return object ? object.cluster?.deletionRequestedAt !== undefined : !unusable.has(key);
}

function isOwnersDecision(key: ObjectKey, { cluster, objects }: DesiredSnapshot): boolean {
  const derived = objects.get(key)?.derived;
  return !cluster || derived?.isLeaving === true;
}

function isRetained(spec: object): boolean {
  return 'deletionPolicy' in spec && spec.deletionPolicy === 'Retain';
}

/** Values of the environment are left out. */
export function storedSpec({ kind, spec }: Pick<DesiredObject, 'kind' | 'spec'>): StoredManifest['spec'] {
  return { ...(traitsOf(kind).stored?.(spec) ?? spec) };
}
