/** Where the replicas of a fleet are: candidates, their capacity, their prices and their accounts. */
import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey, ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  type Fleet,
  type Json,
  testInFolder,
} from '../support/processes/fleet.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';

const secondKey = 'key-of-second-0123456789';
const accounts = `accounts:
  - {name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}
  - {name: second, email: c@d.example, balanceMicros: 1000000000, apiKeys: [${secondKey}]}`;

interface Provider {
  /** Processors of the region `standard`. */
  readonly cpu?: number;
  readonly provisionMs?: number;
}

/** What `standard` has may be little; `economy` is cheaper, and has other GPUs. */
function config({ cpu = 1000, provisionMs = 8000 }: Provider): string {
  return `durations: {provisionMs: ${provisionMs}}
regions:
  - name: standard
    geographies: [{name: europe, cpu: ${cpu}, gpus: {h100: 100}}]
    prices: {}
  - name: economy
    geographies: [{name: asia, cpu: 1000, gpus: {l4: 100}}]
    prices: {gpuHourMicros: 400000, cpuHourMicros: 6000, memoryGbHourMicros: 800, storageGbHourMicros: 100}`;
}

async function world(provider: Provider = {}, spec: object = {}) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { accounts, config: config(provider) }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url, spec));
  const places = async () => {
    const { services } = await plane.account();
    return services
      .map(({ name, region, state }: Json) => [name, region, state])
      .toSorted(([one]: [string], [other]: [string]) => one.localeCompare(other));
  };
  return { plane, fleet, places };
}

const home = { name: 'home', region: 'standard' };
const away = { name: 'away', region: 'economy' };
const { region: _region, ...placeless } = template().spec;

const spec = (placement: object = {}, more: object = {}) => ({
  replicas: 3,
  template: { spec: placeless },
  placement: { candidates: [home, away], ...placement },
  ...more,
});

const placementOf = async (fleet: Fleet): Promise<Json[]> => {
  const { status } = (await fleet.records()).get('ServiceFleet/llm') ?? {};
  return (status?.['placement'] ?? []) as Json[];
};

test('replicas go where there is capacity, and those that were refused move on', async () => {
  const { plane, fleet, places } = await world({ cpu: 2 });
  await fleet.write('llm.yaml', [fleetOf('llm', spec())]);
  expect((await fleet.apply()).code).toBe(0);
  const found = await places();
  expect(found.map(([, region]: [string, string]) => region).toSorted()).toEqual([
    'economy',
    'standard',
    'standard',
  ]);
  const shown = await placementOf(fleet);
  expect(shown).toMatchObject([
    { candidate: 'home', replicas: 2, state: 'Scarce', hourlyMicros: 13_500 },
    { candidate: 'away', replicas: 1, state: 'Available', hourlyMicros: 6800 },
  ]);
  // Nothing was made twice, and no refusal was repeated.
  const refused = (await plane.requests()).filter(({ status }) => status === 409);
  expect(refused.length).toBeLessThanOrEqual(2);
  expect((await fleet.plan()).code).toBe(0);
  await fleet.write('llm.yaml', [fleetOf('llm', spec({}, { replicas: 2 }))]);
  expect((await fleet.apply()).code).toBe(0);
  // The worse candidate loses its replica.
  expect((await places()).map(([, region]: [string, string]) => region)).toEqual(['standard', 'standard']);
});

test('while there is no capacity anywhere, replicas wait, and come when there is', async () => {
  const { plane, fleet, places } = await world();
  const none = { method: 'POST', path: '/api/services$', fault: 'status', status: 409 };
  await plane.faults([{ ...none, code: 'capacity_unavailable' }]);
  await fleet.write('llm.yaml', [fleetOf('llm', spec())]);
  const run = fleet.run();
  await eventually('both are scarce', async () =>
    (await placementOf(fleet)).every(({ state }) => state === 'Scarce' || state === 'Probing'),
  );
  await plane.faults([]);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True', undefined, 100_000);
  expect(await places()).toHaveLength(3);
  await run.kill('SIGTERM');
});

