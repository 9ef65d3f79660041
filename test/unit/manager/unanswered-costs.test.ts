/** S15: a creation without an answer, of which nobody knew what it costs, counts with the price that becomes known meanwhile. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { objectKey } from '../../../src/resources/index.ts';
import { MemoryStore } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  otherId,
  readyReason,
  scriptedFleet,
  secretDocument,
  serviceId,
  shownService,
  stateIdentity,
  stoppedAfterEach,
  type Answer,
  type ScriptedApi,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const hourMicros = 972_000;
const floor = 50_000_000;
/** For one of them, and not for two. */
const balanceMicros = floor + 1.5 * hourMicros;
const create = 'POST /api/services';
const second = objectKey('ContainerService', 'default', 'second');

const running = stoppedAfterEach();

const priced = {
  prices: [
    { region: 'standard', resources: { gpuCount: 1, cpu: 8, memoryGb: 32 }, hourlyMicros: hourMicros },
  ],
};

function files(names: readonly string[], spec: object = {}) {
  const account = stringify({
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'Account',
    metadata: { name: 'default' },
    spec: {
      url: 'https://api.invalid',
      credentialsSecretRef: { name: 'compute', key: 'apiKey' },
      minimumBalanceMicros: floor,
      ...spec,
    },
  });
  const services = Object.fromEntries(names.map((name) => [`${name}.yaml`, serviceDocument(name)]));
  return desiredOf({ 'account.yaml': account, 'secret.yaml': secretDocument, ...services });
}

function provider(api: ScriptedApi): void {
  api.on['GET /api/account'] = () => ({
    status: 200,
    body: { balanceMicros, currency: 'USD', services: api.services, volumes: [], ledger: [] },
  });
  api.on[create] = ({ body }): Answer => {
    if (body.name === 'first') return 'lost';
    const made = shownService({ ...body, id: otherId, environmentNames: Object.keys(body.environment) });
    api.services = [...api.services, made];
    return { status: 201, body: made };
  };
}

const created = ({ api }: ScriptedFleet) =>
  api.asked.filter(({ what }) => what === create).map(({ body }) => body.name as string);

/** The first creation has been sent, and nothing was heard of it. */
async function fleetOf(store?: MemoryStore): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(files(['first']), {
    prepare: provider,
    settleMs: 60_000,
    ...(store && { store }),
  });
  running.push(fleet);
  await fleet.clock.advance(5000);
  return fleet;
}

/** Somebody else's, of the same size. */
function showPrice({ api }: ScriptedFleet): void {
  api.services = [shownService({ id: serviceId, name: 'theirs', hourlyMicros: hourMicros })];
}

async function expectSecondWaits(
  fleet: ScriptedFleet,
  spec: object = {},
  names = ['first', 'second'],
): Promise<void> {
  fleet.tell(files(names, spec));
  await fleet.clock.advance(20_000);
  expect(created(fleet)).not.toContain('second');
  expect(readyReason(fleet, second)).toBe('BalanceTooLow');
}

test('a price that something else in the account shows', async () => {
  const fleet = await fleetOf();
  showPrice(fleet);
  await fleet.clock.advance(20_000);
  await expectSecondWaits(fleet);
});

test('a price that a person writes into the Account', async () => {
  const fleet = await fleetOf();
  await expectSecondWaits(fleet, priced);
});

test('after a restart, too', async () => {
  const before = await fleetOf();
  const { store } = before;
  const records = [...store.records()];
  await before.manager.stop();
  const intents = records.flatMap(({ key }) => store.lastIntent(key) ?? []);
  expect(intents.map(({ outcome }) => outcome)).toEqual(['unknown']);
  const fleet = await scriptedFleet(files(['first']), {
    store: new MemoryStore(stateIdentity, records, intents),
    prepare: provider,
    settleMs: 60_000,
  });
  running.push(fleet);
  showPrice(fleet);
  await fleet.clock.advance(20_000);
  await expectSecondWaits(fleet);
});

test('what is dearer by now than when it was asked for counts as that', async () => {
  const fleet = await scriptedFleet(files([]), { prepare: provider, settleMs: 60_000 });
  running.push(fleet);
  fleet.api.services = [shownService({ id: serviceId, name: 'theirs', hourlyMicros: hourMicros / 4 })];
  await fleet.clock.advance(20_000);
  fleet.tell(files(['first']));
  await fleet.clock.advance(5000);
  expect(created(fleet)).toEqual(['first']);
  showPrice(fleet);
  await fleet.clock.advance(20_000);
  await expectSecondWaits(fleet);
});

test('with enough for both, the second one is made', async () => {
  const fleet = await fleetOf();
  fleet.api.on['GET /api/account'] = () => ({
    status: 200,
    body: {
      balanceMicros: floor + 2.5 * hourMicros,
      currency: 'USD',
      services: fleet.api.services,
      volumes: [],
      ledger: [],
    },
  });
  showPrice(fleet);
  await fleet.clock.advance(20_000);
  fleet.tell(files(['first', 'second']));
  await fleet.clock.advance(20_000);
  expect(created(fleet)).toEqual(['first', 'second']);
});

async function pricedFleet(store?: MemoryStore): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(files([], priced), {
    prepare: provider,
    settleMs: 1000,
    ...(store && { store }),
  });
  running.push(fleet);
  return fleet;
}

/** Its document is removed, and no read has shown it for longer than it takes until it would be sent again. */
async function loseFirst(fleet: ScriptedFleet): Promise<void> {
  fleet.tell(files(['first'], priced));
  await fleet.clock.advance(5000);
  fleet.tell(files([], priced));
  await fleet.clock.advance(60_000);
}

test('a creation that no read shows, and that may still take effect, counts until that is ruled out', async () => {
  const fleet = await pricedFleet();
  await loseFirst(fleet);
  await expectSecondWaits(fleet, priced, ['second']);
  await fleet.clock.advance(600_000);
  expect(created(fleet)).toContain('second');
});

test('after a restart as well', async () => {
  const before = await pricedFleet();
  await loseFirst(before);
  const records = [...before.store.records()];
  const intents = records.flatMap(({ key }) => before.store.lastIntent(key) ?? []);
  expect(intents.map(({ outcome }) => outcome)).toEqual(['not-applied']);
  await before.manager.stop();
  const fleet = await pricedFleet(new MemoryStore(stateIdentity, records, intents));
  await fleet.clock.advance(20_000);
  await expectSecondWaits(fleet, priced, ['second']);
});
