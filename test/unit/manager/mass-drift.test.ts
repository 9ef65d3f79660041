/** The brake for corrections: the same drift on many things at once is told, and not corrected until a person says go. */
import { expect, test } from 'vitest';
import { objectKey } from '../../../src/resources/index.ts';
import { Sensitive } from '../../../src/base/index.ts';
import { beaconName, derivedUid, ownerId } from '../../../src/engine/plan/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  readyReason,
  scriptedFleet,
  shownService,
  stateIdentity,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const names = Array.from({ length: 12 }, (_, index) => `web-${index + 10}`);
const keyOf = (name: string) => objectKey('ContainerService', 'default', name);
const idOf = (name: string) => `00000000-0000-4000-8000-0000000000${name.slice(-2)}`;
const owner = { id: ownerId(stateIdentity.ownerName), digestKey: stateIdentity.digestKey };

const documents = (lines: readonly string[] = []) =>
  Object.fromEntries(
    names.map((name) => [
      `${name}.yaml`,
      serviceDocument(name, ['env: [{name: MODE, value: serve}]', ...lines]),
    ]),
  );
const allowed = (text: string) =>
  text.replace(
    'name: default',
    'name: default\n  annotations: {fleetkeeper.dev/allow-mass-change-until: "2030-01-01T00:00:00Z"}',
  );

function shown(name: string, more: object = {}): Record<string, unknown> {
  const uid = derivedUid(stateIdentity.ownerName, keyOf(name));
  const beacon = beaconName(owner, uid, new Sensitive({ MODE: 'serve' }));
  return shownService({ id: idOf(name), name, environmentNames: ['MODE', beacon], ...more });
}

/** All of them are as desired. */
async function fleetOf(): Promise<ScriptedFleet> {
  const fleet = await scriptedFleet(desiredOf({ ...access, ...documents() }), {
    records: names.map((name) => knownService(keyOf(name), { externalId: idOf(name) })),
    prepare: (api) => {
      api.services = names.map((name) => shown(name));
    },
  });
  await fleet.clock.advance(60_000);
  expect(fleet.store.record(keyOf('web-10'))?.baseline).toMatchObject({ revision: 1 });
  fleet.api.news();
  return fleet;
}

/** The provider shows something else of so many. */
function show(
  { api }: ScriptedFleet,
  count: number,
  more: (service: Record<string, unknown>) => object,
): void {
  api.services = api.services.map((service, index) =>
    index < count ? { ...service, ...more(service) } : service,
  );
}

const oneMoreVariable = (revision: number) => (service: Record<string, unknown>) => ({
  revision,
  environmentNames: [...(service['environmentNames'] as string[]), 'PROVIDER_TRACE'],
});

function patched(fleet: ScriptedFleet): number {
  return fleet.api.news().filter((what) => what.startsWith('PATCH')).length;
}

function stalled({ store }: ScriptedFleet, name: string) {
  return store.record(keyOf(name))?.status?.conditions.find(({ type }) => type === 'Stalled');
}

test('a variable that the provider adds by itself is no drift', async () => {
  const fleet = await fleetOf();
  show(fleet, 12, oneMoreVariable(1));
  await fleet.clock.advance(300_000);
  expect(patched(fleet)).toBe(0);
  expect(fleet.store.record(keyOf('web-10'))?.status?.drift).toBeUndefined();
  // It is known as its own when the service is changed later.
  show(fleet, 12, () => ({ revision: 2 }));
  await fleet.clock.advance(300_000);
  expect(patched(fleet)).toBe(0);
  expect(fleet.store.record(keyOf('web-10'))?.status?.drift).toMatchObject([
    { path: 'env', kind: 'RevisionMoved' },
  ]);
  await fleet.manager.stop();
});

test.each([
  ['a variable more', oneMoreVariable(2), 'env.PROVIDER_TRACE'],
  ['another image', () => ({ revision: 2, image: 'ghcr.io/acme/web:9' }), 'image'],
  ['a pause', () => ({ revision: 2, state: 'paused' }), 'desiredState'],
])(
  '%s on all of them at once is told, and not corrected until a person says go',
  async (_name, more, path) => {
    const fleet = await fleetOf();
    show(fleet, 12, more);
    await fleet.clock.advance(1_800_000);
    const asked = fleet.api.news().filter((what) => !what.startsWith('GET'));
    expect(asked).toEqual([]);
    expect(fleet.store.record(keyOf('web-15'))?.status?.drift).toContainEqual(
      expect.objectContaining({ path, kind: 'Changed' }),
    );
    expect(stalled(fleet, 'web-15')).toMatchObject({
      status: 'True',
      reason: 'MassDrift',
      message: expect.stringMatching(/12 of 12 .*allow-mass-change-until.*--allow-mass-change/s),
    });
    fleet.tell(desiredOf({ ...access, ...documents(), 'account.yaml': allowed(access['account.yaml']) }));
    await fleet.clock.advance(30_000);
    const sent = new Set(fleet.api.news().filter((what) => !what.startsWith('GET')));
    expect(sent.size).toBe(12);
    await fleet.manager.stop();
  },
);

