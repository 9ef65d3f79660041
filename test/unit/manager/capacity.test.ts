/** Many services wait for capacity: their account asks once, and they follow (engine/plan/capacity.ts). */
import { expect, test } from 'vitest';
import { accountKey, type ObjectKey } from '../../../src/resources/index.ts';
import { MemoryStore, type CapacityEntry } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  scriptedFleet,
  knownService,
  shownService,
  stateIdentity,
  type Answer,
  type Asked,
  type ScriptedApi,
  type ScriptedFleet,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';

const creation = 'POST /api/services';
const minuteMs = 60_000;
const key = (name: string): ObjectKey => `ContainerService/default/${name}`;
const noCapacity = { status: 409, body: { error: { code: 'capacity_unavailable', message: 'none left' } } };

function documents(count: number, rules: readonly string[] = []): Record<string, string> {
  const account = [access['account.yaml'].trimEnd(), ...rules].join('\n');
  const names = Array.from({ length: count }, (_, index) => `web-${index}`);
  const services = names.map((name) => [`${name}.yaml`, serviceDocument(name)]);
  return { ...access, 'account.yaml': account, ...Object.fromEntries(services) };
}

/** A provider that has room for as many as `room` says. */
class Provider {
  room = 0;
  /** How long it takes to answer a creation. */
  readonly #answerMs: number;
  underWay = 0;
  mostUnderWay = 0;

  constructor(answerMs = 100) {
    this.#answerMs = answerMs;
  }

  prepare(api: ScriptedApi): void {
    api.on[creation] = (asked) => this.#create(api, asked);
  }

  async #create(api: ScriptedApi, { body }: Asked): Promise<Answer> {
    this.underWay += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay);
    await new Promise<void>((resolve) => {
      api.clock.after(this.#answerMs, resolve);
    });
    this.underWay -= 1;
    if (this.room === 0) return noCapacity;
    this.room -= 1;
    const id = `00000000-0000-4000-8000-${String(api.services.length + 1).padStart(12, '0')}`;
    const environmentNames = Object.keys(body.environment ?? {});
    const service = shownService({ ...body, id, environment: undefined, environmentNames });
    api.services = [...api.services, service];
    return { status: 201, body: service };
  }
}

const creations = ({ api }: ScriptedFleet) => api.asked.filter(({ what }) => what === creation);
const reconciling = ({ store }: ScriptedFleet, name: string) =>
  store.record(key(name))?.status?.conditions.find(({ type }) => type === 'Reconciling');

async function waitingFleet(count: number, given: ScriptedFleetOptions & { rules?: string[] } = {}) {
  const provider = new Provider();
  const fleet = await scriptedFleet(desiredOf(documents(count, given.rules)), {
    prepare: (api) => provider.prepare(api),
    ...given,
  });
  return { provider, fleet };
}

test('twenty services wait for the same: in an hour the provider is asked a dozen times, not twenty times as often', async () => {
  const { fleet } = await waitingFleet(20);
  await fleet.clock.advance(60 * minuteMs);
  // At most four are under way when the first refusal comes; then one after each pause.
  expect(creations(fleet).length).toBeLessThanOrEqual(4 + 11);
  expect(creations(fleet).length).toBeGreaterThan(8);
  await fleet.manager.stop();
});

test('one asks at a time, and each time another one', async () => {
  const { provider, fleet } = await waitingFleet(6);
  await fleet.clock.advance(9000);
  const before = creations(fleet).length;
  provider.mostUnderWay = 0;
  await fleet.clock.advance(10 * minuteMs);
  expect(provider.mostUnderWay).toBe(1);
  const askers = creations(fleet)
    .slice(before)
    .map(({ body }) => body.name);
  expect(askers.length).toBeGreaterThanOrEqual(5);
  expect(new Set(askers.slice(0, 5)).size).toBe(5);
  await fleet.manager.stop();
});

test('when capacity is back all fifty are placed within two minutes, first one, then one more with each grant', async () => {
  const { provider, fleet } = await waitingFleet(50);
  await fleet.clock.advance(60 * minuteMs);
  const before = creations(fleet).length;
  provider.room = 50;
  await fleet.clock.advance(32 * minuteMs);
  const first = creations(fleet)[before];
  expect(fleet.api.services).toHaveLength(50);
  const last = creations(fleet).at(-1);
  expect((last?.atMs ?? 0) - (first?.atMs ?? 0)).toBeLessThan(2 * minuteMs);
  await fleet.manager.stop();
});

