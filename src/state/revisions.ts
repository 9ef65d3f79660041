/**
 * Revisions of what an object gives to the objects that it owns, as they are stored. Literal values of an environment are in
 * them, because a rollback needs them. Those of Secrets and ConfigMaps are not.
 */
import type { DataReference } from '../resources/index.ts';

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
