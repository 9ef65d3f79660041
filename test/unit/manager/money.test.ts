/** S15: what is asked for and not shown yet counts against the balance, for all objects of an account together. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { sleep } from '../../../src/base/index.ts';
import { objectKey, type ObjectKey } from '../../../src/resources/index.ts';
import { MemoryStore } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  readyReason,
  scriptedFleet,
  secretDocument,
  shownService,
  stateIdentity,
  type Answer,
  type Asked,
  type ScriptedApi,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const names = Array.from({ length: 16 }, (_, index) => `web${index}`);
const keys = names.map((name) => objectKey('ContainerService', 'default', name));
const gpuHourMicros = 972_000;
const floor = 50_000_000;
const create = 'POST /api/services';

function accountDocument(spec: object): string {
  return stringify({
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'Account',
    metadata: { name: 'default' },
    spec: { url: 'https://api.invalid', credentialsSecretRef: { name: 'compute', key: 'apiKey' }, ...spec },
  });
}

/** Sixteen services with a GPU each, in an account with a floor of 50 USD. */
function sixteen(account: object = {}) {
  const services = Object.fromEntries(names.map((name) => [`${name}.yaml`, serviceDocument(name)]));
  const spec = {
    minimumBalanceMicros: floor,
    requests: { perSecond: 100, burst: 100, concurrency: 32 },
    ...account,
  };
  return desiredOf({ 'account.yaml': accountDocument(spec), 'secret.yaml': secretDocument, ...services });
}

interface Provider {
  readonly balanceMicros: number;
  /** What a service shows of its price once it is there; undefined: nothing. */
  readonly price?: number | undefined;
  readonly catalog?: object;
  /** What becomes of a creation. */
  readonly answer?: 'lost';
}

const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** It makes what it is asked for at once. */
function provider({ balanceMicros, price, catalog, answer }: Provider): (api: ScriptedApi) => void {
  return (api) => {
    api.on['GET /api/account'] = () => ({
      status: 200,
      body: { balanceMicros, currency: 'USD', services: api.services, volumes: api.volumes, ledger: [] },
    });
    if (catalog) api.on['GET /api/catalog'] = () => ({ status: 200, body: catalog });
    api.on[create] = ({ body }): Answer => {
      const { environment, ...shown } = body;
      const service = shownService({
        ...shown,
        id: uuid(api.asked.filter(({ what }) => what === create).length),
        environmentNames: Object.keys(environment ?? {}),
        hourlyMicros: price ?? null,
      });
      api.services = [...api.services, service];
      return answer ?? { status: 201, body: service };
    };
  };
}

const catalogWith = (prices: object) => ({
  regions: [{ name: 'standard', prices }],
  templates: [],
  gpuCatalog: [{ model: 'h100', name: 'H100', memoryGb: [80], fullMemoryGb: 80 }],
  currency: 'USD',
  browserEnabled: false,
  payment: { provider: 'none', status: 'disabled' },
});
const priced = catalogWith({
  gpuHourMicros: 828_000,
  cpuHourMicros: 12_000,
  memoryGbHourMicros: 1500,
  storageGbHourMicros: 140,
});

const reasons = (fleet: ScriptedFleet) => keys.map((key) => readyReason(fleet, key));

test('with 50.01 USD and a floor of 50.00, of sixteen services whose price the catalog tells none is created', async () => {
  const fleet = await scriptedFleet(sixteen(), {
    prepare: provider({ balanceMicros: 50_010_000, catalog: priced }),
  });
  await fleet.clock.advance(600_000);
  expect(fleet.api.services).toHaveLength(0);
  expect(new Set(reasons(fleet))).toEqual(new Set(['BalanceTooLow']));
  await fleet.manager.stop();
});

test('what the catalog told stays known when the Account is edited and the catalog can not be read any more', async () => {
  const env = ['env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: tokens, key: token}}}]'];
  const waiting = Object.fromEntries(names.map((name) => [`${name}.yaml`, serviceDocument(name, env)]));
  const access = {
    'account.yaml': accountDocument({ minimumBalanceMicros: floor }),
    'secret.yaml': secretDocument,
  };
  const fleet = await scriptedFleet(desiredOf({ ...access, ...waiting }), {
    prepare: provider({ balanceMicros: 50_010_000 }),
  });
  const { api, clock } = fleet;
  // Nobody waits for it so long, so nobody has looked at its prices when the Account is edited.
  api.on['GET /api/catalog'] = async () => {
    await sleep(clock, 6000);
    return { status: 200, body: priced };
  };
  await clock.advance(6500);
  api.on['GET /api/catalog'] = () => ({ status: 503 });
  fleet.tell(sixteen({ pollSeconds: 7 }));
  await fleet.clock.advance(120_000);
  expect(fleet.api.services).toHaveLength(0);
  await fleet.manager.stop();
});