test('when capacity is back for three, three are made, and the fourth begins to wait anew', async () => {
  const { provider, fleet } = await waitingFleet(10);
  await fleet.clock.advance(minuteMs);
  provider.room = 3;
  const before = creations(fleet).length;
  await fleet.clock.advance(3 * minuteMs);
  expect(fleet.api.services).toHaveLength(3);
  expect(creations(fleet).length - before).toBeLessThanOrEqual(3 + 2 + 6);
  await fleet.manager.stop();
});

test('all that wait show the same: what was refused, who asks next, and when', async () => {
  const { fleet } = await waitingFleet(5);
  await fleet.clock.advance(20_000);
  const shown = ['web-0', 'web-1', 'web-2', 'web-3', 'web-4'].map((name) => reconciling(fleet, name));
  expect(new Set(shown.map((each) => each?.reason))).toEqual(new Set(['CapacityUnavailable']));
  expect(new Set(shown.map((each) => each?.message)).size).toBe(1);
  expect(shown[0]?.message).toMatch(
    /^1 GPU, 8 CPU, 32 GB of memory in standard\/auto was refused with 409 capacity_unavailable: none left.*ContainerService\/default\/web-\d asks next for all, at /,
  );
  await fleet.manager.stop();
});

test('the Account shows it, and so do the metrics', async () => {
  const { provider, fleet } = await waitingFleet(3);
  await fleet.clock.advance(20_000);
  const shown = () => fleet.store.record(accountKey('default/default'))?.status?.['capacity'];
  expect(shown()).toMatchObject([{ gpuCount: 1, state: 'Scarce', code: 'capacity_unavailable' }]);
  expect(await fleet.metrics.registry.metrics()).toContain(
    'fleetkeeper_capacity_scarce{account="default/default"} 1',
  );
  provider.room = 3;
  await fleet.clock.advance(5 * minuteMs);
  expect(shown()).toMatchObject([{ gpuCount: 1, state: 'Granted' }]);
  const text = await fleet.metrics.registry.metrics();
  expect(text).toContain('fleetkeeper_capacity_scarce{account="default/default"} 0');
  expect(text).toContain('fleetkeeper_capacity_probes_total{account="default/default",outcome="granted"} 1');
  await fleet.manager.stop();
});

test('other sizes and other places are asked for as if nothing had been refused', async () => {
  const { fleet } = await waitingFleet(4);
  await fleet.clock.advance(minuteMs);
  const before = creations(fleet).length;
  fleet.tell(
    desiredOf({
      ...documents(4),
      'a.yaml': serviceDocument('elsewhere').replace('standard', 'economy'),
      'b.yaml': serviceDocument('named', ['geography: eu-west']),
      'c.yaml': serviceDocument('small').replace('gpuCount: 1', 'gpuCount: 0'),
      'd.yaml': serviceDocument('large').replace('gpuCount: 1', 'gpuCount: 4'),
    }),
  );
  await fleet.clock.advance(500);
  const names = creations(fleet)
    .slice(before)
    .map(({ body }) => body.name);
  expect(new Set(names)).toEqual(new Set(['elsewhere', 'named', 'small']));
  expect(reconciling(fleet, 'large')?.message).toContain('and this needs at least as much');
  await fleet.manager.stop();
});

test.each([
  ['paused', (given: Record<string, string>) => ({ ...given, 'web-0.yaml': paused('web-0') })],
  ['taken out', (given: Record<string, string>) => without(given, 'web-0.yaml')],
  [
    'edited to another size',
    (given: Record<string, string>) => ({
      ...given,
      'web-0.yaml': serviceDocument('web-0').replace('gpuCount: 1', 'gpuCount: 0'),
    }),
  ],
])('others ask although the one whose turn it is was %s', async (_, change) => {
  const { provider, fleet } = await waitingFleet(2);
  await fleet.clock.advance(8000);
  const next = /default\/(web-\d) asks next/.exec(reconciling(fleet, 'web-1')?.message ?? '')?.[1] ?? '';
  expect(next).not.toBe('');
  const other = next === 'web-0' ? 'web-1' : 'web-0';
  const given = documents(2);
  // `change` is about web-0.
  const swapped = next === 'web-0' ? given : swap(given);
  fleet.tell(desiredOf(next === 'web-0' ? change(given) : swap(change(swapped))));
  provider.room = 1;
  await fleet.clock.advance(30_000);
  const sizes = creations(fleet).filter(({ body }) => body.name === other);
  expect(sizes.length).toBeGreaterThan(0);
  await fleet.manager.stop();
});

