/**
 * A plan file: the steps of a plan, so that people can review them, and `apply` does these and no others. It holds no value of a
 * Secret, a ConfigMap or an environment (values.ts), and is canonical JSON (RFC 8785) with a digest of itself.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { UserError, canonicalJson } from '../base/index.ts';
import { managedKinds, type ObjectKey } from '../resources/index.ts';

export const planFileKind = 'PlanFile';
export const planFileLimits = {
  bytes: 64 * 1024 * 1024,
  objects: 10_000,
  shortestMs: 15 * 60_000,
  longestMs: 168 * 3_600_000,
} as const;
const apiVersion = 'fleetkeeper.dev/v1alpha1';
const formatVersion = 1;

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'expected sha256: and 64 hex digits');
const objectKey = z
  .string()
  .max(600)
  .regex(/^[A-Za-z]+(\/[^/]+){2}$/, 'expected Kind/namespace/name')
  .refine(
    (text) => managedKinds.some((kind) => text.startsWith(`${kind}/`)),
    'expected a kind that has objects',
  )
  .transform((text) => text as ObjectKey);

const field = z.strictObject({
  path: z.string(),
  desired: z.json().optional(),
  observed: z.json().optional(),
  from: z.string().optional().describe('The Secret, ConfigMap or object that the value is taken from.'),
  value: z
    .string()
    .optional()
    .describe('Of a variable or a credential: its HMAC, with a key made of the API key.'),
});

const step = z.strictObject({
  action: z
    .string()
    .describe(
      'A request, or `protect`, `release`, `leave`; of a ServiceFleet `add`, `update`, `repair`, `drain`, `leave`, `command`, and later `return`.',
    ),
  fields: z.array(field),
  fingerprint: digest.describe('Of everything that is sent, without revisions and marks.'),
  count: z.int().min(0).optional().describe('Of a ServiceFleet: how many replicas at most.'),
});

const before = z.strictObject({
  externalId: z.string().optional(),
  revision: z.number().optional(),
  state: z.string().optional(),
  observedDigest: digest.optional().describe('As earlier versions wrote it. It is not compared.'),
  observedDigests: z
    .record(z.string(), digest)
    .optional()
    .describe('Of each field that people set. Compared before a deletion, where both show the field.'),
  environmentDigest: digest
    .optional()
    .describe('Of the names of the variables, with the mark. Compared before variables are sent.'),
});

const plannedObject = z.strictObject({
  key: objectKey.describe('`Kind/namespace/name`.'),
  documentDigest: digest
    .nullable()
    .describe('Of the document, without values of `env`; `null`: the document is gone.'),
  before,
  steps: z.array(step).describe('In their order.'),
  later: z.array(step).describe('What follows from `steps`, in later passes.'),
  waits: z
    .string()
    .optional()
    .describe('Why the first step has to wait. `Releasing`: for tasks that the same plan releases.'),
  cost: z
    .record(z.string(), z.json())
    .optional()
    .describe('Micro-USD per hour. Compared when it is applied, unless `basis` is `unknown`.'),
});

const account = z.strictObject({
  key: objectKey,
  identityId: z.string().nullable().describe('`null`: the API does not show who it is.'),
  keyCheck: z
    .string()
    .optional()
    .describe("An HMAC of a fixed text. Another one means another API key, so values can't be compared."),
});

export const planFileSchema = z.strictObject({
  apiVersion: z.literal(apiVersion),
  kind: z.literal(planFileKind),
  formatVersion: z.literal(formatVersion),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  fleetkeeper: z.string().describe('The version that made it.'),
  source: z.string().describe('The folder as given. It is shown, not compared.'),
  accounts: z.array(account),
  objects: z.array(plannedObject).max(planFileLimits.objects),
  allow: z.strictObject({ massChange: z.boolean().describe('As `--allow-mass-change` has allowed.') }),
  summary: z.record(z.string(), z.json()),
  cost: z.record(z.string(), z.json()),
  digest: digest.describe('SHA-256 of the canonical JSON without this field.'),
});

export type PlanFile = Readonly<z.output<typeof planFileSchema>>;
export type PlannedObject = Readonly<z.output<typeof plannedObject>>;
export type PlannedStep = Readonly<z.output<typeof step>>;
export type StepField = Readonly<z.output<typeof field>>;

/** What may be in another form than this version writes. */
const envelope = z.looseObject({ kind: z.literal(planFileKind), formatVersion: z.unknown() });

