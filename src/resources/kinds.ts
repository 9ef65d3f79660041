/**
 * The documents that people write: our kinds (group `fleetkeeper.dev`) and the two core kinds that they
 * refer to. Our kinds are strict: an unknown field is an error with its path. Defaults are filled in here,
 * so that the rest of the engine never asks twice.
 */
import { z } from 'zod';
import {
  accountRef,
  adopt,
  deletionPolicy,
  driftPolicy,
  httpPort,
  kindSchema,
  nameRef,
  objectName,
  resources,
  sleepAfterMinutes,
  uuid,
  variableName,
} from './fields.ts';
import { imageRegistry, type ImageRegistrySpec } from './image-registry.ts';
import { protectedTask, type ProtectedTaskSpec } from './protected-task.ts';
import { serviceTemplate, type ServiceTemplateSpec } from './service-template.ts';
import { disruptionWindow } from './windows.ts';

// ---- Account -----------------------------------------------------------------------------------------

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether the address is one of this machine. */
export function isLoopback(url: string): boolean {
  return URL.canParse(url) && loopback.test(new URL(url).hostname);
}

/** Why `url` can't be a base address, or undefined when it can. */
export function baseAddressProblem(url: string, insecure: boolean): string | undefined {
  if (!URL.canParse(url)) return 'must be an address such as https://api.example.com';
  const parsed = new URL(url);
  if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:') return 'must start with https://';
  if (parsed.username || parsed.password) return 'must not hold a user name or password';
  if (parsed.search || parsed.hash) return 'must not have a query or a fragment';
  if (/\/api\/?$/.test(parsed.pathname)) return 'is the base address, without /api';
  if (parsed.protocol === 'http:' && !insecure && !loopback.test(parsed.hostname)) {
    return 'must be https; plain http is for loopback only, unless `insecure: true` says that the network is trusted';
  }
  return undefined;
}

const accountSpec = z
  .strictObject({
    url: z.string(),
    insecure: z.boolean().default(false),
    credentialsSecretRef: z.strictObject({ name: objectName, key: z.string().min(1) }).optional(),
    requests: z
      .strictObject({
        perSecond: z.number().positive().max(1000).default(5),
        burst: z.int().min(1).max(10_000).default(10),
        concurrency: z.int().min(1).max(256).default(4),
      })
      .prefault({}),
    pollSeconds: z.number().min(0.2).max(3600).default(15),
    minimumBalanceMicros: z.int().optional(),
  })
  .superRefine((spec, context) => {
    const problem = baseAddressProblem(spec.url, spec.insecure);
    if (problem) context.addIssue({ code: 'custom', path: ['url'], message: problem });
  });
export type AccountSpec = z.infer<typeof accountSpec>;

// ---- ContainerService --------------------------------------------------------------------------------

const keyRef = z.strictObject({
  name: objectName,
  key: z.string().min(1),
  optional: z.boolean().default(false),
});

/** The start of the beacon's name; nobody else may set such a variable. */
export const beaconPrefix = 'FLEETKEEPER_BEACON_';

const environmentEntry = z
  .strictObject({
    name: variableName.refine(
      (name) => !name.startsWith(beaconPrefix),
      `names starting with ${beaconPrefix} are fleetkeeper's own`,
    ),
    value: z.string({ error: 'must be a string; quote numbers and booleans' }).optional(),
    valueFrom: z
      .strictObject({ secretKeyRef: keyRef.optional(), configMapKeyRef: keyRef.optional() })
      .refine(
        (from) => (from.secretKeyRef === undefined) !== (from.configMapKeyRef === undefined),
        'needs exactly one of secretKeyRef and configMapKeyRef',
      )
      .optional(),
  })
  .refine(
    (entry) => entry.value === undefined || entry.valueFrom === undefined,
    'value and valueFrom exclude each other',
  );

const environment = z.array(environmentEntry).superRefine((entries, context) => {
  const seen = new Set<string>();
  for (const [index, { name }] of entries.entries()) {
    if (seen.has(name)) {
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        message: `the variable ${name} is given twice`,
      });
    }
    seen.add(name);
  }
});
export type EnvironmentEntry = z.infer<typeof environmentEntry>;

const storage = z
  .strictObject({
    volumeRef: nameRef.optional(),
    volumeId: uuid.optional(),
    volumeGb: z.int().min(1).max(4096).optional(),
    volumeMode: z.string().min(1).optional(),
  })
  .superRefine((given, context) => {
    const count = [given.volumeRef, given.volumeId, given.volumeGb].filter(
      (part) => part !== undefined,
    ).length;
    if (count !== 1) {
      context.addIssue({ code: 'custom', message: 'needs exactly one of volumeRef, volumeId and volumeGb' });
    }
    if (given.volumeMode !== undefined && given.volumeGb === undefined) {
      context.addIssue({ code: 'custom', path: ['volumeMode'], message: 'goes with volumeGb only' });
    }
  });

/** A probe of the service's endpoint, on top of what the API says of its state. */
const readiness = z.strictObject({
  path: z
    .string()
    .max(1024)
    .regex(/^\/[\x21-\x7e]*$/, 'must start with "/" and hold no blanks'),
  periodSeconds: z.int().min(1).max(3600).default(10),
  timeoutSeconds: z.int().min(1).max(60).default(5),
});

