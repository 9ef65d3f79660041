export * from './health-server.ts';
