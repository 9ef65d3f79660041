/**
 * What the control plane answers, for the API document: as views.ts and its neighbours write it. Nothing is
 * validated or serialised by these; a test holds real answers against them. More fields may be added.
 */
import { z } from 'zod';
import { limits, micros, revision, sleepAfterMinutes } from '../../api/wire.ts';
import type { OperationKind, ServiceRecord, VolumeRecord } from '../store/records.ts';

const uuid = z.guid();
const unixMs = z.int().describe('Unix milliseconds');
const hourlyMicros = micros.describe('micro-USD per hour');
const resources = z.looseObject({ gpuCount: z.int(), cpu: z.number(), memoryGb: z.number() });
const error = z.string().nullable().describe('why the latest operation failed');

export const service = z.looseObject({
  id: uuid,
  name: z.string(),
  state: z.enum({
    provisioning: 'provisioning',
    running: 'running',
    sleeping: 'sleeping',
    paused: 'paused',
    error: 'error',
    deleting: 'deleting',
  } satisfies Each<ServiceRecord['state']>),
  revision,
  resources,
  region: z.string(),
  geography: z.string().describe('the resolved one, never auto'),
  image: z.string(),
  command: z.array(z.string()).nullable(),
  httpPort: z.int().nullable(),
  endpoint: z.string().nullable().describe('where it answers, in state running'),
  environmentNames: z.array(z.string()).describe('values are never returned'),
  volumeId: uuid.nullable(),
  sleepAfterMinutes,
  gpuModel: z.string().nullable(),
  hourlyMicros: hourlyMicros.describe('of its compute while that is allocated, in micro-USD per hour'),
  operation: z
    .enum({
      provision: 'provision',
      stop: 'stop',
      sleep: 'sleep',
      remove: 'remove',
    } satisfies Each<OperationOf<ServiceRecord>>)
    .nullable()
    .describe('what is under way'),
  error,
  createdAt: unixMs,
});

export const volume = z.looseObject({
  id: uuid,
  name: z.string(),
  mode: z.enum(['independent', 'service']),
  serviceId: uuid.nullable(),
  status: z.enum({
    provisioning: 'provisioning',
    ready: 'ready',
    expanding: 'expanding',
    deleting: 'deleting',
    error: 'error',
  } satisfies Each<VolumeRecord['status']>),
  revision,
  region: z.string(),
  geography: z.string(),
  sizeGb: z.int(),
  requestedSizeGb: z.int().describe('ahead of sizeGb while it is expanding'),
  provisioned: z.boolean(),
  hourlyMicros,
  error,
  createdAt: unixMs,
});

export const volumeDeletion = z.looseObject({
  volumeId: uuid,
  operationId: uuid,
  status: z.literal('deleting'),
});

export const template = z.looseObject({
  id: uuid,
  revision,
  builtIn: z.boolean(),
  name: z.string(),
  description: z.string(),
  image: z.string(),
  command: z.array(z.string()).nullable(),
  resources,
  httpPort: z.int().nullable(),
  containerDiskGb: z.int(),
  workspaceGb: z.int().nullable(),
  sleepAfterMinutes,
  requiredEnvironment: z.array(z.string()),
  createdAt: unixMs.nullable().describe('Unix milliseconds; null for a built-in one'),
});

export const registry = z.looseObject({
  id: uuid,
  repository: z.string(),
  revision,
  linkedServices: z.array(
    z.looseObject({
      id: uuid,
      name: z.string(),
      state: service.shape.state,
      usesCurrentCredentials: z.boolean().describe('whether its latest launch captured them'),
    }),
  ),
  createdAt: unixMs,
  rotatedAt: unixMs.nullable(),
});

export const deletion = z.looseObject({ id: uuid, deleted: z.literal(true) });

export const identity = z.looseObject({
  id: uuid,
  name: z.string(),
  email: z.string(),
  emailVerified: z.boolean(),
});

export const ledgerEntry = z.looseObject({
  id: z.string(),
  amountMicros: micros.describe('micro-USD; positive to the credit of the account'),
  description: z.string(),
  createdAt: unixMs,
});

export const account = z.looseObject({
  balanceMicros: micros.describe('micro-USD'),
  currency: z.literal('USD'),
  services: z.array(service).describe('deleted ones excluded'),
  volumes: z.array(volume).describe('deleted ones excluded'),
  ledger: z.array(ledgerEntry).max(limits.ledgerEntries).describe('newest first'),
});

export const region = z.looseObject({
  name: z.string(),
  description: z.string(),
  geographies: z.array(z.string()),
  prices: z
    .looseObject({
      gpuHourMicros: micros,
      cpuHourMicros: micros,
      memoryGbHourMicros: micros,
      storageGbHourMicros: micros,
    })
    .nullable()
    .describe('micro-USD per hour and unit'),
});

export const catalog = z.looseObject({
  regions: z.array(region),
  templates: z.array(template).describe('the built-in ones'),
  gpuCatalog: z.array(
    z.looseObject({
      model: z.string(),
      name: z.string(),
      memoryGb: z.array(z.number()),
      fullMemoryGb: z.number(),
    }),
  ),
  currency: z.literal('USD'),
  browserEnabled: z.boolean(),
  payment: z.looseObject({ provider: z.literal('none'), status: z.literal('disabled') }),
});

export const event = z.looseObject({ message: z.string(), created_at: unixMs });

export const activity = z.looseObject({
  id: uuid,
  name: z.string(),
  released: z.literal(false),
  fresh: z.boolean().describe('whether a heartbeat came in time; a stale one still protects'),
  registeredAt: unixMs,
  lastHeartbeatAt: unixMs,
  heartbeatSeconds: z.literal(30),
  expiresInSeconds: z.literal(300),
});

export const activityReceipt = z.looseObject({
  id: uuid,
  heartbeatSeconds: z.literal(30),
  expiresInSeconds: z.literal(300),
});

export const metrics = z.looseObject({
  minutes: z.int(),
  intervalSeconds: z.number(),
  simulated: z.boolean().describe('whether the numbers are made up'),
  note: z.string(),
  samples: z
    .array(
      z.looseObject({
        at: unixMs,
        cpuCores: z.number(),
        memoryGb: z.number(),
        gpuPercent: z.number().nullable(),
      }),
    )
    .describe('oldest first'),
});

export const executionResult = z.looseObject({
  exitCode: z.int(),
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.boolean().describe('output was cut off, or the command was ended by its time-out'),
});

export const browserSession = z.looseObject({ url: z.url().describe('private: not to be shared') });

/** A member for each name: one that is missing is an error of the compiler. */
type Each<Name extends string> = { readonly [Member in Name]: Member };
type OperationOf<Item extends { operation: { kind: OperationKind } | null }> = NonNullable<
  Item['operation']
>['kind'];
