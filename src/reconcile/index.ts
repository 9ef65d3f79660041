export * from './accounts.ts';
export * from './admission.ts';
export * from './controller.ts';
export { defaultShortenedGrace, oneShotGrace, type Grace } from './departures.ts';
export * from './fleet.ts';
export {
  defineKind,
  type AccountOfObject,
  type KindOptions,
  type Kinds,
  type RemoteThings,
  type Subject,
  type View,
} from './kind.ts';
export type { KeptLease } from './leases.ts';
export type { Marks } from './marks.ts';
export { conflict, identify, type Identity, type Observed } from './observe.ts';
export { quotasOf } from './quotas.ts';
export * from './funds.ts';
export * from './money.ts';
export * from './reconciler.ts';
export { isBuiltIn, itemsOf, listsOf } from './references.ts';
export { declaredTasks, jobOf, serviceKeyOf, type Jobs } from './tasks.ts';
export * from './workqueue.ts';
