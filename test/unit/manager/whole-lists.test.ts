/** Lists that are not whole, or contradict themselves: no absence is concluded from them, and nothing is made twice. */
import { expect, test } from 'vitest';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  web,
  type ScriptedApi,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const whole = { balanceMicros: 5_000_000, currency: 'USD', volumes: [], ledger: [] };

function mutations({ api }: ScriptedFleet): string[] {
  return api.asked.map(({ what }) => what).filter((what) => !what.startsWith('GET '));
}

/** A document whose service may be on a page that is not shown, or known and shown. */
async function fleetBefore(account: object, isKnown = false): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }), {
    records: isKnown ? [knownService()] : [],
    prepare: (api: ScriptedApi) => {
      api.on['GET /api/account'] = () => ({ status: 200, body: { ...whole, services: [], ...account } });
    },
  });
  await fleet.clock.advance(120_000);
  return fleet;
}

test.each([
  { nextCursor: 'abc' },
  { hasMore: true },
  { next: '/api/account?page=2' },
  { pagination: { next_page: 2, total: 40 } },
  { _links: { next: { href: '/api/account?page=2' } } },
  { meta: { truncated: true } },
])('nothing is created while there is more of the account than is shown: %j', async (more) => {
  const fleet = await fleetBefore(more);
  expect(mutations(fleet)).toEqual([]);
  expect(readyReason(fleet, web)).toBe('AwaitingObservation');
  await fleet.manager.stop();
});

test.each([
  { nextCursor: null, hasMore: false, next: '', pagination: { next: null } },
  { hasMore: true, ledger: Array.from({ length: 100 }, (_, id) => ({ id })) },
])(
  'what says that there is no more, or that there is more of the ledger, stops nothing: %j',
  async (more) => {
    const fleet = await fleetBefore(more);
    expect(mutations(fleet)).toContain('POST /api/services');
    await fleet.manager.stop();
  },
);

test.each([{ error: { code: 'backend_down', message: 'no data' } }, { error: 'partial outage' }])(
  'an account that is answered with an error has not been read: %j',
  async (error) => {
    const fleet = await fleetBefore(error);
    expect(mutations(fleet)).toEqual([]);
    await fleet.manager.stop();
  },
);

test('a service of which two entries differ is left alone until they agree', async () => {
  const [one, other] = [shownService({ image: 'ghcr.io/acme/web:0' }), shownService({ state: 'paused' })];
  const fleet = await fleetBefore({ services: [one, other] }, true);
  expect(mutations(fleet)).toEqual([]);
  expect(readyReason(fleet, web)).toBe('AnswerUnreadable');
  fleet.api.on['GET /api/account'] = () => ({ status: 200, body: { ...whole, services: [one, one] } });
  fleet.api.services = [one];
  await fleet.clock.advance(120_000);
  expect(mutations(fleet)).toContain(`PATCH /api/services/${serviceId}`);
  await fleet.manager.stop();
});

test.each([
  { activities: [], error: { code: 'down' } },
  { activities: [], hasMore: true },
])('activities that are not shown may be there: nothing is interrupted: %j', async (activities) => {
  const desired = desiredOf({ ...access, 'web.yaml': serviceDocument('web', ['httpPort: 81']) });
  const fleet = await scriptedFleet(desired, {
    records: [knownService()],
    prepare: (api) => {
      api.services = [shownService({ httpPort: 80 })];
      api.on[`GET /api/services/${serviceId}/activity`] = () => ({ status: 200, body: activities });
    },
  });
  await fleet.clock.advance(120_000);
  expect(mutations(fleet)).toEqual([]);
  expect(readyReason(fleet, web)).toBe('ActivitiesUnreadable');
  await fleet.manager.stop();
});
