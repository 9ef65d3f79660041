/** Replicas that a client asks all the time, while they are rolled out and removed and the manager is killed. */
import { expect, onTestFinished, test } from 'vitest';
import { apiVersion } from '../../../src/resources/index.ts';
import { keys, web, type Json } from '../../support/processes/container-world.ts';
import { World, type Engine } from '../../support/processes/docker-world.ts';
import { account, FleetFolder, task } from '../../support/processes/fleet.ts';
import { eventually, temporaryFolder } from '../../support/processes/processes.ts';

const everyMs = 200;
const floor = 3;
const brokenImage = 'localhost/broken:1';

const fleetOf = (greeting: string, more: object = {}, image: string = web.image) => ({
  apiVersion,
  kind: 'ServiceFleet',
  metadata: { name: 'web' },
  spec: {
    replicas: 4,
    template: {
      spec: {
        region: 'standard',
        image,
        resources: web.resources,
        httpPort: web.httpPort,
        env: [{ name: 'GREETING', value: greeting }],
        readiness: { path: '/', periodSeconds: 1 },
      },
    },
    update: { minReadySeconds: 1, maxUnavailable: 1, failureLimit: 0, steps: [{ replicas: 1 }] },
    scaleIn: { maxPerMinute: 100 },
    drain: { graceSeconds: 1 },
    ...more,
  },
});

export function testReplicas(engine: () => Engine): void {
  test('of four replicas three answer at any time: in a rollout, in the rollback of a broken image, and while the manager is killed; a protected one survives a scale-in', async () => {
    const world = await World.start(engine());
    const tar = await world.podman.fixtureTar();
    await world.podman.run('import', '--change', 'CMD ["sh", "-c", "exit 3"]', tar, brokenImage);
    const fleet = new FleetFolder(await temporaryFolder());
    const [document] = account(world.plane.url);
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'compute' } };
    await fleet.write('account.yaml', [document ?? {}, { ...secret, stringData: { apiKey: keys.acme } }]);
    await fleet.write('web.yaml', [fleetOf('one')]);
    let manager = fleet.run();
    onTestFinished(async () => void (await manager.kill('SIGKILL')));
    await fleet.until('ServiceFleet/web', 'Ready', 'True', undefined, 120_000);
    const client = new Client(fleet);

    await fleet.write('web.yaml', [fleetOf('two')]);
    await eventually('the first replica of the new template', async () => client.answers('two') > 0);
    await manager.kill('SIGKILL');
    manager = fleet.run();
    await eventually('all replicas of the new template', async () => client.answers('two') === 4, 120_000);
    await fleet.until('ServiceFleet/web', 'Ready', 'True', undefined, 60_000);
    expect(client.fewest()).toBeGreaterThanOrEqual(floor);

    await fleet.write('web.yaml', [fleetOf('two', {}, brokenImage)]);
    const imagesOf = async (): Promise<string[]> =>
      (await world.ok('GET', '/account')).services.map(({ image }: Json) => image);
    await eventually('the broken image sent', async () => (await imagesOf()).includes(brokenImage));
    await manager.kill('SIGKILL');
    manager = fleet.run();
    await fleet.until('ServiceFleet/web', 'Stalled', 'True', 'RolloutFailed', 120_000);
    expect(await imagesOf()).toEqual([0, 1, 2, 3].map(() => web.image));
    await eventually('four replicas that answer', async () => client.answers('two') === 4);
    expect(client.fewest()).toBeGreaterThanOrEqual(floor);
    await fleet.write('web.yaml', [fleetOf('two')]);
    await fleet.until('ServiceFleet/web', 'Ready', 'True', undefined, 60_000);

    const readySince = async () =>
      (await fleet.condition('ContainerService/web-0', 'Ready'))?.lastTransitionTime;
    const since = await readySince();
    await manager.kill('SIGKILL');
    manager = fleet.run();
    await fleet.write('web.yaml', [fleetOf('two', { drain: { graceSeconds: 2 } })]);
    await eventually('the new document taken in', async () => {
      const { status } = (await fleet.records()).get('ServiceFleet/web') ?? {};
      return status?.observedGeneration === 5;
    });
    await fleet.until('ServiceFleet/web', 'Ready', 'True', undefined, 60_000);
    expect(await readySince()).toBe(since);

    await fleet.write('task.yaml', [task('epoch', { serviceRef: { name: 'web-3' } })]);
    await fleet.until('ProtectedTask/epoch', 'Ready', 'True');
    await fleet.write('web.yaml', [fleetOf('two', { replicas: 1, drain: { graceSeconds: 2 } })]);
    const names = async () => (await world.ok('GET', '/account')).services.map(({ name }: Json) => name);
    await eventually('one replica', async () => (await names()).length === 1, 60_000);
    expect(await names()).toEqual(['web-3']);
    client.stop();
    expect(client.fewest()).toBeGreaterThanOrEqual(1);
  });
}

/** Asks each endpoint that the fleet shows, again and again: an update may give a replica another one. */
class Client {
  #fewest = Infinity;
  readonly #fleet: FleetFolder;
  #latest: readonly (string | undefined)[] = [];
  #isStopped = false;

  constructor(fleet: FleetFolder) {
    this.#fleet = fleet;
    const rounds = this.#ask();
    onTestFinished(async () => {
      this.stop();
      await rounds;
    });
  }

  /** How many answered in the worst round since this was asked before. */
  fewest(): number {
    const fewest = this.#fewest;
    this.#fewest = Infinity;
    return fewest;
  }

  /** How many show this greeting. */
  answers(greeting: string): number {
    return this.#latest.filter((text) => text?.includes(greeting)).length;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #ask(): Promise<void> {
    while (!this.#isStopped) {
      const { status } = (await this.#fleet.records()).get('ServiceFleet/web') ?? {};
      const shown = (status?.['endpoints'] ?? []) as { url: string }[];
      const round = Promise.all(shown.map(({ url }) => pageOf(url)));
      await new Promise((resolve) => void setTimeout(resolve, everyMs));
      this.#latest = await round;
      if (this.#isStopped) return;
      this.#fewest = Math.min(this.#fewest, this.#latest.filter((text) => text !== undefined).length);
    }
  }
}

async function pageOf(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    return response.ok ? await response.text() : undefined;
  } catch {
    return undefined;
  }
}
