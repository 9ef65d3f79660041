/**
 * Decides which missing objects count as removed. There is one gate for each part of the source that can be lost separately:
 * a folder, or a namespace of a cluster.
 *
 * An object counts as removed only if everything could be read, it was missing for long enough, and the mass-change brake
 * allows it. The brake stays engaged until the objects are back or an operator confirms.
 *
 * How long is enough depends on the file that contained the object:
 *
 * | that file | counts as removed after | reported as |
 * |---|---|---|
 * | is gone (or there are no files: a cluster) | `goneMs` | `Leaving` |
 * | is gone, with the folder that it was in (not the source itself) | `partlyMs` | `SourceIncomplete`, a wait |
 * | is gone, and a folder that it was in still exists, without any document | `lostMs` | `SourceIncomplete`, a hold |
 * | any, where an object is missing together with what protects it | `lostMs` at least | `SourceIncomplete`, a hold |
 * | any, where a task is missing that a change of its service waits for | `lostMs` at least | `SourceIncomplete`, a hold |
 * | exists, with other documents | `partlyMs` without a change of the file | `SourceIncomplete`, a wait |
 * | exists, without any document | `whollyMs` without a change of the file | `SourceIncomplete`, a hold |
 *
 * A full disk, a slow copy and a power cut leave files that are empty, or end between two documents. So a file that still
 * exists proves less than a removed one. A file system that is not mounted leaves an empty folder, and another branch lacks files and the folders
 * that they were in. What a task protects would be gone for good, and what it does would be interrupted (protection.ts). If an operator allows a mass change, the deletion is intended.
 *
 * The time is measured between two readings of the source: the first and the last one that lack the object, with none between
 * them that shows it. The clock alone proves nothing about a folder that nobody has read meanwhile (a suspended process, a
 * hanging file server).
 */
