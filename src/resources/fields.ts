/** Fields that several kinds have alike. */
import { z } from 'zod';
import { apiVersion } from './keys.ts';

const dnsLabel = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
export const objectName = z
  .string()
  .min(1)
  .max(253)
  .regex(dnsLabel, 'must be lower-case letters, digits, "-" and ".", as a Kubernetes name');
export const nameRef = z.strictObject({ name: objectName });
export const uuid = z.guid('must be a UUID');

/** Kubernetes' own bookkeeping is accepted, so that an exported object can be put in a folder. */
const metadata = z.strictObject({
  name: objectName,
  namespace: objectName.default('default'),
  annotations: z.record(z.string(), z.string()).default({}),
  labels: z.record(z.string(), z.string()).default({}),
  uid: z.unknown().optional(),
  generation: z.unknown().optional(),
  resourceVersion: z.unknown().optional(),
  creationTimestamp: z.unknown().optional(),
  finalizers: z.unknown().optional(),
  managedFields: z.unknown().optional(),
  ownerReferences: z.unknown().optional(),
});

export function kindSchema<Kind extends string, Spec extends z.ZodType>(kind: Kind, spec: Spec) {
  return z.strictObject({
    apiVersion: z.literal(apiVersion),
    kind: z.literal(kind),
    metadata,
    spec,
    status: z.unknown().optional(),
  });
}

export const accountRef = nameRef.prefault({ name: 'default' });
export const deletionPolicy = z.enum(['Delete', 'Retain']);
export const driftPolicy = z.enum(['Correct', 'Report']).default('Correct');
export const adopt = z.strictObject({ id: uuid }).optional();

/** What a service runs with; a template may give the same fields. */
export const resources = z.strictObject({
  gpuCount: z.number().nonnegative().default(0),
  cpu: z.number().positive(),
  memoryGb: z.number().positive(),
});
export const httpPort = z.int().min(1).max(65_535);
/** 0 and null: never sleep. */
export const sleepAfterMinutes = z.int().min(0).max(1440).nullable();
export const variableName = z
  .string()
  .max(256)
  .regex(/^[A-Za-z_.-][A-Za-z0-9_.-]*$/, 'must be a name of an environment variable');
