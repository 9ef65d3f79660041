/** What a large fleet costs: requests, reads of the account, and writes of its roster. */
import { expect, test } from 'vitest';
import type { ResourceType } from '../../src/kubernetes/index.ts';
import { apiVersion, resourceTypes } from '../../src/resources/index.ts';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, type Fleet } from '../support/processes/fleet.ts';
import { eventually, fetch, nowMs, temporaryFolder } from '../support/processes/processes.ts';
import { isSimulated, manyServices } from '../support/world.ts';

/** What an API server has of the fleet, its replicas and its revisions: each write gives another version. Empty in a folder. */
async function versionsOf(fleet: Fleet): Promise<readonly string[]> {
  if (!(fleet instanceof ClusterFleet)) return [];
  const { cluster, namespace } = fleet;
  const types = [resourceTypes.ServiceFleet, resourceTypes.ContainerService, revisionType];
  const lists = await Promise.all(types.map((type) => cluster.api.list(type, { namespace })));
  const all = lists.flatMap(({ items }) => items.map(({ metadata }) => metadata));
  expect(all.length).toBeGreaterThan(manyServices);
  return all.map(({ uid, resourceVersion }) => `${uid} ${resourceVersion}`).sort();
}

const revisionType: ResourceType = {
  group: 'apps',
  version: 'v1',
  namespaced: true,
  plural: 'controllerrevisions',
  kind: 'ControllerRevision',
};

const perSecond = 20;
/** With less, a timer that is late slows everything down: what it has lost does not fit into the bucket. */
const burst = 4;

const many = 100;

const fleetOf = (replicas: number, image: string) => ({
  apiVersion,
  kind: 'ServiceFleet',
  metadata: { name: 'llm' },
  spec: {
    replicas,
    template: { spec: { region: 'standard', image, resources: { cpu: 1, memoryGb: 1 } } },
    update: { maxUnavailable: 10, minReadySeconds: 0 },
  },
});

async function world(requests: object) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 600 }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url, { requests }));
  return { plane, fleet };
}

async function writesOf(url: string, kind: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const found = new RegExp(`^fleetkeeper_status_writes_total\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(metrics);
  return Number(found?.[1] ?? 0);
}

test(
  `${many} replicas are updated in place, ten at a time, at the pace that the limit of requests allows`,
  { timeout: 240_000 },
  async () => {
    const { plane, fleet } = await world({ perSecond, burst, concurrency: 8 });
    await fleet.write('llm.yaml', [fleetOf(many, 'ghcr.io/acme/llm:1')]);
    const manager = fleet.run('--listen', '127.0.0.1:0');
    const [, url = ''] = await manager.line(/^listening on (.*)$/);
    await fleet.until('ServiceFleet/llm', 'Ready', 'True', undefined, 120_000);
    await plane.forgetRequests();
    const before = await writesOf(url, 'ServiceFleet');
    await fleet.write('llm.yaml', [fleetOf(many, 'ghcr.io/acme/llm:2')]);
    const startedMs = nowMs();
    await eventually(
      'the new image everywhere',
      async () => {
        const { status } = (await fleet.records()).get('ServiceFleet/llm') ?? {};
        const isNew = status?.observedGeneration === 2;
        return isNew && status['updatedReplicas'] === many && status['availableReplicas'] === many;
      },
      120_000,
    );
    const seconds = (nowMs() - startedMs) / 1000;
    const requests = await plane.requests();
    expect(requests.filter(isMutation).map(({ method }) => method)).toEqual(
      Array.from({ length: many }, () => 'PATCH'),
    );
    const reads = requests.filter(({ path }) => path === '/api/account').length;
    expect(reads).toBeLessThanOrEqual(seconds + 2);
    expect((await writesOf(url, 'ServiceFleet')) - before).toBeLessThanOrEqual(2 * many);
    // Where the time of a machine does not count. On real processes it was 1.07 in a folder, and 1.10 and 1.24 in a cluster, where
    // there was four times as much to do as there are cores.
    if (isSimulated) expect(seconds).toBeLessThanOrEqual((1.1 * requests.length) / perSecond);
  },
);

test(
  `a fleet of ${manyServices} that is as it should be sends nothing of its own, and writes nothing`,
  { timeout: 240_000 },
  async () => {
    const { plane, fleet } = await world({ perSecond: 1000, burst: 1000, concurrency: 32 });
    await fleet.write('llm.yaml', [fleetOf(manyServices, 'ghcr.io/acme/llm:1')]);
    const manager = fleet.run('--listen', '127.0.0.1:0');
    const [, url = ''] = await manager.line(/^listening on (.*)$/);
    await fleet.until('ServiceFleet/llm', 'Ready', 'True', undefined, 200_000);
    const kinds = ['ServiceFleet', 'ContainerService'];
    const written = async () => Promise.all(kinds.map((kind) => writesOf(url, kind)));
    const [before, versions] = [await written(), await versionsOf(fleet)];
    await plane.forgetRequests();
    const requests = await eventually('five polls', async () => {
      const seen = await plane.requests();
      return seen.length >= 5 && seen;
    });
    expect(new Set(requests.map(({ method, path }) => `${method} ${path}`))).toEqual(
      new Set(['GET /api/account']),
    );
    expect(await written()).toEqual(before);
    expect(await versionsOf(fleet)).toEqual(versions);
  },
);
