/**
 * The steps of each operation in the cluster. All of them read first, and may be begun again from the start, whatever
 * part was done before. A Pod carries the id of the operation that made it: one with the id of this operation is the
 * launch already made, and no second one is made.
 *
 *     provision: what the service had before is removed, and proved gone; the namespace and what belongs to it, Secrets,
 *                Service, then the Pod, which owns the Secrets. It has succeeded when the container runs.
 *     resize:    the Pod that runs gets its resources in place (resize.ts). Where it can't be, it is provisioned anew.
 *     stop, sleep: the Pod is removed with its grace period (SIGTERM, SIGKILL 10 s later). Its logs are kept.
 *     remove: as stop; then Service, Secrets, the volume that belongs to the service, and the namespace if it is empty.
 *     volumes: storage.ts
 *
 * A Pod on a lost node is not gone before the cluster reports it: the operation waits, for as long as that takes.
 */
import type { Logger } from 'pino';
import type { KubernetesObject, Target } from '../../../kubernetes/index.ts';
import type { ControlPlaneConfig } from '../../domain/config.ts';
import type { Report, RuntimeHost, RuntimeRequest } from '../../domain/runtime.ts';
import type { VolumeRecord } from '../../store/records.ts';
import { imageOf, type Image } from '../containers/image.ts';
import { LaunchError, textOfError } from '../containers/launch-error.ts';
import { KeyedLock } from '../containers/keyed-lock.ts';
import type { RegistryPolicy } from '../containers/registry-policy.ts';
import type { Cluster } from './cluster.ts';
import { endpointOf, routeOf, type ServiceObject } from './endpoint.ts';
import { requested } from './failures.ts';
import type { KeptLogs } from './kept-logs.ts';
import { labels, namespaceName, serviceLabels, serviceName, volumeName } from './names.ts';
import { Namespaces } from './namespaces.ts';
import { haveUserNamespaces } from './nodes.ts';
import { placeIn } from './places.ts';
import { podOf, resourcesOf, secretsOf, type Provision } from './pod.ts';
import { sentenceOfAbsence, stateOf, type Bounds, type Pod } from './pod-state.ts';
import { resizeInPlace } from './resize.ts';
import { resources } from './resources.ts';
import { Storage } from './storage.ts';

/** As often the cluster may fail at a launch before that counts as a fault of the request. */
export const launchAttempts = 5;

export interface OperationParts {
  readonly cluster: Cluster;
  readonly config: ControlPlaneConfig;
  readonly host: RuntimeHost;
  readonly registries: RegistryPolicy;
  readonly kept: KeptLogs;
}

export class Operations {
  readonly #parts: OperationParts;
  readonly #cluster: Cluster;
  readonly #installation: string;
  readonly #logger: Logger;
  readonly #namespaces: Namespaces;
  readonly #storage: Storage;

  constructor(parts: OperationParts) {
    const { cluster, config, host } = parts;
    this.#parts = parts;
    this.#cluster = cluster;
    this.#installation = host.installation;
    this.#logger = host.logger;
    // By account: a namespace is not removed while something is being put into it.
    this.#namespaces = new Namespaces(cluster, config, host, new KeyedLock());
    this.#storage = new Storage(cluster, config, host, this.#namespaces);
  }

