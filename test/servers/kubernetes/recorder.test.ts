import { describe, expect, test } from 'vitest';
import { EventRecorder, type EventNote } from '../../../src/kubernetes/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { FakeApi, failure, surroundings } from './support.ts';

const seconds = (count: number) => count * 1000;

interface WrittenEvent {
  readonly count: number;
  readonly message: string;
  readonly [field: string]: unknown;
}

class World {
  readonly clock = new ManualClock();
  readonly api = new FakeApi(this.clock);
  readonly around = surroundings(this.clock);
  readonly warnings: unknown[] = [];
  readonly recorder: EventRecorder;

  constructor() {
    this.around.logger.warn = (...words: unknown[]) => void this.warnings.push(words);
    this.recorder = new EventRecorder({ api: this.api, instance: 'pod-1', ...this.around });
  }

  record(more: Partial<EventNote> & { readonly uid?: string } = {}): void {
    const { uid = 'uid-of-trainer', ...note } = more;
    this.recorder.record({
      about: {
        apiVersion: 'fleetkeeper.dev/v1alpha1',
        kind: 'ContainerService',
        namespace: 'default',
        name: 'trainer',
        uid,
      },
      type: 'Normal',
      reason: 'Created',
      message: 'created service 42',
      ...note,
    });
  }

  get events(): WrittenEvent[] {
    return [...this.api.objects.values()] as unknown as WrittenEvent[];
  }

  get requests(): number {
    return this.api.count('create') + this.api.count('patch');
  }

  async outcomes(): Promise<Record<string, number>> {
    const { values } = await this.around.metrics.kubernetesEvents.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]));
  }
}

