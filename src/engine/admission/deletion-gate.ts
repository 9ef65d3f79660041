/**
 * Which objects that have left a source are taken as gone, and which are not yet believed to be. One of these is kept for each
 * part of the source that can be lost by itself: a folder, or a namespace of a cluster.
 *
 * An object is taken as gone only when everything could be read, it was missing for long enough, and the mass-change
 * brake allows it. The brake stays on until the objects are back or a person says go.
 *
 * What is long enough depends on the file in which the object was written last:
 *
 * | that file | taken as gone after | told as |
 * |---|---|---|
 * | is not there (or there are no files: a cluster) | `goneMs` | `Leaving` |
 * | is there, with other documents | `partlyMs` without a change of the file | `SourceIncomplete`, a wait |
 * | is there, without any document | `whollyMs` without a change of the file | `SourceIncomplete`, a hold |
 *
 * A full disk, a slow copy and a power cut leave files that are empty, or end between two documents. So a file that is still
 * there proves less than one that was removed. A person who allows a mass change has said that it is meant.
 *
 * That time is one between two readings of the source: the first and the last one that do not show the object, with none between them that
 * does. What a clock says alone proves nothing of a folder that nobody has read meanwhile (a process that was stopped, a file server that hangs).
 */
import type { DesiredSnapshot } from '../../desired/index.ts';
import { brakeWindowMs, isMassChange, massChangeLimit, type Gate } from '../plan/index.ts';
import { annotations, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { massChangeAdvice } from '../fleet/advice.ts';

export interface Leaving {
  /** How many are not marked as gone. */
  readonly live: number;
  /** Of these, those that the source does not want any more, by key. */
  readonly missing: readonly ObjectRecord[];
  /** They are too many, wherever else the others were. */
  readonly goesAsAWhole: boolean;
  /** What was taken as gone within the last minute counts while that is so. */
  readonly isUnderWay: (key: ObjectKey) => boolean;
}

export interface Judged {
  readonly gone: readonly ObjectRecord[];
  readonly brake: Gate | undefined;
  /** Wanted no more, but not yet taken as gone: why. */
  readonly lingering: ReadonlyMap<ObjectKey, Gate>;
  /** Milliseconds after which to judge again; undefined when nothing waits for time. */
  readonly againAfterMs: number | undefined;
}

/** How long an object must be missing to be taken as gone: see the table above. */
export interface Grace {
  readonly goneMs: number;
  readonly partlyMs: number;
  /** Infinity: only when a person says so. */
  readonly whollyMs: number;
}

/** `run`: a copy over a network may stall for a while. */
export const defaultShortenedGrace = { partlyMs: 60_000, whollyMs: 300_000 } as const;
/** What is read once: a person is shown what goes; of a file without a document that is not enough. */
export const oneShotGrace: Grace = { goneMs: 0, partlyMs: 0, whollyMs: Number.POSITIVE_INFINITY };

interface Missing {
  /** When the first reading began that did not show it, or not its file as it is now. */
  readonly sinceMs: number;
  readonly file: string;
  /** What its file said then; undefined when it was not there. */
  readonly digest: string | undefined;
}

export class DeletionGate {
  readonly #grace: Grace;
  readonly #missing = new Map<ObjectKey, Missing>();
  /** With the monotonic times at which they were taken as gone, in the window. */
  #deletions: { readonly key: ObjectKey; readonly atMs: number }[] = [];
  #braked = false;

  constructor(grace: Grace) {
    this.#grace = grace;
  }

  judge(part: Leaving, snapshot: DesiredSnapshot, nowMs: number, massChangeAllowed: () => boolean): Judged {
    const { missing } = part;
    this.#forgetReturned(missing);
    if (missing.length === 0) this.#braked = false;
    const brake = this.#brake(part, snapshot, nowMs, massChangeAllowed);
    if (brake || !snapshot.complete) {
      const gate = brake && snapshot.complete ? brake : sourceIncomplete(snapshot);
      const lingering = new Map(missing.map(({ key }) => [key, gate]));
      return { gone: [], brake, lingering, againAfterMs: undefined };
    }
    return { brake: undefined, ...this.#afterGrace(missing, snapshot, nowMs, massChangeAllowed) };
  }

  /** Nothing is missing, and nothing would be different if it were judged so. */
  get isIdle(): boolean {
    return !this.#braked && this.#missing.size === 0;
  }

  /** What another snapshot shows, or the file of what it does not show says otherwise, is waited for anew. Not each one is judged. */
  notice(snapshot: DesiredSnapshot, isShown: (key: ObjectKey) => boolean, nowMs: number): void {
    for (const [key, { file, digest }] of this.#missing) {
      const shown = snapshot.files?.get(file)?.digest;
      if (isShown(key)) this.#missing.delete(key);
      else if (digest !== shown)
        this.#missing.set(key, { sinceMs: readAt(snapshot, nowMs), file, digest: shown });
    }
  }

  #brake(
    { live, missing, goesAsAWhole, isUnderWay }: Leaving,
    snapshot: DesiredSnapshot,
    nowMs: number,
    massChangeAllowed: () => boolean,
  ): Gate | undefined {
    const { length: missingCount } = missing;
    if (missingCount === 0) return undefined;
    this.#deletions = this.#deletions.filter(
      ({ key, atMs }) => atMs > nowMs - brakeWindowMs && isUnderWay(key),
    );
    const recently = this.#deletions.length;
    const total = live + recently;
    const isMany = goesAsAWhole || isMassChange(total, missingCount, recently);
    const tooMany = this.#braked || snapshot.empty || isMany;
    if (!tooMany || massChangeAllowed()) {
      this.#braked = false;
      return undefined;
    }
    // What could not be read may be why: then the brake holds no longer than that lasts.
    this.#braked ||= snapshot.complete;
    const [{ key }] = missing as [ObjectRecord];
    return massChangeGate({ missing: missingCount + recently, total, goesAsAWhole, key }, snapshot);
  }

  #afterGrace(
    missing: readonly ObjectRecord[],
    snapshot: DesiredSnapshot,
    nowMs: number,
    massChangeAllowed: () => boolean,
  ): Omit<Judged, 'brake'> {
    const gone: ObjectRecord[] = [];
    const sayGo = missing.length > 0 ? massChangeAdvice(snapshot) : '';
    const lingering = new Map<ObjectKey, Gate>();
    /** By how long they are waited for: what leaves together is taken as gone together. */
    const againAfterMs = new Map<number, number>();
    for (const record of missing) {
      const { graceMs, gate } = this.#claim(record, snapshot, massChangeAllowed, sayGo);
      const untilMs = this.#since(record, snapshot, nowMs) + graceMs;
      if (untilMs > readAt(snapshot, nowMs)) {
        lingering.set(record.key, gate);
        againAfterMs.set(graceMs, Math.max(againAfterMs.get(graceMs) ?? 0, untilMs - nowMs));
        continue;
      }
      gone.push(record);
    }
    const nextMs = Math.min(...againAfterMs.values());
    return { gone, lingering, againAfterMs: Number.isFinite(nextMs) ? nextMs : undefined };
  }

  /** Each change of its file begins the time anew: whoever writes it has not finished. */
  #since({ key, file }: ObjectRecord, snapshot: DesiredSnapshot, nowMs: number): number {
    const digest = snapshot.files?.get(file)?.digest;
    const known = this.#missing.get(key);
    if (known && known.digest === digest) return known.sinceMs;
    const sinceMs = readAt(snapshot, nowMs);
    this.#missing.set(key, { sinceMs, file, digest });
    return sinceMs;
  }

  #claim(
    { file }: ObjectRecord,
    snapshot: DesiredSnapshot,
    massChangeAllowed: () => boolean,
    sayGo: string,
  ): { readonly graceMs: number; readonly gate: Gate } {
    const { goneMs, partlyMs, whollyMs } = this.#grace;
    const content = snapshot.files?.get(file);
    if (!content || massChangeAllowed()) return { graceMs: goneMs, gate: leaving(snapshot) };
    return content.documentCount > 0
      ? { graceMs: partlyMs, gate: shortened(file, partlyMs, sayGo) }
      : { graceMs: whollyMs, gate: emptied(file, whollyMs, sayGo) };
  }

  /** Has been written down. */
  taken(gone: readonly ObjectRecord[], nowMs: number): void {
    for (const { key } of gone) {
      this.#missing.delete(key);
      this.#deletions.push({ key, atMs: nowMs });
    }
  }

  #forgetReturned(missing: readonly ObjectRecord[]): void {
    if (this.#missing.size === 0) return;
    const stillMissing = new Set(missing.map(({ key }) => key));
    for (const key of this.#missing.keys()) {
      if (!stillMissing.has(key)) this.#missing.delete(key);
    }
  }
}

