/**
 * A plan file: the steps of a plan, so that people can review them, and `apply` does these and no others. It holds no value of a
 * Secret, a ConfigMap or an environment (values.ts), and is canonical JSON (RFC 8785) with a digest of itself.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { UserError, canonicalJson } from '../base/index.ts';
import type { ObjectKey } from '../resources/index.ts';

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
const objectKey = z.string().transform((text) => text as ObjectKey);

const field = z.strictObject({
  path: z.string(),
  desired: z.json().optional(),
  observed: z.json().optional(),
  /** The Secret, ConfigMap or object that the value is taken from. */
  from: z.string().optional(),
  /** Of a variable or a credential: its keyed digest. */
  value: z.string().optional(),
});

const step = z.strictObject({
  action: z.string(),
  fields: z.array(field),
  /** Of everything that is sent, without the revision. */
  fingerprint: digest,
  /** Of a ServiceFleet: how many replicas at most. */
  count: z.int().min(0).optional(),
});

const before = z.strictObject({
  externalId: z.string().optional(),
  revision: z.number().optional(),
  state: z.string().optional(),
  observedDigest: digest.optional(),
});

const plannedObject = z.strictObject({
  key: objectKey,
  /** Null: the document is gone. */
  documentDigest: digest.nullable(),
  before,
  steps: z.array(step),
  later: z.array(step),
  /** Why the first step is not taken at once: the reason of a wait. */
  waits: z.string().optional(),
  cost: z.record(z.string(), z.json()).optional(),
});

const account = z.strictObject({
  key: objectKey,
  /** Null: the API does not show who it is. */
  identityId: z.string().nullable(),
  /** A keyed digest of a fixed text. Another one means another API key, so that values can't be compared. */
  keyCheck: z.string().optional(),
});

export const planFileSchema = z.strictObject({
  apiVersion: z.literal(apiVersion),
  kind: z.literal(planFileKind),
  formatVersion: z.literal(formatVersion),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  fleetkeeper: z.string(),
  source: z.string(),
  accounts: z.array(account),
  objects: z.array(plannedObject).max(planFileLimits.objects),
  allow: z.strictObject({ massChange: z.boolean() }),
  summary: z.record(z.string(), z.json()),
  cost: z.record(z.string(), z.json()),
  digest,
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
  try {
    value = JSON.parse(text);
  } catch {
    return refused('it is no JSON, so it is not as `plan --out` has written it');
  }
  const outer = envelope.safeParse(value);
  if (!outer.success) return refused(`it is no ${planFileKind}`);
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
  if (parsed.success) return { kind: 'read', file: parsed.data };
  const [issue] = parsed.error.issues;
  return refused(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not as expected'}`);
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
