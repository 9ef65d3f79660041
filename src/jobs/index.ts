export { JobProtection, type JobProtectionOptions } from './job-protection.ts';
