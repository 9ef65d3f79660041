/** Control planes with real containers, on a podman of their own. */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, onTestFinished } from 'vitest';
import { accounts, ContainerWorld, unbounded, type Site } from './container-world.ts';
import { ControlPlaneProcess } from './control-plane.ts';
import { Podman, whatPodmanNeeds } from './podman.ts';
import { temporaryFolder } from './processes.ts';
import { Registry } from './registry.ts';

export interface Engine {
  readonly podman: Podman;
  readonly registry: Registry;
}

/** Whether no container can be run here. That is said loudly, and fails where containers are required. */
export const isWithoutContainers = await findOut();

async function findOut(): Promise<boolean> {
  const need = await whatPodmanNeeds();
  if (need === undefined) return false;
  if (process.env['FLEETKEEPER_REQUIRE_PODMAN'] === '1') throw new Error(`containers are required: ${need}`);
  process.stderr.write(`\n*** SKIPPED: no test runs a real container here: ${need} ***\n`);
  return true;
}

/**
 * A podman and a registry for all tests of a `describe`; after each test nothing is left of its containers. Only one file may use it: its end
 * takes away the rules of every control plane on this machine, and the egress tests empty the firewall.
 */
export function useEngine(): () => Engine {
  let engine: Engine;
  beforeAll(async () => {
    const registry = new Registry();
    const podman = new Podman(await registry.listen());
    engine = { podman, registry };
    await podman.start();
    await podman.importFixture();
  });
  afterEach(async () => {
    await engine.podman.run('rm', '--all', '--force', '--time', '0');
    await engine.podman.run('volume', 'prune', '--force');
    await engine.podman.run('network', 'prune', '--force');
  });
  afterAll(async () => {
    await engine.podman[Symbol.asyncDispose]();
    forgetEgressRules();
    await engine.registry[Symbol.asyncDispose]();
  });
  return () => engine;
}

/** They outlive their control planes on purpose. */
function forgetEgressRules(): void {
  const env = { PATH: `${process.env['PATH']}:/usr/sbin:/sbin` };
  const script =
    'for f in iptables ip6tables; do $f-save -t mangle | grep -v FLEETKEEPER- | $f-restore; done';
  execFileSync('sh', ['-euc', script], { env });
}

export class World extends ContainerWorld {
  readonly podman: Podman;

  private constructor(podman: Podman, plane: ControlPlaneProcess) {
    super(plane, siteOf(podman));
    this.podman = podman;
  }

  static async start(
    { podman, registry }: Engine,
    { timeScale = 1, config = '', egress = 'enforce', capacity = unbounded } = {},
  ): Promise<World> {
    const file = join(await temporaryFolder(), 'config.yaml');
    const containers = `{registries: ['${registry.host}'], capacity: ${capacity}${config}}`;
    await writeFile(file, `browserEnabled: true\ncontainers: ${containers}\n`);
    const more = [
      '--runtime',
      'docker',
      '--docker-socket',
      podman.socket,
      '--config',
      file,
      '--egress',
      egress,
    ];
    const plane = new ControlPlaneProcess(await temporaryFolder(), { timeScale, accounts }, more);
    await plane.start();
    return new World(podman, plane);
  }
}

function siteOf(podman: Podman): Site {
  return {
    keepsStopped: true,
    takeoverMs: 0,
    endpoint: /^http:\/\/127\.0\.0\.1:\d+$/,
    networkOf: (accountId) => `fleetkeeper-net-${accountId}`,
    objects: async () => ({
      containers: await podman.lines('ps', '--all', '--format', '{{.Names}}'),
      volumes: await podman.lines('volume', 'ls', '--format', '{{.Name}}'),
      networks: (await podman.lines('network', 'ls', '--format', '{{.Name}}')).filter(
        (name) => name !== 'podman',
      ),
    }),
  };
}

/** Stops the engine until the end of the test at the latest. */
export async function withoutEngine(podman: Podman, during: () => Promise<void>): Promise<void> {
  await podman.stop();
  onTestFinished(() => podman.start());
  await during();
  await podman.start();
}