testInFolder(
  'a candidate of another account: its replicas live there, and a lost state finds them',
  async () => {
    const { plane, fleet, places } = await world();
    await fleet.write('second.yaml', [
      {
        apiVersion,
        kind: 'Account',
        metadata: { name: 'second' },
        spec: { url: plane.url, credentialsSecretRef: { name: 'second', key: 'apiKey' }, pollSeconds: 1 },
      },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'second' }, stringData: { apiKey: secondKey } },
    ]);
    const candidates = [
      { ...home, maxReplicas: 1 },
      { ...away, accountRef: { name: 'second' }, resources: { cpu: 2, memoryGb: 4 } },
    ];
    await fleet.write('llm.yaml', [fleetOf('llm', spec({ candidates }))]);
    expect((await fleet.apply()).code).toBe(0);
    expect(await places()).toEqual([['llm-0', 'standard', 'running']]);
    const record = (await fleet.records()).get('ContainerService/llm-2');
    expect(record).toMatchObject({ account: 'default/second', status: { region: 'economy' } });
    expect((await placementOf(fleet)).map(({ replicas, state }) => [replicas, state])).toEqual([
      [1, 'Full'],
      [2, 'Available'],
    ]);
    const { status } = (await fleet.records()).get('ServiceFleet/llm') ?? {};
    expect(status?.['endpoints']).toHaveLength(3);
    await rm(folderOf(fleet).state, { force: true });
    await plane.forgetRequests();
    expect((await fleet.apply('--owner', 'fleet')).code).toBe(0);
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
    expect((await placementOf(fleet)).map(({ replicas }) => replicas)).toEqual([1, 2]);
  },
);

test('a price that is higher than it was thought is noticed, and the replica goes elsewhere', async () => {
  const prices = [{ region: 'standard', resources: { cpu: 1, memoryGb: 1 }, hourlyMicros: 5000 }];
  const { plane, fleet, places } = await world({}, { prices });
  await fleet.write('llm.yaml', [fleetOf('llm', spec({ maxHourlyMicros: 10_000 }, { replicas: 1 }))]);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await eventually('it is at the other candidate alone', async () => {
    const found = await places();
    return found.length === 1 && found[0]?.[1] === 'economy' && found[0][2] === 'running';
  });
  const creations = (await plane.requests()).filter(
    ({ method, path }) => method === 'POST' && path === '/api/services',
  );
  expect(creations).toHaveLength(2);
  expect(await placementOf(fleet)).toMatchObject([
    { candidate: 'home', state: 'PriceTooHigh', replicas: 0 },
    { candidate: 'away', state: 'Available', replicas: 1 },
  ]);
  await run.kill('SIGTERM');
});

test('a price that is higher than it was thought is noticed by one replica of several', async () => {
  const prices = [{ region: 'standard', resources: { cpu: 1, memoryGb: 1 }, hourlyMicros: 5000 }];
  const { plane, fleet, places } = await world({}, { prices });
  const document = fleetOf('llm', spec({ maxHourlyMicros: 10_000 }, { replicas: 4 }));
  await fleet.write('llm.yaml', [document]);
  expect((await fleet.apply()).code).toBe(0);
  expect((await places()).map(([, region]: [string, string]) => region)).toEqual(
    Array.from({ length: 4 }, () => 'economy'),
  );
  const creations = (await plane.requests()).filter(
    ({ method, path }) => method === 'POST' && path === '/api/services',
  );
  expect(creations).toHaveLength(1 + 4);
});

test('a GPU of a model that is not accepted is given back, three times at most', async () => {
  const { plane, fleet, places } = await world();
  const candidates = [{ ...home, gpuModels: ['a100'] }, away];
  const resources = { gpuCount: 1, cpu: 1, memoryGb: 1 };
  await fleet.write('llm.yaml', [
    fleetOf('llm', spec({ candidates }, { replicas: 1, template: { spec: { ...placeless, resources } } })),
  ]);
  const run = fleet.run();
  await eventually('it is at the other candidate alone', async () => {
    const found = await places();
    return found.length === 1 && found[0]?.[1] === 'economy' && found[0][2] === 'running';
  });
  const creations = (await plane.requests()).filter(
    ({ method, path }) => method === 'POST' && path === '/api/services',
  );
  expect(creations).toHaveLength(4);
  expect(await placementOf(fleet)).toMatchObject([{ candidate: 'home', state: 'ModelNotAccepted' }, {}]);
  await run.kill('SIGTERM');
});

test('a replica that does not provision in time is replaced at another candidate', async () => {
  const { fleet, places } = await world({ provisionMs: 36_000_000 });
  await fleet.write('llm.yaml', [fleetOf('llm', spec({ provisionTimeoutMinutes: 1 }, { replicas: 1 }))]);
  const run = fleet.run();
  await eventually(
    'it is at the other candidate alone',
    async () => {
      const found = await places();
      return found.length === 1 && found[0]?.[1] === 'economy';
    },
    100_000,
  );
  expect(await placementOf(fleet)).toMatchObject([
    { candidate: 'home', state: 'Scarce', message: 'home: a replica did not provision in time' },
    { candidate: 'away', replicas: 1 },
  ]);
  await run.kill('SIGTERM');
});

