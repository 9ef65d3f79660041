/**
 * Storage that a service owns, before an API whose account lists independent volumes only, and whose services do not show it: that it is deleted
 * with its service needs the consent of a person, whatever the document requests by now.
 */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Plan } from '../../../src/engine/plan/index.ts';
import { apiVersion } from '../../../src/resources/index.ts';
import { MemoryStore } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  shownVolume,
  stateIdentity,
  stoppedAfterEach,
  web,
  type Answer,
  type ScriptedApi,
  type ScriptedFleet,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';

const minuteMs = 60_000;
const secondId = '00000000-0000-4000-8000-000000000003';
const diskId = '00000000-0000-4000-8000-000000000004';
const own = 'storage: {volumeGb: 100}';
const volume = stringify({
  apiVersion,
  kind: 'StorageVolume',
  metadata: { name: 'data' },
  spec: { region: 'standard', sizeGb: 10 },
});
const running = stoppedAfterEach();

const files = (more: readonly string[] = []) => ({ ...access, 'web.yaml': serviceDocument('web', more) });
const confirmed = (text: string) =>
  text.replace('{name: web}', '{name: web, annotations: {fleetkeeper.dev/confirm-data-loss: web}}');

/** `shows`: what a service shows beside what it was created with. */
function provide(api: ScriptedApi, shows: object, creation: () => Answer | undefined): void {
  const attach = (id: unknown, user: string | null) => {
    api.volumes = api.volumes.map((each) => (each['id'] === id ? { ...each, serviceId: user } : each));
  };
  const ids = [serviceId, secondId];
  api.on['POST /api/services'] = ({ body: { environment, volumeId = null } }) => {
    const lost = creation();
    if (lost) return lost;
    const id = ids.shift() ?? '';
    const made = shownService({ id, volumeId, environmentNames: Object.keys(environment), ...shows });
    attach(volumeId, id);
    api.services = [made];
    return { status: 201, body: made };
  };
  api.on['POST /api/volumes'] = ({ body: { name, sizeGb } }) => {
    const made = { ...shownVolume(diskId, null), name, sizeGb, requestedSizeGb: sizeGb };
    api.volumes = [made];
    return { status: 201, body: made };
  };
  for (const id of ids) {
    api.on[`POST /api/services/${id}/actions`] = ({ body }) => {
      const [service] = api.services;
      if (body.action === 'delete') {
        attach(service?.['volumeId'], null);
        api.services = [];
      }
      return { status: 200, body: { ...service, state: 'deleting' } };
    };
  }
}

interface World {
  readonly fleet: ScriptedFleet;
  readonly deletions: () => number;
  readonly lastPlan: () => Plan | undefined;
}

async function world(
  documents: Readonly<Record<string, string>>,
  {
    shows = {},
    creation = () => undefined,
    ...options
  }: ScriptedFleetOptions & { shows?: object; creation?: () => Answer | undefined } = {},
): Promise<World> {
  let last: Plan | undefined;
  const fleet = await scriptedFleet(desiredOf(documents), {
    ...options,
    prepare: (api) => {
      provide(api, shows, creation);
      options.prepare?.(api);
    },
    onPass: (key, { plan }) => {
      if (key === web) last = plan;
    },
  });
  running.push(fleet);
  await fleet.clock.advance(minuteMs);
  const deletions = () =>
    fleet.api.asked.filter(({ what, body }) => what.endsWith('/actions') && body.action === 'delete').length;
  return { fleet, deletions, lastPlan: () => last };
}

async function becomes({ fleet }: World, documents: Readonly<Record<string, string>>): Promise<void> {
  fleet.tell(desiredOf(documents));
  await fleet.clock.advance(2 * minuteMs);
}

/** It waits for consent, and shows that data would be destroyed. */
function expectHeld({ fleet, deletions, lastPlan }: World): void {
  expect([deletions(), readyReason(fleet, web)]).toEqual([0, 'DataLossUnconfirmed']);
  expect(lastPlan()).toMatchObject({
    kind: 'hold',
    steps: [{ action: { do: 'delete-service' }, destroysData: true }],
  });
}

