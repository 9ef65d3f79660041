/** A change with a revision whose answer is lost, of a field that the API does not return: nobody has to be asked what became of it. */
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
  type Answer,
  type Asked,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const settleMs = 5000;
const withValue = (value: string) => serviceDocument('web', [`env: [{name: MODE, value: ${value}}]`]);
const files = (value: string) => desiredOf({ ...access, 'web.yaml': withValue(value) });

interface Provider {
  /** The patches that arrived, whatever became of them. */
  readonly patches: Asked[];
  readonly environment: () => Record<string, string>;
  /** What to do with the patch after `count` others; default: it is made, and answered. */
  answers: (count: number) => 'answers' | 'loses the answer' | 'loses the request' | 'refuses';
  /** Somebody else changes the service. */
  readonly change: (environment?: Record<string, string>) => void;
}

const running = stoppedAfterEach();

async function fleetOf(names: 'shows names' | 'hides names'): Promise<[ScriptedFleet, Provider]> {
  const patches: Asked[] = [];
  let environment: Record<string, string> = {};
  let change: Provider['change'] = () => {};
  const provider: Provider = {
    patches,
    environment: () => environment,
    answers: () => 'answers',
    change: (values) => change(values),
  };
  const fleet = await scriptedFleet(files('one'), {
    settleMs,
    prepare: (api) => {
      const shown = shownService();
      change = (values = environment) => {
        environment = values;
        shown['revision'] = Number(shown['revision']) + 1;
        shown['environmentNames'] = names === 'hides names' ? undefined : Object.keys(environment);
      };
      api.on['POST /api/services'] = ({ body }) => {
        change(body.environment);
        Object.assign(shown, { name: body.name, image: body.image, resources: body.resources });
        api.services = [shown];
        return { status: 201, body: shown };
      };
      api.on[`PATCH /api/services/${serviceId}`] = (asked): Answer => {
        const habit = provider.answers(patches.length);
        patches.push(asked);
        if (habit === 'loses the request') return 'lost';
        if (habit === 'refuses') return { status: 400 };
        if (asked.body.revision !== shown['revision']) return { status: 409 };
        change(asked.body.patch.environment);
        return habit === 'loses the answer' ? 'lost' : { status: 200, body: shown };
      };
    },
  });
  running.push(fleet);
  await fleet.clock.advance(30_000);
  expect(readyReason(fleet, web)).toBe('Running');
  return [fleet, provider];
}

const condition = ({ store }: ScriptedFleet, type: string) =>
  store.record(web)?.status?.conditions.find((each) => each.type === type);

test('it was made, and its answer was lost: it is sent again with the revision that is there now', async () => {
  const [fleet, provider] = await fleetOf('hides names');
  provider.answers = (count) => (count === 0 ? 'loses the answer' : 'answers');
  fleet.tell(files('two'));
  await fleet.clock.advance(60_000);
  expect(readyReason(fleet, web)).toBe('Running');
  const [first, second, ...more] = provider.patches;
  expect(more).toEqual([]);
  expect(second?.body).toEqual({ ...first?.body, revision: first?.body.revision + 1 });
  expect(second?.key).not.toBe(first?.key);
  expect(second?.atMs).toBeGreaterThanOrEqual((first?.atMs ?? 0) + settleMs);
});

test('it was lost, and somebody else has moved the revision: it is sent again, with another key', async () => {
  const [fleet, provider] = await fleetOf('hides names');
  provider.answers = (count) => (count === 0 ? 'loses the request' : 'answers');
  fleet.tell(files('two'));
  await fleet.clock.advance(1000);
  provider.change();
  await fleet.clock.advance(60_000);
  expect(provider.patches).toHaveLength(2);
  expect(provider.environment()).toMatchObject({ MODE: 'two' });
  expect(readyReason(fleet, web)).toBe('Running');
});

test('it was lost, and the revision is the one before: it is sent again with its key and its bytes', async () => {
  const [fleet, provider] = await fleetOf('hides names');
  provider.answers = (count) => (count === 0 ? 'loses the request' : 'answers');
  fleet.tell(files('two'));
  await fleet.clock.advance(60_000);
  const [first, second, ...more] = provider.patches;
  expect(more).toEqual([]);
  expect([second?.key, second?.body]).toEqual([first?.key, first?.body]);
});

test('a correction of values that somebody may have changed settles so, too', async () => {
  const [fleet, provider] = await fleetOf('shows names');
  provider.answers = (count) => (count === 0 ? 'loses the answer' : 'answers');
  provider.change({ ...provider.environment(), MODE: 'hacked' });
  await fleet.clock.advance(120_000);
  expect(provider.patches).toHaveLength(2);
  expect(provider.environment()).toMatchObject({ MODE: 'one' });
  expect(readyReason(fleet, web)).toBe('Running');
  expect(condition(fleet, 'Drifted')?.status).toBe('False');
});

test('when no answer ever comes, it is sent three times, and then a person is asked', async () => {
  const [fleet, provider] = await fleetOf('hides names');
  provider.answers = () => 'loses the answer';
  fleet.tell(files('two'));
  await fleet.clock.advance(600_000);
  expect(provider.patches).toHaveLength(3);
  const stalled = condition(fleet, 'Stalled');
  expect(stalled?.status).toBe('True');
  expect(stalled?.message).toContain('fleetkeeper resolve ContainerService/web --applied');
});

test('what may be in place is not taken for what was there before it', async () => {
  const [fleet, provider] = await fleetOf('hides names');
  provider.answers = (count) => (count === 0 ? 'loses the answer' : count === 1 ? 'refuses' : 'answers');
  fleet.tell(files('two'));
  await fleet.clock.advance(1000);
  fleet.tell(files('three'));
  await fleet.clock.advance(30_000);
  expect(provider.environment()).toMatchObject({ MODE: 'two' });
  fleet.tell(files('one'));
  await fleet.clock.advance(60_000);
  expect(provider.environment()).toMatchObject({ MODE: 'one' });
});
