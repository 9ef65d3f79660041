/** What has to be corrected again and again, whoever or whatever undoes it, is corrected ever more seldom, and its object says so. */
import { expect, test } from 'vitest';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  stoppedAfterEach,
  web,
  type Asked,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const minuteMs = 60_000;
const otherImage = { image: 'ghcr.io/acme/web:other' };
const patch = `PATCH /api/services/${serviceId}`;
const actions = `POST /api/services/${serviceId}/actions`;

const running = stoppedAfterEach();

interface Provider {
  readonly fleet: ScriptedFleet;
  readonly sent: Asked[];
  /** What a read of the account shows in place of what there is. */
  readonly shows: (show: (read: number) => object) => void;
  /** The service as it is. */
  readonly service: Record<string, unknown>;
}

/** The service is made by the fleet, and runs. */
async function fleetOf(lines: string[] = []): Promise<Provider> {
  const sent: Asked[] = [];
  const service = shownService();
  let reads = 0;
  let seen: object = {};
  let shows: (read: number) => object = () => ({});
  const accept = (asked: Asked) => void sent.push(asked);
  const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': serviceDocument('web', lines) }), {
    settleMs: 5000,
    prepare: (api) => {
      const account = () => ({
        balanceMicros: 5_000_000,
        currency: 'USD',
        services: api.services.length === 0 ? [] : [{ ...service, ...seen }],
        volumes: [],
        ledger: [],
      });
      api.on['GET /api/account'] = () => {
        seen = shows((reads += 1));
        return { status: 200, body: account() };
      };
      api.on[`GET /api/services/${serviceId}`] = () => {
        if (api.services.length === 0) return { status: 404 };
        return { status: 200, body: { service: { ...service, ...seen } } };
      };
      api.on['POST /api/services'] = (asked) => {
        accept(asked);
        Object.assign(service, { environmentNames: Object.keys(asked.body.environment) });
        api.services = [service];
        return { status: 201, body: service };
      };
      api.on[actions] = (asked) => {
        accept(asked);
        if (asked.body.action === 'delete') api.services = [];
        if (asked.body.action === 'start') service['state'] = 'running';
        return { status: 200, body: service };
      };
      api.on[patch] = (asked) => {
        accept(asked);
        Object.assign(service, { image: asked.body.patch.image ?? service['image'] });
        return { status: 200, body: service };
      };
    },
  });
  running.push(fleet);
  await fleet.clock.advance(30_000);
  expect(readyReason(fleet, web)).toBe('Running');
  sent.splice(0);
  return {
    fleet,
    sent,
    service,
    shows: (show) => {
      shows = show;
    },
  };
}

const condition = ({ fleet: { store } }: Provider, type: string) =>
  store.record(web)?.status?.conditions.find((each) => each.type === type);
const every = (odd: object) => (read: number) => (read % 2 === 0 ? odd : {});
const repeated = async ({ fleet: { metrics } }: Provider) =>
  (await metrics.repeatedCorrections.get()).values.map(({ labels, value }) => [labels.action, value]);

test('a state that flips on each read, while its revision stands still, is not corrected at each', async () => {
  const provider = await fleetOf();
  provider.shows(every({ state: 'paused' }));
  await provider.fleet.clock.advance(10 * minuteMs);
  expect(provider.sent.length).toBeGreaterThan(2);
  expect(provider.sent.length).toBeLessThan(10);
  const stalled = condition(provider, 'Stalled');
  expect(stalled).toMatchObject({ status: 'True', reason: 'KeepsChanging' });
  expect(stalled?.message).toContain('start-service');
  expect(stalled?.message).toContain('revision (1) has not moved');
  expect(stalled?.message).toContain('ask the provider');
  expect(await repeated(provider)).toEqual([['start-service', provider.sent.length - 1]]);
});

test('after that it is corrected once in ten minutes', async () => {
  const provider = await fleetOf();
  provider.shows(every({ state: 'paused' }));
  await provider.fleet.clock.advance(60 * minuteMs);
  const before = provider.sent.length;
  await provider.fleet.clock.advance(60 * minuteMs);
  expect(provider.sent.length - before).toBeLessThanOrEqual(6);
  expect(provider.sent.length - before).toBeGreaterThanOrEqual(4);
});

