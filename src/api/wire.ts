/**
 * The Container Compute Control API on the wire: one zod schema per request and response, shared by the
 * client and by the reference control plane, so that each side can prove the other wrong.
 *
 * Requests are strict: we never send what the contract does not name. Responses are loose: unknown fields
 * and unknown states are kept, never fatal, because the contract is a developer preview that shows only part
 * of what it returns (§2 "Gaps in resource fields"). A response field is required here only where
 * the contract names it or nothing can be done without it (`id`).
 */
import { z } from 'zod';
import type { Service } from './wire-answers.ts';

export * from './wire-answers.ts';

/** §2 "Shared value rule": an integer greater than 0, at most 2^53-1. */
export const revision = z.int().positive();
/** Micro-USD; 1 USD = 1,000,000. §2 Account: between -(2^53-1) and 2^53-1. */
export const micros = z.int();
const uuid = z.guid();
export const limits = {
  volumesPerAccount: 50,
  templatesPerAccount: 50,
  registriesPerAccount: 20,
  volumeSizeGb: { min: 10, max: 4096 },
  volumeNameLength: 64,
  sleepAfterMinutes: { min: 1, max: 1440 },
  activityNameLength: 128,
  ledgerEntries: 100,
  eventsPerRead: 100,
} as const;

// ---- errors (§7) -------------------------------------------------------------------------------------

/** The documented form; the client reads others, too (answer.ts). */
export const errorBody = z.looseObject({ error: z.looseObject({ code: z.string(), message: z.string() }) });

// ---- services (§2) -----------------------------------------------------------------------------------

export const serviceResources = z.strictObject({
  gpuCount: z.number().nonnegative(),
  cpu: z.number().positive(),
  memoryGb: z.number().positive(),
});
export type ServiceResources = z.infer<typeof serviceResources>;

const environment = z.record(z.string().min(1), z.string());
const httpPort = z.int().min(1).max(65_535);
export const sleepAfterMinutes = z
  .int()
  .min(limits.sleepAfterMinutes.min)
  .max(limits.sleepAfterMinutes.max)
  .nullable();

export const serviceCreate = z.strictObject({
  name: z.string().min(1),
  region: z.string().min(1),
  image: z.string().min(1),
  resources: serviceResources,
  geography: z.string().min(1).optional(),
  command: z.array(z.string()).optional(),
  httpPort: httpPort.optional(),
  volumeGb: z.int().positive().optional(),
  volumeMode: z.string().min(1).optional(),
  volumeId: uuid.optional(),
  sleepAfterMinutes: sleepAfterMinutes.optional(),
  environment: environment.optional(),
});
export type ServiceCreate = z.infer<typeof serviceCreate>;

export const servicePatch = z.strictObject({
  image: z.string().min(1).optional(),
  command: z.array(z.string()).optional(),
  environment: environment.optional(),
  httpPort: httpPort.optional(),
});
export type ServicePatch = z.infer<typeof servicePatch>;

export const servicePatchRequest = z.strictObject({ revision, patch: servicePatch });
export type ServicePatchRequest = z.infer<typeof servicePatchRequest>;

/** `resources` is required for `resize` and rejected for every other action (§2 "Service action"). */
export const serviceAction = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('start') }),
  z.strictObject({ action: z.literal('stop') }),
  z.strictObject({ action: z.literal('restart') }),
  z.strictObject({ action: z.literal('resize'), resources: serviceResources }),
  z.strictObject({ action: z.literal('delete') }),
]);
export type ServiceAction = z.infer<typeof serviceAction>;

export const sleepRequest = z.strictObject({ sleepAfterMinutes });

/** All three members, or nothing. */
export function wholeResources(shown: Service['resources']): ServiceResources | undefined {
  const { gpuCount, cpu, memoryGb } = shown ?? {};
  const isWhole = gpuCount !== undefined && cpu !== undefined && memoryGb !== undefined;
  return isWhole ? { gpuCount, cpu, memoryGb } : undefined;
}

// ---- volumes (§2) ------------------------------------------------------------------------------------

const volumeName = z.string().min(1).max(limits.volumeNameLength);
const volumeSizeGb = z.int().min(limits.volumeSizeGb.min).max(limits.volumeSizeGb.max);

