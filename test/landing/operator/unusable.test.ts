/** What a cluster admits and only the process knows to be wrong: the object says so, within a second, and loses nothing. */
import { expect, test } from 'vitest';
import { service, type Json } from '../../support/processes/fleet.ts';
import {
  conditionOf,
  createWorld,
  eventsOf,
  objectOf,
  replica,
  untilLed,
} from '../../support/processes/operator.ts';
import { eventually } from '../../support/processes/processes.ts';

/** A second, and what a busy machine takes for the rest. */
const soonMs = 3000;
const daily = { cron: '0 2 * * *', durationMinutes: 60 };

const wrong: readonly (readonly [string, string, object, RegExp])[] = [
  ['ContainerService', 'minute', { disruptionWindows: [{ ...daily, cron: '61 2 * * *' }] }, /cron/],
  ['ContainerService', 'zone', { disruptionWindows: [{ ...daily, timeZone: 'Europe/Nowhere' }] }, /timeZone/],
  ['Account', 'port', { url: 'https://api.example.com:70000' }, /url: must be an address/],
  ['Account', 'number', { url: 'https://[:::1]:1/x' }, /url: must be an address/],
];

function documentOf(kind: string, name: string, spec: object): Json {
  if (kind === 'ContainerService') return service(name, spec);
  return { apiVersion: 'fleetkeeper.dev/v1alpha1', kind, metadata: { name }, spec };
}

test('an object that is admitted and can not be used says why in a condition and an Event', async () => {
  const { fleet } = await createWorld();
  const operator = replica(fleet);
  await untilLed(fleet, [operator]);
  await fleet.write('good.yaml', [service('good')]);
  await fleet.untilReady(1);
  for (const [kind, name, spec, message] of wrong) {
    const object = `${kind}/${name}`;
    await fleet.write(`${name}.yaml`, [documentOf(kind, name, spec)]);
    const stalled = await eventually(
      `a condition of ${object}`,
      async () => conditionOf(await objectOf(fleet, object), 'Stalled'),
      soonMs,
    );
    expect(stalled).toMatchObject({
      status: 'True',
      reason: 'InvalidSpec',
      message: expect.stringMatching(message),
    });
    const event = await eventually(
      `an Event of ${object}`,
      async () => (await eventsOf(fleet, object)).find((text) => message.test(text)),
      soonMs,
    );
    expect(event).toMatch(/^InvalidSpec: /);
  }
});

test('an object that works and is edited so says why, and what it stands for goes on', async () => {
  const { fleet, plane } = await createWorld();
  const operator = replica(fleet);
  await untilLed(fleet, [operator]);
  await fleet.write('web.yaml', [service('web')]);
  await fleet.untilReady(1);
  await fleet.write('web.yaml', [service('web', { disruptionWindows: [{ ...daily, cron: '0 25 * * *' }] })]);
  const ready = await eventually(
    'what is wrong',
    async () => {
      const condition = conditionOf(await objectOf(fleet, 'ContainerService/web'), 'Ready');
      return condition.reason === 'InvalidSpec' ? condition : undefined;
    },
    soonMs,
  );
  expect(ready.message).toMatch(/cron/);
  expect((await plane.account()).services).toHaveLength(1);
  await fleet.write('web.yaml', [service('web')]);
  await fleet.untilReady(1);
  expect((await plane.account()).services).toHaveLength(1);
});
