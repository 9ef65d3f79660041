/** What proves a revision, in a folder and a cluster: replicas that ran with it, and not what the provider does with them. */
import { expect, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, type Fleet, type Json } from '../support/processes/fleet.ts';
import { eventually, sleep, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';
import { isSimulated, world as tests } from '../support/world.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

const statusOf = async (fleet: Fleet): Promise<Json> =>
  (await fleet.records()).get('ServiceFleet/llm')?.status;
const rolloutOf = async (fleet: Fleet): Promise<Json> => (await statusOf(fleet))?.['rollout'];
const readyIs = async (fleet: Fleet, name: string, status: string) =>
  (await fleet.condition(`ContainerService/${name}`, 'Ready'))?.status === status;

test.skipIf(!isSimulated)(
  'a replica that the provider lost, and that loads for minutes once it is made again, does not fail its revision',
  async () => {
    let isLoading = false;
    tests.network?.openEndpoints(() =>
      Promise.resolve({ status: isLoading ? 503 : 200, headers: {}, body: '' }),
    );
    const { plane, fleet } = await world();
    const update = {
      minReadySeconds: 0,
      failureLimit: 0,
      maxSurge: 0,
      maxUnavailable: 1,
      steps: [{ replicas: 1 }, { pause: { seconds: 120 } }],
    };
    const readiness = { path: '/healthz', periodSeconds: 5 };
    await fleet.write('llm.yaml', [
      fleetOf('llm', { replicas: 2, update, template: template({ readiness }) }),
    ]);
    expect((await fleet.apply()).code).toBe(0);
    const next = template({ image: 'ghcr.io/acme/llm:2', readiness });
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, update, template: next })]);
    const run = fleet.run();
    await fleet.until('ServiceFleet/llm', 'Reconciling', 'True', 'RolloutPaused');
    const { services } = await plane.account();
    const canary = services.find(({ image }: Json) => image === 'ghcr.io/acme/llm:2');
    isLoading = true;
    await plane.call('POST', `/api/services/${canary.id}/actions`, { action: 'delete' });
    await eventually('another one is made, and does not answer yet', async () => {
      const { id, state } = (await plane.service(canary.name)) ?? {};
      return id !== canary.id && state === 'running' && readyIs(fleet, canary.name, 'False');
    });
    await sleep(180_000);
    expect(await rolloutOf(fleet)).toMatchObject({ phase: 'Progressing', revision: 'r2' });
    expect((await rolloutOf(fleet)).failures ?? []).toEqual([]);
    isLoading = false;
    await eventually('it is complete', async () => (await statusOf(fleet))?.currentRevision === 'r2');
    await run.kill('SIGTERM');
  },
);
