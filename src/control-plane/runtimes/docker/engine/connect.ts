/** Where the container engine is, and whether it answers. */
import { UserError, messageOf } from '../../../../base/user-error.ts';
import { Engine, type EngineAddress } from './engine.ts';

export { withoutMadeUpGpus } from '../../containers/made-up-gpus.ts';
export { dockerOptions } from '../config.ts';
export { withMachineOf } from '../machine.ts';
export { dockerRuntime } from '../runtime.ts';

const usualSocket = '/var/run/docker.sock';

/**
 * `socket`: a path that was asked for; `dockerHost`: DOCKER_HOST, as Docker's own client understands it. Throws a
 * `UserError` when that is neither a socket nor plain TCP.
 */
export function engineAddress(socket: string | undefined, dockerHost: string | undefined): EngineAddress {
  if (socket !== undefined) return { socketPath: socket };
  if (dockerHost === undefined || dockerHost === '') return { socketPath: usualSocket };
  if (dockerHost.startsWith('unix://')) return { socketPath: dockerHost.slice('unix://'.length) };
  const tcp = /^tcp:\/\/([^:/]+|\[[0-9a-f:]+\]):(\d+)\/?$/i.exec(dockerHost);
  if (tcp?.[1]) return { host: tcp[1].replace(/^\[|\]$/g, ''), port: Number(tcp[2]) };
  throw new UserError(
    `DOCKER_HOST is ${dockerHost}, which is neither unix://PATH nor tcp://HOST:PORT`,
    "set it to one of these, or name the engine's socket with --docker-socket",
  );
}

/** Throws a `UserError` when no engine answers there. */
export async function connectEngine(address: EngineAddress): Promise<Engine> {
  const engine = new Engine(address);
  try {
    await engine.ping();
    return engine;
  } catch (error) {
    const place = 'host' in address ? `${address.host}:${address.port}` : address.socketPath;
    throw new UserError(
      `can't reach a container engine at ${place}: ${messageOf(error)}`,
      'start Docker, or "podman system service --time=0 unix://PATH"; name its socket with --docker-socket or DOCKER_HOST',
      error,
    );
  }
}
