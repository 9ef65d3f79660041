/** A service in error whose answer shows no reason: the documented events are read once (§6). */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion } from '../../../src/resources/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  scriptedFleet,
  serviceId,
  shownService,
  web,
  type Answer,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const events = `GET /api/services/${serviceId}/events`;
const killed: Answer = {
  status: 200,
  body: { events: [{ message: 'container exited with 137 (out of memory)', created_at: 1 }] },
};

async function fleetInError(
  shown: object,
  answer: () => Answer = () => killed,
  more: readonly string[] = [],
  others: Readonly<Record<string, string>> = {},
) {
  const files = { ...access, ...others, 'web.yaml': serviceDocument('web', more) };
  const fleet = await scriptedFleet(desiredOf(files), {
    records: [knownService()],
    prepare: (api) => {
      api.services = [shownService({ state: 'error', ...shown })];
      api.on[events] = answer;
    },
  });
  await fleet.clock.advance(120_000);
  return fleet;
}

function readyMessage({ store }: ScriptedFleet): string | undefined {
  return store.record(web)?.status?.conditions.find(({ type }) => type === 'Ready')?.message;
}

const reads = ({ api }: ScriptedFleet) => api.asked.filter(({ what }) => what === events).length;

test.each([{}, { error: null }, { error: '' }, { error: true }])(
  'the reason is in status, and was asked for once: %j',
  async (shown) => {
    const fleet = await fleetInError(shown);
    expect(readyMessage(fleet)).toContain('out of memory');
    expect(reads(fleet)).toBe(1);
    fleet.api.services = [shownService({ state: 'error', revision: 2, ...shown })];
    await fleet.clock.advance(120_000);
    expect(reads(fleet)).toBe(2);
    await fleet.manager.stop();
  },
);

test('an error that says why needs no events, and neither does a service that runs', async () => {
  const fleet = await fleetInError({ error: 'no such image' });
  expect(readyMessage(fleet)).toContain('no such image');
  fleet.api.services = [shownService()];
  await fleet.clock.advance(120_000);
  expect(reads(fleet)).toBe(0);
  await fleet.manager.stop();
});

test.each<[string, Answer]>([
  ['that are refused', { status: 404 }],
  ['that say nothing', { status: 200, body: { events: [] } }],
])('events %s are not asked for again, and the service is in error all the same', async (_what, answer) => {
  const fleet = await fleetInError({}, () => answer);
  expect(readyMessage(fleet)).toContain('the service is in error; fix');
  expect(reads(fleet)).toBe(1);
  await fleet.manager.stop();
});

test('events that could not be read are asked for again, and repeat no values of the environment', async () => {
  let attempts = 0;
  const message = 'refused the password hunter2-hunter2';
  const fleet = await fleetInError(
    { environmentNames: undefined },
    () => (++attempts === 1 ? 'lost' : { status: 200, body: { events: [{ message, created_at: 1 }] } }),
    ['env: [{name: PASSWORD, value: hunter2-hunter2}]'],
  );
  expect(attempts).toBe(2);
  expect(readyMessage(fleet)).toContain('refused the password');
  expect(JSON.stringify(fleet.store.record(web)?.status)).not.toContain('hunter2');
  await fleet.manager.stop();
});

test.each([
  ['in the service', { error: 'pull with robot-of-acme:swordfish-42 failed' }, killed],
  [
    'in its events',
    {},
    {
      status: 200,
      body: { events: [{ message: 'pull with robot-of-acme:swordfish-42 failed', created_at: 1 }] },
    },
  ],
])('an error %s does not repeat the access to the image', async (_where, shown, answer) => {
  const registry = stringify({
    apiVersion,
    kind: 'ImageRegistry',
    metadata: { name: 'ghcr' },
    spec: { repository: 'ghcr.io/acme/web', credentialsSecretRef: { name: 'robot' } },
  });
  const secret = stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'robot' },
    stringData: { username: 'robot-of-acme', password: 'swordfish-42' },
  });
  const fleet = await fleetInError(shown, () => answer, [], {
    'registry.yaml': registry,
    'robot.yaml': secret,
  });
  expect(readyMessage(fleet)).toContain('pull with');
  expect(JSON.stringify(fleet.store.record(web)?.status)).not.toMatch(/robot-of-acme|swordfish/);
  await fleet.manager.stop();
});
