export * from './accounts.ts';
export * from './admission/admission.ts';
export * from './controller.ts';
export type { CommandEffect } from './commands.ts';
export { defaultShortenedGrace, oneShotGrace, type Grace } from './admission/deletion-gate.ts';
export * from './fleet/fleet.ts';
export type { Reading } from './fleet/last-readings.ts';
export { knownSpec } from './fleet/taken-in.ts';
export { hasOpenWork } from './fleet/open-work.ts';
export { contentDigests, contentValues, hasSameValues } from './fleet/content.ts';
export { DerivedObjects, type WantedResources } from './fleet/derived.ts';
export {
  defineKind,
  type AccountOfObject,
  type AnyRemote,
  type KindOptions,
  type OwnedObject,
  type Owner,
  type Kinds,
  type RemoteThings,
  type ShedSubject,
  type ShedWay,
  type Subject,
  type View,
} from './kind.ts';
export type * from './held.ts';
export type { KeptRegistration } from './activity-registrations.ts';
export type { MarkHolder, Marks } from './fleet/marks.ts';
export { shownTo } from './observation/claims.ts';
export { conflict, identify, markIndex, type Identity, type Observed } from './observation/observe.ts';
export type { RecordedMutation } from './mutation/index.ts';
export { quotasOf } from './money/quotas.ts';
export { balanceOf } from './money/shared-balances.ts';
export { Budgets } from './money/budgets.ts';
export type { BudgetNow, BudgetView } from './money/budget-view.ts';
export type { ShedFor } from './money/shedding.ts';
export * from './money/funds.ts';
export * from './money/money.ts';
export * from './outcomes/capacity-memory.ts';
export { eventWithoutAmounts, withoutAmounts } from './problems/amounts.ts';
export * from './problems/announcements.ts';
export * from './problems/notices.ts';
export * from './problems/sinks.ts';
export * from './problems/trouble.ts';
export * from './reconciler.ts';
export * from './step-policy.ts';
export type { GuardedStep, StepGuard } from './step-guard.ts';
export type { Foreseen, PassResult } from './decision.ts';
export type { ReconcilerOptions } from './reconciler-options.ts';
export { isBuiltIn, itemsOf, listsOf } from './fleet/references.ts';
export type { Jobs } from './fleet/jobs.ts';
export * from './workqueue.ts';