test('with 50.01 USD and a floor of 50.00, of sixteen services whose price nobody tells one finds it out', async () => {
  const fleet = await scriptedFleet(sixteen(), {
    prepare: provider({ balanceMicros: 50_010_000, price: gpuHourMicros }),
  });
  await fleet.clock.advance(600_000);
  expect(fleet.api.services).toHaveLength(1);
  expect(reasons(fleet).filter((reason) => reason === 'BalanceTooLow')).toHaveLength(15);
  await fleet.manager.stop();
});

test('no more is created between two account reads than the balance bears', async () => {
  const balanceMicros = floor + 3 * gpuHourMicros;
  const fleet = await scriptedFleet(sixteen(), {
    prepare: provider({ balanceMicros, price: gpuHourMicros, catalog: priced }),
  });
  const { api } = fleet;
  await fleet.clock.advance(200);
  expect(api.services).toHaveLength(3);
  // Its reads show them with their prices: from then on the balance itself tells.
  await fleet.clock.advance(60_000);
  expect(api.services).toHaveLength(16);
  await fleet.manager.stop();
});

test('what was asked for and got no answer stays reserved', async () => {
  const balanceMicros = floor + 3 * gpuHourMicros;
  const fleet = await scriptedFleet(sixteen(), {
    prepare: provider({ balanceMicros, price: gpuHourMicros, catalog: priced, answer: 'lost' }),
    settleMs: 30_000,
  });
  await fleet.clock.advance(20_000);
  expect(fleet.api.services).toHaveLength(3);
  expect(reasons(fleet).filter((reason) => reason === 'OutcomeUnknown')).toHaveLength(3);
  await fleet.manager.stop();
});

test('a process that starts has reserved what the one before it asked for', async () => {
  const balanceMicros = floor + 3 * gpuHourMicros;
  const first = await scriptedFleet(sixteen(), {
    prepare: provider({ balanceMicros, catalog: priced, answer: 'lost' }),
    settleMs: 30_000,
  });
  await first.clock.advance(200);
  expect(first.api.services).toHaveLength(3);
  const { store } = first;
  const stored = [...store.records()].map((record) => [record, store.lastIntent(record.key)] as const);
  await first.manager.stop();
  const second = await scriptedFleet(sixteen(), {
    store: new MemoryStore(
      stateIdentity,
      stored.map(([record]) => record),
      stored.flatMap(([, intent]) => intent ?? []),
    ),
    // What was asked for may still come.
    prepare: provider({ balanceMicros, catalog: priced }),
    settleMs: 30_000,
  });
  await second.clock.advance(20_000);
  expect(second.api.asked.filter(({ what }) => what === create)).toHaveLength(0);
  await second.manager.stop();
});

test('where running services show no price, one read later all are created', async () => {
  const fleet = await scriptedFleet(sixteen(), { prepare: provider({ balanceMicros: 50_010_000 }) });
  await fleet.clock.advance(100);
  expect(fleet.api.services).toHaveLength(1);
  expect(reasons(fleet)).toContain('PriceUnknown');
  await fleet.clock.advance(30_000);
  expect(fleet.api.services).toHaveLength(16);
  await fleet.manager.stop();
});

test('without a floor nothing waits for a price', async () => {
  const fleet = await scriptedFleet(sixteen({ minimumBalanceMicros: undefined }), {
    prepare: provider({ balanceMicros: 50_010_000, price: gpuHourMicros }),
  });
  await fleet.clock.advance(500);
  expect(fleet.api.services).toHaveLength(16);
  await fleet.manager.stop();
});

test('who waits for money goes on with the read that shows more of it', async () => {
  const fleet = await scriptedFleet(sixteen(), {
    prepare: provider({ balanceMicros: 50_010_000, catalog: priced }),
  });
  await fleet.clock.advance(60_000);
  expect(fleet.api.services).toHaveLength(0);
  provider({ balanceMicros: 100_000_000, catalog: priced, price: gpuHourMicros })(fleet.api);
  await fleet.clock.advance(16_000);
  expect(fleet.api.services).toHaveLength(16);
  await fleet.manager.stop();
});

