/** Fields that several kinds have alike. Descriptions are what `kubectl explain` shows. */
import { z } from 'zod';
import { constrained, listOf, withRules, type Constraint } from './constraints.ts';
import { apiVersion } from './names.ts';

const dnsLabel = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
export const objectName = z
  .string()
  .min(1)
  .max(253)
  .regex(dnsLabel, 'must be lower-case letters, digits, "-" and ".", as a Kubernetes name');
export const nameRef = z.strictObject({ name: objectName.describe('Its name, in the same namespace.') });
export const uuid = withRules(
  z.guid('must be a UUID').max(36),
  [
    {
      rule: "self.matches('^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$')",
      message: 'must be a UUID',
    },
  ],
  [],
);
/** A key of a Secret or a ConfigMap. */
export const dataKey = z.string().min(1).max(253);

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

export function kindSchema<Kind extends string, Spec extends z.ZodType>(
  kind: Kind,
  spec: Spec,
  description: string,
) {
  return z
    .strictObject({
      apiVersion: z.literal(apiVersion),
      kind: z.literal(kind),
      metadata,
      spec: spec.describe('What is wanted. A field that is not given and has no default is not managed.'),
      status: z.unknown().optional(),
    })
    .describe(description);
}

export const accountRef = nameRef
  .prefault({ name: 'default' })
  .describe('The Account that it lives in; fixed once it exists at the provider.');
export const deletionPolicy = z.enum(['Delete', 'Retain']);
export const driftPolicy = z
  .enum(['Correct', 'Report'])
  .default('Correct')
  .describe('What somebody else changed is put back (Correct), or only shown (Report).');
export const adopt = z
  .strictObject({ id: uuid.describe('Its id at the provider.') })
  .optional()
  .describe('Takes over what exists at the provider, instead of creating it.');

/** Region and geography of what is created; both are fixed once it exists. */
export const region = z
  .string()
  .min(1)
  .max(253)
  .describe('The tier, by a name that the catalog has, such as standard; fixed once it exists.');
export const geography = z
  .string()
  .min(1)
  .max(253)
  .optional()
  .describe(
    "A group of regions that the catalog has, or auto; default the API's choice; fixed once it exists.",
  );

const blanksAndQuotes = `[ \\t\\r\\n"'“”‘’]`;
const hasBlankOrQuote = new RegExp(blanksAndQuotes);
/** Of a repository without a host, or behind the host. A tag and a digest may have capitals, and so may a host. */
const capitals = '^([^/:@]*[A-Z][^/:@]*([:@][^/]*)?|[^/@]+/[^:@]*[A-Z].*)$';
const hasCapitals = new RegExp(capitals);

/**
 * What a service runs with; a template may give the same fields. Of images, only what no registry can have is refused. The provider
 * decides about the rest.
 */
export const image = constrained(
  z.string().min(1).max(1024),
  {
    holds: (text) => !hasBlankOrQuote.test(text),
    rule: `!self.matches('[ \\\\t\\\\r\\\\n"\\'“”‘’]')`,
    schema: (errorMessage) => ({ not: { pattern: blanksAndQuotes }, errorMessage }),
    message: 'has a blank or a quote in it; write an image reference, such as ghcr.io/acme/app:1.4',
  },
  {
    holds: (text) => !text.includes('://'),
    rule: "!self.contains('://')",
    schema: (errorMessage) => ({ not: { pattern: '://' }, errorMessage }),
    message: 'has a scheme, which an image reference has not; write it without, such as ghcr.io/acme/app:1.4',
  },
  {
    holds: (text) => !hasCapitals.test(text),
    rule: `!self.matches('${capitals}')`,
    schema: (errorMessage) => ({ not: { pattern: capitals }, errorMessage }),
    message: 'has capitals in its repository; write them small. Only a tag, after the colon, may have them',
  },
);
/** Linux passes no longer text to a process, as an argument or as a variable. */
export const longestText = 128 * 1024;
export const command = z.array(z.string().max(longestText)).max(1024).meta(listOf.whole);
export const resources = z.strictObject({
  gpuCount: z.number().nonnegative().default(0).describe('GPUs.'),
  cpu: z.number().positive().describe('Processors; parts of one are possible.'),
  memoryGb: z.number().positive().describe('Memory in GB.'),
});
export const httpPort = z.int().min(1).max(65_535);
/** 0 and null: never sleep. */
export const sleepAfterMinutes = z.int().min(0).max(1440).nullable();
export const variableName = z
  .string()
  .max(256)
  .regex(/^[A-Za-z_.-][A-Za-z0-9_.-]*$/, 'must be a name of an environment variable');

/** Where the object's own name is the one at the provider, it must not be longer than that may be. */
export function fittingName(
  longest: number,
  field: string,
  noun: string,
): Constraint<{ readonly metadata: { readonly name: string }; readonly spec: object }> {
  return {
    holds: ({ metadata: { name }, spec }) =>
      (spec as Record<string, unknown>)[field] !== undefined || name.length <= longest,
    rule: `has(self.spec.${field}) || self.metadata.name.size() <= ${longest}`,
    schema: (errorMessage) => ({
      if: { properties: { spec: { required: [field] } } },
      else: {
        properties: { metadata: { properties: { name: { pattern: `^.{0,${longest}}$`, errorMessage } } } },
      },
    }),
    message: `at most ${longest} characters, unless \`spec.${field}\` gives the ${noun} a shorter name`,
    field: 'metadata.name',
  };
}