/** Restarts of a service in `error`, at most so many in a row; without it, or with 0, it is only reported. */
const onError = z.strictObject({ restarts: z.int().min(0).max(100).default(3) });

const containerServiceFields = z.strictObject({
  accountRef,
  serviceName: z.string().min(1).max(253).optional(),
  region: z.string().min(1),
  geography: z.string().min(1).optional(),
  /** Absent, like the fields that follow it: what the template gives, or not managed. */
  image: z.string().min(1).optional(),
  command: z.array(z.string()).optional(),
  resources: resources.optional(),
  httpPort: httpPort.optional(),
  sleepAfterMinutes: sleepAfterMinutes.optional(),
  env: environment.optional(),
  storage: storage.optional(),
  /** Defaults for what the spec does not give, taken when the service is created. */
  templateRef: nameRef.optional(),
  /** What becomes of the service when its template changes. */
  templateUpdates: z.enum(['Ignore', 'Apply']).default('Ignore'),
  desiredState: z.enum(['Running', 'Stopped']).default('Running'),
  restartToken: z.string().optional(),
  readiness: readiness.optional(),
  disruption: z.enum(['WhenUnprotected', 'Never', 'Always']).default('WhenUnprotected'),
  disruptionWindows: z.array(disruptionWindow).min(1).max(32).optional(),
  onError: onError.optional(),
  driftPolicy,
  replacement: z.enum(['Never', 'Recreate']).default('Never'),
  deletionPolicy: deletionPolicy.default('Delete'),
  adopt,
});

/** Neither image nor template: nobody could say what is to run. */
const containerServiceSpec = containerServiceFields.superRefine((spec, context) => {
  if (spec.templateRef !== undefined) return;
  const missing = { image: 'a text', resources: 'a map with cpu and memoryGb' } as const;
  for (const field of ['image', 'resources'] as const) {
    if (spec[field] !== undefined) continue;
    const message = `is missing; add it (${missing[field]}), or a \`templateRef\` whose template gives it`;
    context.addIssue({ code: 'custom', path: [field], message });
  }
});
export type ContainerServiceSpec = z.infer<typeof containerServiceSpec>;

// ---- StorageVolume -----------------------------------------------------------------------------------

/** Room left in a volume's name (§8: 64 characters) for the ownership mark that is put behind it. */
export const volumeMarkLength = 16;
const longestVolumeName = 64 - volumeMarkLength;

const storageVolumeSpec = z.strictObject({
  accountRef,
  volumeName: z
    .string()
    .min(1)
    .max(
      longestVolumeName,
      `at most ${longestVolumeName} characters: the API allows 64, of which the ownership mark needs ${volumeMarkLength}`,
    )
    .optional(),
  region: z.string().min(1),
  geography: z.string().min(1).optional(),
  sizeGb: z.int().min(10).max(4096),
  expansion: z.enum(['Never', 'PauseService']).default('Never'),
  driftPolicy,
  deletionPolicy: deletionPolicy.default('Retain'),
  adopt,
});
export type StorageVolumeSpec = z.infer<typeof storageVolumeSpec>;

// ---- core kinds --------------------------------------------------------------------------------------

const coreMetadata = z.looseObject({ name: objectName, namespace: objectName.default('default') });
const text = z.string({ error: 'must be a string; quote numbers and booleans' });

export const secretDocument = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata: coreMetadata,
  data: z.record(z.string(), z.base64('must be base64; plain text goes under stringData')).nullish(),
  stringData: z.record(z.string(), text).nullish(),
});

export const configMapDocument = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ConfigMap'),
  metadata: coreMetadata,
  data: z.record(z.string(), text).nullish(),
});

/** Without a `volumeName`, the object's own name is the volume's, and has to leave room for the mark, too. */
const storageVolume = kindSchema('StorageVolume', storageVolumeSpec).superRefine(
  ({ metadata: { name }, spec }, context) => {
    if (spec.volumeName !== undefined || name.length <= longestVolumeName) return;
    const message = `at most ${longestVolumeName} characters, unless \`spec.volumeName\` gives the volume a shorter name`;
    context.addIssue({ code: 'custom', path: ['metadata', 'name'], message });
  },
);

export const documents = {
  Account: kindSchema('Account', accountSpec),
  ContainerService: kindSchema('ContainerService', containerServiceSpec),
  StorageVolume: storageVolume,
  ServiceTemplate: serviceTemplate,
  ImageRegistry: imageRegistry,
  ProtectedTask: protectedTask,
} as const;

export interface Specs {
  Account: AccountSpec;
  ContainerService: ContainerServiceSpec;
  StorageVolume: StorageVolumeSpec;
  ServiceTemplate: ServiceTemplateSpec;
  ImageRegistry: ImageRegistrySpec;
  ProtectedTask: ProtectedTaskSpec;
}

const nameFields = {
  ContainerService: 'serviceName',
  StorageVolume: 'volumeName',
  ServiceTemplate: 'templateName',
  ProtectedTask: 'taskName',
} as const;

/** The name under which an object is created at the provider, without any mark. */
export function remoteName(kind: keyof typeof nameFields, name: string, spec: object): string {
  const value = (spec as Record<string, unknown>)[nameFields[kind]];
  return typeof value === 'string' ? value : name;
}