test('a balance that falls below the floor stops at once what costs more, although a list that is read beside it is still awaited', async () => {
  const template = stringify({
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'ServiceTemplate',
    metadata: { name: 'base' },
    spec: { image: 'ghcr.io/acme/web:1', resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } },
  });
  const files = {
    'account.yaml': accountDocument({ minimumBalanceMicros: floor }),
    'secret.yaml': secretDocument,
    'base.yaml': template,
  };
  const fleet = await scriptedFleet(desiredOf(files), {
    prepare: provider({ balanceMicros: 2 * floor, catalog: priced, price: gpuHourMicros }),
  });
  const { api, clock } = fleet;
  await clock.advance(60_000);
  provider({ balanceMicros: floor - 1, catalog: priced, price: gpuHourMicros })(api);
  api.on['GET /api/templates'] = async () => {
    await new Promise<void>((resolve) => clock.after(8000, resolve));
    return undefined;
  };
  const readMs = () => api.asked.findLast(({ what }) => what === 'GET /api/account')?.atMs ?? 0;
  const before = readMs();
  while (readMs() === before) await clock.advance(100);
  fleet.tell(desiredOf({ ...files, 'web0.yaml': serviceDocument('web0') }));
  await clock.advance(4000);
  expect(readyReason(fleet, objectKey('ContainerService', 'default', 'web0'))).toBe('BalanceTooLow');
  await clock.advance(30_000);
  expect(api.services).toEqual([]);
  await fleet.manager.stop();
});

test('a lost creation is not repeated as it was when the balance bears only what its document asks for now', async () => {
  const document = (gpuCount: number) =>
    desiredOf({
      'account.yaml': accountDocument({ minimumBalanceMicros: floor }),
      'secret.yaml': secretDocument,
      'web0.yaml': serviceDocument('web0').replace('gpuCount: 1', `gpuCount: ${gpuCount}`),
    });
  const balanced = (balanceMicros: number) =>
    provider({ balanceMicros, catalog: priced, price: gpuHourMicros });
  const sent: number[] = [];
  const fleet = await scriptedFleet(document(8), { prepare: balanced(2 * floor), settleMs: 5000 });
  const { api, clock } = fleet;
  const make = api.on[create];
  // The first one never arrives.
  const counted = (asked: Asked) => {
    sent.push(asked.body.resources.gpuCount);
    return sent.length === 1 ? ('lost' as const) : make?.(asked);
  };
  api.on[create] = counted;
  await clock.advance(3000);
  expect(sent).toEqual([8]);
  balanced(floor + 2 * gpuHourMicros)(api);
  api.on[create] = counted;
  fleet.tell(document(1));
  await clock.advance(5 * 60_000);
  expect(sent).toEqual([8]);
  expect(readyReason(fleet, objectKey('ContainerService', 'default', 'web0'))).toBe('BalanceTooLow');
  await clock.advance(10 * 60_000);
  expect(sent).toEqual([8, 1]);
  await fleet.manager.stop();
});

test('a service of ours whose new size costs more than the balance bears is not resized', async () => {
  const key: ObjectKey = objectKey('ContainerService', 'default', 'web0');
  const one = (more: readonly string[]) =>
    desiredOf({
      'account.yaml': accountDocument({ minimumBalanceMicros: floor }),
      'secret.yaml': secretDocument,
      'web0.yaml': serviceDocument('web0', more),
    });
  const { document, ...shown } = {
    document: one([]),
    balanceMicros: 51_000_000,
    price: 972_000,
    catalog: priced,
  };
  const fleet = await scriptedFleet(document, { prepare: provider(shown) });
  await fleet.clock.advance(30_000);
  expect(readyReason(fleet, key)).toBe('Running');
  const larger = serviceDocument('web0').replace('gpuCount: 1', 'gpuCount: 8');
  fleet.tell(
    desiredOf({
      'account.yaml': accountDocument({ minimumBalanceMicros: floor }),
      'secret.yaml': secretDocument,
      'web0.yaml': larger,
    }),
  );
  await fleet.clock.advance(60_000);
  expect(fleet.api.asked.filter(({ what }) => what.endsWith('/actions'))).toEqual([]);
  expect(readyReason(fleet, key)).toBe('BalanceTooLow');
  await fleet.manager.stop();
});

