export { anyOf, open, type Access } from './access/access.ts';
export { hostRule, isLoopbackHost } from './access/hosts.ts';
export { OidcAccess } from './access/oidc.ts';
export { TokenAccess } from './access/tokens.ts';
export { ManagerSource } from './fleet/manager-source.ts';
export type { FleetSource } from './fleet/source.ts';
export type { ApiRequest, ApiResponse, StreamSink } from './message.ts';
export { ReadApi, type ReadApiMetrics } from './read-api.ts';
