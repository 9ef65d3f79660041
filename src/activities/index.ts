export * from './heartbeat-loop.ts';
export type { RegistrationRequest, RegistrationState } from './registration.ts';
