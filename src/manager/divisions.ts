/**
 * How operators divide a cluster (`--shard`, `--shard-by`): the Lease of each part, who creates the tasks of Jobs and Pods, and what a new
 * operator does when others of another division are at work. Two divisions beside each other would give an object two managers.
 *
 *     examine ── no Lease of another division is held ──> alone
 *             ── some are held ──> they are read again and again
 *                   ├── all were given back, or stood still for as long as they claim ──> alone: their holders are gone
 *                   └── one was renewed meanwhile ──> refused (`UserError`): stop all operators first
 *             ── no answer ──> asked again
 *
 * | examined                                        | because                                                                      |
 * |-------------------------------------------------|------------------------------------------------------------------------------|
 * | at the start; before that, it is not ready      | a rolling update to another division stands still, and the old one works on   |
 * | after each Lease was taken, before anything else | of two that take their Leases at once, at least one sees that of the other   |
 * | after a renewal failed for long                  | another division may have waited until this Lease stood still                 |
 *
 * Whether a Lease stands still is seen on this process's monotonic clock, as in kubernetes/election.ts. One that may not list Leases is an
 * installation of an earlier version: that is logged, and nothing is checked.
 */
import { messageOf, sleep, UserError, type Clock } from '../base/index.ts';
import { shardOf, type Shard } from '../desired/index.ts';
import { heldLeases, KubernetesError, type HeldLease, type KubernetesApi } from '../kubernetes/index.ts';
import type { Logger } from '../telemetry/index.ts';

/** Of the operator that manages this part. */
export function leaseName(shard: Shard | undefined): string {
  if (!shard) return 'fleetkeeper';
  return `${prefixOf(shard)}${shard.index}-of-${shard.count}`;
}

/** Those of the operators of all parts. */
export function leaseNames(shard: Shard | undefined): string[] {
  if (!shard) return [leaseName(shard)];
  return Array.from({ length: shard.count }, (_, index) => leaseName({ ...shard, index }));
}

function prefixOf({ by }: Pick<Shard, 'by'>): string {
  return by === 'namespace' ? 'fleetkeeper-ns-' : 'fleetkeeper-';
}

/** In which namespaces annotated Jobs and Pods get their tasks from this operator; `false`: in none. */
export function tasksOf(shard: Shard | undefined): false | ((namespace: string) => boolean) {
  if (!shard) return () => true;
  const { by, index, count } = shard;
  // By account, the account of a task is known only when it exists.
  if (by === 'account') return index === 0 && (() => true);
  return (namespace) => shardOf(namespace, count) === index;
}

/** Whether the Lease is that of an operator that divides the cluster in another way. */
export function isOfOtherDivision(name: string, shard: Shard | undefined): boolean {
  const match = /^fleetkeeper(?:-(ns-)?\d+-of-(\d+))?$/.exec(name);
  if (!match) return false;
  const [, ns, count] = match;
  if (!shard || count === undefined) return name !== leaseName(shard);
  return ns !== (shard.by === 'namespace' ? 'ns-' : undefined) || Number(count) !== shard.count;
}

export interface DivisionOptions {
  readonly api: Pick<KubernetesApi, 'list' | 'namespace'>;
  readonly shard: Shard | undefined;
  /** A Lease that claims less stands still for this long, too, before its holder is taken for gone. */
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

const everyMs = 2000;
const forbidden = 403;
/** A holder that claims more is not waited for: somebody has mistyped. */
const longestClaimMs = 60_000;

/** Rejects with a `UserError` beside operators of another division. Resolves when there are none, or when `signal` is aborted. */
export async function refuseOtherDivision(options: DivisionOptions): Promise<void> {
  const { shard, leaseMs, clock, logger, signal } = options;
  const first = await othersNow(options);
  if (first.length > 0)
    logger.info(
      { leases: first.map(({ name }) => name) },
      'Leases of operators that divide the cluster in another way are held; this one waits until they have expired. To wait no more at each start, delete those whose operators are gone: kubectl delete lease NAME',
    );
  const since = clock.monotonicMs();
  const known = new Map(first.map((lease) => [lease.name, lease]));
  for (let others = first; others.length > 0 && !signal.aborted;) {
    const renewed = others.find((lease) => known.get(lease.name)?.version !== lease.version);
    if (renewed) throw refusal(renewed, shard);
    const passedMs = clock.monotonicMs() - since;
    if (others.every(({ durationMs }) => passedMs >= Math.max(leaseMs, Math.min(durationMs, longestClaimMs))))
      return;
    // oxlint-disable-next-line no-await-in-loop -- until it is known whether they are renewed
    await sleep(clock, everyMs, signal);
    // oxlint-disable-next-line no-await-in-loop -- until it is known whether they are renewed
    others = signal.aborted ? [] : await othersNow(options);
  }
}

/** While the API server does not answer, nobody can lead, either: it is asked again. */
async function othersNow({ api, shard, clock, logger, signal }: DivisionOptions): Promise<HeldLease[]> {
  while (!signal.aborted) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- until there is an answer
      const held = await heldLeases(api, api.namespace, signal);
      return held.filter(({ name }) => isOfOtherDivision(name, shard));
    } catch (error) {
      if (error instanceof KubernetesError && error.status === forbidden) {
        logger.warn(
          { namespace: api.namespace, note: error.message },
          'Leases may not be listed, so it is not checked whether operators of another division are at work; apply the current rights',
        );
        return [];
      }
      if (signal.aborted) return [];
      logger.warn({ namespace: api.namespace, note: messageOf(error) }, 'Leases could not be listed');
      // oxlint-disable-next-line no-await-in-loop -- until there is an answer
      await sleep(clock, everyMs, signal);
    }
  }
  return [];
}

function refusal({ name, holder }: HeldLease, shard: Shard | undefined): UserError {
  return new UserError(
    `the operator that holds the Lease ${name} (${holder}) divides the cluster in another way than this one, whose Lease is ${leaseName(shard)}: an object would have two managers`,
    'stop all operators first, and then start those of the new division',
  );
}