test('a probe without an answer keeps the others waiting until it is settled, and no longer than half an hour', async () => {
  const { provider, fleet } = await waitingFleet(5);
  await fleet.clock.advance(9000);
  const before = creations(fleet).length;
  const { on } = fleet.api;
  const answers = on[creation];
  let lost = 0;
  on[creation] = (asked) => {
    if (lost > 0) return answers?.(asked);
    lost += 1;
    return 'lost';
  };
  await fleet.clock.advance(20_000);
  expect(creations(fleet).length - before).toBe(1);
  provider.room = 5;
  await fleet.clock.advance(5 * minuteMs);
  expect(fleet.api.services).toHaveLength(5);
  await fleet.manager.stop();
});

test.each([
  ['paused', (given: Record<string, string>) => ({ ...given, 'web-0.yaml': paused('web-0') })],
  ['taken out', (given: Record<string, string>) => without(given, 'web-0.yaml')],
  [
    'edited',
    (given: Record<string, string>) => ({
      ...given,
      'web-0.yaml': serviceDocument('web-0').replace('web:1', 'web:2'),
    }),
  ],
])('nobody waits for ever for the one that was %s while its request was under way', async (_, change) => {
  const provider = new Provider(5000);
  const given = documents(1);
  const fleet = await scriptedFleet(desiredOf(given), { prepare: (api) => provider.prepare(api) });
  // web-0 was refused, and asks again: nobody else waits yet.
  await fleet.clock.advance(19_000);
  expect(provider.underWay).toBe(1);
  fleet.tell(desiredOf(change(documents(3))));
  await fleet.clock.advance(1000);
  expect(provider.underWay).toBe(1);
  expect(reconciling(fleet, 'web-1')?.message).toContain('ContainerService/default/web-0 is asking for all');
  provider.room = 2;
  await fleet.clock.advance(2 * minuteMs);
  const made = fleet.api.services.map(({ name }) => name);
  expect(made).toContain('web-1');
  await fleet.manager.stop();
});

test('what was learned more than a week ago is forgotten', async () => {
  const startMs = Date.UTC(2026, 0, 8, 1);
  const old: CapacityEntry = {
    demand: { region: 'standard', geography: 'auto', gpuCount: 1, cpu: 8, memoryGb: 32, storageGb: 0 },
    state: 'Scarce',
    since: startMs - 8 * 86_400_000,
    at: startMs - 8 * 86_400_000,
    grantedAt: undefined,
    failures: 40,
    retryAt: startMs + minuteMs,
    refusal: { status: 409, code: 'capacity_unavailable', message: 'none left' },
  };
  const none = new Map<string, never>();
  const learned = new Map([['default/default', [old]]]);
  const store = new MemoryStore(stateIdentity, [], [], none, none, none, learned);
  const { fleet } = await waitingFleet(1, { store, startMs });
  await fleet.clock.advance(5000);
  expect(store.capacity('default/default')).toMatchObject([{ failures: 1 }]);
  await fleet.manager.stop();
});

test('a new process keeps the pause, and who is under way is still so', async () => {
  const store = new MemoryStore(stateIdentity, [], []);
  const { provider, fleet } = await waitingFleet(5, { store });
  await fleet.clock.advance(5 * minuteMs);
  const before = creations(fleet).length;
  await fleet.manager.stop();
  const next = await scriptedFleet(desiredOf(documents(5)), {
    store,
    beside: fleet,
    prepare: (api) => provider.prepare(api),
  });
  await fleet.clock.advance(30_000);
  expect(creations(fleet).length - before).toBeLessThanOrEqual(1);
  expect(store.capacity('default/default')).toMatchObject([{ state: 'Scarce' }]);
  await next.manager.stop();
});

