/** What a budget limits, as all rooms may know it, and how labels are selected. */

export interface BudgetTerms {
  readonly scope: BudgetScope;
  readonly limits: BudgetLimits;
  /** In which a month begins and ends. */
  readonly timeZone: string;
  /** How far ahead the monthly limit looks. */
  readonly horizonHours: number;
  /** `Report`: nothing waits for it. `Shed`: things wait, and when a limit is passed, things are stopped. */
  readonly mode: 'Report' | 'Gate' | 'Shed';
  /** Per cent of a limit, growing. */
  readonly warnAt: readonly number[];
  readonly unpriced: 'Allow' | 'Block';
  readonly shed: SheddingTerms;
}

/** When things are stopped for a budget, and started again. */
export interface SheddingTerms {
  readonly graceMinutes: number;
  readonly maxPerMinute: number;
  readonly resumeBelowPercent: number;
  readonly resumeAfterMinutes: number;
}

/** Each of them within the namespace of the budget. */
export type BudgetScope =
  | { readonly of: 'labels'; readonly selector: LabelSelector }
  | { readonly of: 'namespace' }
  /** Everything in the account, managed or not. */
  | { readonly of: 'account'; readonly name: string };

export interface BudgetLimits {
  readonly hourlyMicros?: number | undefined;
  readonly monthlyMicros?: number | undefined;
  readonly perObjectHourlyMicros?: number | undefined;
  readonly runwayHours?: number | undefined;
}

/** What is shown of that; of a document that is held, what was in force before. */
export interface BudgetInForce extends Pick<BudgetTerms, 'scope' | 'limits'> {
  /** As it is written. */
  readonly mode: string;
}

/** As in Kubernetes: all of it has to apply. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?: readonly LabelRequirement[] | undefined;
}

export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[] | undefined;
}

export function selects(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((requirement) => isMet(requirement, labels[requirement.key]))
  );
}

function isMet({ operator, values = [] }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
  }
}

/** In whatever order its fields are written. */
export function isSameScope(one: BudgetScope, other: BudgetScope): boolean {
  return JSON.stringify(inOrder(one)) === JSON.stringify(inOrder(other));
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return fields.map(([name, field]) => [name, inOrder(field)]);
}

/** What a budget has spent, as it is stored: amounts are micro-USD times milliseconds, as text (engine/plan/tally.ts). */
export interface StoredTally {
  readonly month: string;
  readonly since: number;
  readonly at: number;
  readonly spent: string;
  readonly estimated: string;
  readonly unattributed: string;
  /** Micro-USD per hour. */
  readonly burnMicros: string;
  readonly balanceMicros?: string | undefined;
  /** By date. */
  readonly days: Readonly<Record<string, string>>;
  /** What was counted before the last time of more than a day between two reads. */
  readonly jump?: (Omit<StoredTally, 'days' | 'jump'> & { today: string; until: number }) | undefined;
}

/** What a budget is doing about a limit that is passed, as it is stored (engine/plan/shedding.ts). Times in Unix milliseconds. */
export interface StoredShedding {
  /** Since when a limit has been passed. */
  readonly exceededSince?: number | undefined;
  /** Since when there has been room for what comes back next. */
  readonly roomSince?: number | undefined;
  /** What is shed, in the order in which that began. */
  readonly orders: readonly ShedOrder[];
  /** When the last steps were over. */
  readonly ended: readonly number[];
  /** What is not shed for a while. */
  readonly spared: readonly SparedObject[];
  /** What was let go last, until it is seen to run. */
  readonly returning?: { readonly object: string; readonly since: number } | undefined;
}

export interface ShedOrder {
  readonly object: string;
  readonly uid: string;
  readonly since: number;
  /** When its latest step began. */
  readonly askedAt: number;
  /** `asked`: no read shows that it costs less. */
  readonly phase: 'asked' | 'done';
  /** What it cost an hour, in micro-USD. Of what has replicas, each of them. */
  readonly micros: string;
  /** Of what has replicas: no more than these. */
  readonly replicas?: number | undefined;
}

/** Ids of what objects that a budget counted have left in an account (`namespace/name`), the oldest first (engine/money/left-things.ts). */
export interface StoredLeft {
  readonly account: string;
  readonly ids: readonly string[];
  /** By id: since when reads lack it (Unix milliseconds). */
  readonly missing?: Readonly<Record<string, number>> | undefined;
}

export interface SparedObject {
  readonly object: string;
  readonly since: number;
  /** `started`: somebody has started it. Otherwise: what kept it from being stopped. */
  readonly because: string;
}