test('a replica moves back to the better candidate, and is replaced without a gap', async () => {
  const { plane, fleet, places } = await world();
  const refused = { method: 'POST', path: '/api/services$', fault: 'status', status: 409, times: 1 };
  await plane.faults([{ ...refused, code: 'capacity_unavailable' }]);
  const moveBack = { enabled: true, afterMinutes: 1 };
  await fleet.write('llm.yaml', [fleetOf('llm', spec({ moveBack }, { replicas: 1 }))]);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect(await places()).toEqual([['llm-0', 'economy', 'running']]);
  let fewest = 1;
  await eventually(
    'it is at home alone',
    async () => {
      const found = await places();
      const running = found.filter(([, , state]: string[]) => state === 'running');
      fewest = Math.min(fewest, running.length);
      return found.length === 1 && found[0]?.[1] === 'standard' && running.length === 1;
    },
    110_000,
  );
  expect(fewest).toBe(1);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await run.kill('SIGTERM');
});

test('with mode InPlace, a replica whose place is none any more stays there, and gets the new image', async () => {
  const { plane, fleet, places } = await world();
  const image = (tag: string) => ({ template: { spec: { ...placeless, image: `ghcr.io/acme/llm:${tag}` } } });
  const update = { mode: 'InPlace', maxSurge: 0, maxUnavailable: 1, minReadySeconds: 0 };
  await fleet.write('llm.yaml', [fleetOf('llm', spec({}, { update, ...image('1') }))]);
  expect((await fleet.apply()).code).toBe(0);
  const before = (await plane.account()).services.map(({ id }: Json) => id).toSorted();
  await fleet.write('llm.yaml', [fleetOf('llm', spec({ candidates: [away] }, { update, ...image('2') }))]);
  expect((await fleet.apply()).code).toBe(0);
  const { services } = await plane.account();
  expect(services.map(({ id }: Json) => id).toSorted()).toEqual(before);
  expect(services.map(({ image: shown }: Json) => shown)).toEqual(Array(3).fill('ghcr.io/acme/llm:2'));
  expect((await placementOf(fleet)).at(-1)).toMatchObject({ replicas: 3, state: 'Outdated' });
  expect((await fleet.plan()).code).toBe(0);
  // What is added goes where it may.
  await fleet.write('llm.yaml', [
    fleetOf('llm', spec({ candidates: [away] }, { update, ...image('2'), replicas: 4 })),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  expect((await places()).map(([, region]: [string, string]) => region).toSorted()).toEqual([
    'economy',
    'standard',
    'standard',
    'standard',
  ]);
});

test('with mode InPlace and without candidates, another region of the template is for what is added', async () => {
  const { fleet, places } = await world();
  const update = { mode: 'InPlace', maxSurge: 0, maxUnavailable: 1, minReadySeconds: 0 };
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, update })]);
  expect((await fleet.apply()).code).toBe(0);
  const elsewhere = template({ region: 'economy' });
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 3, update, template: elsewhere })]);
  expect((await fleet.apply()).code).toBe(0);
  const regions = (await places()).map(([, region]: [string, string]) => region);
  expect(regions).toEqual(['standard', 'standard', 'economy']);
  expect(await placementOf(fleet)).toEqual([{ candidate: '', replicas: 2, state: 'Outdated' }]);
  expect((await fleet.plan()).code).toBe(0);
});

test('a fleet in which no place can be used says why for each', async () => {
  const { fleet, places } = await world();
  const candidates = [
    { ...home, maxHourlyMicros: 1 },
    { ...away, accountRef: { name: 'nobody' } },
  ];
  await fleet.write('llm.yaml', [fleetOf('llm', spec({ candidates }))]);
  const run = fleet.run();
  await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'AccountNotFound');
  const known = [candidates[0]];
  await fleet.write('llm.yaml', [fleetOf('llm', spec({ candidates: known }))]);
  const { message } = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'NoCandidate');
  expect(message).toMatch(
    /3 replicas have no place: home: 13500 micro-USD per hour \(catalog\) are more than 1$/,
  );
  expect(await places()).toEqual([]);
  await run.kill('SIGTERM');
});
