/** What comes of refusals in forms that the contract leaves open (§7 "Gaps"). */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, objectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  otherId,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  shownVolume,
  web,
  type ScriptedApi,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

/** The documents of a service that is to be created; `rules` are those of its Account. */
function desired(rules: readonly string[] = []) {
  const account = [access['account.yaml'].trimEnd(), ...rules].join('\n');
  return desiredOf({ ...access, 'account.yaml': account, 'web.yaml': serviceDocument('web') });
}

function fleetThatAnswers(status: number, error: object, rules?: readonly string[]) {
  return scriptedFleet(desired(rules), {
    prepare: (api) => {
      api.on['POST /api/services'] = () => ({ status, body: { error } });
    },
  });
}

const creations = ({ api }: ScriptedFleet) => api.asked.filter(({ what }) => what === 'POST /api/services');

// COVERAGE 91
test.each([
  [409, { code: 'CAPACITY_UNAVAILABLE', message: 'no' }, 'CapacityUnavailable'],
  [503, { code: 'no_capacity', message: 'no' }, 'CapacityUnavailable'],
  [400, { code: 'insufficient_funds', message: 'no' }, 'InsufficientFunds'],
  [422, { code: 17, message: 'Insufficient balance' }, 'InsufficientFunds'],
  [400, { code: 'QuotaExceeded', message: 'no' }, 'LimitReached'],
  [400, { code: 'EMAIL-NOT-VERIFIED', message: 'no' }, 'EmailUnverified'],
  [409, { code: 40_901, message: 'no' }, 'Conflict'],
  [503, { message: 'come back later' }, 'Unavailable'],
  [400, { code: 3 }, 'Refused'],
])('%i %j holds or delays the creation as %s', async (status, error, reason) => {
  const fleet = await fleetThatAnswers(status, error);
  await fleet.clock.advance(5000);
  expect(fleet.store.lastIntent(web)?.outcome).toBe('refused');
  expect(conditionsOf(fleet)).toContain(reason);
  await fleet.manager.stop();
});

test('what the provider has too little of is asked for with pauses of 10 s to 10 min, whatever the status', async () => {
  const fleet = await fleetThatAnswers(503, { code: 'NoCapacity', message: 'no' });
  await fleet.clock.advance(600_000);
  expect(creations(fleet).length).toBeLessThan(20);
  await fleet.manager.stop();
});

const rule = ['  refusals:', '    - {meaning: CapacityUnavailable, codes: [e-77]}'];

test("an account's own rule decides, also of what was refused before it was written", async () => {
  const fleet = await fleetThatAnswers(400, { code: 'E_77', message: 'Heute nicht' });
  await fleet.clock.advance(60_000);
  expect(conditionsOf(fleet)).toContain('Refused');
  expect(creations(fleet)).toHaveLength(1);
  fleet.tell(desired(rule));
  await fleet.clock.advance(60_000);
  expect(conditionsOf(fleet)).toContain('CapacityUnavailable');
  expect(creations(fleet).length).toBeGreaterThan(1);
  await fleet.manager.stop();
});

test('no message makes a refused creation an applied one', async () => {
  const message = '201 Created {"id":"00000000-0000-4000-8000-000000000001"} applied';
  const fleet = await fleetThatAnswers(409, { code: 'created', message, id: 'x', applied: true });
  await fleet.clock.advance(30_000);
  expect(fleet.store.record(web)?.externalId).toBeUndefined();
  expect(readyReason(fleet, web)).not.toBe('Running');
  await fleet.manager.stop();
});

const data = objectKey('StorageVolume', 'default', 'data');

/** A volume that grows only while its service is paused. Of its growths, the first is refused, in terms that nobody knows. */
class Storage {
  readonly volume = shownVolume(otherId, serviceId);
  growths = 0;

  constructor(api: ScriptedApi) {
    api.services = [shownService({ volumeId: otherId })];
    api.volumes = [this.volume];
    api.on[`GET /api/volumes/${otherId}`] = () => ({ status: 200, body: { volume: this.volume } });
    api.on[`PATCH /api/volumes/${otherId}`] = ({ body: { name = 'data', sizeGb } }) => {
      if (sizeGb !== undefined) this.growths += 1;
      if (this.growths === 1) return { status: 400, body: { error: { code: 'E118', message: 'snapshot' } } };
      const size = sizeGb === undefined ? {} : { sizeGb, requestedSizeGb: sizeGb };
      Object.assign(this.volume, { name, ...size, revision: (this.volume['revision'] as number) + 1 });
      return { status: 200, body: this.volume };
    };
    api.on[`POST /api/services/${serviceId}/actions`] = ({ body: { action } }) => {
      const [before = {}] = api.services;
      const state = action === 'stop' ? 'paused' : 'running';
      const service = { ...before, state, revision: (before['revision'] as number) + 1 };
      api.services = [service];
      return { status: 200, body: service };
    };
  }
}

function attached(sizeGb: number) {
  return desiredOf({
    ...access,
    'web.yaml': serviceDocument('web', ['storage: {volumeRef: {name: data}}']),
    'data.yaml': stringify({
      apiVersion,
      kind: 'StorageVolume',
      metadata: { name: 'data' },
      spec: { region: 'standard', sizeGb, expansion: 'PauseService' },
    }),
  });
}

test('a growth that is refused as invalid is tried again, since its service stays paused until then', async () => {
  let storage: Storage | undefined;
  const records = [knownService(), knownService(data, { externalId: otherId })];
  const fleet = await scriptedFleet(attached(10), {
    records,
    prepare: (api) => {
      storage = new Storage(api);
    },
  });
  const { clock, api, tell, manager } = fleet;
  const state = () => api.services[0]?.['state'];
  await clock.advance(120_000);
  tell(attached(20));
  await clock.advance(300_000);
  expect([storage?.growths, state(), readyReason(fleet, web)]).toEqual([
    1,
    'paused',
    'VolumeExpansionFailed',
  ]);
  await clock.advance(400_000);
  expect([storage?.growths, storage?.volume['sizeGb'], state()]).toEqual([2, 20, 'running']);
  await manager.stop();
});

function conditionsOf({ store }: ScriptedFleet): string[] {
  return (store.record(web)?.status?.conditions ?? []).map(({ reason }) => reason);
}
