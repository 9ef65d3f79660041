/** Volumes as claims: the steps of their operations. See claim.ts for their states. */
import type { Target } from '../../../kubernetes/index.ts';
import type { ControlPlaneConfig } from '../../domain/config.ts';
import type { RuntimeHost, RuntimeRequest } from '../../domain/runtime.ts';
import type { VolumeRecord } from '../../store/records.ts';
import {
  asksFor,
  claimOf,
  grownClaim,
  growthOf,
  isLost,
  isProvisioned,
  storageClassOf,
  type Claim,
} from './claim.ts';
import type { Cluster } from './cluster.ts';
import { LaunchError } from '../containers/launch-error.ts';
import { isConflict, requested } from './failures.ts';
import { namespaceName, volumeName } from './names.ts';
import type { Namespaces } from './namespaces.ts';
import { placeIn } from './places.ts';
import { resources } from './resources.ts';

/** A volume that does not exist by then counts as failed. */
const provisionMs = 300_000;

type Sized = RuntimeRequest & { readonly sizeGb: number };

export class Storage {
  readonly #cluster: Cluster;
  readonly #config: ControlPlaneConfig;
  readonly #host: RuntimeHost;
  readonly #namespaces: Namespaces;

  constructor(cluster: Cluster, config: ControlPlaneConfig, host: RuntimeHost, namespaces: Namespaces) {
    this.#cluster = cluster;
    this.#config = config;
    this.#host = host;
    this.#namespaces = namespaces;
  }

  async create(request: Sized, isLast: boolean, signal: AbortSignal): Promise<void> {
    const { installation, clock } = this.#host;
    const { accountId, subjectId, sizeGb } = request;
    const claim = claimOf(installation, request, sizeGb, placeIn(this.#config, request.place));
    await this.#namespaces.within(accountId, () =>
      requested('VolumeNotCreated', isLast, async () => {
        await this.#namespaces.ensure(accountId);
        try {
          await this.#cluster.create(claim);
        } catch (error) {
          // An earlier request has made it.
          if (!isConflict(error)) throw error;
        }
      }),
    );
    const untilMs = clock.monotonicMs() + provisionMs;
    await this.#cluster.until(subjectId, signal, async () => {
      const now = await this.#claim(request);
      if (!now || isLost(now)) throw new LaunchError('VolumeNotCreated', 'the claim is lost, or was removed');
      if (isProvisioned(now, this.#cluster.storageClass(storageClassOf(now)))) return true;
      if (clock.monotonicMs() >= untilMs)
        throw new LaunchError('VolumeNotCreated', 'the claim was not bound in time');
      return undefined;
    });
  }

  /** Without an end of its own: what the cluster has accepted, it may do at any time. */
  async grow(request: Sized, isLast: boolean, signal: AbortSignal): Promise<void> {
    const { subjectId, sizeGb } = request;
    await this.#cluster.until(subjectId, signal, async () => {
      const claim = await this.#claim(request);
      if (!claim) throw new LaunchError('VolumeNotGrown', 'the claim was removed');
      if (!asksFor(claim, sizeGb)) {
        await requested('VolumeNotGrown', isLast, () =>
          this.#cluster.merge(this.#target(request), grownClaim(sizeGb)),
        );
        return undefined;
      }
      const growth = growthOf(claim, sizeGb);
      if (growth === 'impossible') throw new LaunchError('VolumeNotGrown', 'the driver can not do it');
      return growth === 'done' ? true : undefined;
    });
  }

  async remove(request: RuntimeRequest, signal: AbortSignal): Promise<void> {
    const claim = await this.#claim(request);
    if (claim) await this.#cluster.retire(request.subjectId, this.#target(request), claim, signal);
  }

  /** Why a volume can't become larger, as a sentence. */
  growthRefusal({ region, geography }: VolumeRecord): string | undefined {
    const name = placeIn(this.#config, { region, geography }).storageClass ?? this.#cluster.defaultClass;
    const storageClass = this.#cluster.storageClass(name);
    if (!storageClass || storageClass.allowVolumeExpansion === true) return undefined;
    return `volumes in region ${region}, ${geography}, can't become larger: their kind of storage has a fixed size; create a larger volume and copy`;
  }

  async #claim(request: RuntimeRequest): Promise<Claim | undefined> {
    return (await this.#cluster.api.get(this.#target(request))) as Claim | undefined;
  }

  #target({ accountId, subjectId }: RuntimeRequest): Target {
    const namespace = namespaceName(this.#host.installation, accountId);
    return { type: resources.claims, namespace, name: volumeName(subjectId) };
  }
}
