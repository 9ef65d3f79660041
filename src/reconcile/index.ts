export * from './accounts.ts';
export * from './admission.ts';
export * from './controller.ts';
export * from './fleet.ts';
export * from './reconciler.ts';
export * from './workqueue.ts';
