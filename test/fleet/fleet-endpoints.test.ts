/** Where the replicas of a fleet can be reached: for people, for gateways, and for Prometheus. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, type Json, testInFolder } from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

const fleetOf = (replicas: number, image = 'ghcr.io/acme/llm:1'): object => ({
  apiVersion,
  kind: 'ServiceFleet',
  metadata: { name: 'llm' },
  spec: {
    replicas,
    template: {
      spec: { region: 'standard', image, resources: { cpu: 1, memoryGb: 1 }, httpPort: 8000 },
    },
    update: { minReadySeconds: 0 },
    scaleIn: { maxPerMinute: 1000 },
    drain: { graceSeconds: 0 },
  },
});

async function world(replicas: number) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [fleetOf(replicas)]);
  return { plane, fleet, shared: path.join(folder, 'endpoints') };
}

const urlsOf = async (plane: ControlPlane) =>
  (await plane.account()).services
    .toSorted((left: Json, right: Json) => left.name.localeCompare(right.name))
    .map(({ endpoint }: Json) => endpoint);

test('endpoints prints a table, JSON, or targets for Prometheus', async () => {
  const { plane, fleet } = await world(2);
  expect((await fleet.apply()).code).toBe(0);
  const [first, second] = await urlsOf(plane);
  const ask = async (...flags: string[]) => {
    const { code, stdout, stderr } = await fleetkeeper([
      'endpoints',
      'llm',
      '-n',
      fleet.namespace,
      ...flags,
      ...fleet.flags,
    ]);
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  };
  expect((await ask()).split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['REPLICA', 'READY', 'REVISION', 'URL'],
    ['llm-0', 'True', 'r1', first],
    ['llm-1', 'True', 'r1', second],
    [''],
  ]);
  const endpoints = [
    { slot: 0, url: first, ready: true, revision: 'r1' },
    { slot: 1, url: second, ready: true, revision: 'r1' },
  ];
  expect(JSON.parse(await ask('-o', 'json'))).toEqual({ namespace: fleet.namespace, name: 'llm', endpoints });
  const [target] = JSON.parse(await ask('-o', 'prometheus'));
  expect(target).toEqual({
    targets: [new URL(first).host],
    labels: {
      __scheme__: 'https',
      __meta_fleetkeeper_namespace: fleet.namespace,
      __meta_fleetkeeper_fleet: 'llm',
      __meta_fleetkeeper_slot: '0',
      __meta_fleetkeeper_ready: 'true',
      __meta_fleetkeeper_revision: 'r1',
    },
  });
  expect((await fleet.records()).get('ServiceFleet/llm')?.status?.['endpoints']).toEqual(endpoints);
  const { code, stderr } = await fleetkeeper(['endpoints', 'lm', '-n', fleet.namespace, ...fleet.flags]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('did you mean llm?')]);
});

testInFolder(
  'a manager keeps a file of each fleet: with each revision and each replica that leaves',
  async () => {
    const { plane, fleet, shared } = await world(3);
    const file = path.join(shared, 'default', 'llm.json');
    fleet.run('--endpoints-dir', shared);
    const shown = () => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { endpoints: [] });
    const ready = () => shown().endpoints.filter((one: Json) => one.ready);
    await eventually('3 endpoints', async () => ready().length === 3);
    expect(shown().endpoints.map(({ url }: Json) => url)).toEqual(await urlsOf(plane));
    await fleet.write('llm.yaml', [fleetOf(2, 'ghcr.io/acme/llm:2')]);
    await eventually('2 new ones', async () => {
      const all = ready();
      return all.length === 2 && all.every(({ revision }: Json) => revision === 'r2');
    });
    expect(readdirSync(path.dirname(file))).toEqual(['llm.json']);
    await fleet.remove('llm.yaml');
    await eventually('no file', async () => !existsSync(file), 120_000);
  },
);

testInFolder(
  'a manager that is killed leaves a whole file, and the next one brings it up to date',
  async () => {
    const { fleet, shared } = await world(2);
    const file = path.join(shared, 'default', 'llm.json');
    const manager = fleet.run('--endpoints-dir', shared);
    await eventually(
      '2 endpoints',
      async () => existsSync(file) && readFileSync(file, 'utf8').includes('llm'),
    );
    await fleet.untilReady(3);
    await manager.kill('SIGKILL');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ name: 'llm' });
    await fleet.write('llm.yaml', [fleetOf(1)]);
    fleet.run('--endpoints-dir', shared);
    await eventually('1 endpoint', async () => {
      const { endpoints } = JSON.parse(readFileSync(file, 'utf8'));
      return endpoints.length === 1 && endpoints[0].ready;
    });
  },
);