test('a process that ended in the middle of a probe has left it open: the next one asks for nothing until it is settled', async () => {
  const store = new MemoryStore(stateIdentity, [], []);
  const provider = new Provider(20_000);
  const prepare = (api: ScriptedApi) => provider.prepare(api);
  const fleet = await scriptedFleet(desiredOf(documents(3)), { store, prepare, settleMs: 40_000 });
  await fleet.clock.advance(35_000);
  expect(provider.underWay).toBe(1);
  // It is not stopped: a killed process finishes nothing.
  const copy = new MemoryStore(
    stateIdentity,
    [...store.records()],
    [...store.records()].flatMap(({ key: each }) => store.lastIntent(each) ?? []),
    new Map(),
    new Map(),
    new Map(),
    new Map([['default/default', store.capacity('default/default')]]),
  );
  const before = creations(fleet).length;
  const next = await scriptedFleet(desiredOf(documents(3)), {
    store: copy,
    prepare,
    settleMs: 40_000,
  });
  await next.clock.advance(39_000);
  expect(creations(next)).toHaveLength(0);
  expect(before).toBeGreaterThan(0);
  await next.manager.stop();
});

test('the rules of the Account decide what is a refusal for capacity, also of what was refused before', async () => {
  const { provider, fleet } = await waitingFleet(4);
  await fleet.clock.advance(20_000);
  const before = creations(fleet).length;
  // In truth it is a quota: then each object is asked for by itself, with pauses of its own.
  const rules = ['  refusals:', '    - {meaning: LimitReached, codes: [capacity_unavailable]}'];
  fleet.tell(desiredOf(documents(4, rules)));
  await fleet.clock.advance(8000);
  const asked = creations(fleet).slice(before);
  expect(new Set(asked.map(({ body }) => body.name)).size).toBe(4);
  expect(reconciling(fleet, 'web-1')?.reason).toBe('LimitReached');
  expect(provider.mostUnderWay).toBeGreaterThan(1);
  await fleet.manager.stop();
});

test('a refusal in other words counts where a rule of the Account says so', async () => {
  const odd = { status: 422, body: { error: { code: 'E-77', message: 'Heute nicht' } } };
  const fleet = await scriptedFleet(
    desiredOf(documents(10, ['  refusals:', '    - {meaning: CapacityUnavailable, codes: [e-77]}'])),
    { prepare: ({ on }) => void (on[creation] = () => odd) },
  );
  await fleet.clock.advance(10 * minuteMs);
  expect(creations(fleet).length).toBeLessThan(15);
  await fleet.manager.stop();
});

test('a refusal for funds or for a limit says nothing of capacity', async () => {
  const broke = { status: 400, body: { error: { code: 'quota_exceeded', message: 'no' } } };
  const fleet = await scriptedFleet(desiredOf(documents(3)), {
    prepare: ({ on }) => void (on[creation] = () => broke),
  });
  await fleet.clock.advance(minuteMs);
  expect(fleet.store.capacity('default/default')).toEqual([]);
  expect(new Set(creations(fleet).map(({ body }) => body.name)).size).toBe(3);
  await fleet.manager.stop();
});

function knownServices(count: number, more: object) {
  const names = Array.from({ length: count }, (_, index) => `web-${index}`);
  const ids = names.map((_, index) => `00000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`);
  const services = names.map((name, index) => shownService({ id: ids[index], name, ...more }));
  const records = names.map((name, index) => knownService(key(name), { externalId: ids[index] }));
  const actions = ids.map((id) => `POST /api/services/${id}/actions`);
  return { services, records, actions };
}

test('a start is asked for by one for all', async () => {
  const { services, records, actions } = knownServices(10, { state: 'paused' });
  const fleet = await scriptedFleet(desiredOf(documents(10)), {
    records,
    prepare: (api) => {
      api.services = services;
      for (const action of actions) api.on[action] = () => noCapacity;
    },
  });
  await fleet.clock.advance(10 * minuteMs);
  const starts = fleet.api.asked.filter(({ what }) => actions.includes(what));
  expect(starts.map(({ body }) => body.action)).toContain('start');
  expect(starts.length).toBeLessThanOrEqual(4 + 8);
  // At the place where the services are.
  expect(fleet.store.capacity('default/default')).toMatchObject([
    { demand: { region: 'standard', geography: 'auto-7', gpuCount: 1 }, state: 'Scarce' },
  ]);
  await fleet.manager.stop();
});

