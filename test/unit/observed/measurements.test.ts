import { describe, expect, test } from 'vitest';
import type { ControlApi, EndpointProbe, Outcome, PrometheusQueries } from '../../../src/api/index.ts';
import {
  MeasurementWatch,
  type Check,
  type CheckResult,
  type MeasuredReplica,
} from '../../../src/observed/index.ts';
import { createLogger } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const exec: Check = { kind: 'exec', command: ['true'], timeoutSeconds: 10 };
const http: Check = { kind: 'http', path: '/v1', timeoutMs: 5000, expects: { from: 200, to: 399 } };
const query = (more: object = {}): Check => ({ kind: 'prometheus', query: 'up', min: 1, max: 2, ...more });

const applied = (value: unknown): Outcome<unknown> => ({ kind: 'applied', status: 200, value });
const refused: Outcome<unknown> = {
  kind: 'refused',
  status: 409,
  code: 'conflict',
  message: 'it is being changed',
  meaning: 'Conflict',
  retryAfterMs: undefined,
};

interface Sent {
  readonly id: string;
  readonly key: string;
}

/** A provider that answers so to each command, and what was sent to it. */
function apiWith(answer: () => Outcome<unknown> | Promise<Outcome<unknown>>) {
  const sent: Sent[] = [];
  const make = (isMeant: () => boolean): ControlApi =>
    ({
      providedThat: make,
      exec: (id: string, _body: object, key: string) => {
        if (!isMeant()) return Promise.resolve({ kind: 'not-sent', reason: 'the plan has changed' });
        sent.push({ id, key });
        return Promise.resolve(answer());
      },
    }) as unknown as ControlApi;
  return { api: make(() => true), sent };
}

const replicaWith = (more: Partial<MeasuredReplica> = {}): MeasuredReplica => ({
  name: '3',
  id: 'svc-3',
  isRunning: true,
  endpoint: 'https://svc-3.example/',
  loopback: false,
  namespace: 'default',
  api: undefined,
  ...more,
});

interface Given {
  readonly checks: readonly Check[];
  readonly replicas?: readonly MeasuredReplica[];
  readonly probe?: EndpointProbe['probe'];
  readonly ask?: PrometheusQueries['ask'];
  readonly isMeant?: () => boolean;
}

function watchOf({ probe, ask }: Pick<Given, 'probe' | 'ask'>) {
  const close = () => Promise.resolve();
  const clock = new ManualClock();
  const finished: string[] = [];
  const watch = new MeasurementWatch<string>({
    draw: () => 'this process',
    probe: { probe: probe ?? (() => Promise.resolve({ ready: true })), close },
    prometheus: ask && { ask, close },
    clock,
    logger: createLogger('silent'),
    onFinished: (key) => finished.push(key),
  });
  return { watch, clock, finished };
}

const keyOf = (check: number, replica: string) => `key ${check} ${replica}`;

async function measured(given: Given): Promise<readonly CheckResult[]> {
  const { watch, finished } = watchOf(given);
  const { checks, replicas = [replicaWith()], isMeant = () => true } = given;
  const asked = { id: 'one', begin: () => ({ checks, replicas, isMeant, keyOf }) };
  expect(watch.take('llm', [asked]).size).toBe(0);
  await expect.poll(() => finished).toEqual(['llm']);
  return watch.take('llm', [asked]).get('one') ?? [];
}