test('the condition stays between two corrections, whatever a read shows', async () => {
  const provider = await fleetOf();
  provider.shows(every({ state: 'paused' }));
  await provider.fleet.clock.advance(10 * minuteMs);
  const sent = provider.sent.length;
  const isStalled: boolean[] = [];
  for (let times = 0; times < 180; times += 1) {
    await provider.fleet.clock.advance(10_000);
    isStalled.push(condition(provider, 'Stalled')?.status === 'True');
  }
  expect(isStalled.filter((is) => !is).length).toBeLessThanOrEqual(provider.sent.length - sent);
});

test('it is over when it has stayed as desired for a while', async () => {
  const provider = await fleetOf();
  provider.shows(every({ state: 'paused' }));
  await provider.fleet.clock.advance(10 * minuteMs);
  provider.shows(() => ({}));
  await provider.fleet.clock.advance(11 * minuteMs);
  expect(readyReason(provider.fleet, web)).toBe('Running');
  expect(condition(provider, 'Stalled')?.status).toBe('False');
  // What happens to it long after that is corrected at once.
  await provider.fleet.clock.advance(20 * minuteMs);
  const before = provider.sent.length;
  provider.shows(() => (provider.sent.length === before ? { state: 'paused' } : {}));
  await provider.fleet.clock.advance(minuteMs);
  expect(provider.sent.length).toBe(before + 1);
});

test('somebody who undoes each correction, and moves the revision, is not fought at each read', async () => {
  const provider = await fleetOf();
  const { service, fleet } = provider;
  for (let times = 0; times < 60; times += 1) {
    if (service['state'] === 'running') {
      Object.assign(service, { state: 'paused', revision: Number(service['revision']) + 1 });
    }
    await fleet.clock.advance(10_000);
  }
  expect(provider.sent.length).toBeLessThan(10);
  const stalled = condition(provider, 'Stalled');
  expect(stalled).toMatchObject({ status: 'True', reason: 'KeepsChanging' });
  expect(stalled?.message).toContain('somebody else');
  expect(stalled?.message).toContain('driftPolicy: Report');
});

test('what somebody undoes twice is corrected twice, at once', async () => {
  const provider = await fleetOf();
  const { service, fleet } = provider;
  for (const revision of [2, 3]) {
    Object.assign(service, { state: 'paused', revision });
    await fleet.clock.advance(20_000);
    expect(service['state']).toBe('running');
  }
  expect(provider.sent).toHaveLength(2);
  expect(condition(provider, 'Stalled')?.status).toBe('False');
});

test('two fields that flip by turns are bounded each', async () => {
  const provider = await fleetOf();
  provider.shows((read) => [{}, { state: 'paused' }, {}, otherImage][read % 4] ?? {});
  await provider.fleet.clock.advance(10 * minuteMs);
  const sent = (what: string) => provider.sent.filter((asked) => asked.what === what).length;
  expect(sent(patch)).toBeGreaterThan(1);
  expect(sent(patch)).toBeLessThan(10);
  expect(sent(actions)).toBeLessThan(10);
});

test('a service that somebody deletes again and again is not made at each time', async () => {
  const { fleet, sent } = await fleetOf();
  for (let times = 0; times < 60; times += 1) {
    fleet.api.services = [];
    await fleet.clock.advance(10_000);
  }
  expect(sent.length).toBeGreaterThan(2);
  expect(sent.length).toBeLessThan(10);
});

test('an edit of the document is carried out at once all the same', async () => {
  const provider = await fleetOf();
  provider.shows(every({ state: 'paused' }));
  await provider.fleet.clock.advance(10 * minuteMs);
  provider.shows(() => ({}));
  const edited = serviceDocument('web').replace('acme/web:1', 'acme/web:2');
  provider.fleet.tell(desiredOf({ ...access, 'web.yaml': edited }));
  await provider.fleet.clock.advance(30_000);
  expect(provider.service['image']).toBe('ghcr.io/acme/web:2');
  expect(readyReason(provider.fleet, web)).toBe('Running');
});

test('the pause outlives the process', async () => {
  const provider = await fleetOf();
  provider.shows(every({ state: 'paused' }));
  await provider.fleet.clock.advance(20 * minuteMs);
  const { store } = provider.fleet;
  await provider.fleet.manager.stop();
  const again = await scriptedFleet(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }), {
    store,
    settleMs: 5000,
    beside: provider.fleet,
  });
  running.push(again);
  const before = provider.sent.length;
  await again.clock.advance(10 * minuteMs);
  expect(provider.sent.length - before).toBeLessThanOrEqual(1);
});
