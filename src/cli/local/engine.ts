/** Which container engine this machine has: the first one that answers. */
import path from 'node:path';
import { UserError, messageOf } from '../../base/index.ts';
import type { Context } from '../context.ts';

export interface FoundEngine {
  /** As DOCKER_HOST has it. */
  readonly engine: string;
}

/** DOCKER_HOST alone, if it is set. */
function candidates({ environment }: Pick<Context, 'environment'>): string[] {
  const { DOCKER_HOST: given, XDG_RUNTIME_DIR: runtime, HOME: home } = environment;
  if (given) return [given];
  const sockets = [
    '/var/run/docker.sock',
    home && path.join(home, '.docker/run/docker.sock'),
    runtime && path.join(runtime, 'podman/podman.sock'),
    '/run/podman/podman.sock',
  ];
  return sockets.flatMap((socket) => (socket ? [`unix://${socket}`] : []));
}

/** Throws a `UserError` with all that was tried, if none answers. `simulating`: the command that needs none. */
export async function findEngine(
  context: Pick<Context, 'environment'>,
  simulating: string,
): Promise<FoundEngine> {
  const { connectEngine, engineAddress } =
    await import('../../control-plane/runtimes/docker/engine/connect.ts');
  const tried: string[] = [];
  for (const engine of candidates(context)) {
    try {
      await connectEngine(engineAddress(undefined, engine));
      return { engine };
    } catch (error) {
      tried.push(messageOf(error));
    }
  }
  throw new UserError(
    `no container engine answers on this machine:\n  ${tried.join('\n  ')}`,
    `start Docker, or podman with \`podman system service --time=0 unix://PATH\` and set DOCKER_HOST=unix://PATH; or use simulated containers: \`${simulating}\``,
  );
}