describe('a command', () => {
  test.each([
    ['exit code 0', applied({ exitCode: 0 }), 'passed', ''],
    [
      'exit code 1',
      applied({ exit_code: 1, stdout: 'secret' }),
      'failed',
      'replica 3: the command ends with exit code 1',
    ],
    ['an unknown shape', applied({ result: 'ok' }), 'inconclusive', /does not show the exit code/],
    ['an exit code that is none', applied({ exitCode: '0', stdout: '' }), 'inconclusive', /does not show/],
    ['a refusal', refused, 'inconclusive', /it is being changed/],
    ['no answer', { kind: 'unknown', reason: 'it was reset' }, 'inconclusive', /it was reset/],
    ['no connection', { kind: 'not-sent', reason: 'nothing listens' }, 'inconclusive', /nothing listens/],
  ] as const)('with %s is judged', async (_what, answer, outcome, message) => {
    const { api, sent } = apiWith(() => answer);
    const [result] = await measured({ checks: [exec], replicas: [replicaWith({ api })] });
    expect(result).toMatchObject({ check: 'exec', outcome });
    expect(result?.message).toMatch(message);
    expect(result?.message).not.toContain('secret');
    expect(sent).toEqual([{ id: 'svc-3', key: 'key 0 3' }]);
  });

  test('is not sent to what does not run, and when it is not meant any more', async () => {
    const { api, sent } = apiWith(() => applied({ exitCode: 0 }));
    const asleep = await measured({ checks: [exec], replicas: [replicaWith({ api, isRunning: false })] });
    const stopped = await measured({
      checks: [exec],
      replicas: [replicaWith({ api })],
      isMeant: () => false,
    });
    expect([asleep[0]?.outcome, stopped[0]?.outcome, sent]).toEqual(['inconclusive', 'inconclusive', []]);
  });

  test('has a key for each replica and check, and one runs at a time', async () => {
    let underWay = 0;
    const { api, sent } = apiWith(async () => {
      underWay += 1;
      expect(underWay).toBe(1);
      await Promise.resolve();
      underWay -= 1;
      return applied({ exitCode: 0 });
    });
    const replicas = ['1', '2'].map((name) => replicaWith({ name, id: `svc-${name}`, api }));
    const results = await measured({ checks: [exec, http, exec], replicas });
    expect(results.map(({ outcome }) => outcome)).toEqual(['passed', 'passed', 'passed']);
    expect(sent.map(({ key }) => key)).toEqual(['key 0 1', 'key 0 2', 'key 2 1', 'key 2 2']);
  });

  test('whose turn does not come ends the measurement all the same, and is not sent later', async () => {
    const { watch, clock, finished } = watchOf({});
    let isMeant = () => true;
    const api = {
      providedThat: (meant: () => boolean) => {
        isMeant = meant;
        return { exec: () => new Promise(() => undefined) };
      },
    } as unknown as ControlApi;
    const replicas = [replicaWith({ api })];
    const asked = { id: 'one', begin: () => ({ checks: [exec], replicas, isMeant: () => true, keyOf }) };
    watch.take('llm', [asked]);
    await Promise.resolve();
    expect(isMeant()).toBe(true);
    await clock.advance(150_000);
    await expect.poll(() => finished).toEqual(['llm']);
    expect(isMeant()).toBe(false);
    expect(watch.take('llm', [asked]).get('one')).toMatchObject([{ outcome: 'inconclusive' }]);
  });
});

describe('an endpoint', () => {
  test.each([
    ['answers', { ready: true }, 'passed'],
    ['answers 500', { ready: false, message: 'it answers 500' }, 'failed'],
    [
      'is never asked',
      { ready: false, message: 'it leads to 169.254.169.254', isUnasked: true },
      'inconclusive',
    ],
  ] as const)('that %s is judged', async (_what, answer, outcome) => {
    const urls: string[] = [];
    const probe: EndpointProbe['probe'] = ({ url }) => {
      urls.push(url);
      return Promise.resolve(answer);
    };
    expect(await measured({ checks: [http], probe })).toMatchObject([{ check: 'http', outcome }]);
    expect(urls).toEqual(['https://svc-3.example/v1']);
  });

  test('that a replica lacks has no result', async () => {
    const replicas = [replicaWith({ endpoint: undefined })];
    expect(await measured({ checks: [http], replicas })).toMatchObject([{ outcome: 'inconclusive' }]);
  });

  test('that fails in one of several replicas fails the check', async () => {
    const probe: EndpointProbe['probe'] = ({ url }) =>
      Promise.resolve(url.includes('svc-3') ? { ready: false, message: 'it answers 500' } : { ready: true });
    const replicas = [replicaWith({ endpoint: 'https://svc-1.example' }), replicaWith()];
    expect(await measured({ checks: [http], replicas, probe })).toMatchObject([{ outcome: 'failed' }]);
  });
});

test.each([
  [{ number: 1 }, 'passed', ''],
  [{ number: 0.5 }, 'failed', '0.5 is less than 1'],
  [{ number: 3 }, 'failed', '3 is more than 2'],
  [
    { problem: 'the query gives 2 numbers, and not one' },
    'inconclusive',
    'the query gives 2 numbers, and not one',
  ],
] as const)('a query that gives %j is %s', async (answer, outcome, message) => {
  const ask: PrometheusQueries['ask'] = () => Promise.resolve(answer);
  expect(await measured({ checks: [query()], ask })).toEqual([{ check: 'prometheus', outcome, message }]);
});

test('a query without a Prometheus has no result', async () => {
  expect(await measured({ checks: [query()] })).toMatchObject([
    { outcome: 'inconclusive', message: expect.stringContaining('--analysis-prometheus') },
  ]);
});

test('what is not asked for any more is ended, and reports nothing', async () => {
  let ended: AbortSignal | undefined;
  const probe: EndpointProbe['probe'] = (_target, signal) => {
    ended = signal;
    return new Promise(() => undefined);
  };
  const { watch } = watchOf({ probe });
  const begin = () => ({ checks: [http], replicas: [replicaWith()], isMeant: () => true, keyOf });
  watch.take('llm', [{ id: 'one', begin }]);
  await Promise.resolve();
  expect(ended?.aborted).toBe(false);
  watch.take('llm', []);
  expect(ended?.aborted).toBe(true);
});