export const volumeCreate = z.strictObject({
  name: volumeName,
  region: z.string().min(1),
  geography: z.string().min(1).optional(),
  sizeGb: volumeSizeGb,
});
export type VolumeCreate = z.infer<typeof volumeCreate>;

/** At least one of `name` and `sizeGb` (§2 "Volume update body"). */
export const volumeUpdate = z
  .strictObject({ revision, name: volumeName.optional(), sizeGb: volumeSizeGb.optional() })
  .refine((update) => update.name !== undefined || update.sizeGb !== undefined, {
    message: 'at least one of name and sizeGb must be present',
  });
export type VolumeUpdate = z.infer<typeof volumeUpdate>;

/** §4 DELETE: its status is `deleting`. */
export interface VolumeDeletion {
  readonly volumeId: string;
  readonly operationId?: string;
}

// ---- activities (§2, §4 rule 6, §6) ------------------------------------------------------------------

export const activityRequest = z.strictObject({
  id: uuid,
  name: z.string().max(limits.activityNameLength),
  release: z.boolean().default(false),
});

export type ActivityRequest = z.infer<typeof activityRequest>;

/** §2 "Activity record": 30 and 300 by the contract; what is answered counts. */
export interface ActivityAnswer {
  readonly heartbeatSeconds: number;
  readonly expiresInSeconds: number;
}

/** The fields of a list record are not shown (§4 "Gaps"); any entry protects that does not show its release. */
export interface Activity {
  readonly [field: string]: unknown;
  readonly id?: string;
  readonly name?: string;
  readonly released?: boolean;
  readonly fresh?: boolean;
}

// ---- templates (§2) ----------------------------------------------------------------------------------

/** Names, never values: what could carry a value (`NAME=value`) is no name. */
const environmentName = z
  .string()
  .max(256)
  .regex(/^[^=\s]+$/, 'must be the name of a variable, without a value');

/** Null is the same as absent: what was read can be sent back. */
export const templateSpec = z.strictObject({
  name: z.string().min(1).max(128),
  image: z.string().min(1).max(1024),
  description: z.string().max(4096).optional(),
  command: z.array(z.string()).max(1024).nullish(),
  resources: serviceResources.optional(),
  httpPort: httpPort.nullish(),
  containerDiskGb: z.int().min(1).max(4096).optional(),
  workspaceGb: volumeSizeGb.nullish(),
  sleepAfterMinutes: sleepAfterMinutes.optional(),
  requiredEnvironment: z.array(environmentName).max(256).optional(),
});
export type TemplateSpec = z.infer<typeof templateSpec>;

/** Replacement, not merge (§2 "Template update body"). */
export const templateUpdate = z.strictObject({ revision, spec: templateSpec });
export type TemplateUpdate = z.infer<typeof templateUpdate>;

/** The body of the deletion of a template or a registry. */
export const deletion = z.strictObject({ revision });
export type Deletion = z.infer<typeof deletion>;

/** Of a template or a registry. */
export interface Deleted {
  readonly id: string;
}

// ---- image registries (§2) ---------------------------------------------------------------------------

export const registryCreate = z.strictObject({
  repository: z.string().min(1).max(255),
  username: z.string().min(1).max(1024),
  password: z.string().min(1).max(16_384),
});
export type RegistryCreate = z.infer<typeof registryCreate>;

export const registryRotation = z.strictObject({ revision, spec: registryCreate });
export type RegistryRotation = z.infer<typeof registryRotation>;

// ---- what runs (§4) ----------------------------------------------------------------------------------

/** The body is not shown (§4 "Gaps in endpoints"). */
export const execRequest = z.strictObject({
  command: z.array(z.string().max(32_768)).min(1).max(256),
  timeoutSeconds: z.int().min(1).max(60).optional(),
});
export type ExecRequest = z.infer<typeof execRequest>;

export const metricsMinutes = ['15', '60', '360'] as const;
export type MetricsMinutes = (typeof metricsMinutes)[number];
export const metricsQuery = z.object({ minutes: z.enum(metricsMinutes) });

/** §6 rule 1. */
export interface ServiceEvent {
  readonly [field: string]: unknown;
  readonly message: string;
  /** Unix milliseconds; 0 when it can't be read. */
  readonly created_at: number;
}