import type { DesiredSnapshot } from '../../desired/index.ts';
import { brakeWindowMs, isMassChange, massChangeLimit, type Gate } from '../plan/index.ts';
import { annotations, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { massChangeAdvice } from '../fleet/advice.ts';
import type { Stake } from './protection.ts';

export interface Leaving {
  /** Number of objects that are not marked for deletion. */
  readonly live: number;
  /** Those of them that the source lacks, by key. */
  readonly missing: readonly ObjectRecord[];
  /** All objects of a kind are missing from the whole cluster. */
  readonly isWholeKind: boolean;
  /** Those of the missing ones that leave together with what protects them, or that something waits for. */
  readonly stakes: ReadonlyMap<ObjectKey, Stake>;
  /** Whether a removal in the last minute still counts. */
  readonly isUnderWay: (key: ObjectKey) => boolean;
}

export interface Judged {
  readonly gone: readonly ObjectRecord[];
  readonly brake: Gate | undefined;
  /** Objects that are missing but do not count as removed yet, with the reason. */
  readonly lingering: ReadonlyMap<ObjectKey, Gate>;
  /** Milliseconds after which to judge again. Undefined if nothing waits for time. */
  readonly againAfterMs: number | undefined;
}

/** How long an object must be missing to count as removed: see the table above. */
export interface Grace {
  readonly goneMs: number;
  readonly partlyMs: number;
  /** Infinity: only if an operator confirms it. */
  readonly whollyMs: number;
  /** A folder without any document, a protected object that leaves with what protects it, and a task that something waits for. */
  readonly lostMs: number;
}

/** `run`: copying over a network may stall for a while. */
export const defaultShortenedGrace = { partlyMs: 60_000, whollyMs: 300_000, lostMs: 300_000 } as const;
/**
 * For commands that read once and show the deletions to a person. For a file without any document, that is
 * not enough.
 */
export const oneShotGrace: Grace = {
  goneMs: 0,
  partlyMs: 0,
  whollyMs: Number.POSITIVE_INFINITY,
  lostMs: 0,
};

interface Missing {
  /** The start of the first reading that lacked it, with its file as it is now. */
  readonly sinceMs: number;
  readonly file: string;
  /** The digest of its file then. Undefined if the file was gone. */
  readonly digest: string | undefined;
}

interface Claim {
  readonly graceMs: number;
  readonly gate: Gate;
}

export class DeletionGate {
  readonly #grace: Grace;
  readonly #missing = new Map<ObjectKey, Missing>();
  /**
   * Those of the missing ones with something at stake. It stays so until they are back: one of two may be taken as removed
   * before the other, and what waits may be out of sight for a while.
   */
  readonly #stakes = new Map<ObjectKey, Stake>();
  /** Removals in the window with their monotonic times. */
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
    return { brake: undefined, ...this.#afterGrace(part, snapshot, nowMs, massChangeAllowed) };
  }

  /** Whether judging again could make no difference. */
  get isIdle(): boolean {
    return !this.#braked && this.#missing.size === 0;
  }

  /**
   * Restarts the time of objects that this snapshot shows, or whose file has changed. Not every snapshot is
   * judged.
   */
  notice(snapshot: DesiredSnapshot, isShown: (key: ObjectKey) => boolean, nowMs: number): void {
    for (const [key, { file, digest }] of this.#missing) {
      const shown = snapshot.files?.get(file)?.digest;
      if (isShown(key)) this.#missing.delete(key);
      else if (digest !== shown)
        this.#missing.set(key, { sinceMs: readAt(snapshot, nowMs), file, digest: shown });
    }
  }

  #brake(
    { live, missing, isWholeKind, isUnderWay }: Leaving,
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
    const isMany = isWholeKind || isMassChange(total, missingCount, recently);
    const tooMany = this.#braked || snapshot.empty || isMany;
    if (!tooMany || massChangeAllowed()) {
      this.#braked = false;
      return undefined;
    }
    // If not everything could be read, that may be the reason. Then the brake is not kept.
    this.#braked ||= snapshot.complete;
    const [{ key }] = missing as [ObjectRecord];
    return massChangeGate({ missing: missingCount + recently, total, isWholeKind, key }, snapshot);
  }

  #afterGrace(
    { missing, stakes }: Leaving,
    snapshot: DesiredSnapshot,
    nowMs: number,
    massChangeAllowed: () => boolean,
  ): Omit<Judged, 'brake'> {
    const gone: ObjectRecord[] = [];
    const confirm = missing.length > 0 ? massChangeAdvice(snapshot) : '';
    const lingering = new Map<ObjectKey, Gate>();
    /** By their grace period: objects that leave together are removed together. */
    const againAfterMs = new Map<number, number>();
    for (const record of missing) {
      const stake = stakes.get(record.key);
      if (stake && this.#stakes.get(record.key) !== 'together') this.#stakes.set(record.key, stake);
      const { graceMs, gate } = massChangeAllowed()
        ? { graceMs: this.#grace.goneMs, gate: leaving(snapshot) }
        : this.#claim(record, snapshot, confirm);
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

  /** Each change of its file restarts the time, because its author has not finished. */
  #since({ key, file }: ObjectRecord, snapshot: DesiredSnapshot, nowMs: number): number {
    const digest = snapshot.files?.get(file)?.digest;
    const known = this.#missing.get(key);
    if (known && known.digest === digest) return known.sinceMs;
    const sinceMs = readAt(snapshot, nowMs);
    this.#missing.set(key, { sinceMs, file, digest });
    return sinceMs;
  }

  #claim(record: ObjectRecord, snapshot: DesiredSnapshot, confirm: string): Claim {
    const claim = this.#claimOfFile(record, snapshot, confirm);
    const { lostMs } = this.#grace;
    const stake = this.#stakes.get(record.key);
    if (!stake || claim.graceMs >= lostMs) return claim;
    const gate = stake === 'together' ? withProtection(lostMs, confirm) : awaited(lostMs, confirm);
    return { graceMs: lostMs, gate };
  }

  #claimOfFile({ file }: ObjectRecord, snapshot: DesiredSnapshot, confirm: string): Claim {
    const { goneMs, partlyMs, whollyMs, lostMs } = this.#grace;
    // In a cluster, somebody has deleted the object by its name.
    if (!snapshot.files) return { graceMs: goneMs, gate: leaving(snapshot) };
    const content = snapshot.files.get(file);
    if (content) {
      return content.documentCount > 0
        ? { graceMs: partlyMs, gate: shortened(file, partlyMs, confirm) }
        : { graceMs: whollyMs, gate: emptied(file, whollyMs, confirm) };
    }
    const lost = lostFolders(file, snapshot);
    const [outermost] = lost;
    if (outermost === undefined) return { graceMs: goneMs, gate: leaving(snapshot) };
    const empty = lost.find((folder) => snapshot.folders?.has(folder));
    return empty === undefined
      ? { graceMs: partlyMs, gate: goneFolder(outermost, partlyMs, confirm) }
      : { graceMs: lostMs, gate: emptiedFolder(empty, lostMs, confirm) };
  }

  /** The removals have been recorded. */
  taken(gone: readonly ObjectRecord[], nowMs: number): void {
    for (const { key } of gone) {
      this.#missing.delete(key);
      this.#deletions.push({ key, atMs: nowMs });
    }
  }

  #forgetReturned(missing: readonly ObjectRecord[]): void {
    if (this.#missing.size + this.#stakes.size === 0) return;
    const stillMissing = new Set(missing.map(({ key }) => key));
    for (const key of this.#stakes.keys()) if (!stillMissing.has(key)) this.#stakes.delete(key);
    for (const key of this.#missing.keys()) {
      if (!stillMissing.has(key)) this.#missing.delete(key);
    }
  }
}

/** A cluster is always up to date. */
function readAt({ readAtMs }: DesiredSnapshot, nowMs: number): number {
  return readAtMs ?? nowMs;
}

function leaving({ cluster }: DesiredSnapshot): Gate {
  const message = cluster
    ? 'the object was just deleted; the thing that it manages follows in a moment'
    : 'the object has just been removed from the source; it is deleted unless it comes back';
  return { kind: 'wait', reason: 'Leaving', message };
}

function shortened(file: string, graceMs: number, confirm: string): Gate {
  return {
    kind: 'wait',
    reason: 'SourceIncomplete',
    message:
      `${file} still exists, but no longer contains the object: an interrupted copy looks the same. ` +
      `It is deleted when the file has not changed for ${seconds(graceMs)}. To have it deleted at once, ${confirm}`,
  };
}

function emptied(file: string, graceMs: number, confirm: string): Gate {
  const after = Number.isFinite(graceMs)
    ? `It is deleted when the file has not changed for ${seconds(graceMs)}`
    : 'It is not deleted';
  return {
    kind: 'hold',
    reason: 'SourceIncomplete',
    message:
      `${file} still exists, but no longer contains a document: a full disk or an interrupted copy looks the same. ${after}. ` +
      `If the file was lost, put it back; if the deletion is intended, remove the file, or ${confirm}`,
  };
}

function goneFolder(folder: string, graceMs: number, confirm: string): Gate {
  return {
    kind: 'wait',
    reason: 'SourceIncomplete',
    message:
      `the folder ${folder} is gone with all of its documents: another branch that is checked out looks the same. ` +
      `The object is deleted when the folder stays away for ${seconds(graceMs)}. To have it deleted at once, ${confirm}`,
  };
}

function emptiedFolder(folder: string, graceMs: number, confirm: string): Gate {
  return {
    kind: 'hold',
    reason: 'SourceIncomplete',
    message:
      `the folder ${folder} still exists, but has no document any more: a file system that is not mounted looks the same. ` +
      `The object is deleted when that stays so for ${seconds(graceMs)}. If the folder was lost, put it back; if the deletion is intended, remove the folder, or ${confirm}`,
  };
}

function withProtection(graceMs: number, confirm: string): Gate {
  return {
    kind: 'hold',
    reason: 'SourceIncomplete',
    message:
      'the object and the task that protects it have left the source together: another branch that is checked out looks the same. ' +
      `Both are kept until they have been away for ${seconds(graceMs)}. If they were lost, put them back; if the deletion is intended, ${confirm}`,
  };
}

function awaited(graceMs: number, confirm: string): Gate {
  return {
    kind: 'hold',
    reason: 'SourceIncomplete',
    message:
      'the task has left the source while a change of the service that it protects waits: another branch that is checked out looks the same. ' +
      `The service stays protected until the task has been away for ${seconds(graceMs)}. If its document was lost, put it back. To end the task at once, put it back with \`released: true\`, or ${confirm}`,
  };
}

/** The folders of the file, below the root, in which no file has a document any more: the outermost first. */
function lostFolders(file: string, { files = new Map() }: DesiredSnapshot): string[] {
  const parts = file.split('/').slice(0, -1);
  const folders = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  return folders.filter(
    (folder) =>
      ![...files].some(([other, { documentCount }]) => documentCount > 0 && other.startsWith(`${folder}/`)),
  );
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
    message: `the object is missing, but not everything in the source could be read${where}; nothing is deleted until it can be read`,
  };
}