/** A cluster tells at any time what it has been told. */
function readAt({ readAtMs }: DesiredSnapshot, nowMs: number): number {
  return readAtMs ?? nowMs;
}

function leaving({ cluster }: DesiredSnapshot): Gate {
  const message = cluster
    ? 'the object was deleted just now; what it stands for follows in a moment'
    : 'the object has just left the source; it is deleted if it stays away';
  return { kind: 'wait', reason: 'Leaving', message };
}

function shortened(file: string, graceMs: number, sayGo: string): Gate {
  return {
    kind: 'wait',
    reason: 'SourceIncomplete',
    message:
      `${file} is still there, but the object is not in it any more: an interrupted copy looks the same. ` +
      `It is deleted when the file has not changed for ${seconds(graceMs)}. To have it deleted at once, ${sayGo}`,
  };
}

function emptied(file: string, graceMs: number, sayGo: string): Gate {
  const after = Number.isFinite(graceMs)
    ? `It is deleted when the file has not changed for ${seconds(graceMs)}`
    : 'It is not deleted';
  return {
    kind: 'hold',
    reason: 'SourceIncomplete',
    message:
      `${file} is still there, but has no document any more: a full disk or an interrupted copy looks the same. ${after}. ` +
      `If the file was lost, put it back; if the deletion is meant, remove the file, or ${sayGo}`,
  };
}

