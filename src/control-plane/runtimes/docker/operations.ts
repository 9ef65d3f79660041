/**
 * The steps of each operation at the engine. All of them read first, and may be begun again from the start, whatever
 * part was done before. A container carries the id of the operation that made it: one with the id of this operation
 * is the launch already made, and no second one is made.
 *
 *     provision: pull, stop and remove what the service had before, create in the account's network, start.
 *     stop, sleep: SIGTERM, SIGKILL 10 s later. The container stays for its logs, until the next launch or removal.
 *     remove: as stop; then containers, the volume that belongs to them, and the network if nobody else uses it.
 *     volumes: a named volume of the engine. Its size is only in the records: engines don't limit volumes.
 *
 * A fault of the request itself (no such image, no such command) is reported as an error. Engines distinguish that
 * from their own trouble only partly. So if an engine `failed` three times during a launch, that counts as a fault of
 * the request, too. Everything else throws, and is tried again.
 */
import type { Logger } from 'pino';
import { EngineError, type Engine, type Inspection, type ListedContainer } from './engine/engine.ts';
import {
  containerSpec,
  droppedLimits,
  endpointOf,
  endReason,
  graceSeconds,
  isUnstarted,
  type Publication,
} from './container-spec.ts';
import type { Egress } from './network/egress.ts';
import { bridgeName } from './network/egress-rules.ts';
import { Gpus, type GpuDevice } from './gpus.ts';
import { imageOf, type Image } from '../containers/image.ts';
import { LaunchError, textOfError } from '../containers/launch-error.ts';
import { KeyedLock } from '../containers/keyed-lock.ts';
import { containerName, formerNetworkName, labels, networkName, volumeName } from './names.ts';
import { reasonOf, type LaunchStep } from './reasons.ts';
import type { RegistryPolicy } from '../containers/registry-policy.ts';
import { withoutSecrets } from '../containers/redaction.ts';
import type { Launch, Report, RuntimeRequest } from '../../domain/runtime.ts';

const launchAttempts = 3;

type Provision = RuntimeRequest & { readonly kind: 'provision' };

/** How real containers are run on this engine. */
export interface DockerOptions {
  readonly publication: Publication;
  readonly registries: RegistryPolicy;
  /** The GPUs of the engine's machine. */
  readonly gpus: readonly GpuDevice[];
  /** Absent: what containers may reach is restricted by somebody else, or not at all. */
  readonly egress?: Egress | undefined;
}

export class Operations {
  readonly #engine: Engine;
  readonly #installation: string;
  readonly #options: DockerOptions;
  readonly #logger: Logger;
  readonly #gpus: Gpus;
  /** By account: a network is not removed while a container is being put into it. */
  readonly #networks = new KeyedLock();

  constructor(engine: Engine, installation: string, options: DockerOptions, logger: Logger) {
    this.#engine = engine;
    this.#installation = installation;
    this.#options = options;
    this.#logger = logger;
    this.#gpus = new Gpus(engine, options.gpus);
  }

  /**
   * `failures`: how many times the engine has `failed` at it already. `signal` interrupts only what takes long
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
        await this.#stop(request);
        return report;
      case 'remove':
        await this.#remove(request, request.ownedVolumeId);
        return report;
      case 'volume-provision':
        return { ...report, ...(await this.#createVolume(request, isLast)) };
      case 'volume-expand':
        return report;
      case 'volume-delete':
        await this.#engine.removeVolume(volumeName(request.subjectId));
        return report;
    }
  }

  containersOf(serviceId: string): Promise<ListedContainer[]> {
    return this.#engine.containers({
      [labels.installation]: this.#installation,
      [labels.service]: serviceId,
    });
  }

  /** Ends and removes a container, gently. */
  async retire({ id, isRunning }: ListedContainer): Promise<void> {
    if (isRunning) await this.#engine.stop(id, graceSeconds);
    await this.#engine.remove(id);
  }