describe('an Event', () => {
  test('tells about which object, what, why, when, and by whom', async () => {
    const world = new World();
    world.record();
    await world.clock.advance(0);
    expect(world.events).toMatchObject([
      {
        kind: 'Event',
        metadata: { namespace: 'default', name: expect.stringMatching(/^trainer\.[0-9a-f]{16}$/) },
        involvedObject: { kind: 'ContainerService', name: 'trainer', uid: 'uid-of-trainer' },
        type: 'Normal',
        reason: 'Created',
        message: 'created service 42',
        count: 1,
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-01T00:00:00Z',
        source: { component: 'fleetkeeper' },
        reportingInstance: 'pod-1',
      },
    ]);
  });

  test('that happens again is counted up', async () => {
    const world = new World();
    for (let time = 0; time < 3; time += 1) {
      world.record();
      await world.clock.advance(seconds(30));
    }
    expect(world.events).toMatchObject([{ count: 3, lastTimestamp: '2026-01-01T00:01:00Z' }]);
    expect(world.requests).toBe(3);
  });

  test('that happens twenty times in one turn is one request', async () => {
    const world = new World();
    for (let time = 0; time < 20; time += 1) world.record();
    await world.clock.advance(0);
    expect(world.events).toMatchObject([{ count: 20 }]);
    expect(world.requests).toBe(1);
  });

  test('that has expired in the meantime is written anew', async () => {
    const world = new World();
    world.record();
    await world.clock.advance(seconds(3600));
    world.api.objects.clear();
    world.record();
    await world.clock.advance(0);
    expect(world.events).toMatchObject([{ count: 2 }]);
  });

  test('has a message of 1,024 bytes at most, on one line', async () => {
    const world = new World();
    world.record({ message: `a\n\u001b[31mb${'€'.repeat(2000)}` });
    await world.clock.advance(0);
    const message = world.events[0]?.message ?? '';
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(1024);
    expect(message).toMatch(/^a \[31mb€+…$/);
  });

  test('whose create was answered by nobody is not written twice', async () => {
    const world = new World();
    const create = world.api.create.bind(world.api);
    let lost = 1;
    world.api.create = async (...given) => {
      const created = await create(...given);
      if ((lost -= 1) >= 0) throw failure(undefined);
      return created;
    };
    world.record();
    await world.clock.advance(seconds(5));
    expect(world.events.length).toBe(1);
    expect(await world.outcomes()).toEqual({ written: 1 });
  });
});

describe('too many Events', () => {
  test('of one object are dropped, and those of others written', async () => {
    const world = new World();
    for (let time = 0; time < 100; time += 1) world.record({ message: `attempt ${time}` });
    world.record({ uid: 'another', message: 'of another' });
    await world.clock.advance(seconds(5));
    expect(world.events.length).toBe(26);
    expect(world.events.some(({ message }) => message === 'of another')).toBe(true);
    expect(await world.outcomes()).toEqual({ dropped: 75, written: 26 });
  });

  test('in total are written at 20 a second', async () => {
    const world = new World();
    for (let index = 0; index < 1000; index += 1) world.record({ uid: `uid-${index}` });
    await world.clock.advance(1);
    expect(world.requests).toBe(200);
    await world.clock.advance(seconds(10));
    expect(world.requests).toBeGreaterThan(390);
    expect(world.requests).toBeLessThan(410);
    await world.clock.advance(seconds(40));
    expect(world.events.length).toBe(1000);
  });

  test('while the API is down wait in a queue of 2,000', async () => {
    const world = new World();
    world.api.always = { create: 'hang' };
    for (let index = 0; index < 3000; index += 1) world.record({ uid: `uid-${index}` });
    await world.clock.advance(0);
    expect((await world.outcomes())['dropped']).toBeGreaterThanOrEqual(1000);
  });
});

describe('an API that does not take Events', () => {
  test.each([
    [403, 'Forbidden'],
    [404, 'NotFound'],
    [422, 'Invalid'],
  ])('(%i) costs one request each, one line of the log, and nothing else', async (status, reason) => {
    const world = new World();
    world.api.always = { create: failure(status, reason) };
    for (let index = 0; index < 10; index += 1) world.record({ uid: `uid-${index}` });
    await world.clock.advance(seconds(600));
    expect(world.requests).toBe(10);
    expect(world.warnings.length).toBe(1);
    expect(await world.outcomes()).toEqual({ failed: 10 });
    world.api.always = {};
    world.record();
    await world.clock.advance(0);
    expect(world.events.length).toBe(1);
  });

  test('for long is given up after five attempts with each Event', async () => {
    const world = new World();
    world.api.always = { create: failure(undefined) };
    world.record();
    world.record({ uid: 'another' });
    await world.clock.advance(seconds(3600));
    expect(world.requests).toBe(10);
    expect(await world.outcomes()).toEqual({ failed: 2 });
  });

  test('for a while is asked again later', async () => {
    const world = new World();
    world.api.script.create = [
      failure(503),
      failure(undefined),
      failure(429, 'TooManyRequests', seconds(20)),
    ];
    world.record();
    await world.clock.advance(seconds(15));
    expect(world.requests).toBe(3);
    await world.clock.advance(seconds(10));
    expect(world.events.length).toBe(1);
  });
});

describe('at the end', () => {
  test('what waits is written, without regard to the rate', async () => {
    const world = new World();
    for (let index = 0; index < 500; index += 1) world.record({ uid: `uid-${index}` });
    const stopped = world.recorder.stop(seconds(2));
    await world.clock.advance(0);
    await stopped;
    expect(world.events.length).toBe(500);
    world.record();
    await world.clock.advance(0);
    expect(world.events.length).toBe(500);
  });

  test('an API that does not answer holds nobody up for longer than was said', async () => {
    const world = new World();
    world.api.always = { create: 'hang' };
    for (let index = 0; index < 5; index += 1) world.record({ uid: `uid-${index}` });
    const startedAtMs = world.clock.monotonicMs();
    const stopped = world.recorder.stop(seconds(2)).then(() => world.clock.monotonicMs() - startedAtMs);
    await world.clock.advance(seconds(60));
    expect(await stopped).toBe(seconds(2));
  });

  test('with nothing to write there is nothing to wait for', async () => {
    const world = new World();
    await world.recorder.stop(seconds(60));
    expect(world.requests).toBe(0);
  });
});