export function sha256(value: unknown): string {
  return `sha256:${createHash('sha256').update(canonicalJson(value)).digest('hex')}`;
}

export type PlanContent = Omit<PlanFile, 'apiVersion' | 'kind' | 'formatVersion' | 'digest'>;

/** Throws a `UserError` if it is larger than a plan file may be. */
export function writtenPlan(content: PlanContent): { readonly text: string; readonly digest: string } {
  if (content.objects.length > planFileLimits.objects) {
    throw new UserError(
      `the plan has ${content.objects.length} objects, and a plan file at most ${planFileLimits.objects}`,
      'plan a part of the fleet: --target, --selector or --namespace',
    );
  }
  const body = { apiVersion, kind: planFileKind, formatVersion, ...content };
  const own = sha256(body);
  const text = `${canonicalJson({ ...body, digest: own })}\n`;
  if (Buffer.byteLength(text) > planFileLimits.bytes) {
    throw new UserError(
      `the plan file has ${Buffer.byteLength(text)} bytes, and at most ${planFileLimits.bytes} are allowed`,
      'plan a part of the fleet: --target, --selector or --namespace',
    );
  }
  return { text, digest: own };
}

export type ReadPlan =
  | { readonly kind: 'read'; readonly file: PlanFile }
  | { readonly kind: 'refused'; readonly message: string };

/** Of the text of a file. What it states of itself is checked: its form, and its digest. */
export function readPlan(text: string): ReadPlan {
  let value: unknown;
  const size = `${Buffer.byteLength(text)} bytes`;
  if (text.trim() === '')
    return refused(`it is empty (${size}), so it is not as \`plan --out\` has written it`);
  try {
    value = JSON.parse(text);
  } catch {
    return refused(
      `it is no JSON (${size}), so it is not as \`plan --out\` has written it: another file, or a part of it`,
    );
  }
  const outer = envelope.safeParse(value);
  if (!outer.success) return refused(`it is no ${planFileKind} (${size})`);
  if (outer.data.formatVersion !== formatVersion) {
    return refused(
      `it has the format version ${JSON.stringify(outer.data.formatVersion)}, and this version of fleetkeeper reads ${formatVersion}: make the plan with the same version that applies it`,
    );
  }
  const { digest: stated, ...body } = outer.data as Record<string, unknown>;
  const own = digestWithin(body);
  if (stated !== own) {
    return refused(
      `its content has the digest ${own ?? '(none)'}, and it states ${JSON.stringify(stated)}: it was changed after it was made`,
    );
  }
  const parsed = planFileSchema.safeParse(value);
  if (parsed.success) return sound(parsed.data);
  const [issue] = parsed.error.issues;
  return refused(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not as expected'}`);
}

/** What no version writes: the digest is no secret, so anybody can make one. */
function sound(file: PlanFile): ReadPlan {
  const { objects, createdAt, expiresAt } = file;
  const keys = new Set(objects.map(({ key }) => key));
  if (keys.size < objects.length) return refused('it has an object twice');
  if (Date.parse(expiresAt) - Date.parse(createdAt) > planFileLimits.longestMs)
    return refused(
      `it is valid for more than ${planFileLimits.longestMs / 3_600_000} h: from ${createdAt} to ${expiresAt}`,
    );
  return { kind: 'read', file };
}

/** Undefined: nothing that `plan` writes is nested so deeply. */
function digestWithin(body: object): string | undefined {
  try {
    return sha256(body);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function refused(message: string): ReadPlan {
  return { kind: 'refused', message };
}

/** Whether the text may be a plan file, and is no document. */
export function looksLikePlan(text: string): boolean {
  return /^\s*\{/.test(text) && text.includes(`"${planFileKind}"`);
}