// COVERAGE 36
test('a service whose document does not name its storage any more is deleted with consent only', async () => {
  const made = await world(files([own]));
  await becomes(made, files());
  expect(readyReason(made.fleet, web)).toBe('Running');
  await becomes(made, access);
  expectHeld(made);
  const again = confirmed(serviceDocument('web'));
  await becomes(made, { ...access, 'web.yaml': again });
  await becomes(made, access);
  expect([made.deletions(), made.fleet.api.services]).toEqual([1, []]);
});

test.each([
  ['independent storage', 'storage: {volumeGb: 100, volumeMode: independent}', {}],
  ['a volume', 'storage: {volumeRef: {name: data}}', { 'data.yaml': volume }],
])('a service is replaced by one with %s with consent only', async (_what, storage, more) => {
  const made = await world({ ...files([own]), ...more });
  const replaced = serviceDocument('web', [storage, 'replacement: Recreate']);
  await becomes(made, { ...access, ...more, 'web.yaml': replaced });
  expectHeld(made);
  await becomes(made, { ...access, ...more, 'web.yaml': confirmed(replaced) });
  expect(made.deletions()).toBe(1);
  expect(made.fleet.api.services).toHaveLength(1);
  // What took its place owns nothing.
  await becomes(made, { ...access, ...more, 'web.yaml': replaced });
  await becomes(made, { ...access, ...more });
  expect([made.deletions(), made.fleet.api.services]).toEqual([2, []]);
});

test('a service without storage, or with a volume, is deleted without further consent', async () => {
  for (const storage of [[], ['storage: {volumeRef: {name: data}}']]) {
    const made = await world({ ...files(storage), 'data.yaml': volume });
    await becomes(made, { ...access, 'data.yaml': volume });
    expect([made.deletions(), made.fleet.api.services]).toEqual([1, []]);
  }
});

test('what a creation without an answer made is known, although the document was edited before it was found', async () => {
  let isLost = true;
  const late: Record<string, unknown>[] = [];
  const made = await world(files([own]), {
    creation: () => (isLost ? 'lost' : undefined),
    prepare: (api) => {
      const create = api.on['POST /api/services'];
      api.on['POST /api/services'] = (asked) => {
        late.push(shownService({ environmentNames: Object.keys(asked.body.environment) }));
        return create?.(asked);
      };
    },
  });
  await becomes(made, files());
  isLost = false;
  made.fleet.api.services = late.slice(0, 1);
  await becomes(made, files());
  expect(made.fleet.store.record(web)?.externalId).toBe(serviceId);
  await becomes(made, access);
  expectHeld(made);
});

test.each([
  ['with a proof', { storageMadeFor: stateIdentity.digestKey.digest(undefined) }],
  ['without one', { storageMadeFor: undefined }],
])(
  'what is recorded of an earlier creation, %s, does not count for a service that an earlier version made anew',
  async (_what, proof) => {
    const first = await world(files([own]));
    const record = first.fleet.store.record(web);
    await first.fleet.manager.stop();
    if (!record) throw new Error('nothing is recorded');
    const next = await world(files([own]), {
      records: [{ ...record, kind: { ...record.kind, storageMade: 'none', ...proof } }],
      prepare: (api) => void (api.services = first.fleet.api.services),
    });
    await becomes(next, files());
    await becomes(next, access);
    expectHeld(next);
  },
);

test.each([
  ['shows storage that is not listed', { volumeId: diskId }, 0],
  ['shows none', {}, 1],
])('with the state lost, what the service shows counts: it %s', async (_what, shows, deletions) => {
  const first = await world(files([own]), { shows });
  const { services } = first.fleet.api;
  await first.fleet.manager.stop();
  const next = await world(files(), {
    shows,
    store: new MemoryStore(stateIdentity, [], []),
    prepare: (api) => void (api.services = services),
  });
  expect(next.fleet.store.record(web)?.externalId).toBe(serviceId);
  await becomes(next, access);
  expect(next.deletions()).toBe(deletions);
});

test('an adopted service with storage that is not listed needs consent, also when it is not adopted any more', async () => {
  const services = [shownService({ volumeId: diskId })];
  const adopted = await world(files([`adopt: {id: ${serviceId}}`]), {
    prepare: (api) => void (api.services = services),
  });
  await becomes(adopted, files());
  await becomes(adopted, access);
  expectHeld(adopted);
});
