/**
 * Whether a replica that waits for the Lease could lead. A leader that can't list a kind does nothing, and heartbeats end: so a replica is not ready before
 * it has listed one object of each kind. An upgrade without the definition of a new kind, or without the rights for it, stands still, and the
 * leader of the old version works on.
 *
 *     unknown ── each kind was listed (of several namespaces: in one of them) ──> able, for good
 *        └── a list failed: `problem` has the reason; tried again after 2 s, … 30 s
 *
 * What fails later makes no replica unready: a leader has its own checks.
 */
import { backoffMs, messageOf, sleep, type Clock, type Random } from '../base/index.ts';
import type { KubernetesApi } from '../kubernetes/index.ts';
import { managedKinds, resourceTypes } from '../resources/index.ts';
import type { Logger } from '../telemetry/index.ts';

export interface StandbyCheckOptions {
  readonly api: Pick<KubernetesApi, 'list'>;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
}

const backoff = { firstMs: 2000, longestMs: 30_000 };
const advice =
  'apply the definitions and the rights of this version (docs/how-to/upgrade-and-uninstall.md#upgrade-the-operator)';

export class StandbyCheck {
  readonly #options: StandbyCheckOptions;
  readonly #stopping = new AbortController();
  #problem: string | undefined = 'the kinds have not been listed yet';

  constructor(options: StandbyCheckOptions) {
    this.#options = options;
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
      this.#problem = found && `${found}; ${advice}`;
      if (found === undefined) {
        if (failures > 0) logger.info('each kind can be listed: this replica could lead');
        return;
      }
      if (failures === 0)
        logger.warn({ note: found, advice }, 'this replica could not lead: it is not ready');
      // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
      await sleep(clock, backoffMs(failures, backoff, random), signal);
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Several namespaces are independent, as in desired/cluster/cluster-scopes.ts: one that can be read is enough. */
  async #examine(): Promise<string | undefined> {
    const { namespaces } = this.#options;
    const scopes = namespaces.length === 0 ? [undefined] : namespaces;
    const problems: string[] = [];
    for (const namespace of scopes) {
      // oxlint-disable-next-line no-await-in-loop -- mostly, the first one can be read
      const found = await this.#problemIn(namespace);
      if (found === undefined) return undefined;
      problems.push(found);
    }
    return problems[0];
  }

  async #problemIn(namespace: string | undefined): Promise<string | undefined> {
    const { api } = this.#options;
    for (const kind of managedKinds) {
      const type = resourceTypes[kind];
      try {
        // oxlint-disable-next-line no-await-in-loop -- the first one that fails is enough
        await api.list(type, { namespace, limit: 1 }, this.#stopping.signal);
      } catch (error) {
        return `${type.plural} can't be listed: ${messageOf(error)}`;
      }
    }
    return undefined;
  }
}
