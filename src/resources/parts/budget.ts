/** What a budget limits, as all rooms may know it, and how labels are selected. */

export interface BudgetTerms {
  readonly scope: BudgetScope;
  readonly limits: BudgetLimits;
  /** In which a month begins and ends. */
  readonly timeZone: string;
  /** How far ahead the monthly limit looks. */
  readonly horizonHours: number;
  /** `Report`: nothing waits for it. */
  readonly mode: 'Report' | 'Gate';
  /** Per cent of a limit, growing. */
  readonly warnAt: readonly number[];
  readonly unpriced: 'Allow' | 'Block';
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
}
