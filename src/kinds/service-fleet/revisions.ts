/**
 * Revisions of a fleet's template: numbered, and compared by their content. A digest over defaults would roll each fleet when a
 * version of Fleetkeeper adds one.
 *
 *     New ──> RollingOut ──> Healthy      (all wanted replicas were available at it)
 *      └──────────┴──> Failed, Superseded (a newer one took its place before)
 *
 * | the document has                                  | what follows                                                    |
 * |---------------------------------------------------|-----------------------------------------------------------------|
 * | the content of the revision that it had before    | nothing                                                         |
 * | that of the newest Healthy one                    | the fleet returns to it; the one under way is superseded        |
 * | any other                                         | a new revision                                                  |
 *
 * The values of Secrets and ConfigMaps belong to the content, as a keyed digest. A replica with an older revision keeps the values
 * that it has, until it is updated or made anew.
 *
 * A roster from before there were revisions, or that was found again, has none. Its first revision is that of the document. A
 * replica that was last observed to be as the document requires has it at once.
 */
import { sameValue } from '../../base/index.ts';
import type { DataReference } from '../../resources/index.ts';
import type { OwnerRevision } from '../../state/index.ts';
import { revisionContent, type ReplicaTemplate, type RevisionContent } from './schema.ts';

/** What the document requires now. */
export interface PresentContent {
  readonly content: Readonly<Record<string, unknown>>;
  readonly data: readonly DataReference[];
  readonly values: string;
  readonly digest: string;
}

export const largestRevisionBytes = 256 * 1024;

/** `sizeGb`: of the volume of each replica. A field that is not given is left out. */
export function contentOf(template: ReplicaTemplate, sizeGb?: number): Readonly<Record<string, unknown>> {
  const perReplica = sizeGb === undefined ? undefined : { sizeGb };
  const given: Readonly<Record<string, unknown>> = { ...template, perReplica };
  return Object.fromEntries(
    Object.keys(revisionContent.shape)
      .map((name) => [name, given[name]] as const)
      .filter(([, value]) => value !== undefined),
  );
}

/** The template with this content in place of its own. */
export function withContent(
  template: ReplicaTemplate,
  content: Readonly<Record<string, unknown>>,
): ReplicaTemplate {
  const { perReplica: _ofVolume, ...given } = read(content);
  const none = Object.keys(revisionContent.shape).map((name) => [name, undefined] as const);
  const { perReplica: _none, ...fields }: Readonly<Record<string, unknown>> = Object.fromEntries(none);
  return { ...template, ...fields, ...given };
}

/** Of the volume that each replica has with this revision, in GB. */
export function volumeSizeOf(revision: Pick<OwnerRevision, 'content'> | undefined): number | undefined {
  return revision && read(revision.content).perReplica?.sizeGb;
}

export function revisionName(number: number): string {
  return `r${number}`;
}

export function revisionOf(
  revisions: readonly OwnerRevision[],
  number: number | undefined,
): OwnerRevision | undefined {
  return number === undefined ? undefined : revisions.find((revision) => revision.number === number);
}

export function newestHealthy(revisions: readonly OwnerRevision[]): OwnerRevision | undefined {
  return revisions.findLast(({ outcome }) => outcome === 'Healthy');
}

export function hasContent(
  revision: Pick<OwnerRevision, 'content' | 'values'>,
  present: Pick<PresentContent, 'content' | 'values'>,
): boolean {
  return revision.values === present.values && hasText(revision, present.content);
}

/** Whatever the values of Secrets and ConfigMaps are. */
export function hasText(
  revision: Pick<OwnerRevision, 'content'>,
  content: Readonly<Record<string, unknown>>,
): boolean {
  return sameValue(read(revision.content), read(content));
}

/** They differ in nothing but when a replica falls asleep. */
export function runsTheSame(one: OwnerRevision, other: OwnerRevision): boolean {
  return one.values === other.values && sameValue(awake(one.content), awake(other.content));
}

function awake(content: Content): RevisionContent {
  return { ...read(content), sleepAfterMinutes: undefined };
}

type Content = OwnerRevision['content'];

/** Contents never change, and each plan of a fleet reads those of its revisions several times. */
const readings = new WeakMap<Content, RevisionContent>();

/** By the present schema: with its defaults. */
function read(content: Content): RevisionContent {
  const known = readings.get(content);
  if (known) return known;
  const parsed = revisionContent.safeParse(content);
  const reading = parsed.success ? parsed.data : content;
  readings.set(content, reading);
  return reading;
}

/** A number that no revision ever had, as far as anything remembers. */
export function nextNumber(
  revisions: readonly OwnerRevision[],
  roster: readonly { readonly revision?: number | undefined }[],
  update: number | undefined,
): number {
  const known = [...revisions.map(({ number }) => number), ...roster.map(({ revision }) => revision ?? 0)];
  return Math.max(0, update ?? 0, ...known) + 1;
}

export function withOutcome(
  revisions: readonly OwnerRevision[],
  number: number | undefined,
  outcome: OwnerRevision['outcome'],
  nowMs: number,
  reason?: string,
): OwnerRevision[] {
  return revisions.map((revision) => {
    if (revision.number !== number || revision.outcome === outcome) return revision;
    const { reason: _before, ...rest } = revision;
    return { ...rest, outcome, at: nowMs, ...(reason === undefined ? {} : { reason }) };
  });
}

/** Without the oldest beyond the limit. What replicas have, what the document requires, and the newest Healthy one are kept. */
export function kept(
  revisions: readonly OwnerRevision[],
  inUse: ReadonlySet<number>,
  limit: number,
): OwnerRevision[] {
  const healthy = newestHealthy(revisions)?.number;
  const newest = new Set(revisions.slice(-limit).map(({ number }) => number));
  return revisions.filter(({ number }) => newest.has(number) || inUse.has(number) || number === healthy);
}
