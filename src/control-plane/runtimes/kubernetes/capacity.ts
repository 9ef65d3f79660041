/**
 * What the nodes have, as the bound of what is sold where the configuration states none: of each geography, and of all of them together.
 *
 *     start ── nodes and Pods read before anything is sold ──> known ── a node is added, gone, resized, ready, cordoned or labelled ──> read again 5 s later
 *         └── not readable ──> not bounded                                 └── 5 min later: foreign Pods may be other ones ──> read again
 *
 * What can't be read again stays as it was. Where there is less than services hold, they run on, and none is added.
 */
import type { Logger } from 'pino';
import type { Clock, Timer } from '../../../base/clock.ts';
import { messageOf } from '../../../base/user-error.ts';
import type { KubernetesApi, KubernetesObject, ResourceType } from '../../../kubernetes/index.ts';
import { placeKey, type ObservedBounds } from '../../domain/capacity.ts';
import type { ControlPlaneConfig } from '../../domain/config.ts';
import { labels } from './names.ts';
import { freeOf, sizesOf } from './nodes.ts';
import { placeIn } from './places.ts';
import { resources } from './resources.ts';

const pageSize = 500;
const afterChangeMs = 5000;
const everyMs = 5 * 60_000;

export interface NodeBoundsOptions {
  readonly api: Pick<KubernetesApi, 'list'>;
  readonly config: ControlPlaneConfig;
  /** As they are observed. */
  readonly nodes: () => Iterable<KubernetesObject>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly onBounds: (bounds: ObservedBounds) => void;
}

export class NodeBounds {
  readonly #options: NodeBoundsOptions;
  #sizes: string | undefined;
  #shown: string | undefined;
  #isUnreadable = false;
  #timer: Timer | undefined;
  #check: Timer | undefined;
  #isClosed = false;

  constructor(options: NodeBoundsOptions) {
    this.#options = options;
  }

  /** Resolves when they are known, or can't be read. */
  async start(): Promise<void> {
    await this.#read();
    this.#again(everyMs);
  }

  /** A node has changed. Most changes are reports of its health, and of no matter here. */
  noticed(): void {
    if (this.#isClosed) return;
    this.#check ??= this.#options.clock.after(afterChangeMs, () => {
      this.#check = undefined;
      if (this.#sizes === undefined || sizesOf(this.#options.nodes()) !== this.#sizes) this.#again(0);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#check?.cancel();
  }

  #again(delayMs: number): void {
    this.#timer?.cancel();
    if (this.#isClosed) return;
    this.#timer = this.#options.clock.after(delayMs, () => {
      void this.#read().then(() => this.#again(everyMs));
    });
  }

  async #read(): Promise<void> {
    const { api, config, logger, onBounds } = this.#options;
    try {
      const nodes = await all(api, resources.nodes, {});
      const bounds = await boundsOf(api, config, nodes);
      // After both: until then, what a node reports leads to another attempt.
      this.#sizes = sizesOf(nodes);
      this.#isUnreadable = false;
      const shown = JSON.stringify([bounds.machine, [...bounds.places]]);
      if (shown === this.#shown || this.#isClosed) return;
      this.#shown = shown;
      onBounds(bounds);
      logger.info({ ...bounds.machine, nodes: nodes.length }, 'all services together have at most');
    } catch (error) {
      if (!this.#isUnreadable)
        logger.warn(
          { error: messageOf(error) },
          this.#shown === undefined
            ? "can't read how much the nodes of the cluster have, so nothing is bounded: state it in the configuration"
            : "can't read how much the nodes of the cluster have now, so the bounds stay as they were",
        );
      this.#isUnreadable = true;
    }
  }
}

/** For the start, before anything is sold. Undefined where they can't be read; `NodeBounds` logs why. */
export async function firstBounds(
  api: Pick<KubernetesApi, 'list'>,
  config: ControlPlaneConfig,
): Promise<ObservedBounds | undefined> {
  try {
    return await boundsOf(api, config, await all(api, resources.nodes, {}));
  } catch {
    return undefined;
  }
}

async function boundsOf(
  api: Pick<KubernetesApi, 'list'>,
  config: ControlPlaneConfig,
  nodes: readonly KubernetesObject[],
): Promise<ObservedBounds> {
  // Those of control planes are counted by their records.
  const foreign = await all(api, resources.pods, { labelSelector: `!${labels.installation}` });
  const places = config.regions.flatMap((region) =>
    region.geographies.map((geography) => {
      const { nodeSelector = {} } = placeIn(config, { region: region.name, geography: geography.name });
      return [placeKey(region.name, geography.name), freeOf(nodes, foreign, nodeSelector)] as const;
    }),
  );
  return { machine: freeOf(nodes, foreign, {}), places: new Map(places) };
}

async function all(
  api: Pick<KubernetesApi, 'list'>,
  type: ResourceType,
  scope: { readonly labelSelector?: string },
): Promise<KubernetesObject[]> {
  const found: KubernetesObject[] = [];
  let continueToken: string | undefined;
  do {
    const page = await api.list(type, { ...scope, limit: pageSize, continueToken });
    found.push(...page.items);
    ({ continueToken } = page);
  } while (continueToken !== undefined);
  return found;
}