interface MassChange {
  readonly missing: number;
  readonly total: number;
  readonly isWholeKind: boolean;
  /** Of one of them. */
  readonly key: ObjectKey;
}

function massChangeGate({ missing, total, isWholeKind, key }: MassChange, snapshot: DesiredSnapshot): Gate {
  const { cluster, empty } = snapshot;
  const limit = `(the limit is ${massChangeLimit(total)})`;
  const { kind, namespace } = parseObjectKey(key);
  const until = `${annotations.allowMassChangeUntil}=TIME`;
  const what = isWholeKind
    ? `every ${kind} of the cluster was deleted at once, among them ${missing} of ${total} objects of the namespace`
    : `${missing} of ${total} objects of the namespace were deleted at once ${limit}`;
  const all = empty ? `the source is empty; all ${missing} objects` : `${missing} of ${total} objects`;
  const message = cluster
    ? `${what}, and the things that they manage would be deleted, too: creations and deletions are stopped in it.  ` +
      `If that is intended,  \`kubectl annotate accounts.fleetkeeper.dev --all --namespace ${namespace} ${until}\` (RFC 3339); ` +
      'otherwise set `deletionPolicy: Retain`, which deletes the objects and keeps the things. Sequential deletions, each after the one before is finished, are not stopped'
    : `${all} have left the source within a minute ${limit}: creations and deletions are stopped. If a folder or mount is wrong, correct it.  ` +
      `If that is intended,  ${massChangeAdvice(snapshot)}`;
  return { kind: 'hold', reason: 'MassChangeBrake', message };
}
