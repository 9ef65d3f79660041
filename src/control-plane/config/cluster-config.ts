/** What `--runtime kubernetes` reads of the configuration: `cluster` of places, and `containers.kubernetes`. */
import { z } from 'zod';

const labelName = z
  .string()
  .max(317)
  .regex(/^([\w.-]{1,253}\/)?\w([\w.-]{0,61}\w)?$/, 'must be the name of a label');
const objectName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be the name of an object of the cluster');
const nodeSelector = z.record(
  labelName,
  z.string().regex(/^(\w([\w.-]{0,61}\w)?)?$/, 'must be the value of a label'),
);

export const clusterPlace = z.strictObject({
  nodeSelector: nodeSelector.optional(),
  tolerations: z
    .array(
      z.strictObject({
        key: labelName.optional(),
        operator: z.enum(['Exists', 'Equal']).optional(),
        value: z.string().max(63).optional(),
        effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
        tolerationSeconds: z.int().nonnegative().optional(),
      }),
    )
    .optional(),
  storageClass: objectName.optional(),
  accessMode: z.enum(['ReadWriteOnce', 'ReadWriteOncePod']).optional(),
  runtimeClass: objectName.optional(),
  gpus: z
    .record(
      z.string(),
      z.strictObject({ resource: labelName.optional(), nodeSelector: nodeSelector.optional() }),
    )
    .optional(),
});

const domain = z
  .string()
  .max(200)
  .regex(
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/,
    'must be a domain in lower case',
  );
const scheme = z.enum(['http', 'https']).default('https');

const endpoint = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('cluster') }),
  z.strictObject({ kind: z.literal('nodePort'), host: z.union([z.ipv4(), z.ipv6(), domain]).optional() }),
  z.strictObject({ kind: z.literal('ingress'), domain, scheme, className: objectName.optional() }),
  z.strictObject({
    kind: z.literal('gateway'),
    domain,
    scheme,
    gateway: z.strictObject({
      name: objectName,
      namespace: objectName,
      sectionName: objectName.optional(),
    }),
  }),
]);

export const kubernetes = z.strictObject({
  endpoint: endpoint.prefault({ kind: 'cluster' }),
  ephemeralStorageGb: z.int().min(1).max(65_536).default(10),
  unschedulableSeconds: z.int().min(1).max(86_400).default(120),
  launchSeconds: z.int().min(1).max(86_400).default(900),
  podNetworks: z.array(z.union([z.cidrv4(), z.cidrv6()])).default([]),
});
