/**
 * A change without a revision whose answer is lost, of a field that the API hides: what it sets is set whole, so the same request is sent once
 * more, with its key. Nobody has to be asked.
 */
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

type Habit = 'answers' | 'loses the answer' | 'loses the request' | 'refuses the key' | 'refuses';

interface Provider {
  /** The changes that arrived, whatever became of them. */
  readonly changes: Asked[];
  /** How often one took effect. */
  effects: number;
  /** What is set, and hidden. */
  value: unknown;
  /** What to do with the change after `count` others; default: it is made, and answered. */
  answers: (count: number) => Habit;
  /** The lifecycle, or somebody else, moves the revision. */
  readonly move: () => void;
}

interface Case {
  readonly files: (value: number) => ReturnType<typeof desiredOf>;
  /** The field that is hidden. */
  readonly field: string;
  readonly route: string;
  readonly valueOf: (asked: Asked) => unknown;
  readonly as: (value: number) => unknown;
}

const resize: Case = {
  files: (cpu) =>
    desiredOf({ ...access, 'web.yaml': serviceDocument('web').replace(/cpu: \d+/, `cpu: ${cpu}`) }),
  field: 'resources',
  route: `POST /api/services/${serviceId}/actions`,
  valueOf: ({ body }) => body.resources,
  as: (cpu) => ({ gpuCount: 1, cpu, memoryGb: 32 }),
};
const sleep: Case = {
  files: (minutes) =>
    desiredOf({ ...access, 'web.yaml': serviceDocument('web', [`sleepAfterMinutes: ${minutes}`]) }),
  field: 'sleepAfterMinutes',
  route: `PATCH /api/services/${serviceId}/sleep`,
  valueOf: ({ body }) => body.sleepAfterMinutes,
  as: (minutes) => minutes,
};
const cases: [string, Case][] = [
  ['a resize', resize],
  ['a sleep policy', sleep],
];

const running = stoppedAfterEach();

const keyReused: Answer = {
  status: 409,
  body: { error: { code: 'idempotency_key_reused', message: 'this key was used' } },
};

async function fleetOf({ files, field, route, valueOf }: Case): Promise<[ScriptedFleet, Provider]> {
  const answered = new Map<string | undefined, object>();
  const shown = shownService();
  const provider: Provider = {
    changes: [],
    effects: 0,
    value: undefined,
    answers: () => 'answers',
    move: () => void (shown['revision'] = Number(shown['revision']) + 1),
  };
  const fleet = await scriptedFleet(files(8), {
    settleMs,
    prepare: (api) => {
      api.on['POST /api/services'] = ({ body }) => {
        const { environment = {}, ...made } = body;
        Object.assign(shown, made, { environmentNames: Object.keys(environment) });
        provider.value = made[field];
        delete shown[field];
        api.services = [shown];
        return { status: 201, body: shown };
      };
      api.on[route] = (asked): Answer => {
        const habit = provider.answers(provider.changes.length);
        provider.changes.push(asked);
        if (habit === 'loses the request') return 'lost';
        if (habit === 'refuses') return { status: 400 };
        const before = answered.get(asked.key);
        if (before && habit === 'refuses the key') return keyReused;
        if (!before) {
          provider.value = valueOf(asked);
          provider.effects += 1;
          provider.move();
          answered.set(asked.key, { ...shown });
        }
        return habit === 'loses the answer' ? 'lost' : { status: 200, body: answered.get(asked.key) ?? {} };
      };
    },
  });
  running.push(fleet);
  await fleet.clock.advance(30_000);
  expect(readyReason(fleet, web)).toBe('Running');
  return [fleet, provider];
}

const stalled = ({ store }: ScriptedFleet) =>
  store.record(web)?.status?.conditions.find(({ type }) => type === 'Stalled');

test.each(cases)(
  '%s that was made without an answer is sent again with its key and its bytes, and has no second effect',
  async (_what, given) => {
    const [fleet, provider] = await fleetOf(given);
    provider.answers = (count) => (count === 0 ? 'loses the answer' : 'answers');
    fleet.tell(given.files(4));
    await fleet.clock.advance(60_000);
    const [first, second, ...more] = provider.changes;
    expect(more).toEqual([]);
    expect([second?.key, second?.body]).toEqual([first?.key, first?.body]);
    expect(second?.atMs).toBeGreaterThanOrEqual((first?.atMs ?? 0) + settleMs);
    expect([provider.value, provider.effects]).toEqual([given.as(4), 1]);
    expect(readyReason(fleet, web)).toBe('Running');
  },
);

test.each(cases)('%s that never arrived, while the revision moved, is sent again', async (_what, given) => {
  const [fleet, provider] = await fleetOf(given);
  provider.answers = (count) => (count === 0 ? 'loses the request' : 'answers');
  fleet.tell(given.files(4));
  await fleet.clock.advance(1000);
  provider.move();
  await fleet.clock.advance(60_000);
  expect(provider.changes).toHaveLength(2);
  expect(provider.value).toEqual(given.as(4));
  expect(readyReason(fleet, web)).toBe('Running');
});

test.each(cases)(
  '%s whose repetition is refused since its key was used is sent with another key',
  async (_what, given) => {
    const [fleet, provider] = await fleetOf(given);
    provider.answers = (count) => (count === 0 ? 'loses the answer' : 'refuses the key');
    fleet.tell(given.files(4));
    await fleet.clock.advance(120_000);
    const keys = provider.changes.map(({ key }) => key);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(2);
    expect(provider.value).toEqual(given.as(4));
    expect(readyReason(fleet, web)).toBe('Running');
  },
);

test.each(cases)(
  '%s that never gets an answer, and moves the revision, is sent three times, and then a person is asked',
  async (_what, given) => {
    const [fleet, provider] = await fleetOf(given);
    provider.answers = () => {
      provider.move();
      return 'loses the answer';
    };
    fleet.tell(given.files(4));
    await fleet.clock.advance(600_000);
    expect(provider.changes).toHaveLength(3);
    expect(stalled(fleet)).toMatchObject({ status: 'True', reason: 'OutcomeUnknown' });
    expect(stalled(fleet)?.message).toContain('fleetkeeper resolve ContainerService/web --applied');
  },
);

test.each(cases)('what %s may have set is not taken for what was there before it', async (_what, given) => {
  const [fleet, provider] = await fleetOf(given);
  provider.answers = (count) => (count === 0 ? 'loses the answer' : count === 1 ? 'refuses' : 'answers');
  fleet.tell(given.files(4));
  await fleet.clock.advance(60_000);
  expect(provider.value).toEqual(given.as(4));
  fleet.tell(given.files(8));
  await fleet.clock.advance(60_000);
  expect(provider.value).toEqual(given.as(8));
  expect(readyReason(fleet, web)).toBe('Running');
});

test.each(cases)('%s that is taken back before it is settled is undone', async (_what, given) => {
  const [fleet, provider] = await fleetOf(given);
  provider.answers = (count) => (count === 0 ? 'loses the answer' : 'answers');
  fleet.tell(given.files(4));
  await fleet.clock.advance(1000);
  fleet.tell(given.files(8));
  await fleet.clock.advance(60_000);
  expect(provider.value).toEqual(given.as(8));
  expect(readyReason(fleet, web)).toBe('Running');
});
