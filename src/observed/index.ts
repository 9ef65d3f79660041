export * from './account-informer.ts';