function seconds(graceMs: number): string {
  return `${graceMs / 1000} s`;
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

interface MassChange {
  readonly missing: number;
  readonly total: number;
  readonly goesAsAWhole: boolean;
  /** Of one of them. */
  readonly key: ObjectKey;
}

function massChangeGate({ missing, total, goesAsAWhole, key }: MassChange, snapshot: DesiredSnapshot): Gate {
  const { cluster, empty } = snapshot;
  const limit = `(the limit is ${massChangeLimit(total)})`;
  const { kind, namespace } = parseObjectKey(key);
  const until = `${annotations.allowMassChangeUntil}=TIME`;
  const what = goesAsAWhole
    ? `every ${kind} of the cluster was deleted at once, among them ${missing} of ${total} objects of the namespace`
    : `${missing} of ${total} objects of the namespace were deleted at once ${limit}`;
  const all = empty ? `the source is empty; all ${missing} objects` : `${missing} of ${total} objects`;
  const message = cluster
    ? `${what}, and what they stand for would go with them: creations and deletions are stopped in it. ` +
      `If it is meant, \`kubectl annotate accounts.fleetkeeper.dev --all --namespace ${namespace} ${until}\` (RFC 3339); ` +
      'else say `deletionPolicy: Retain`, which lets them go and keeps what they stand for. What is deleted one after the other, each when the one before is gone, is not stopped'
    : `${all} have left the source within a minute ${limit}: creations and deletions are stopped. If a folder or mount is wrong, put it right. ` +
      `If it is meant, ${massChangeAdvice(snapshot)}`;
  return { kind: 'hold', reason: 'MassChangeBrake', message };
}
