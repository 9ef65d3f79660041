/**
 * Revisions of what an object gives to the objects that it owns, as they are stored. Literal values of an environment are in
 * them, because a rollback needs them. Those of Secrets and ConfigMaps are not.
 */
import type { DataReference } from '../resources/index.ts';
import { jsonIn } from './stored-text.ts';

export const revisionOutcomes = ['New', 'RollingOut', 'Healthy', 'Failed', 'Superseded'] as const;
export type RevisionOutcome = (typeof revisionOutcomes)[number];

export interface OwnerRevision {
  /** Its name is `r` and this number. */
  readonly number: number;
  /** What reaches an owned object only when its turn has come: fields as they were given, by the schema of that time. */
  readonly content: Readonly<Record<string, unknown>>;
  /** The Secrets and ConfigMaps that it uses. */
  readonly data: readonly DataReference[];
  /** A keyed digest of their values when it was made. */
  readonly values: string;
  /** A keyed digest of content and values, which an owned object is recorded to have. */
  readonly digest: string;
  readonly outcome: RevisionOutcome;
  /** Why it failed. */
  readonly reason?: string;
  /** Unix milliseconds since when it has had its outcome. */
  readonly at: number;
}

/** A stored revision of this number, as `saveRevisions` wrote it. Undefined if it has another form. */
export function readRevision(number: unknown, text: string): OwnerRevision | undefined {
  const stored = jsonIn(text);
  if (!isMap(stored) || stored['number'] !== number || !isMap(stored['content'])) return undefined;
  const { data, values, digest, outcome, reason, at } = stored;
  const isDigested = typeof values === 'string' && typeof digest === 'string';
  const isDecided = revisionOutcomes.some((known) => known === outcome) && typeof at === 'number';
  const isExplained = reason === undefined || typeof reason === 'string';
  const isWhole = isDigested && isDecided && isExplained && Array.isArray(data) && data.every(isReference);
  return isWhole ? (stored as unknown as OwnerRevision) : undefined;
}

function isReference(stored: unknown): stored is DataReference {
  if (!isMap(stored) || typeof stored['name'] !== 'string' || !Array.isArray(stored['keys'])) return false;
  const isKind = stored['kind'] === 'Secret' || stored['kind'] === 'ConfigMap';
  return isKind && stored['keys'].every((key) => typeof key === 'string');
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
