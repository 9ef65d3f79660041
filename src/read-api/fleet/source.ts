/**
 * What the read API reads from: the memory of a manager (manager-source.ts), or the objects of a cluster. Reads are answered from memory.
 * Only the journal of earlier mutations may be on a disk.
 */
import type { AccountContents, EngagedBrake } from '../../engine/index.ts';
import type { Reader } from './reader.ts';
import type { LabelSet } from './row.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { ManagerState } from '../../shown/manager-state.ts';
import type { KnownFleet } from '../../shown/survey.ts';
import type { Impairment, TimelineEntry } from '../../manager/index.ts';
import type { Intent, StateStore } from '../../state/index.ts';

export type ReadStore = Pick<
  StateStore,
  | 'ownerName'
  | 'digestKey'
  | 'identityPin'
  | 'records'
  | 'everyKey'
  | 'record'
  | 'recordOf'
  | 'recordsOf'
  | 'recordsOfKind'
  | 'lastIntent'
  | 'openIntent'
  | 'revisions'
  | 'prices'
>;

export interface FleetSource {
  readonly place: 'folder' | 'cluster';
  readonly version: string;
  /** The flags that name the fleet on the command line. */
  readonly commandFlags: string;
  /** What these data do not show, for people. */
  readonly notes: readonly string[];
  /** Of namespaces that are read by themselves: what is not known of them now. Only who may see a namespace may see it. */
  readonly gaps?: readonly Gap[];
  /** Why nothing can be answered yet; undefined: everything was read once. Of several namespaces, one is enough. */
  readonly unread?: string | undefined;
  /** How far back the timeline reaches, for people. */
  readonly timelineLimits: string;
  readonly store: ReadStore;
  /** From now on, `onMoved` is called for each object of which something may have changed. It must return at once. */
  listen(onMoved: (key: ObjectKey) => void): void;
  /** Its status is that of a process which is at work. */
  isCurrent(key: ObjectKey): boolean;
  /** In a cluster: when the object was created there, in Unix milliseconds. */
  createdAt(key: ObjectKey): number | undefined;
  labelsOf(key: ObjectKey): LabelSet;
  accounts(): readonly AccountNow[];
  /** The mass-change brakes that are engaged, as far as they are known beside the objects that show them. */
  brakes(): readonly EngagedBrake[];
  /** Of documents that can't be used. */
  documentProblems(): readonly DocumentProblem[];
  manager(): ManagerState;
  /** What keeps the manager in this process from working on all of its fleet. */
  impairments(this: void): readonly Impairment[];
  /** When the newest heartbeat for the task was accepted, in Unix milliseconds. */
  heartbeatAt(key: ObjectKey): number | undefined;
  /** At most the newest 20 mutations of the object, newest first. */
  journal(key: ObjectKey): readonly Intent[];
  /** Entries that the reader may see, with a number below `before`, newest first; at most `limit`. */
  timeline(reader: Reader, before: number | undefined, limit: number): readonly TimelineEntry[];
  /** What accounts hold, as last read; undefined: it is not known here. */
  holdings(): Holdings | undefined;
}

export interface Gap {
  readonly namespace: string;
  /** For people. */
  readonly note: string;
  /** Its objects may be missing, or out of date. Otherwise it is about its Events. */
  readonly isOfObjects: boolean;
}

export interface DocumentProblem {
  readonly file: string;
  readonly line: number | undefined;
  /** Of the field; undefined: it is about the whole document. */
  readonly path: string | undefined;
  readonly message: string;
  readonly remedy: string;
  /** The object that it concerns, if it could be identified. */
  readonly key: ObjectKey | undefined;
}

export interface Holdings {
  readonly accounts: readonly {
    readonly account: string;
    /** Of its API. */
    readonly origin: string;
    readonly contents: AccountContents;
  }[];
  readonly fleet: KnownFleet;
}

export interface Quota {
  readonly resource: string;
  readonly used: number;
  readonly limit: number;
}

/** An account now. Times in Unix milliseconds. */
export interface AccountNow {
  /** `namespace/name`. */
  readonly name: string;
  /** That of the environment. */
  readonly isShared: boolean;
  readonly pollSeconds: number;
  /** While nothing happens in it. */
  readonly longestPollSeconds: number;
  /** The newest successful read. */
  readonly readAt: number | undefined;
  /** How long ago that began. */
  readonly ageMs: number | undefined;
  readonly failure: { readonly reason: string; readonly message: string } | undefined;
  readonly requests:
    | {
        readonly perSecond: number;
        readonly limitPerSecond: number;
        readonly waiting: number;
        readonly throttled: number;
        readonly closedForMs: number;
      }
    | undefined;
  readonly balanceMicros: number | undefined;
  readonly burnMicrosPerHour: number | undefined;
  readonly reservedMicrosPerHour: number | undefined;
  readonly runwaySeconds: number | undefined;
  readonly quotas: readonly Quota[];
}

/** Beyond that, nothing of the account counts as healthy: three of its longest polls, and never less than a minute. */
export function isAccountStale({ ageMs, pollSeconds, longestPollSeconds, failure }: AccountNow): boolean {
  const patienceMs = Math.max(60_000, 3000 * longestPollSeconds);
  return ageMs === undefined || ageMs > patienceMs || (failure !== undefined && ageMs > 3000 * pollSeconds);
}
