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

/** §2 "Shared value rule": an integer greater than 0, at most 2^53-1. */
export const revision = z.int().positive();
/** As answered: one that can't be is told of its own object, and keeps nobody from reading the others. */
const shownRevision = z.number();
/** Micro-USD; 1 USD = 1,000,000. §2 Account: between -(2^53-1) and 2^53-1. */
export const micros = z.int();
const uuid = z.guid();
/** An unknown member reads as absent when the API answers null for "none". */
const maybe = <Schema extends z.ZodType>(schema: Schema) => schema.nullish();

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

/**
 * A service as answered. The contract names state, revision, resources, resolved geography, endpoint and the
 * names of environment variables (§2 "Known fields"), without giving each its key; the keys here are the
 * reference control plane's, and everything but `id` may be missing.
 */
export const service = z.looseObject({
  id: uuid,
  name: z.string().optional(),
  state: z.string().optional(),
  revision: shownRevision.optional(),
  resources: maybe(z.looseObject({ gpuCount: z.number(), cpu: z.number(), memoryGb: z.number() })),
  region: maybe(z.string()),
  geography: maybe(z.string()),
  image: maybe(z.string()),
  command: maybe(z.array(z.string())),
  httpPort: maybe(z.int()),
  endpoint: maybe(z.string()),
  environmentNames: maybe(z.array(z.string())),
  volumeId: maybe(z.string()),
  sleepAfterMinutes: maybe(z.int()),
  hourlyMicros: maybe(micros),
  error: maybe(z.string()),
});
export type Service = z.infer<typeof service>;

export const wrappedService = z.looseObject({ service });

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

export const volume = z.looseObject({
  id: uuid,
  name: z.string().optional(),
  mode: maybe(z.string()),
  serviceId: maybe(z.string()),
  status: z.string().optional(),
  revision: shownRevision.optional(),
  region: maybe(z.string()),
  geography: maybe(z.string()),
  sizeGb: maybe(z.int()),
  requestedSizeGb: maybe(z.int()),
  provisioned: maybe(z.boolean()),
  hourlyMicros: maybe(micros),
  error: maybe(z.string()),
});
export type Volume = z.infer<typeof volume>;

export const wrappedVolume = z.looseObject({ volume });
export const volumeDeletion = z.looseObject({
  volumeId: uuid,
  operationId: z.string(),
  status: z.literal('deleting'),
});
export type VolumeDeletion = z.infer<typeof volumeDeletion>;

// ---- activities (§2, §4 rule 6, §6) ------------------------------------------------------------------

export const activityRequest = z.strictObject({
  id: uuid,
  name: z.string().max(limits.activityNameLength),
  release: z.boolean().default(false),
});

export type ActivityRequest = z.infer<typeof activityRequest>;

/** §2 "Activity record": 30 and 300 by the contract; what is answered counts. */
export const activityAnswer = z.looseObject({
  heartbeatSeconds: z.number().positive().max(86_400),
  expiresInSeconds: z.number().positive().max(604_800),
});
export type ActivityAnswer = z.infer<typeof activityAnswer>;

/** The fields of a list record are not shown (§4 "Gaps"); any entry protects. */
export const activity = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  released: z.boolean().optional(),
  fresh: z.boolean().optional(),
});
export type Activity = z.infer<typeof activity>;
export const activityList = z.looseObject({ activities: z.array(activity) });

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

/**
 * The fields of a returned template are not shown beyond those of its specification (§2 "Gaps"). Built-in ones need
 * not have a UUID: they are never in a path.
 */
export const template = z.looseObject({
  id: z.string().min(1),
  name: z.string().optional(),
  revision: shownRevision.optional(),
  builtIn: maybe(z.boolean()),
  description: maybe(z.string()),
  image: maybe(z.string()),
  command: maybe(z.array(z.string())),
  resources: maybe(z.looseObject({ gpuCount: z.number(), cpu: z.number(), memoryGb: z.number() })),
  httpPort: maybe(z.int()),
  containerDiskGb: maybe(z.number()),
  workspaceGb: maybe(z.number()),
  sleepAfterMinutes: maybe(z.int()),
  requiredEnvironment: maybe(z.array(z.string())),
});
export type Template = z.infer<typeof template>;
export const templateList = z.looseObject({ templates: z.array(template) });

