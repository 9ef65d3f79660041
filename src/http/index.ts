export * from './health-server.ts';
export { healthLimits } from './limits.ts';
