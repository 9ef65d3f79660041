/** An API whose answers have other types than ours: what can't be read stops its own object, and no other. */
import { describe, expect, test } from 'vitest';
import { type Owner, beaconName } from '../../../src/engine/plan/index.ts';
import { objectKey, type ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  heartbeat,
  epoch,
  knownService,
  otherId,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  shownVolume,
  taskDocument,
  web,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const api: ObjectKey = objectKey('ContainerService', 'default', 'api');
const patch = (id: string) => `PATCH /api/services/${id}`;

const twoServices = desiredOf({
  ...access,
  'web.yaml': serviceDocument('web', ['httpPort: 80']),
  'api.yaml': serviceDocument('api'),
});

/** Two services that are recorded; `odd` is what the API shows of the first one beside what is wanted of it. */
function fleetWith(odd: object, more: object = {}) {
  return scriptedFleet(twoServices, {
    records: [knownService(), knownService(api, { externalId: otherId })],
    prepare: (given) => {
      given.services = [
        shownService({ httpPort: 80, endpoint: 'https://a.example', ...odd }),
        shownService({ id: otherId, name: 'api', ...more }),
      ];
    },
  });
}

function messageOf({ store }: ScriptedFleet, key: ObjectKey): string {
  const conditions = store.record(key)?.status?.conditions ?? [];
  return conditions.map(({ reason, message }) => `${reason} ${message}`).join('\n');
}

function mutations(fleet: ScriptedFleet): string[] {
  return fleet.api.asked.map(({ what }) => what).filter((what) => !what.startsWith('GET '));
}

describe('a field that only informs', () => {
  test.each([
    { geography: { id: 1 } },
    { error: { deep: { er: 1 } } },
    { environmentNames: [{ name: 'MODE' }] },
    { command: { argv: [] } },
    { hourlyMicros: 1.5 },
    { endpoint: { tcp: 80 } },
  ])('in another form leaves its service ready: %j', async (odd) => {
    const fleet = await fleetWith(odd);
    await fleet.clock.advance(60_000);
    expect([readyReason(fleet, web), readyReason(fleet, api)]).toEqual(['Running', 'Running']);
    expect(mutations(fleet)).toEqual([]);
    await fleet.manager.stop();
  });

  test('is counted', async () => {
    const fleet = await fleetWith({ endpoint: { tcp: 80 } });
    await fleet.clock.advance(30_000);
    expect(await fleet.metrics.registry.metrics()).toMatch(
      /fleetkeeper_api_unreadable_fields_total\{resource="service",field="endpoint",decides="false"\} \d+/,
    );
    await fleet.manager.stop();
  });
});

describe('a field that decides', () => {
  test.each([
    ['state', { state: { phase: 'running' } }],
    ['revision', { revision: 'five' }],
    ['image', { image: ['ghcr.io/acme/web:2'] }],
    ['resources', { resources: '1 GPU' }],
    ['volumeId', { volumeId: 7 }],
  ])('and can not be read holds its service, while another one is changed: %s', async (field, odd) => {
    const fleet = await fleetWith({ httpPort: 81, ...odd }, { image: 'ghcr.io/acme/foreign:9', revision: 2 });
    await fleet.clock.advance(60_000);
    expect(messageOf(fleet, web)).toContain(`AnswerUnreadable the API shows ${field} of ${serviceId}`);
    expect(new Set(mutations(fleet))).toEqual(new Set([patch(otherId)]));
    await fleet.manager.stop();
  });

  test('goes on when it can be read again', async () => {
    const fleet = await fleetWith({ httpPort: 81, state: 1 });
    await fleet.clock.advance(60_000);
    expect(mutations(fleet)).toEqual([]);
    fleet.api.services = [shownService({ httpPort: 81 }), shownService({ id: otherId, name: 'api' })];
    await fleet.clock.advance(60_000);
    expect(mutations(fleet)).toContain(patch(serviceId));
    await fleet.manager.stop();
  });

  test('does not end the heartbeats of a task', async () => {
    const desired = desiredOf({
      ...access,
      'web.yaml': serviceDocument('web'),
      'task.yaml': taskDocument(),
    });
    const fleet = await scriptedFleet(desired, {
      records: [knownService()],
      prepare: (given) => {
        given.services = [shownService()];
      },
    });
    await fleet.clock.advance(60_000);
    expect(readyReason(fleet, epoch)).toBe('Held');
    fleet.api.services = [shownService({ state: 7 })];
    fleet.api.news();
    await fleet.clock.advance(120_000);
    expect(fleet.api.news().filter((what) => what === heartbeat).length).toBeGreaterThanOrEqual(3);
    await fleet.manager.stop();
  });

  test('resources in texts are no reason for a resize when somebody changes the image', async () => {
    const resources = { gpuCount: '1', cpu: '8', memoryGb: '32' };
    const fleet = await fleetWith({ resources });
    await fleet.clock.advance(60_000);
    const foreign = { image: 'ghcr.io/acme/foreign:9', httpPort: 80, revision: 2, resources };
    fleet.api.services = [shownService(foreign), shownService({ id: otherId, name: 'api' })];
    await fleet.clock.advance(120_000);
    expect(new Set(mutations(fleet))).toEqual(new Set([patch(serviceId)]));
    await fleet.manager.stop();
  });
});

describe('an entry whose id can not be read', () => {
  const owner: Owner = { id: '', digestKey: { id: '', digest: () => '', sign: () => '' } };

  test('proves no absence: what was recorded is not made again', async () => {
    const fleet = await fleetWith({});
    await fleet.clock.advance(30_000);
    fleet.api.services = [shownService({ id: 'svc-1' }), shownService({ id: otherId, name: 'api' })];
    await fleet.clock.advance(600_000);
    expect(mutations(fleet)).toEqual([]);
    expect(messageOf(fleet, web)).toContain(
      "an entry that can't be identified (id: expected a UUID, found a text",
    );
    expect(readyReason(fleet, api)).toBe('Running');
    await fleet.manager.stop();
  });

  test.each([
    ['its name', { environmentNames: undefined }, []],
    ['no name', { environmentNames: undefined, name: undefined }, []],
    ['another name', { environmentNames: undefined, name: 'other' }, ['POST /api/services']],
    ['its name and variables without its mark', {}, ['POST /api/services']],
    [
      'variables in which only its mark can be told',
      { environmentNames: [[beaconName(owner, '', undefined)]], name: 'other' },
      [],
    ],
  ])('keeps from creating what it could be: %s', async (_what, shown, expected) => {
    const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }), {
      prepare: (given) => {
        given.services = [shownService({ id: { value: serviceId }, ...shown })];
      },
    });
    await fleet.clock.advance(60_000);
    expect([...new Set(mutations(fleet))]).toEqual(expected);
    await fleet.manager.stop();
  });

  test('does not end the protection of a task whose service it may be', async () => {
    const desired = desiredOf({ ...access, 'web.yaml': serviceDocument('web'), 'task.yaml': taskDocument() });
    const fleet = await scriptedFleet(desired, {
      records: [knownService()],
      prepare: (given) => {
        given.services = [shownService()];
      },
    });
    await fleet.clock.advance(60_000);
    fleet.api.services = [shownService({ id: 7 })];
    await fleet.clock.advance(60_000);
    fleet.api.news();
    await fleet.clock.advance(60_000);
    expect(fleet.api.news()).toContain(heartbeat);
    await fleet.manager.stop();
  });

  test('may be the storage of a service: that is not deleted without a word', async () => {
    const fleet = await fleetWith({});
    await fleet.clock.advance(30_000);
    fleet.api.volumes = [{ ...shownVolume('vol-1', serviceId), mode: undefined }];
    await fleet.clock.advance(30_000);
    fleet.tell(desiredOf({ ...access, 'api.yaml': serviceDocument('api') }));
    await fleet.clock.advance(60_000);
    expect(mutations(fleet)).toEqual([]);
    expect(messageOf(fleet, web)).toContain('confirm-data-loss');
    await fleet.manager.stop();
  });
});

test('an answer to a creation in which only the id can be read is the answer', async () => {
  const fleet = await scriptedFleet(desiredOf({ ...access, 'web.yaml': serviceDocument('web') }), {
    prepare: (given) => {
      given.on['POST /api/services'] = ({ body }) => {
        const environmentNames = Object.keys(body.environment);
        given.services = [shownService({ environmentNames })];
        return { status: 201, body: shownService({ state: 5, revision: {}, environmentNames: 3 }) };
      };
    },
  });
  await fleet.clock.advance(60_000);
  expect(mutations(fleet)).toEqual(['POST /api/services']);
  expect(fleet.store.lastIntent(web)?.outcome).toBe('applied');
  expect(readyReason(fleet, web)).toBe('Running');
  await fleet.manager.stop();
});