/** Of a template or a registry. */
export const deleted = z.looseObject({ id: z.string(), deleted: z.literal(true) });
export type Deleted = z.infer<typeof deleted>;

// ---- image registries (§2) ---------------------------------------------------------------------------

export const registryCreate = z.strictObject({
  repository: z.string().min(1).max(255),
  username: z.string().min(1).max(1024),
  password: z.string().min(1).max(16_384),
});
export type RegistryCreate = z.infer<typeof registryCreate>;

export const registryRotation = z.strictObject({ revision, spec: registryCreate });
export type RegistryRotation = z.infer<typeof registryRotation>;

/** The metadata's fields are not shown (§2 "Gaps"), but that it lists the linked services: each as an id, or more. */
export const registry = z.looseObject({
  id: uuid,
  repository: z.string().optional(),
  revision: shownRevision.optional(),
  linkedServices: maybe(
    z.array(
      z.union([
        z.string(),
        z.looseObject({
          id: z.string(),
          name: maybe(z.string()),
          state: maybe(z.string()),
          usesCurrentCredentials: maybe(z.boolean()),
        }),
      ]),
    ),
  ),
  /** Of unknown form: a time, or null before the first rotation. */
  rotatedAt: z.unknown().optional(),
});
export type Registry = z.infer<typeof registry>;
export const registryList = z.looseObject({ registries: z.array(registry) });

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
export const serviceEvent = z.looseObject({ message: z.string(), created_at: z.int() });
export type ServiceEvent = z.infer<typeof serviceEvent>;
export const eventList = z.looseObject({ events: z.array(serviceEvent) });

export const logText = z.string();
export const browserSession = z.looseObject({ url: z.string() });
/** Any JSON value; `undefined` is what is not JSON. */
export const undocumented = z.unknown().refine((value) => value !== undefined, 'is not JSON');

// ---- account, identity, catalog (§2) -----------------------------------------------------------------

export const ledgerEntry = z.looseObject({
  id: z.string().optional(),
  amountMicros: maybe(micros),
  description: maybe(z.string()),
  createdAt: maybe(z.int()),
});
export type LedgerEntry = z.infer<typeof ledgerEntry>;

export const account = z.looseObject({
  balanceMicros: micros,
  currency: z.string(),
  services: z.array(service),
  volumes: z.array(volume),
  ledger: z.array(ledgerEntry),
});
export type Account = z.infer<typeof account>;

/** Identity fields are not shown (§2 "Gaps"): one of another type is as good as none. */
export const identity = z.looseObject({
  id: maybe(z.union([z.string(), z.int().transform(String)])).catch(undefined),
  email: maybe(z.string()).catch(undefined),
  emailVerified: maybe(z.boolean()).catch(undefined),
});
export type Identity = z.infer<typeof identity>;

/** Region fields are not shown (§2 "Gaps"). */
export const region = z.looseObject({
  name: maybe(z.string()).catch(undefined),
  geographies: maybe(z.array(z.unknown())).catch(undefined),
});
export type Region = z.infer<typeof region>;

export const catalog = z.looseObject({
  regions: z.array(region),
  templates: z.array(z.looseObject({})),
  gpuCatalog: z.array(
    z.looseObject({
      model: z.string(),
      name: z.string(),
      memoryGb: z.array(z.number()),
      fullMemoryGb: z.number(),
    }),
  ),
  currency: z.string(),
  browserEnabled: z.boolean(),
  payment: z.looseObject({ provider: z.string(), status: z.string(), mode: z.string().optional() }),
});
export type Catalog = z.infer<typeof catalog>;
