/**
 * The reflectors of a cluster: one for each kind, or for each kind in each of the given namespaces.
 *
 * Several namespaces are independent: the rights in each may be given and taken by its own people.
 *
 * | a namespace of several                          | what is shown of it                              | in it, absence |
 * |-------------------------------------------------|--------------------------------------------------|----------------|
 * | each kind was listed, and no watch is silent    | all                                              | is removal     |
 * | a kind was never listed, or what a fleet needs  | nothing: half of a fleet would be misunderstood  | proves nothing |
 * | that can't be listed any more                   | its last known state, nothing new                | proves nothing |
 * | a watch has been silent for too long            | its last known state                             | proves nothing |
 *
 * Nobody waits for one that fails for some seconds while another one is read. It joins when it can be read. A list of the whole cluster, or
 * of the only namespace, is waited for without end.
 */
import { sameValue, sleep, type Clock } from '../../base/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { DesiredSnapshot, Problem } from '../source.ts';

/** A reflector, or what else has to be listed (list-probe.ts). */
export interface Listing {
  readonly hasSynced: boolean;
  /** The newest request has failed. */
  readonly isFailing: boolean;
  readonly problem: string | undefined;
  /** Resolves with the first list, or when stopped. */
  whenSynced(): Promise<void>;
  relist(): Promise<void>;
}

export interface Watched {
  /** Of the resource. */
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly listing: Listing;
}

export interface ClusterScopesOptions {
  /** Aborted when the source is stopped. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What of the cluster is not known now. */
export interface Blindness extends Pick<DesiredSnapshot, 'complete' | 'unread'> {
  readonly problems: readonly Problem[];
}

const lookMs = 1000;
/** One that fails is waited for so long, and one that is only slow. */
const failingMs = 5000;
const slowMs = 60_000;
const advice =
  'check the RoleBinding of fleetkeeper in it: it is the first to go with its namespace (docs/how-to/run-in-a-cluster.md#deleting-a-namespace)';

export class ClusterScopes {
  readonly watched: readonly Watched[];
  readonly #options: ClusterScopesOptions;
  readonly #namespaces: ReadonlyMap<string | undefined, readonly Watched[]>;
  #unread: ReadonlySet<string> = new Set();

  constructor(watched: readonly Watched[], options: ClusterScopesOptions) {
    this.watched = watched;
    this.#options = options;
    this.#namespaces = Map.groupBy(watched, ({ namespace }) => namespace);
  }

  /** Resolves when everything that is waited for was listed once, or when stopped. */
  untilListed(): Promise<void> {
    return this.#untilDone((listing) => listing.whenSynced());
  }

  /** The same for lists that begin now. */
  relist(): Promise<void> {
    return this.#untilDone((listing) => listing.relist());
  }

  /** Whether what is read in the namespace is shown. */
  isShown(namespace: string): boolean {
    const of = this.#namespaces.get(namespace) ?? [];
    return !this.#areIndependent || of.every(({ listing }) => listing.hasSynced);
  }

  /** As of now. The set is the same one as long as nothing changes. A change is logged. */
  blindness(): Blindness {
    const blind = this.watched.filter(({ listing }) => !listing.hasSynced || listing.problem);
    const problems = blind.map(problemOf);
    if (!this.#areIndependent) return { problems, complete: blind.length === 0 };
    const unread = new Set(blind.flatMap(({ namespace }) => namespace ?? []));
    if (!sameValue([...unread], [...this.#unread])) this.#report(unread, blind);
    return { problems, complete: unread.size < this.#namespaces.size, unread: this.#unread };
  }

  get #areIndependent(): boolean {
    return this.#namespaces.size > 1;
  }

  async #untilDone(work: (listing: Listing) => Promise<void>): Promise<void> {
    const { clock, signal } = this.#options;
    const open = new Set(this.watched);
    const all = Promise.all(
      this.watched.map(async (each) => {
        await work(each.listing);
        open.delete(each);
      }),
    );
    const startedAtMs = clock.monotonicMs();
    while (open.size > 0 && !signal.aborted) {
      if (this.#areIndependent && this.#isLeft(open, clock.monotonicMs() - startedAtMs)) return;
      // oxlint-disable-next-line no-await-in-loop -- it looks again
      await (this.#areIndependent ? Promise.race([all, sleep(clock, lookMs, signal)]) : all);
    }
  }

  /** What is open is not waited for any longer. */
  #isLeft(open: ReadonlySet<Watched>, waitedMs: number): boolean {
    const late = Map.groupBy(open, ({ namespace }) => namespace);
    if (late.size === this.#namespaces.size || waitedMs < failingMs) return false;
    return waitedMs >= slowMs || [...late.values()].every((of) => of.some((each) => each.listing.isFailing));
  }

  #report(unread: ReadonlySet<string>, blind: readonly Watched[]): void {
    const { logger } = this.#options;
    for (const namespace of unread) {
      if (this.#unread.has(namespace)) continue;
      const note = blind.find((each) => each.namespace === namespace)?.listing.problem ?? 'no answer';
      logger.warn({ namespace, note, advice }, 'the namespace can not be read: its objects are left alone');
    }
    for (const namespace of this.#unread)
      if (!unread.has(namespace)) logger.info({ namespace }, 'the namespace can be read again');
    this.#unread = unread;
  }
}

/** A watch that was silent for too long may have missed changes. A kind that was not listed is unknown. */
function problemOf({ plural, namespace, listing }: Watched): Problem {
  const message = listing.hasSynced
    ? 'the Kubernetes API has been silent about them for minutes; their last known state is used'
    : `they could not be listed: ${listing.problem ?? 'no answer'}; the objects of the namespace are left alone`;
  return {
    file: namespace === undefined ? plural : `${plural}/${namespace}`,
    line: undefined,
    path: undefined,
    message,
    remedy: 'check that it answers, and that fleetkeeper may list and watch them',
    key: undefined,
  };
}