test('what is edited meanwhile is changed, and the drift stays', async () => {
  const fleet = await fleetOf();
  show(fleet, 12, oneMoreVariable(2));
  await fleet.clock.advance(120_000);
  const edited = documents()['web-15.yaml']?.replace('web:1', 'web:2') ?? '';
  fleet.api.news();
  fleet.tell(desiredOf({ ...access, ...documents(), 'web-15.yaml': edited }));
  await fleet.clock.advance(10_000);
  const bodies = fleet.api.asked.filter(({ what }) => what.startsWith('PATCH')).map(({ body }) => body.patch);
  expect(bodies[0]).toEqual({ image: 'ghcr.io/acme/web:2' });
  expect(bodies.every((patch) => !('environment' in patch))).toBe(true);
  await fleet.manager.stop();
});

test('a variable on all of them is not taken out with another one that is on a few', async () => {
  const fleet = await fleetOf();
  show(fleet, 12, oneMoreVariable(2));
  show(fleet, 2, (service) => ({
    environmentNames: [...(service['environmentNames'] as string[]), 'A_COLLEAGUES'],
  }));
  await fleet.clock.advance(600_000);
  expect(patched(fleet)).toBe(0);
  expect(stalled(fleet, 'web-10')).toMatchObject({
    reason: 'MassDrift',
    message: expect.stringMatching(/^env\.PROVIDER_TRACE changed on 12 of 12/),
  });
  await fleet.manager.stop();
});

test('a variable that only reads show, and that comes back at once, is taken out once', async () => {
  const fleet = await fleetOf();
  const { api } = fleet;
  const patch = `PATCH /api/services/${idOf('web-10')}`;
  show(fleet, 1, oneMoreVariable(2));
  api.on[patch] = ({ body }) => {
    const sent = Object.keys(body.patch.environment);
    const service = { ...api.services[0], revision: body.revision + 1, environmentNames: sent };
    api.services = [{ ...service, environmentNames: [...sent, 'PROVIDER_TRACE'] }, ...api.services.slice(1)];
    return { status: 200, body: service };
  };
  await fleet.clock.advance(3_600_000);
  expect(api.asked.filter(({ what }) => what === patch).length).toBe(1);
  expect(readyReason(fleet, keyOf('web-10'))).toBe('Running');
  await fleet.manager.stop();
});

test('five of twelve are corrected', async () => {
  const fleet = await fleetOf();
  show(fleet, 5, oneMoreVariable(2));
  await fleet.clock.advance(10_000 + 60_000);
  expect(patched(fleet)).toBeGreaterThanOrEqual(5);
  await fleet.manager.stop();
});

test('a change that comes to a few at a time is stopped when they are too many', async () => {
  const fleet = await fleetOf();
  const touched = new Set<string>();
  for (let count = 2; count <= 12; count += 2) {
    show(fleet, count, (service) =>
      touched.has(String(service['id'])) ? {} : { ...oneMoreVariable(2)(service) },
    );
    for (const { id } of fleet.api.services.slice(0, count)) touched.add(String(id));
    await fleet.clock.advance(65_000);
  }
  const sent = fleet.api.asked.filter(({ what }) => what.startsWith('PATCH')).map(({ what }) => what);
  expect(new Set(sent).size).toBeLessThanOrEqual(5);
  expect(stalled(fleet, 'web-21')?.reason).toBe('MassDrift');
  await fleet.manager.stop();
});

test('a restart does not let go', async () => {
  const before = await fleetOf();
  show(before, 12, oneMoreVariable(2));
  await before.clock.advance(1_800_000);
  const { services } = before.api;
  await before.manager.stop();
  const fleet = await scriptedFleet(desiredOf({ ...access, ...documents() }), {
    store: before.store,
    startMs: before.clock.wallMs(),
    prepare: (api) => {
      api.services = services;
    },
  });
  await fleet.clock.advance(120_000);
  expect(patched(fleet)).toBe(0);
  await fleet.manager.stop();
});
