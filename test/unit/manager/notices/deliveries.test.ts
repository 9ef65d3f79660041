import { expect, test } from 'vitest';
import type { SinkReply, SinkRequest } from '../../../../src/api/index.ts';
import { Sensitive, systemRandom } from '../../../../src/base/index.ts';
import type { DueMessage, Sink } from '../../../../src/engine/index.ts';
import { Deliveries } from '../../../../src/manager/notices/deliveries.ts';
import type { Message } from '../../../../src/manager/notices/messages.ts';
import { objectKey, type ObjectKey } from '../../../../src/resources/index.ts';
import { createMetrics } from '../../../../src/telemetry/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const minute = 60_000;
const hour = 60 * minute;

const notificationKey = (name: string) => objectKey('Notification', 'default', name);

/** Sinks at `https://NAME.example.com/`, which answer by name. */
class Bench {
  readonly clock = new ManualClock();
  readonly sent: SinkRequest[] = [];
  readonly logged: object[] = [];
  readonly metrics = createMetrics();
  answer: (request: SinkRequest) => SinkReply | 'hang' = () => ({ kind: 'answered', status: 200 });
  signingKey = 'first';
  url = (name: string) => `https://${name}.example.com/`;
  mayAct = true;
  underWay = 0;
  most = 0;
  readonly deliveries = new Deliveries({
    transport: {
      post: async (request) => {
        this.sent.push(request);
        this.underWay += 1;
        this.most = Math.max(this.most, this.underWay);
        const reply = this.answer(request);
        if (reply === 'hang') await new Promise<void>((resolve) => void this.clock.after(10_000, resolve));
        this.underWay -= 1;
        return reply === 'hang' ? { kind: 'failed', isTimeout: true } : reply;
      },
      close: () => Promise.resolve(),
    },
    terms: { allowLoopback: false, allowPrivate: false },
    clock: this.clock,
    random: systemRandom,
    logger: { warn: (fields: object) => void this.logged.push(fields) } as never,
    metrics: this.metrics,
    sinkOf: (key) => this.#sink(key),
    mayAct: () => this.mayAct,
    onEvent: () => {},
  });

  #sink(key: ObjectKey): Sink {
    const [, , name = ''] = key.split('/');
    const url = new Sensitive(this.url(name));
    return { form: 'webhook', url, signingKey: new Sensitive(this.signingKey) };
  }

  offer(name: string, ...keys: string[]): void {
    const due = keys.map((key): DueMessage => ({ key, id: key, type: 'opened', at: this.clock.wallMs() }));
    this.deliveries.offer(notificationKey(name), due, ({ id }) => ({ id }) as Message);
  }

  kinds(name: string): string[] {
    return this.deliveries.events(notificationKey(name)).map(({ kind }) => kind);
  }

  keys(): unknown[] {
    return this.sent.map(({ headers }) => headers['idempotency-key']);
  }
}

test('messages of a Notification are sent one after the other, in their order', async () => {
  const bench = new Bench();
  bench.offer('a', '1', '2', '3');
  await bench.clock.advance(1);
  expect([bench.keys(), bench.most, bench.kinds('a')]).toEqual([
    ['1', '2', '3'],
    1,
    ['delivered', 'delivered', 'delivered'],
  ]);
});

test('at most four are under way, and sinks that hang leave places to others', async () => {
  const bench = new Bench();
  bench.answer = ({ url }) => (url.includes('good') ? { kind: 'answered', status: 200 } : 'hang');
  for (const name of ['a', 'b', 'c', 'd', 'e']) bench.offer(name, `${name}1`);
  bench.offer('good', 'good1');
  await bench.clock.advance(30_000);
  expect([bench.most, bench.kinds('good')]).toEqual([4, ['delivered']]);
});

test('one that is refused is repeated with its key for an hour, later ones wait behind it, and then it is given up', async () => {
  const bench = new Bench();
  bench.answer = () => ({ kind: 'answered', status: 500 });
  bench.offer('a', '1');
  await bench.clock.advance(30 * minute);
  bench.offer('a', '2');
  await bench.clock.advance(hour / 2 - 1);
  expect(new Set(bench.keys())).toEqual(new Set(['1']));
  expect(bench.sent.length).toBeLessThan(30);
  await bench.clock.advance(5 * minute + 1);
  expect([bench.kinds('a').filter((kind) => kind === 'dropped'), bench.logged]).toMatchObject([
    ['dropped'],
    [{ id: '1' }],
  ]);
  bench.answer = () => ({ kind: 'answered', status: 200 });
  await bench.clock.advance(5 * minute);
  expect([bench.kinds('a').at(-1), bench.keys().at(-1)]).toEqual(['delivered', '2']);
});