  /**
   * `failures`: how many times the cluster has `failed` at it already. `signal` interrupts only what takes long
   * and leaves nothing behind.
   */
  async carryOut(request: RuntimeRequest, failures: number, signal: AbortSignal): Promise<Report> {
    const report = { subjectId: request.subjectId, operationId: request.id };
    const isLast = failures + 1 >= launchAttempts;
    switch (request.kind) {
      case 'provision':
        return { ...report, ...(await this.#provision(request, isLast, signal)) };
      case 'stop':
      case 'sleep':
        await this.#retire(request, signal);
        return report;
      case 'remove':
        await this.#remove(request, request.ownedVolumeId, signal);
        return report;
      case 'volume-provision':
      case 'volume-expand':
      case 'volume-delete':
        return { ...report, ...(await this.#changeStorage(request, isLast, signal)) };
    }
  }

  podTarget({ accountId, subjectId }: Pick<RuntimeRequest, 'accountId' | 'subjectId'>): Target {
    const namespace = namespaceName(this.#installation, accountId);
    return { type: resources.pods, namespace, name: serviceName(subjectId) };
  }

  /** As it is now. */
  async podOf(ids: Pick<RuntimeRequest, 'accountId' | 'subjectId'>): Promise<Pod | undefined> {
    const pod = await this.#cluster.api.get(this.podTarget(ids));
    if (pod && pod.metadata.labels?.[labels.installation] !== this.#installation) {
      throw new Error(`the Pod ${pod.metadata.namespace}/${pod.metadata.name} is not of this installation`);
    }
    return pod as Pod | undefined;
  }

  /** Where the service answers; undefined when it has no port. */
  async endpointOf(
    request: Pick<RuntimeRequest, 'accountId' | 'subjectId'>,
    pod: Pod,
  ): Promise<string | undefined> {
    const target = { ...this.podTarget(request), type: resources.services };
    const service = await this.#cluster.api.get(target);
    const { endpoint } = this.#parts.config.containers.kubernetes;
    return service && endpointOf(request.subjectId, service as ServiceObject, pod.status?.hostIP, endpoint);
  }

  growthRefusal(volume: VolumeRecord): string | undefined {
    return this.#storage.growthRefusal(volume);
  }

  /** A Pod without a record. */
  async removeOrphan(pod: KubernetesObject, signal: AbortSignal): Promise<void> {
    const { namespace, name, labels: its } = pod.metadata;
    const target = { type: resources.pods, namespace, name };
    await this.#cluster.retire(its?.[labels.service] ?? '', target, pod, signal);
    await this.#namespaces.tidy(its?.[labels.account] ?? '');
  }

  async #provision(request: Provision, isLast: boolean, signal: AbortSignal): Promise<Partial<Report>> {
    try {
      const running = await this.#launched(request, isLast, signal);
      if (request.launch.httpPort === null) return {};
      const endpoint = await this.endpointOf(request, running);
      return endpoint === undefined ? {} : { endpoint };
    } catch (error) {
      if (!(error instanceof LaunchError)) throw error;
      if (!error.isKept) await this.#discard(request);
      return { error: textOfError(error, request, this.#logger) };
    }
  }

  async #launched(request: Provision, isLast: boolean, signal: AbortSignal): Promise<Pod> {
    const made = await this.#made(request);
    const resized = made || !request.isResize ? undefined : await this.#resize(request, isLast, signal);
    if (resized) return resized;
    const pod = made ?? (await this.#make(request, isLast, signal));
    await requested('NotCreated', isLast, () => this.#adopt(request, pod));
    return this.#untilRunning(request, pod, signal);
  }

  /** With the bounds of the account and the way to the container as they are to be now, as at a launch. */
  async #resize(request: Provision, isLast: boolean, signal: AbortSignal): Promise<Pod | undefined> {
    const { config, host } = this.#parts;
    const { kubernetes } = config.containers;
    const { accountId } = request;
    const surround = () =>
      this.#namespaces.within(accountId, async () => {
        await this.#namespaces.ensure(accountId);
        await this.#putRoute(request);
      });
    return resizeInPlace({
      cluster: this.#cluster,
      surround,
      isLast,
      clock: host.clock,
      logger: this.#logger,
      subjectId: request.subjectId,
      target: this.podTarget(request),
      read: () => this.podOf(request),
      wanted: resourcesOf(request.launch, placeIn(config, request.place), kubernetes),
      bounds: this.boundsOf(request.launch.resources.memoryGb),
      signal,
    });
  }

  async #made(request: Provision): Promise<Pod | undefined> {
    const pod = await this.podOf(request);
    const isOfIt = pod?.metadata.labels?.[labels.operation] === request.id;
    return isOfIt && pod.metadata.deletionTimestamp === undefined ? pod : undefined;
  }

  async #make(request: Provision, isLast: boolean, signal: AbortSignal): Promise<Pod> {
    const { accountId, launch } = request;
    const image = await this.#admittedImage(launch.image);
    if (launch.volumeId !== null) await this.#requireVolume(request, launch.volumeId);
    await this.#retire(request, signal);
    return this.#namespaces.within(accountId, () =>
      requested('NotCreated', isLast, async () => {
        await this.#namespaces.ensure(accountId);
        await this.#putSecrets(request, image);
        await this.#putRoute(request);
        const place = placeIn(this.#parts.config, request.place);
        const pod = podOf({
          installation: this.#installation,
          request,
          image,
          place,
          config: this.#parts.config.containers.kubernetes,
          hasUserNamespaces: haveUserNamespaces(this.#cluster.nodes.items.values(), place.runtimeClass),
        });
        return (await this.#cluster.create(pod)) as Pod;
      }),
    );
  }

  async #admittedImage(name: string): Promise<Image> {
    const image = imageOf(name);
    if (!image) throw new LaunchError('ImageNameInvalid');
    const isRefused = image.toPull && (await this.#parts.registries.refuses(image.toPull.repository));
    if (isRefused) throw new LaunchError('RegistryNotAllowed');
    return image;
  }

  /** Where a claim is missing, a Pod would wait for it, and whoever removed it would not be missed. */
  async #requireVolume(request: Provision, volumeId: string): Promise<void> {
    const target = { ...this.podTarget(request), type: resources.claims, name: volumeName(volumeId) };
    const claim = await this.#cluster.api.get(target);
    if (claim && claim.metadata.deletionTimestamp === undefined) return;
    throw new LaunchError({ text: `the volume ${volumeId} does not exist any more in the cluster` });
  }

  /** No Pod uses what earlier launches have left. */
  async #putSecrets(request: Provision, image: Image): Promise<void> {
    const { namespace = '' } = this.podTarget(request);
    const selected = serviceLabels(this.#installation, request);
    await this.#cluster.removeAll(resources.secrets, namespace, selected);
    for (const secret of secretsOf(this.#installation, request, image)) await this.#cluster.create(secret);
  }

  async #putRoute(request: Provision): Promise<void> {
    const { httpPort } = request.launch;
    if (httpPort === null) return this.#removeRoute(request);
    const { endpoint } = this.#parts.config.containers.kubernetes;
    for (const part of routeOf(this.#installation, request, httpPort, endpoint))
      await this.#cluster.apply(part);
  }

  async #removeRoute(request: RuntimeRequest): Promise<void> {
    const { kind } = this.#parts.config.containers.kubernetes.endpoint;
    const target = this.podTarget(request);
    if (kind === 'ingress') await this.#cluster.removeNamed({ ...target, type: resources.ingresses });
    if (kind === 'gateway') await this.#cluster.removeNamed({ ...target, type: resources.httpRoutes });
    await this.#cluster.removeNamed({ ...target, type: resources.services });
  }

  /** The Secrets are gone with the Pod from now on. */
  async #adopt(request: Provision, { metadata: { name, uid, namespace } }: Pod): Promise<void> {
    const owner = { apiVersion: 'v1', kind: 'Pod', name, uid };
    const image = imageOf(request.launch.image);
    if (!image) return;
    for (const secret of secretsOf(this.#installation, request, image)) {
      const { metadata } = secret as { readonly metadata: { readonly name: string } };
      const target = { type: resources.secrets, namespace, name: metadata.name };
      await this.#cluster.merge(target, { metadata: { ownerReferences: [owner] } });
    }
  }

  async #untilRunning(request: Provision, made: Pod, signal: AbortSignal): Promise<Pod> {
    const { clock } = this.#parts.host;
    const { launchSeconds, unschedulableSeconds } = this.#parts.config.containers.kubernetes;
    const startMs = clock.monotonicMs();
    let last: Pod = made;
    let waitsSinceMs: number | undefined;
    return this.#cluster.until(request.subjectId, signal, async () => {
      const pod = await this.podOf(request);
      const bounds = this.boundsOf(request.launch.resources.memoryGb);
      if (pod?.metadata.uid !== made.metadata.uid)
        throw new LaunchError({ text: sentenceOfAbsence(last, bounds) });
      last = pod;
      const state = stateOf(pod, bounds);
      switch (state.kind) {
        case 'running':
          return pod;
        case 'failed':
          throw new LaunchError(state.reason, state.message);
        case 'ended':
          throw new LaunchError({ text: state.sentence, isKept: true });
        case 'leaving':
          throw new LaunchError({ text: state.sentence });
        case 'waiting': {
          const nowMs = clock.monotonicMs();
          waitsSinceMs = state.isUnschedulable ? (waitsSinceMs ?? nowMs) : undefined;
          if (waitsSinceMs !== undefined && nowMs - waitsSinceMs >= unschedulableSeconds * 1000)
            throw new LaunchError('Unschedulable');
          if (nowMs - startMs >= launchSeconds * 1000) throw new LaunchError('TooSlow');
          return undefined;
        }
      }
    });
  }

  boundsOf(memoryGb: number): Bounds {
    const { ephemeralStorageGb } = this.#parts.config.containers.kubernetes;
    return { memoryGb, ephemeralStorageGb };
  }

  /** A Pod that must not start any more. Nobody waits for its end; the next launch does. */
  async #discard(request: Provision): Promise<void> {
    const pod = await this.podOf(request);
    if (pod && pod.metadata.deletionTimestamp === undefined) {
      await this.#cluster.remove(this.podTarget(request), pod);
    }
  }

  async #retire(request: RuntimeRequest, signal: AbortSignal): Promise<void> {
    const pod = await this.podOf(request);
    if (!pod) return;
    const target = this.podTarget(request);
    const { subjectId } = request;
    await this.#parts.kept.during(subjectId, target, () =>
      this.#cluster.retire(subjectId, target, pod, signal),
    );
  }

  async #remove(request: RuntimeRequest, ownedVolumeId: string | null, signal: AbortSignal): Promise<void> {
    await this.#retire(request, signal);
    const { namespace = '' } = this.podTarget(request);
    const space = await this.#namespaces.find(request.accountId);
    if (space && space.metadata.deletionTimestamp === undefined) {
      await this.#removeRoute(request);
      await this.#cluster.removeAll(resources.secrets, namespace, serviceLabels(this.#installation, request));
    }
    if (ownedVolumeId !== null) await this.#storage.remove({ ...request, subjectId: ownedVolumeId }, signal);
    this.#parts.kept.forget(request.subjectId);
    await this.#namespaces.tidy(request.accountId);
  }

  async #changeStorage(
    request: RuntimeRequest & { readonly sizeGb: number },
    isLast: boolean,
    signal: AbortSignal,
  ): Promise<Partial<Report>> {
    try {
      if (request.kind === 'volume-provision') await this.#storage.create(request, isLast, signal);
      else if (request.kind === 'volume-expand') await this.#storage.grow(request, isLast, signal);
      else {
        await this.#storage.remove(request, signal);
        await this.#namespaces.tidy(request.accountId);
      }
      return {};
    } catch (error) {
      if (error instanceof LaunchError) return { error: textOfError(error, request, this.#logger) };
      throw error;
    }
  }
}