test('a price that moves, and one that is not shown, are told once', async () => {
  const reported: string[] = [];
  const onAccountNews = (account: string, { reason }: { reason: string }) =>
    reported.push(`${account} ${reason}`);
  const moving = await scriptedFleet(sixteen(), {
    prepare: provider({ balanceMicros: 100_000_000, price: 1_000_000, catalog: priced }),
    onAccountNews,
  });
  await moving.clock.advance(30_000);
  expect(moving.api.services).toHaveLength(16);
  moving.api.services = moving.api.services.map((service) =>
    Object.assign(service, { hourlyMicros: 1_009_000 }),
  );
  await moving.clock.advance(60_000);
  expect(reported).toEqual([]);
  moving.api.services = moving.api.services.map((service) =>
    Object.assign(service, { hourlyMicros: 1_100_000 }),
  );
  await moving.clock.advance(60_000);
  expect(reported).toEqual(['default/default PriceMoved']);
  const movedOf = () => moving.store.prices('default/default').map(({ moved }) => moved);
  const [moved] = movedOf();
  expect(moved).toMatchObject({ beforeMicros: 1_009_000 });
  // What changes by less than one per cent later is no news, and keeps what was.
  moving.api.services = moving.api.services.map((service) =>
    Object.assign(service, { hourlyMicros: 1_101_000 }),
  );
  await moving.clock.advance(60_000);
  expect(moving.store.prices('default/default')[0]?.hourlyMicros).toBe(1_101_000);
  expect(movedOf()).toEqual(movedOf().map(() => moved));
  await moving.manager.stop();

  reported.length = 0;
  const silent = await scriptedFleet(sixteen(), {
    prepare: provider({ balanceMicros: 100_000_000 }),
    onAccountNews,
  });
  await silent.clock.advance(60_000);
  expect(silent.api.services).toHaveLength(16);
  expect(reported).toEqual(['default/default PriceNotShown']);
  await silent.manager.stop();
});

test('what was seen to cost something is in the status of the Account', async () => {
  const fleet = await scriptedFleet(sixteen(), {
    prepare: provider({ balanceMicros: 100_000_000, price: gpuHourMicros }),
  });
  await fleet.clock.advance(60_000);
  const status = fleet.store.record(objectKey('Account', 'default', 'default'))?.status;
  expect(status?.['prices']).toEqual([
    {
      region: 'standard',
      geography: 'auto-7',
      gpuCount: 1,
      cpu: 8,
      memoryGb: 32,
      hourlyMicros: gpuHourMicros,
      seenAt: expect.any(String),
    },
  ]);
  await fleet.manager.stop();
});

test('nothing is deleted to be created anew beyond what the balance bears, for all objects together', async () => {
  const two = ['web0', 'web1'];
  const document = (more: readonly string[]) =>
    desiredOf({
      'account.yaml': accountDocument({ minimumBalanceMicros: floor }),
      'secret.yaml': secretDocument,
      ...Object.fromEntries(two.map((name) => [`${name}.yaml`, serviceDocument(name, more)])),
    });
  const balanceMicros = floor + 2 * gpuHourMicros + 10;
  const fleet = await scriptedFleet(document([]), {
    prepare: provider({ balanceMicros, price: gpuHourMicros, catalog: priced }),
  });
  const { api, clock } = fleet;
  await clock.advance(30_000);
  expect(api.services).toHaveLength(2);
  // From now on it bears one of them.
  provider({ balanceMicros: floor + gpuHourMicros + 10, price: gpuHourMicros, catalog: priced })(api);
  await clock.advance(30_000);
  let most = 0;
  for (const { id } of api.services)
    api.on[`POST /api/services/${String(id)}/actions`] = () => {
      const service = api.services.find((each) => each['id'] === id);
      api.services = api.services.filter((each) => each !== service);
      most = Math.max(most, 2 - api.services.length);
      return { status: 200, body: { ...service, state: 'deleting' } };
    };
  fleet.tell(document(['replacement: Recreate', 'httpPort: 8080', 'geography: europe']));
  await clock.advance(300_000);
  expect(most).toBe(1);
  expect(api.services).toHaveLength(2);
  await fleet.manager.stop();
});
