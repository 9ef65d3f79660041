/**
 * Which objects that have left a source are taken as gone, and which are not yet believed to be. One of these is kept for each
 * part of the source that can be lost by itself: a folder, or a namespace of a cluster.
 *
 * An object is taken as gone only when everything could be read, it was missing for `graceMs`, and the mass-change
 * brake allows it. The brake stays on until the objects are back or a person says go.
 */
import type { DesiredSnapshot } from '../desired/index.ts';
import { brakeWindowMs, isMassChange, massChangeLimit, type Gate } from '../plan/index.ts';
import { annotations, type ObjectKey } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';

export interface Leaving {
  /** Those that are not marked as gone. */
  readonly live: readonly ObjectRecord[];
  /** Of these, those that the source does not want any more. */
  readonly missing: readonly ObjectRecord[];
}

export interface Judged {
  readonly gone: readonly ObjectRecord[];
  readonly brake: Gate | undefined;
  /** Wanted no more, but not yet taken as gone: why. */
  readonly lingering: ReadonlyMap<ObjectKey, Gate>;
  /** Milliseconds after which to judge again; undefined when nothing waits for time. */
  readonly againAfterMs: number | undefined;
}

export class Departures {
  readonly #graceMs: number;
  readonly #missingSinceMs = new Map<ObjectKey, number>();
  /** Monotonic times at which objects were taken as gone, in the window. */
  #deletions: number[] = [];
  #braked = false;

  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  judge(
    { live, missing }: Leaving,
    snapshot: DesiredSnapshot,
    nowMs: number,
    massChangeAllowed: () => boolean,
  ): Judged {
    this.#forgetReturned(missing);
    if (missing.length === 0) this.#braked = false;
    const brake = this.#brake(live.length, missing.length, snapshot, nowMs, massChangeAllowed);
    if (brake || !snapshot.complete) {
      const gate = brake && snapshot.complete ? brake : sourceIncomplete(snapshot);
      const lingering = new Map(missing.map(({ key }) => [key, gate]));
      return { gone: [], brake, lingering, againAfterMs: undefined };
    }
    return { brake: undefined, ...this.#afterGrace(missing, snapshot, nowMs) };
  }

  #brake(
    liveCount: number,
    missingCount: number,
    snapshot: DesiredSnapshot,
    nowMs: number,
    massChangeAllowed: () => boolean,
  ): Gate | undefined {
    if (missingCount === 0) return undefined;
    this.#deletions = this.#deletions.filter((atMs) => atMs > nowMs - brakeWindowMs);
    const recently = this.#deletions.length;
    const total = liveCount + recently;
    const tooMany = this.#braked || snapshot.empty || isMassChange(total, missingCount, recently);
    if (!tooMany || massChangeAllowed()) {
      this.#braked = false;
      return undefined;
    }
    // What could not be read may be why: then the brake holds no longer than that lasts.
    this.#braked ||= snapshot.complete;
    return massChangeGate(missingCount + recently, total, snapshot);
  }

  #afterGrace(
    missing: readonly ObjectRecord[],
    snapshot: DesiredSnapshot,
    nowMs: number,
  ): Omit<Judged, 'brake'> {
    const gone: ObjectRecord[] = [];
    const lingering = new Map<ObjectKey, Gate>();
    let againAfterMs: number | undefined;
    for (const record of missing) {
      const sinceMs = this.#missingSinceMs.get(record.key) ?? nowMs;
      this.#missingSinceMs.set(record.key, sinceMs);
      const leftMs = sinceMs + this.#graceMs - nowMs;
      if (leftMs > 0) {
        lingering.set(record.key, leaving(snapshot));
        againAfterMs = Math.max(againAfterMs ?? 0, leftMs);
        continue;
      }
      gone.push(record);
    }
    return { gone, lingering, againAfterMs };
  }

  /** Has been written down. */
  taken(gone: readonly ObjectRecord[], nowMs: number): void {
    for (const { key } of gone) {
      this.#missingSinceMs.delete(key);
      this.#deletions.push(nowMs);
    }
  }

  #forgetReturned(missing: readonly ObjectRecord[]): void {
    if (this.#missingSinceMs.size === 0) return;
    const stillMissing = new Set(missing.map(({ key }) => key));
    for (const key of this.#missingSinceMs.keys()) {
      if (!stillMissing.has(key)) this.#missingSinceMs.delete(key);
    }
  }
}

function leaving({ cluster }: DesiredSnapshot): Gate {
  const message = cluster
    ? 'the object was deleted just now; what it stands for follows in a moment'
    : 'the object has just left the source; it is deleted if it stays away';
  return { kind: 'wait', reason: 'Leaving', message };
}

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

function massChangeGate(missing: number, total: number, { cluster, empty }: DesiredSnapshot): Gate {
  const stopped = `within a minute (the limit is ${massChangeLimit(total)}): creations and deletions are stopped`;
  const meant = `If it is meant, annotate the Account with ${annotations.allowMassChangeUntil}: "<time, RFC 3339>"`;
  const all = empty ? `the source is empty; all ${missing} objects` : `${missing} of ${total} objects`;
  const message = cluster
    ? `${missing} of ${total} objects of the namespace were deleted ${stopped} in it. ${meant}; else say \`deletionPolicy: Retain\` to keep what they stand for`
    : `${all} have left the source ${stopped}. If a folder or mount is wrong, put it right. ${meant}, or run \`fleetkeeper apply --allow-mass-change\``;
  return { kind: 'hold', reason: 'MassChangeBrake', message };
}