test.each([
  ['half a minute', 30_000, 30_000],
  ['a year, which is held to five minutes', hour, 5 * minute],
])('a sink that wants %s has it before the next attempt', async (_what, retryAfterMs, expectedMs) => {
  const bench = new Bench();
  const times: number[] = [];
  bench.answer = () => {
    times.push(bench.clock.monotonicMs());
    return { kind: 'answered', status: 429, retryAfterMs };
  };
  bench.offer('a', '1');
  await bench.clock.advance(20 * minute);
  const [first = 0, second = 0] = times;
  expect(second - first).toBe(expectedMs);
  expect(times.length).toBeGreaterThan(3);
  bench.answer = () => ({ kind: 'answered', status: 200 });
  await bench.clock.advance(5 * minute);
  expect(bench.kinds('a').at(-1)).toBe('delivered');
});

test('a redirect is a failure, and a constant names it', async () => {
  const bench = new Bench();
  bench.answer = () => ({ kind: 'answered', status: 302 });
  bench.offer('a', '1');
  await bench.clock.advance(1);
  expect(bench.deliveries.events(notificationKey('a'))).toMatchObject([
    { kind: 'failed', why: 'it answers 302, and redirects are not followed' },
  ]);
});

test('a rotated key signs the next attempt, which follows at once', async () => {
  const bench = new Bench();
  bench.answer = () => ({ kind: 'answered', status: 401 });
  bench.offer('a', '1');
  await bench.clock.advance(2 * minute);
  const before = bench.sent.length;
  bench.signingKey = 'second';
  bench.answer = () => ({ kind: 'answered', status: 200 });
  bench.offer('a', '1');
  await bench.clock.advance(1);
  expect([bench.sent.length, bench.kinds('a').at(-1)]).toEqual([before + 1, 'delivered']);
  expect(bench.sent.at(-1)?.headers['x-fleetkeeper-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
});

test('an address that may not be asked gets nothing, and its message is given up', async () => {
  const bench = new Bench();
  bench.url = () => 'https://10.0.0.1/';
  bench.offer('a', '1');
  await bench.clock.advance(2 * hour);
  expect([bench.sent, bench.kinds('a').at(-1)]).toEqual([[], 'dropped']);
  expect(bench.deliveries.addressProblem(notificationKey('a'))).toBe('its address is not public');
});

test('of more than 1,000 that wait, the oldest is dropped, reported and counted', async () => {
  const bench = new Bench();
  bench.answer = () => 'hang';
  bench.offer('a', ...Array.from({ length: 600 }, (_, at) => `a${at}`));
  await bench.clock.advance(1000);
  bench.offer('b', ...Array.from({ length: 410 }, (_, at) => `b${at}`));
  expect(bench.kinds('a')).toEqual(Array(10).fill('dropped'));
  // What is under way may arrive.
  expect(bench.logged.map((each) => (each as { id: string }).id)).toEqual(
    Array.from({ length: 10 }, (_, at) => `a${at + 1}`),
  );
  const text = await bench.metrics.registry.metrics();
  expect(text).toContain('fleetkeeper_notification_queue 1000');
  expect(text).toContain('fleetkeeper_notifications_total{outcome="dropped"} 10');
});

test('what waits for a Notification that is gone is dropped', async () => {
  const bench = new Bench();
  bench.answer = () => ({ kind: 'answered', status: 500 });
  bench.offer('a', '1', '2');
  await bench.clock.advance(1);
  bench.deliveries.forget(notificationKey('a'));
  const before = bench.sent.length;
  await bench.clock.advance(hour);
  expect(bench.sent.length).toBe(before);
  expect(await bench.metrics.registry.metrics()).toContain('fleetkeeper_notification_queue 0');
});

test('a process that may not act sends nothing until it may', async () => {
  const bench = new Bench();
  bench.mayAct = false;
  bench.offer('a', '1');
  await bench.clock.advance(minute);
  expect(bench.sent).toEqual([]);
  bench.mayAct = true;
  await bench.clock.advance(2000);
  expect(bench.keys()).toEqual(['1']);
});
