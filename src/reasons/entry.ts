/**
 * The shape of an entry in the table of reasons (index.ts).
 *
 * | kind       | a reason of this kind                                                            |
 * |------------|----------------------------------------------------------------------------------|
 * | `ready`    | stands in `Ready=True`                                                           |
 * | `doing`    | explains why a request is sent                                                   |
 * | `waiting`  | explains why nothing is sent now; it passes without a change of the document     |
 * | `unusable` | stands in `Ready=False` while nothing is left to be done                         |
 * | `held`     | explains why nothing is sent until a person changes something                    |
 * | `fact`     | stands in another condition than `Ready`                                         |
 * | `event`    | names an Event                                                                   |
 *
 * `kind` is where a reader first sees a reason; `also` names the other places.
 */
export type ReasonKind = 'ready' | 'doing' | 'waiting' | 'unusable' | 'held' | 'fact' | 'event';

/** `critical`: a person has to act soon, or more than one object is concerned. */
export type Severity = 'info' | 'warning' | 'critical';

/** Who can bring the object forward. */
export type Turn = 'user' | 'provider' | 'fleetkeeper';

export interface ReasonEntry {
  readonly kind: ReasonKind;
  readonly also?: readonly ReasonKind[];
  readonly severity: Severity;
  readonly whose: Turn;
  /** One sentence: what it states. */
  readonly meaning: string;
  /** What to do; absent where there is nothing to do. */
  readonly remedy?: string;
  /** The section of the documentation that has more: a file of docs/ with its anchor. */
  readonly see?: string;
  /** In `Ready=False`: what is there was observed, and can't be used. */
  readonly isDown?: true;
  /** A person, a window or a brake keeps the object as it is. It is never shown as healthy. */
  readonly suspends?: true;
  /** Of an Event: Notifications announce it. */
  readonly announced?: true;
  /** Of a task: how fresh the record of its activity is. */
  readonly freshness?: string;
}

/** Of `waiting` and `held`: the answer of a planner. */
export interface BlockingEntry extends ReasonEntry {
  readonly kind: 'waiting' | 'held';
  readonly remedy: string;
  /**
   * Whether the plan rests on an observation of the object. `soon` and `no`: it does not, unless it shows differences. The
   * drift of the last observation stays then. `soon`: an observation follows by itself, in seconds. `no`: nobody knows
   * how the object is meanwhile, so `Drifted` is Unknown.
   */
  readonly observed: 'yes' | 'soon' | 'no';
  /** Of a hold: it may end without a change of the document and of what the account shows, so it is checked this often. */
  readonly recheckMs?: number;
  /**
   * `Stalled` becomes True when the wait has lasted so long. `since`: the object is in its present state, a request was
   * sent whose outcome is unknown, or the object has waited for reads without a break. `as`: under another reason.
   */
  readonly stalled?: {
    readonly afterMs: number;
    readonly since: 'state' | 'outcome' | 'read';
    readonly as?: 'ProgressDeadlineExceeded';
  };
  /** Of a wait: it raises an Event, because a person may want to end it. Holds always do. */
  readonly event?: true;
  /** What is there stays in use, so `Ready` shows its health, and not this reason. */
  readonly followsHealth?: true;
  /** The account can't be read: `Ready` is Unknown for all of its objects, and `plan` reports the account instead. */
  readonly accountUnread?: true;
  /** The manager is of use all the same: it stays ready (`/readyz`), and heartbeats go on. */
  readonly staysReady?: true;
  /** The documents alone are the cause, not the state of the fleet: `plan` exits with 1. */
  readonly fromDocuments?: true;
  /** It is due to the provider, the account, or somebody's work: what the object is to be is not to blame for it. */
  readonly excuses?: true;
  /** The object continues when the account has more to spend, or a price becomes known. */
  readonly forMoney?: true;
  /** The object continues when a budget has more room, or another document. */
  readonly forBudget?: true;
  /** A request of the pass failed. When the process stops, that may be the stop itself, and is not reported. */
  readonly cutByStop?: true;
  /** What was read is not concluded from: the state and revision seen before stay. */
  readonly distrusted?: true;
  /** Something of the object may be at the provider. The object is not forgotten while it is being deleted. */
  readonly mayBeOurs?: true;
  /** The provider refuses the key, not the request: with another key it is sent at once. */
  readonly ofKey?: true;
  /**
   * What `plan` shows: `change`: other changes of the plan end the wait, so its steps count as changes; `owner`: the
   * object that owns it shows the change.
   */
  readonly inPlan?: 'change' | 'protect' | 'release' | 'owner';
  /** Of a wait: what follows is known in full only when it is over. Without steps, a plan shows that. No plan file has it. */
  readonly unforeseen?: true;
  /** What the provider or the account has too little of: an object waits for it, until an attempt succeeds. */
  readonly awaits?: string;
  /** A short form, where there is no room for more. */
  readonly brief?: string;
}

type Plain<Kind extends ReasonKind> = ReasonEntry & { readonly kind: Kind };

const minuteMs = 60_000;
export const minutes = (count: number): number => count * minuteMs;

/** Entries that ask nothing of anybody. */
export function ready<const More extends Partial<ReasonEntry>>(
  meaning: string,
  more?: More,
): Plain<'ready'> & More {
  return { kind: 'ready', severity: 'info', whose: 'fleetkeeper', meaning, ...more } as Plain<'ready'> & More;
}

export function doing<const More extends Partial<ReasonEntry>>(
  meaning: string,
  more?: More,
): Plain<'doing'> & More {
  return { kind: 'doing', severity: 'info', whose: 'fleetkeeper', meaning, ...more } as Plain<'doing'> & More;
}

export function fact(meaning: string, more?: Partial<ReasonEntry>): Plain<'fact'> {
  return { severity: 'info', whose: 'fleetkeeper', meaning, ...more, kind: 'fact' };
}

export function event(meaning: string, more?: Partial<ReasonEntry>): Plain<'event'> {
  return { severity: 'info', whose: 'fleetkeeper', meaning, ...more, kind: 'event' };
}
