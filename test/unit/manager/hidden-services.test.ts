/**
 * A service that all reads lack for a while, although its activity endpoint answers: reads may come from a replica that lags behind. Nothing
 * is created in its place before that is ruled out.
 */
import { expect, test } from 'vitest';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  heartbeat,
  knownService,
  otherId,
  readyReason,
  scriptedFleet,
  serviceId,
  shownService,
  stoppedAfterEach,
  taskDocument,
  web,
  type ScriptedFleet,
  type ScriptedFleetOptions,
} from '../../support/scripted-fleet.ts';

const creation = 'POST /api/services';
const activities = `GET /api/services/${serviceId}/activity`;
const listed = (...entries: object[]) => ({ status: 200, body: { activities: entries } });
const theirs = { id: '00000000-0000-4000-8000-000000000900', name: 'somebody', released: false };
const protectedFiles = { ...access, 'web.yaml': serviceDocument('web'), 'task.yaml': taskDocument() };
const plainFiles = { ...access, 'web.yaml': serviceDocument('web') };
const visibilityMs = 600_000;
const running = stoppedAfterEach();

/** A service that is as wanted, for longer than the patience. */
async function managing(files: Readonly<Record<string, string>>, options: ScriptedFleetOptions = {}) {
  const fleet = await scriptedFleet(desiredOf(files), {
    records: [knownService()],
    ...options,
    prepare: (api) => {
      api.services = [shownService()];
      api.on[creation] = () => {
        api.services = [shownService({ id: otherId })];
        return { status: 201, body: shownService({ id: otherId }) };
      };
    },
  });
  running.push(fleet);
  await fleet.clock.advance(180_000);
  fleet.api.news();
  return fleet;
}

/** Neither the account nor a read by its id shows it for so long. Returns what was asked. */
async function hidden({ api, clock }: ScriptedFleet, ms: number): Promise<string[]> {
  api.services = [];
  await clock.advance(ms);
  return api.news();
}

test('a service whose heartbeats are accepted is not created anew', async () => {
  const fleet = await managing(protectedFiles);
  expect(await hidden(fleet, 120_000)).not.toContain(creation);
  expect(readyReason(fleet, web)).toBe('AwaitingObservation');
  fleet.api.services = [shownService()];
  await fleet.clock.advance(60_000);
  expect(fleet.api.news()).not.toContain(creation);
  expect(readyReason(fleet, web)).toBe('Running');
});

test('the status says why it waits, and until when', async () => {
  const fleet = await managing(protectedFiles);
  await hidden(fleet, 60_000);
  const ready = fleet.store.record(web)?.status?.conditions.find(({ type }) => type === 'Ready');
  expect(ready?.message).toBe(
    `no read shows ${serviceId}, but a heartbeat of its task was accepted: reads may lag behind. It counts as gone when that ends, or after 600 s (visibilitySeconds of the Account)`,
  );
});

test('a service in which somebody has registered an activity is not created anew', async () => {
  const fleet = await managing(plainFiles);
  fleet.api.on[activities] = () => listed(theirs);
  expect(await hidden(fleet, 120_000)).not.toContain(creation);
  expect(readyReason(fleet, web)).toBe('AwaitingObservation');
});

test('it is created again when reads have lacked it for visibilitySeconds, whatever its activities are', async () => {
  const fleet = await managing(protectedFiles);
  fleet.api.on[activities] = () => listed(theirs);
  expect(await hidden(fleet, visibilityMs - 10_000)).not.toContain(creation);
  expect(await hidden(fleet, 90_000)).toContain(creation);
});

test('a service whose heartbeats are refused, too, is created again soon', async () => {
  const fleet = await managing(protectedFiles);
  fleet.api.on[heartbeat] = () => ({ status: 404 });
  expect(await hidden(fleet, 45_000)).toContain(creation);
});

test.each([400, 403, 409])(
  'heartbeats that are refused with %i prove nothing: the list of activities does',
  async (status) => {
    const fleet = await managing(protectedFiles);
    fleet.api.on[heartbeat] = () => ({ status });
    fleet.api.on[activities] = () => listed(theirs);
    expect(await hidden(fleet, 60_000)).not.toContain(creation);
    fleet.api.on[activities] = () => ({ status: 404 });
    expect(await hidden(fleet, 60_000)).toContain(creation);
  },
);

test('the next heartbeat is not waited for: it is sent at once', async () => {
  const fleet = await managing(protectedFiles);
  fleet.api.on[heartbeat] = () => ({ status: 404 });
  const { asked } = fleet.api;
  const fromMs = fleet.clock.monotonicMs();
  await hidden(fleet, 60_000);
  const createdAtMs = asked.find(({ what, atMs }) => what === creation && atMs >= fromMs)?.atMs ?? Infinity;
  const seenAtMs =
    asked.find(({ what, atMs }) => what === `GET /api/services/${serviceId}` && atMs >= fromMs)?.atMs ?? 0;
  expect(createdAtMs - seenAtMs).toBeLessThan(5000);
});

test.each([
  ['no activities', listed()],
  ['released ones only', listed({ ...theirs, released: true })],
  ['a refusal', { status: 404 }],
])(
  'a service without a task is created again soon where its activity endpoint shows %s',
  async (_, answer) => {
    const fleet = await managing(plainFiles);
    fleet.api.on[activities] = () => answer;
    const news = await hidden(fleet, 45_000);
    expect(news).toContain(creation);
    expect(news.filter((what) => what === activities)).toHaveLength(1);
  },
);

test('a service whose activities cannot be read is not created anew until they can be', async () => {
  const fleet = await managing(plainFiles);
  fleet.api.on[activities] = () => ({ status: 500 });
  expect(await hidden(fleet, 60_000)).not.toContain(creation);
  fleet.api.on[activities] = () => ({ status: 404 });
  await fleet.clock.advance(30_000);
  expect(fleet.api.news()).toContain(creation);
});

test('a plan does not show the creation of a service that has an activity', async () => {
  const plans: string[] = [];
  await managing(plainFiles, {
    mode: 'preview',
    onPass: (key, { plan }) => key === web && plans.push(plan.kind),
  }).then((fleet) => {
    fleet.api.on[activities] = () => listed(theirs);
    return hidden(fleet, 60_000);
  });
  expect(plans).not.toContain('act');
});

test('a service whose document is removed meanwhile is not forgotten, and deleted when it is shown again', async () => {
  const fleet = await managing(plainFiles);
  fleet.api.on[activities] = () => listed(theirs);
  fleet.api.services = [];
  fleet.tell(desiredOf(access));
  await fleet.clock.advance(120_000);
  expect(fleet.store.record(web)?.externalId).toBe(serviceId);
  fleet.api.on[activities] = () => listed();
  fleet.api.services = [shownService()];
  fleet.api.news();
  await fleet.clock.advance(60_000);
  expect(fleet.api.news()).toContain(`POST /api/services/${serviceId}/actions`);
});
