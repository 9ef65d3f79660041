export * from './credential-trust.ts';
export * from './client.ts';
export * from './endpoint-probe.ts';
export { IdleConnections } from './idle-connections.ts';
export * from './limiter.ts';
export * from './outcome.ts';
export * from './refusal-meanings.ts';
export * from './transport.ts';
export * as wire from './wire.ts';
