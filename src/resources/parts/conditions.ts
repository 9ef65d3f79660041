/**
 * Conditions after the Kubernetes API conventions and kstatus: `Ready`, `Reconciling` and `Stalled` mean what every
 * tool expects; the others are Fleetkeeper's own.
 */
export const conditionTypes = [
  'Ready',
  'Reconciling',
  'Stalled',
  'Synced',
  'Drifted',
  'Protected',
  'OutcomeUnknown',
  'Duplicated',
  'Available',
  'RolledBack',
  'Accepted',
  'Allocated',
  'SpendingAllowed',
  'WithinBudget',
  'Shedding',
  'TemplateOutdated',
] as const;
export type ConditionType = (typeof conditionTypes)[number];
export type ConditionStatus = 'True' | 'False' | 'Unknown';

export interface Condition {
  readonly type: ConditionType;
  readonly status: ConditionStatus;
  /** A constant in CamelCase. */
  readonly reason: string;
  readonly message: string;
  /** RFC 3339; moves only when `status` changes. */
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}
