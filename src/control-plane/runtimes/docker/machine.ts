/**
 * The resources of the container engine's machine, as the bound of all that is sold of it where the configuration
 * states none. The engine shows CPUs and memory. The disk is read if the engine is on this machine. Unknown resources
 * stay unbounded, which is logged.
 */
import { statfs } from 'node:fs/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../../base/user-error.ts';
import type { ControlPlaneConfig, MachineCapacity } from '../../domain/config.ts';
import type { Engine, EngineAddress, MachineInfo } from './engine/engine.ts';

const bytesPerGb = 2 ** 30;

/** The configuration with every bound of `containers.capacity` that can be had. */
export async function withMachineOf(
  engine: Pick<Engine, 'machine'>,
  address: EngineAddress,
  config: ControlPlaneConfig,
  logger: Pick<Logger, 'info' | 'warn'>,
): Promise<ControlPlaneConfig> {
  const stated = config.containers.capacity;
  const machine = await machineOf(engine, address, logger);
  const capacity = {
    cpu: stated.cpu === undefined ? machine.cpu : stated.cpu,
    memoryGb: stated.memoryGb === undefined ? machine.memoryGb : stated.memoryGb,
    storageGb: stated.storageGb === undefined ? machine.storageGb : stated.storageGb,
  };
  const unknown = Object.entries(capacity).flatMap(([name, bound]) => (bound === undefined ? [name] : []));
  if (unknown.length > 0) {
    logger.warn(
      { unknown },
      "can't tell how much the container engine's machine has of these, so they are not bounded: state them as containers.capacity in the configuration",
    );
  }
  logger.info({ ...capacity }, 'all services and volumes together have at most');
  return { ...config, containers: { ...config.containers, capacity } };
}

async function machineOf(
  engine: Pick<Engine, 'machine'>,
  address: EngineAddress,
  logger: Pick<Logger, 'warn'>,
): Promise<MachineCapacity> {
  let info: MachineInfo;
  try {
    info = await engine.machine();
  } catch (error) {
    logger.warn({ error: messageOf(error) }, 'the container engine does not tell about its machine');
    return {};
  }
  const cpu = positive(info.NCPU);
  const memoryBytes = positive(info.MemTotal);
  return {
    cpu,
    memoryGb: memoryBytes === undefined ? undefined : memoryBytes / bytesPerGb,
    storageGb: 'host' in address ? undefined : await diskGb(info.DockerRootDir),
  };
}

/** Of the whole file system: what of it is free changes with what volumes hold. */
async function diskGb(folder: unknown): Promise<number | undefined> {
  if (typeof folder !== 'string' || !folder.startsWith('/')) return undefined;
  try {
    const { blocks, bsize } = await statfs(folder);
    return positive(Math.floor((blocks * bsize) / bytesPerGb));
  } catch {
    return undefined;
  }
}

function positive(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined;
}
