/**
 * Whether a replica that waits for the Lease could lead. A leader that can't list a kind does nothing, and heartbeats end: so a replica is not ready before
 * it has listed one object of each kind. An upgrade without the definition of a new kind, or without the rights for it, stands still, and the
 * leader of the old version works on.
 *
 *     unknown ── each kind was listed ──> able, for good
 *        └── a list failed: `problem` has the reason; tried again after 2 s, … 30 s
 *
 * Several namespaces are independent, as in desired/cluster/cluster-scopes.ts. One in which each kind was listed is enough, unless objects that
 * the leader manages would be left alone:
 *
 * | in another namespace       | the leader reads it    | it does not, or nobody leads |
 * |----------------------------|------------------------|------------------------------|
 * | no kind can be listed      | able: it is given up   | able                         |
 * | some kinds can't be listed | a problem              | able                         |
 *
 * So the people of one namespace can't keep a fleet without a leader: a replica is able once the Lease was not renewed for its time. One that they
 * have made unreadable for the leader, too, delays nothing.
 *
 * What fails later makes no replica unready: a leader has its own checks.
 */
import { backoffMs, messageOf, sleep, type Clock, type Random } from '../base/index.ts';
import { LeaseRecord, type KubernetesApi } from '../kubernetes/index.ts';
import { managedKinds, resourceTypes } from '../resources/index.ts';
import type { Shard } from '../desired/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { leaseName } from './divisions.ts';

export interface StandbyCheckOptions {
  readonly api: Pick<KubernetesApi, 'list' | 'get' | 'create' | 'replace' | 'namespace'>;
  readonly identity: string;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly shard: Shard | undefined;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
}

const backoff = { firstMs: 2000, longestMs: 30_000 };
/** So long a leader that reads nothing yet may begin to read. */
const beginningMs = 120_000;
const advice =
  'apply the definitions and the rights of this version (docs/how-to/upgrade-and-uninstall.md#upgrade-the-operator)';

interface Problem {
  readonly message: string;
  /** It depends on a leader, who may be gone after this time. */
  readonly untilMs?: number;
}

interface Listed {
  readonly namespace: string | undefined;
  /** The first kind that can't be listed. */
  readonly problem: string | undefined;
  /** Others can be. */
  readonly isPartial: boolean;
}

export class StandbyCheck {
  readonly #options: StandbyCheckOptions;
  readonly #lease: LeaseRecord;
  readonly #stopping = new AbortController();
  #problem: string | undefined = 'the kinds have not been listed yet';
  /** Since when the leader was seen to read nothing. */
  #emptySinceMs: number | undefined;

  constructor(options: StandbyCheckOptions) {
    this.#options = options;
    const { api, shard } = options;
    this.#lease = new LeaseRecord({ ...options, namespace: api.namespace, name: leaseName(shard) });
  }

  /** Undefined: it could lead. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Resolves when it could lead, or was stopped. */
  async run(): Promise<void> {
    const { clock, random, logger } = this.#options;
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; failures += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
      const found = await this.#examine();
      if (signal.aborted) return;
      this.#problem = found && `${found.message}; ${advice}`;
      if (found === undefined) {
        if (failures > 0) logger.info('this replica could lead now');
        return;
      }
      if (failures === 0)
        logger.warn({ note: found.message, advice }, 'this replica could not lead: it is not ready');
      const { untilMs = Infinity } = found;
      // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
      await sleep(clock, Math.min(untilMs, backoffMs(failures, backoff, random)), signal);
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #examine(): Promise<Problem | undefined> {
    const { namespaces } = this.#options;
    const scopes = namespaces.length === 0 ? [undefined] : namespaces;
    const all: Listed[] = [];
    for (const namespace of scopes) {
      // oxlint-disable-next-line no-await-in-loop -- all kinds of one are enough at once
      all.push(await this.#listIn(namespace));
    }
    const partial = all.filter(({ isPartial }) => isPartial);
    if (all.some(({ problem }) => problem === undefined))
      return partial.length === 0 ? undefined : this.#lostBy(partial);
    const [message = 'no kind can be listed'] = [...partial, ...all].map(({ problem }) => problem);
    return { message };
  }

  async #listIn(namespace: string | undefined): Promise<Listed> {
    const { api } = this.#options;
    const found = await Promise.all(
      managedKinds.map(async (kind) => {
        const type = resourceTypes[kind];
        try {
          await api.list(type, { namespace, limit: 1 }, this.#stopping.signal);
          return undefined;
        } catch (error) {
          const where = namespace === undefined ? '' : ` in the namespace ${namespace}`;
          return `${type.plural} can't be listed${where}: ${messageOf(error)}`;
        }
      }),
    );
    const problem = found.find((each) => each !== undefined);
    return { namespace, problem, isPartial: problem !== undefined && found.includes(undefined) };
  }

  /** What the leader reads, and this replica could not. */
  async #lostBy(partial: readonly Listed[]): Promise<Problem | undefined> {
    try {
      await this.#lease.read(this.#stopping.signal);
    } catch (error) {
      return { message: `the Lease can't be read: ${messageOf(error)}` };
    }
    const { clock } = this.#options;
    const untilMs = this.#lease.freeAtMs - clock.monotonicMs();
    if (untilMs <= 0) return undefined;
    const { holderReads: reads = ['*'] } = this.#lease;
    // It has just begun; or it never will, and nothing is lost with it.
    this.#emptySinceMs = reads.length > 0 ? undefined : (this.#emptySinceMs ?? clock.monotonicMs());
    const isBeginning = reads.length === 0 && clock.monotonicMs() - (this.#emptySinceMs ?? 0) < beginningMs;
    const mayReadAll = isBeginning || reads.includes('*');
    const lost = partial.find(({ namespace = '' }) => mayReadAll || reads.includes(namespace));
    return lost?.problem === undefined ? undefined : { message: lost.problem, untilMs };
  }
}