test('a resize is asked for by each: what it needs is the difference', async () => {
  const resources = { gpuCount: 1, cpu: 4, memoryGb: 32 };
  const { services, records, actions } = knownServices(6, { resources });
  const fleet = await scriptedFleet(desiredOf(documents(6)), {
    records,
    prepare: (api) => {
      api.services = services;
      for (const action of actions) api.on[action] = () => noCapacity;
    },
  });
  await fleet.clock.advance(minuteMs);
  const resizes = fleet.api.asked.filter(({ what }) => actions.includes(what));
  expect(new Set(resizes.map(({ what }) => what)).size).toBe(6);
  expect(reconciling(fleet, 'web-5')?.reason).toBe('CapacityUnavailable');
  expect(fleet.store.capacity('default/default').every(({ state }) => state === 'Granted')).toBe(true);
  await fleet.manager.stop();
});

test('each Account learns for itself, also one of the same name and address in another namespace', async () => {
  const { fleet } = await waitingFleet(3);
  await fleet.clock.advance(minuteMs);
  const before = creations(fleet).length;
  const elsewhere = (text: string) =>
    text
      .replace(/name: (default|compute)\n/, 'name: $1\n  namespace: other\n')
      .replace('{name: web-0}', '{name: web-0, namespace: other}');
  fleet.tell(
    desiredOf({
      ...documents(3),
      'other-account.yaml': elsewhere(access['account.yaml']),
      'other-secret.yaml': elsewhere(access['secret.yaml']),
      'other-web.yaml': elsewhere(serviceDocument('web-0')),
    }),
  );
  await fleet.clock.advance(3000);
  expect(creations(fleet).length - before).toBe(1);
  const message = fleet.store
    .record('ContainerService/other/web-0')
    ?.status?.conditions.find(({ type }) => type === 'Reconciling')?.message;
  expect(message).toContain('was refused with 409');
  expect(message).not.toContain('default/web');
  expect(fleet.store.capacity('other/default')).toMatchObject([{ failures: 1 }]);
  await fleet.manager.stop();
});

test('an Account with another address is another provider: nothing of the first is held against it', async () => {
  const { fleet } = await waitingFleet(3);
  await fleet.clock.advance(3 * minuteMs);
  const before = creations(fleet).length;
  const { on } = fleet.api;
  const account = { balanceMicros: 5_000_000, currency: 'USD', services: [], volumes: [], ledger: [] };
  on['GET /v2/api/me'] = () => ({ status: 200, body: { id: 'acme', emailVerified: true } });
  on['GET /v2/api/account'] = () => ({ status: 200, body: account });
  const moved = documents(3);
  const document = (moved['account.yaml'] ?? '').replace('https://api.invalid', 'https://api.invalid/v2');
  fleet.tell(desiredOf({ ...moved, 'account.yaml': document }));
  await fleet.clock.advance(5000);
  const asked = fleet.api.asked.filter(({ what }) => what === 'POST /v2/api/services');
  expect(creations(fleet).length).toBe(before);
  expect(new Set(asked.map(({ body }) => body.name)).size).toBe(3);
  await fleet.manager.stop();
});

function without(given: Record<string, string>, file: string): Record<string, string> {
  return Object.fromEntries(Object.entries(given).filter(([name]) => name !== file));
}

function paused(name: string): string {
  return serviceDocument(name).replace(
    `{name: ${name}}`,
    `{name: ${name}, annotations: {fleetkeeper.dev/paused: "true"}}`,
  );
}

/** web-0 and web-1 change places. */
function swap(given: Record<string, string>): Record<string, string> {
  const swapped = Object.entries(given).map(([file, text]) => [
    file.replace(/web-([01])/, (_, which) => `web-${1 - Number(which)}`),
    text.replaceAll(/web-([01])/g, (_, which) => `web-${1 - Number(which)}`),
  ]);
  return Object.fromEntries(swapped);
}
