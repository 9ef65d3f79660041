export * from './health-server.ts';
export { healthLimits } from './limits.ts';
export { pageFiles } from './page-files.ts';