  /** Removes the network of an account that has no container left. */
  async tidyNetwork(accountId: string): Promise<void> {
    const owned = { [labels.installation]: this.#installation, [labels.account]: accountId };
    await this.#networks.run(accountId, async () => {
      const containers = await this.#engine.containers(owned);
      if (containers.length > 0) return;
      await this.#engine.removeNetwork(networkName(accountId));
      await this.#engine.removeNetwork(formerNetworkName(accountId));
    });
  }

  endpointOf(inspection: Inspection): string | undefined {
    return endpointOf(inspection, this.#options.publication);
  }

  async #provision(request: Provision, isLast: boolean, signal: AbortSignal): Promise<Partial<Report>> {
    try {
      const id = (await this.#made(request)) ?? (await this.#make(request, isLast, signal));
      signal.throwIfAborted();
      return await this.#start(id, request, isLast);
    } catch (error) {
      if (error instanceof EngineError) throw error.saying(withoutSecrets(error.message, request.launch));
      if (!(error instanceof LaunchError)) throw error;
      await this.#stop(request);
      await this.tidyNetwork(request.accountId);
      return { error: textOfError(error, request, this.#logger) };
    } finally {
      this.#gpus.settle(request.subjectId);
    }
  }

  async #made({ subjectId, id }: Provision): Promise<string | undefined> {
    const containers = await this.containersOf(subjectId);
    return containers.find((container) => container.labels[labels.operation] === id)?.id;
  }

  async #make(request: Provision, isLast: boolean, signal: AbortSignal): Promise<string> {
    const { accountId, subjectId, launch } = request;
    const image = await this.#pull(launch, signal);
    signal.throwIfAborted();
    const volume = launch.volumeId === null ? undefined : volumeName(launch.volumeId);
    if (volume !== undefined && !(await this.#engine.hasVolume(volume))) {
      // An engine would make an empty one, and whoever removed it would not be missed.
      throw new LaunchError({
        text: `the volume ${launch.volumeId} does not exist any more at the container engine`,
      });
    }
    for (const container of await this.containersOf(subjectId)) await this.retire(container);
    const owned = { [labels.installation]: this.#installation, [labels.account]: accountId };
    const { resources, gpuModel } = launch;
    const gpus = await this.#gpus.reserve(subjectId, gpuModel, resources.gpuCount);
    if (!gpus) throw new LaunchError('NoFreeGpu');
    const { publication, egress } = this.#options;
    const spec = containerSpec(this.#installation, request, image.reference, gpus, publication);
    // Without the rules nothing is launched: it is tried again until they can be set.
    await egress?.ensure(this.#installation);
    return this.#networks.run(accountId, () =>
      requested('create', isLast, async () => {
        const bridge = bridgeName(this.#installation, accountId);
        await this.#engine.ensureNetwork(networkName(accountId), bridge, owned);
        return this.#engine.createContainer(containerName(subjectId), spec);
      }),
    );
  }

  async #pull({ image: name, credentials }: Launch, signal: AbortSignal): Promise<Image> {
    const image = imageOf(name);
    if (!image) throw new LaunchError('ImageNameInvalid');
    const { toPull } = image;
    if (toPull) {
      if (await this.#options.registries.refuses(toPull.repository)) {
        throw new LaunchError('RegistryNotAllowed');
      }
      await requested('pull', true, () => this.#engine.pull(toPull, credentials?.reveal(), signal));
    }
    return image;
  }

  async #start(id: string, { launch, accountId }: Provision, isLast: boolean): Promise<Partial<Report>> {
    const before = await this.#inspect(id);
    const dropped = droppedLimits(before, launch.resources);
    if (dropped.length > 0) {
      throw new LaunchError({
        text: `the container engine can't limit a container to ${dropped.join(', ')}`,
      });
    }
    if (isUnstarted(before)) await requested('start', isLast, () => this.#startOrRemove(id));
    const after = await this.#inspect(id);
    if (!after.State.Running) throw new LaunchError({ text: endReason(after) });
    if (this.#options.egress?.appliesTo(this.#installation, accountId) === false) {
      await this.#engine.remove(id);
      throw new LaunchError('NotStarted', 'the engine gave the bridge of the network another name');
    }
    const endpoint = this.endpointOf(after);
    return endpoint === undefined ? {} : { endpoint };
  }

  /** podman chooses the port when it creates a container: one whose port was taken since can never be started. */
  async #startOrRemove(id: string): Promise<void> {
    try {
      await this.#engine.start(id);
    } catch (error) {
      const isDecided = error instanceof EngineError && error.kind !== 'unreachable';
      if (isDecided) await this.#engine.remove(id);
      throw error;
    }
  }

  async #inspect(id: string): Promise<Inspection> {
    const inspection = await this.#engine.inspect(id);
    if (!inspection) throw new EngineError('failed', `the container ${id} vanished while it was launched`);
    return inspection;
  }

  async #stop({ subjectId }: RuntimeRequest): Promise<void> {
    for (const { id, isRunning } of await this.containersOf(subjectId)) {
      if (isRunning) await this.#engine.stop(id, graceSeconds);
    }
  }

  async #remove({ subjectId, accountId }: RuntimeRequest, ownedVolumeId: string | null): Promise<void> {
    for (const container of await this.containersOf(subjectId)) await this.retire(container);
    if (ownedVolumeId !== null) await this.#engine.removeVolume(volumeName(ownedVolumeId));
    await this.tidyNetwork(accountId);
  }

  async #createVolume(request: RuntimeRequest, isLast: boolean): Promise<Partial<Report>> {
    const { subjectId, accountId } = request;
    const owned = {
      [labels.installation]: this.#installation,
      [labels.account]: accountId,
      [labels.volume]: subjectId,
    };
    try {
      await requested('volume', isLast, () => this.#engine.createVolume(volumeName(subjectId), owned));
      return {};
    } catch (error) {
      if (error instanceof LaunchError) return { error: textOfError(error, request, this.#logger) };
      throw error;
    }
  }
}

/** Makes a `LaunchError` of a fault that the engine reports about the request. */
async function requested<Result>(
  step: LaunchStep,
  isLast: boolean,
  call: () => Promise<Result>,
): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    const isWrong =
      error instanceof EngineError && (error.kind === 'refused' || (isLast && error.kind === 'failed'));
    if (isWrong) throw new LaunchError(reasonOf(step, error.message), error.message.trim());
    throw error;
  }
}
