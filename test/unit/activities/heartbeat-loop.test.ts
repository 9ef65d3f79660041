import * as fc from 'fast-check';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { HeartbeatLoop, type RegistrationRequest } from '../../../src/activities/index.ts';
import { nextSlotMs, phaseOf, retryMs } from '../../../src/activities/registration.ts';
import { ControlApi, Limiter, type Outcome, type Refused, type wire } from '../../../src/api/index.ts';
import { Sensitive, sleep, systemRandom } from '../../../src/base/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const seconds = (count: number) => count * 1000;
const accepted: Outcome<wire.ActivityAnswer> = {
  kind: 'applied',
  status: 200,
  value: { heartbeatSeconds: 30, expiresInSeconds: 300 },
};
const busy: Refused = {
  kind: 'refused',
  status: 503,
  meaning: 'Unavailable',
  code: 'unavailable',
  message: 'later',
  retryAfterMs: undefined,
};
const lost: Outcome<never> = { kind: 'unknown', reason: 'connection reset' };
const refused = (status: number): Outcome<never> => ({ ...busy, status });

interface Sent {
  readonly atMs: number;
  readonly serviceId: string;
  readonly id: string;
  readonly release: boolean;
  readonly key: string;
}

/** An API that answers as `answer` says, and a loop before it. */
class World {
  readonly clock = new ManualClock(0);
  readonly sent: Sent[] = [];
  readonly changes: string[] = [];
  readonly loop: HeartbeatLoop<string>;
  answer: (request: Sent) => Outcome<wire.ActivityAnswer> | 'never' = () => accepted;
  listed: wire.Activity[] = [];
  lists = 0;
  mayAct = true;
  maySendHeartbeats = true;
  readonly api: RegistrationRequest['api'] = {
    recordActivity: (serviceId, { id, release }, key, signal, permit = () => this.mayAct) => {
      if (!permit()) return Promise.resolve({ kind: 'not-sent', reason: 'not the leader' });
      const request = { atMs: this.clock.monotonicMs(), serviceId, id, release, key };
      this.sent.push(request);
      const outcome = this.answer(request);
      if (outcome !== 'never') return Promise.resolve(outcome);
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ kind: 'unknown', reason: 'no answer' }));
      });
    },
    heartbeatWaits: () => false,
    activities: () => {
      this.lists += 1;
      return Promise.resolve({ kind: 'applied', status: 200, value: this.listed });
    },
  };

  /** `hasLease`: it leads, and another process may have led before. */
  constructor(hasLease = true) {
    this.loop = new HeartbeatLoop({
      clock: this.clock,
      random: systemRandom,
      logger: pino({ level: 'silent' }),
      metrics: createMetrics(),
      settleMs: seconds(5),
      ...(hasLease && { mayAct: () => this.mayAct, maySendHeartbeats: () => this.maySendHeartbeats }),
      onChange: (key) => this.changes.push(key),
    });
  }

  keep(key = 'a', more: Partial<RegistrationRequest> = {}) {
    return this.loop.keep(key, {
      account: 'default/default',
      api: this.api,
      serviceId: 'service',
      activityId: `id-of-${key}`,
      name: key,
      wanted: 'held',
      releaseKey: `release-of-${key}`,
      isNew: true,
      visibilityMs: seconds(600),
      ...more,
    });
  }

  async keepMany(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) this.keep(`task-${index}`);
    await this.clock.advance(0);
  }

  /** An API behind a limiter, which takes `answerMs`; `status` says with what it answers a request sent now. */
  limitedApi(perSecond: number, answerMs: number, status: (atMs: number) => 200 | 429): ControlApi {
    const { clock } = this;
    const metrics = createMetrics();
    const answers = {
      200: JSON.stringify({ heartbeatSeconds: 30, expiresInSeconds: 300 }),
      429: JSON.stringify({ error: { code: 'rate_limited', message: 'later' } }),
    };
    return new ControlApi({
      baseUrl: 'http://localhost',
      credential: () => new Sensitive('key'),
      limiter: new Limiter(
        { account: 'default/default', perSecond, burst: 10, concurrency: 8 },
        clock,
        metrics,
      ),
      clock,
      metrics,
      transport: {
        exchange: async ({ method, headers, body }) => {
          if (method === 'GET') {
            await sleep(clock, answerMs);
            return { kind: 'reply', status: 200, retryAfter: undefined, body: '{"activities":[]}' };
          }
          const { id, release } = JSON.parse(body ?? '') as wire.ActivityRequest;
          const key = headers['idempotency-key'] ?? '';
          const atMs = clock.monotonicMs();
          this.sent.push({ atMs, serviceId: '', id, release, key });
          const answer = status(atMs);
          await sleep(clock, answerMs);
          const retryAfter = answer === 429 ? '30' : undefined;
          return { kind: 'reply', status: answer, retryAfter, body: answers[answer] };
        },
        close: () => Promise.resolve(),
      },
    });
  }

  /** The longest time between two requests that were accepted for one task. */
  longestGapMs(fromMs = 0): number {
    const last = new Map<string, number>();
    let longest = 0;
    for (const { id, atMs } of this.sent) {
      const before = last.get(id);
      if (before !== undefined && atMs >= fromMs) longest = Math.max(longest, atMs - before);
      last.set(id, atMs);
    }
    return longest;
  }

  /** Requests in the busiest second from `fromMs` on. */
  peakPerSecond(fromMs = 0): number {
    const counts = new Map<number, number>();
    for (const { atMs } of this.sent) {
      if (atMs < fromMs) continue;
      const second = Math.floor(atMs / 1000);
      counts.set(second, (counts.get(second) ?? 0) + 1);
    }
    return Math.max(...counts.values());
  }
}

describe('one lease', () => {
  // COVERAGE 18, 74
  test('is registered at once, held, and renewed every heartbeatSeconds under one id and new keys', async () => {
    const world = new World();
    expect(world.keep().phase).toBe('registering');
    await world.clock.advance(seconds(301));
    expect(world.keep()).toMatchObject({ phase: 'held', failure: undefined });
    expect(world.sent.length).toBe(11);
    expect(new Set(world.sent.map(({ id }) => id))).toEqual(new Set(['id-of-a']));
    expect(new Set(world.sent.map(({ key }) => key)).size).toBe(world.sent.length);
    expect(world.longestGapMs()).toBeLessThanOrEqual(31_000);
  });

  // COVERAGE 73, 108
  test('follows the period that the API answers, not the one of the contract', async () => {
    const world = new World();
    world.answer = () => ({ ...accepted, value: { heartbeatSeconds: 5, expiresInSeconds: 50 } });
    world.keep();
    await world.clock.advance(seconds(60));
    expect(world.longestGapMs()).toBeLessThanOrEqual(6000);
    expect(world.keep().expiresAtMs).toBeGreaterThan(seconds(60));
  });

  // FAULTS 38
  test.each([
    [0.001, 300, 1000],
    [86_400, 300, 60_000],
    [1, 0.001, 1000],
  ])(
    'is renewed neither in a flood nor too late, when the answer says each %d s and lasts %d s',
    async (heartbeatSeconds, expiresInSeconds, periodMs) => {
      const world = new World();
      world.answer = () => ({ ...accepted, value: { heartbeatSeconds, expiresInSeconds } });
      world.keep();
      await world.clock.advance(10 * periodMs);
      expect(world.sent.length).toBeGreaterThanOrEqual(10);
      expect(world.sent.length).toBeLessThanOrEqual(12);
    },
  );

  test('tells when it is held, when it fails and when it goes on, and not every beat', async () => {
    const world = new World();
    world.keep();
    await world.clock.advance(seconds(100));
    expect(world.changes).toEqual(['a']);
    world.answer = () => busy;
    await world.clock.advance(seconds(60));
    expect(world.changes.length).toBe(2);
    expect(world.keep()).toMatchObject({ phase: 'held', failure: expect.stringContaining('503') });
    world.answer = () => accepted;
    await world.clock.advance(seconds(11));
    expect(world.changes.length).toBe(3);
    expect(world.keep().failure).toBeUndefined();
  });

  test('a beat with an unknown outcome is repeated with its key, though not for long', async () => {
    const world = new World();
    world.answer = () => lost;
    world.keep();
    await world.clock.advance(seconds(60));
    const keys = world.sent.map(({ key }) => key);
    expect(keys[1]).toBe(keys[0]);
    expect(new Set(keys).size).toBeGreaterThan(3);
  });

  test('a beat that is never answered is given up in time for the next', async () => {
    const world = new World();
    world.answer = () => 'never';
    world.keep();
    await world.clock.advance(seconds(60));
    expect(world.sent.length).toBeGreaterThanOrEqual(3);
  });

  test('is released when that is wanted, with the key that was saved, and never renewed after', async () => {
    const world = new World();
    world.keep();
    await world.clock.advance(seconds(40));
    world.keep('a', { wanted: 'released' });
    await world.clock.advance(seconds(300));
    expect(world.keep('a', { wanted: 'released' }).phase).toBe('released');
    const releases = world.sent.filter(({ release }) => release);
    expect(releases.map(({ key }) => key)).toEqual(['release-of-a']);
    expect(world.sent.at(-1)).toBe(releases[0]);
  });

  // COVERAGE 18, 75
  test('is released again until that is acknowledged', async () => {
    const world = new World();
    world.keep();
    await world.clock.advance(seconds(1));
    world.answer = () => busy;
    world.keep('a', { wanted: 'released' });
    await world.clock.advance(seconds(120));
    expect(world.keep('a', { wanted: 'released' })).toMatchObject({ phase: 'releasing' });
    world.answer = () => accepted;
    await world.clock.advance(seconds(11));
    expect(world.keep('a', { wanted: 'released' })).toMatchObject({ phase: 'released', failure: undefined });
    expect(new Set(world.sent.filter(({ release }) => release).map(({ key }) => key)).size).toBe(1);
  });

  test.each([400, 404, 409])(
    'a release that is refused with %i is over only when the list says so',
    async (status) => {
      const world = new World();
      world.answer = () => refused(status);
      world.listed = [{ id: 'id-of-a', name: 'a' }];
      world.keep('a', { wanted: 'released', isNew: false });
      await world.clock.advance(seconds(30));
      expect(world.keep('a', { wanted: 'released' }).phase).toBe('releasing');
      world.listed = [];
      await world.clock.advance(seconds(30));
      expect(world.keep('a', { wanted: 'released' }).phase).toBe('released');
    },
  );

  test('that is wanted again before its release was sent goes on', async () => {
    const world = new World();
    world.keep();
    await world.clock.advance(seconds(1));
    world.answer = () => busy;
    world.keep('a', { wanted: 'released' });
    world.keep('a', { wanted: 'held' });
    world.answer = () => accepted;
    await world.clock.advance(seconds(5));
    expect(world.keep().phase).toBe('held');
    expect(world.sent.some(({ release }) => release)).toBe(false);
  });

  test('that is wanted again while its release is under way is spent when that is acknowledged, and not renewed', async () => {
    const world = new World();
    world.keep();
    await world.clock.advance(0);
    const release = Promise.withResolvers<void>();
    const { recordActivity } = world.api;
    const api: RegistrationRequest['api'] = {
      ...world.api,
      recordActivity: async (serviceId, body, key, signal) => {
        if (body.release) await release.promise;
        return recordActivity(serviceId, body, key, signal);
      },
    };
    world.keep('a', { api, wanted: 'released' });
    await world.clock.advance(seconds(2));
    world.keep('a', { api });
    release.resolve();
    await world.clock.advance(seconds(60));
    expect(world.keep('a', { api }).phase).toBe('spent');
    expect(world.sent.map((each) => each.release)).toEqual([false, true]);
  });

  describe('whose release was acknowledged, and that was dropped before that was noticed,', () => {
    /** When the answer to the release comes. */
    const droppedWith = async (answer: 'before the drop' | 'after it') => {
      const world = new World();
      const release = Promise.withResolvers<Outcome<wire.ActivityAnswer>>();
      const api: RegistrationRequest['api'] = {
        ...world.api,
        recordActivity: (serviceId, body, key, signal) =>
          body.release ? release.promise : world.api.recordActivity(serviceId, body, key, signal),
      };
      world.keep('a', { api });
      await world.clock.advance(seconds(1));
      world.keep('a', { api, wanted: 'released' });
      if (answer === 'before the drop') release.resolve(accepted);
      await world.clock.advance(seconds(1));
      world.loop.drop('a');
      release.resolve(accepted);
      await world.clock.advance(seconds(60));
      return world;
    };

    test.each(['before the drop', 'after it'] as const)(
      'is not beaten for again: answered %s',
      async (answer) => {
        const world = await droppedWith(answer);
        expect(world.keep('a').phase).toBe('spent');
        await world.clock.advance(seconds(60));
        expect(world.sent).toHaveLength(1);
      },
    );

    test('is released, if it is to be released once more', async () => {
      const world = await droppedWith('after it');
      expect(world.keep('a', { wanted: 'released' }).phase).toBe('released');
    });

    test('gets no heartbeat that was waiting for its turn meanwhile', async () => {
      const world = new World();
      const permits: (() => boolean)[] = [];
      const api: RegistrationRequest['api'] = {
        ...world.api,
        recordActivity: (_service, _body, _key, _signal, permit = () => true) => {
          permits.push(permit);
          return new Promise(() => {});
        },
      };
      world.keep('a', { api });
      await world.clock.advance(0);
      expect(permits.map((permit) => permit())).toEqual([true]);
      world.loop.drop('a');
      expect(permits.map((permit) => permit())).toEqual([false]);
    });

    test('gets no heartbeat of a process that did not lead, and was reading the list meanwhile', async () => {
      const world = new World();
      const list = Promise.withResolvers<Outcome<readonly wire.Activity[]>>();
      const api: RegistrationRequest['api'] = { ...world.api, activities: () => list.promise };
      world.mayAct = false;
      world.keep('a', { api });
      await world.clock.advance(seconds(1));
      world.loop.drop('a');
      world.mayAct = true;
      world.keep('a', { wanted: 'released' });
      await world.clock.advance(seconds(1));
      list.resolve({ kind: 'applied', status: 200, value: [{ id: 'id-of-a', name: 'a' }] });
      await world.clock.advance(seconds(1));
      expect(world.sent.map(({ release }) => release)).toEqual([true]);
    });

    test('needs no requests any more, although it is still kept', async () => {
      const world = new World();
      world.keep();
      await world.clock.advance(seconds(1));
      const needs = () => ['default/default', 'default/other'].map((name) => world.loop.needsRequests(name));
      expect(needs()).toEqual([true, false]);
      world.keep('a', { wanted: 'released' });
      expect(needs()).toEqual([true, false]);
      await world.clock.advance(seconds(1));
      expect(world.keep('a', { wanted: 'released' }).phase).toBe('released');
      expect(needs()).toEqual([false, false]);
    });

    test('is beaten for after all when its object was forgotten', async () => {
      const world = await droppedWith('after it');
      world.loop.forget('a');
      expect(world.keep('a').phase).toBe('registering');
    });
  });

  test('of another service is registered there', async () => {
    const world = new World();
    world.keep();
    await world.clock.advance(seconds(1));
    world.keep('a', { serviceId: 'successor' });
    await world.clock.advance(seconds(61));
    expect(new Set(world.sent.slice(1).map(({ serviceId }) => serviceId))).toEqual(new Set(['successor']));
  });

  test('that is dropped, and a loop that is stopped, send nothing more and release nothing', async () => {
    const world = new World();
    world.keep('a');
    world.keep('b');
    await world.clock.advance(seconds(1));
    world.loop.drop('a');
    await world.clock.advance(seconds(60));
    expect(world.sent.filter(({ id }) => id === 'id-of-a').length).toBe(1);
    await world.loop.stop();
    const count = world.sent.length;
    await world.clock.advance(seconds(60));
    expect(world.sent.length).toBe(count);
    expect(world.sent.some(({ release }) => release)).toBe(false);
  });
});

describe('a list that does not show an activity whose request was refused', () => {
  const other = { id: 'id-of-another', name: 'other' };
  /** It was answered at 0 s; from then on every request is refused. */
  const refusedAfterAnswer = async (status: number, listed: wire.Activity[] = [other]) => {
    const world = new World();
    world.keep();
    await world.clock.advance(0);
    Object.assign(world, { answer: () => refused(status), listed });
    return world;
  };

  // COVERAGE 18, 74
  test('may lag: what was answered is not given up before the window of visibility, and is renewed all the same', async () => {
    const world = await refusedAfterAnswer(409);
    await world.clock.advance(seconds(590));
    expect(world.keep()).toMatchObject({ phase: 'held', refusedWith: 409 });
    world.answer = () => accepted;
    await world.clock.advance(seconds(60));
    expect(world.keep()).toMatchObject({ phase: 'held', failure: undefined });
    expect(new Set(world.sent.map(({ id }) => id))).toEqual(new Set(['id-of-a']));
    expect(world.longestGapMs()).toBeLessThanOrEqual(31_000);
  });

  test.each([400, 404, 409, 410])(
    'proves that it is over when the window has passed, and another list agrees (%i)',
    async (status) => {
      const world = await refusedAfterAnswer(status);
      await world.clock.advance(seconds(620));
      expect(world.keep().phase).toBe('spent');
    },
  );

  test.each([400, 404, 409, 410])(
    'proves that it was released without an answer before it was wanted again (%i)',
    async (status) => {
      const world = new World();
      world.keep();
      await world.clock.advance(0);
      world.answer = ({ release }) => (release ? lost : refused(status));
      world.keep('a', { wanted: 'released' });
      await world.clock.advance(seconds(1));
      world.keep();
      await world.clock.advance(seconds(620));
      expect(world.keep().phase).toBe('spent');
    },
  );

  test.each([400, 404, 410])(
    'proves nothing of one that was never registered, and may be refused with %i for what it is',
    async (status) => {
      const world = new World();
      world.answer = () => refused(status);
      world.keep();
      await world.clock.advance(seconds(700));
      expect(world.keep()).toMatchObject({ phase: 'registering', refusedWith: status });
      expect(world.lists).toBe(0);
    },
  );

  test.each([404, 410])('takes no other id for it when its service is gone, too (%i)', async (status) => {
    const world = await refusedAfterAnswer(status);
    Object.assign(world.api, { activities: () => Promise.resolve(refused(status)) });
    await world.clock.advance(seconds(1300));
    expect(world.keep()).toMatchObject({ phase: 'held', refusedWith: status });
  });

  test.each([404, 409, 410])(
    'does not make a release that is refused with %i done: it would protect for ever',
    async (status) => {
      const world = await refusedAfterAnswer(status);
      world.keep('a', { wanted: 'released' });
      await world.clock.advance(seconds(590));
      expect(world.keep('a', { wanted: 'released' }).phase).toBe('releasing');
      await world.clock.advance(seconds(30));
      expect(world.keep('a', { wanted: 'released' }).phase).toBe('released');
    },
  );

  test('proves it within seconds when an earlier one showed it, but not alone', async () => {
    const world = await refusedAfterAnswer(409, [{ id: 'ID-OF-A' }]);
    await world.clock.advance(seconds(40));
    world.listed = [other];
    const lists = world.lists;
    while (world.lists === lists) await world.clock.advance(seconds(1));
    expect(world.keep().phase).toBe('held');
    await world.clock.advance(seconds(15));
    expect(world.keep().phase).toBe('spent');
  });

  test('proves it at once when it shows it as released', async () => {
    const world = await refusedAfterAnswer(409, [{ id: 'ID-OF-A', released: true }]);
    await world.clock.advance(seconds(31));
    expect(world.keep().phase).toBe('spent');
  });

  test('proves nothing when it keeps what was released, and shows it again as registered', async () => {
    const world = await refusedAfterAnswer(409, [{ id: 'id-of-a', released: true }, { id: 'id-of-a' }]);
    await world.clock.advance(seconds(1300));
    expect(world.keep().phase).toBe('held');
  });

  test.each([[{}], [{ name: 'a' }]])('proves nothing while %j in it may be it', async (unidentified) => {
    const world = await refusedAfterAnswer(409, [unidentified]);
    await world.clock.advance(seconds(1300));
    expect(world.keep().phase).toBe('held');
    world.listed = [{ name: 'of somebody else' }];
    await world.clock.advance(seconds(30));
    expect(world.keep().phase).toBe('spent');
  });

  test('proves nothing of one whose registration was never answered, and may have been made', async () => {
    const world = new World();
    world.answer = () => lost;
    world.keep();
    await world.clock.advance(0);
    world.answer = () => refused(409);
    await world.clock.advance(seconds(590));
    expect(world.keep().phase).toBe('registering');
    await world.clock.advance(seconds(30));
    expect(world.keep().phase).toBe('spent');
  });

  test('proves it at once of one that nothing of ours can have registered', async () => {
    const world = new World();
    world.answer = () => refused(409);
    world.keep();
    await world.clock.advance(0);
    expect(world.keep().phase).toBe('spent');
  });

  test('proves nothing of one that an earlier process may have registered just now', async () => {
    const world = new World();
    world.answer = () => refused(409);
    world.keep('a', { isNew: false });
    await world.clock.advance(seconds(590));
    expect(world.keep().phase).toBe('registering');
  });

  test('proves nothing of one that was registered anew after its record had expired', async () => {
    const world = await refusedAfterAnswer(503);
    await world.clock.advance(seconds(700));
    world.answer = () => accepted;
    await world.clock.advance(seconds(60));
    world.answer = () => refused(409);
    await world.clock.advance(seconds(400));
    expect(world.keep().phase).toBe('held');
  });
});

describe('a heartbeat without an answer may follow the release, which', () => {
  const own = { id: 'id-of-a', name: 'a' };
  const releases = ({ sent }: World) => sent.filter(({ release }) => release);

  /** The heartbeat of 30 s has no answer; the release is acknowledged at 40 s. */
  const acknowledged = async () => {
    const world = new World();
    world.keep();
    await world.clock.advance(seconds(1));
    world.answer = ({ release }) => (release ? accepted : 'never');
    await world.clock.advance(seconds(34));
    world.keep('a', { wanted: 'released' });
    await world.clock.advance(seconds(9));
    expect(releases(world).map(({ key }) => key)).toEqual(['release-of-a']);
    expect(world.keep('a', { wanted: 'released' }).phase).toBe('releasing');
    return world;
  };

  /** As a task does it: what is shown again gets another key. */
  const later = async (world: World, ms: number) => {
    await world.clock.advance(ms);
    const state = world.keep('a', { wanted: 'released' });
    if (!state.isShownAgain) return state;
    const again = { wanted: 'released', releaseKey: 'another-key' } as const;
    world.keep('a', again);
    await world.clock.advance(seconds(1));
    return world.keep('a', again);
  };

  test('is sent again with another key when the list shows the activity after the window, and once', async () => {
    const world = await acknowledged();
    world.listed = [own];
    expect(await later(world, seconds(2))).toMatchObject({ phase: 'released', isShownAgain: false });
    expect(releases(world).map(({ key }) => key)).toEqual(['release-of-a', 'another-key']);
    await world.clock.advance(seconds(60));
    expect(releases(world)).toHaveLength(2);
  });

  test('waits for another key: the first one would only bring its answer again', async () => {
    const world = await acknowledged();
    world.listed = [own];
    await world.clock.advance(seconds(60));
    expect(world.keep('a', { wanted: 'released' })).toMatchObject({ phase: 'releasing', isShownAgain: true });
    expect(releases(world)).toHaveLength(1);
    expect(world.changes.length).toBeGreaterThan(1);
  });

  test('is over when the list lacks the activity', async () => {
    const world = await acknowledged();
    expect((await later(world, seconds(2))).phase).toBe('released');
    expect(releases(world)).toHaveLength(1);
  });

  test('is not over while the list can not be read', async () => {
    const world = await acknowledged();
    const { activities } = world.api;
    Object.assign(world.api, { activities: () => Promise.resolve(lost) });
    expect(await later(world, seconds(60))).toMatchObject({
      phase: 'releasing',
      failure: expect.stringContaining('connection reset'),
    });
    Object.assign(world.api, { activities });
    expect((await later(world, seconds(11))).phase).toBe('released');
  });

  test('is released once more when the list can not be read for long', async () => {
    const world = await acknowledged();
    Object.assign(world.api, { activities: () => Promise.resolve(lost) });
    await world.clock.advance(seconds(900));
    expect(world.keep('a', { wanted: 'released' })).toMatchObject({ phase: 'releasing', isShownAgain: true });
  });

  test('is over when its service is gone', async () => {
    const world = await acknowledged();
    Object.assign(world.api, { activities: () => Promise.resolve(refused(404)) });
    expect((await later(world, seconds(30))).phase).toBe('released');
  });

  test.each([400, 404, 409, 410])('is over when the second one is refused with %i', async (status) => {
    const world = await acknowledged();
    world.listed = [own];
    world.answer = () => refused(status);
    expect((await later(world, seconds(2))).phase).toBe('released');
  });

  test('is sent once when the window has passed since', async () => {
    const world = new World();
    world.answer = ({ atMs }) => (atMs < seconds(1) ? lost : accepted);
    world.keep();
    await world.clock.advance(seconds(10));
    world.listed = [own];
    world.keep('a', { wanted: 'released' });
    expect((await later(world, seconds(1))).phase).toBe('released');
    expect([releases(world).length, world.lists]).toEqual([1, 0]);
  });

  test('makes the id useless for a task that is wanted again meanwhile', async () => {
    const world = await acknowledged();
    expect(world.keep('a').phase).toBe('spent');
    const { length } = world.sent;
    await world.clock.advance(seconds(60));
    expect(world.sent).toHaveLength(length);
  });

  test('is checked by the process that goes on, although the release is only answered again', async () => {
    const world = new World(false);
    world.listed = [own];
    world.keep('a', { wanted: 'released', isNew: false });
    await world.clock.advance(seconds(4));
    expect(world.keep('a', { wanted: 'released' }).phase).toBe('releasing');
    expect((await later(world, seconds(2))).phase).toBe('released');
    expect(releases(world)).toHaveLength(2);
  });

  test('is not checked by a process that has gone on for longer than the window', async () => {
    const world = new World(false);
    world.keep('a', { isNew: false });
    await world.clock.advance(seconds(10));
    world.keep('a', { wanted: 'released' });
    expect((await later(world, seconds(1))).phase).toBe('released');
    expect(world.lists).toBe(0);
  });

  test('is checked later beside a leader that may be isolated, and send a heartbeat that it prepared before', async () => {
    const world = new World();
    world.keep('a', { isNew: false });
    await world.clock.advance(seconds(600));
    world.keep('a', { wanted: 'released' });
    await world.clock.advance(seconds(14));
    world.listed = [own];
    expect(world.keep('a', { wanted: 'released' }).phase).toBe('releasing');
    expect((await later(world, seconds(2))).phase).toBe('released');
    expect(releases(world)).toHaveLength(2);
  });

  test('is checked after the registration was dropped and is wanted anew', async () => {
    const world = await acknowledged();
    world.loop.drop('a');
    world.listed = [own];
    world.keep('a', { wanted: 'released', isNew: false });
    expect((await later(world, seconds(30))).phase).toBe('released');
    expect(releases(world).map(({ key }) => key)).toEqual(['release-of-a', 'release-of-a', 'another-key']);
  });

  test('makes the id useless for a task that was dropped and is wanted again', async () => {
    const world = await acknowledged();
    world.loop.drop('a');
    expect(world.keep('a', { isNew: false }).phase).toBe('spent');
  });
});

describe('five hundred leases of one account', () => {
  const count = 500;
  const mean = count / 30;

  test('are all held within half a period, and then beat evenly', async () => {
    const world = new World();
    await world.keepMany(count);
    await world.clock.advance(seconds(17));
    expect(new Set(world.sent.map(({ id }) => id)).size).toBe(count);
    await world.clock.advance(seconds(183));
    expect(world.longestGapMs()).toBeLessThanOrEqual(33_000);
    expect(world.peakPerSecond(seconds(60))).toBeLessThanOrEqual(mean * 1.3);
    expect(world.peakPerSecond()).toBeLessThanOrEqual(mean * 2);
  });

  test('what is held is at most a second later than its period, while two hundred more come each second', async () => {
    const world = new World();
    const period = seconds(5);
    world.answer = () => ({ ...accepted, value: { heartbeatSeconds: 5, expiresInSeconds: 300 } });
    for (let index = 0; index < 1600; index += 1) {
      world.keep(`task-${index}`);
      await world.clock.advance(seconds(1) / 200);
    }
    expect(world.longestGapMs()).toBeLessThanOrEqual(period + seconds(1.1));
    await world.clock.advance(seconds(10));
    expect(new Set(world.sent.map(({ id }) => id)).size).toBe(1600);
  });

  // COVERAGE 78
  test.each([
    ['answers 503', busy],
    ['answers 429 with Retry-After', { ...refused(429), retryAfterMs: 60_000 }],
    ['cuts connections', lost],
    ['says nothing', 'never' as const],
  ])(
    'an API that %s for 200 s lets no record expire, and sees no burst when it is back',
    async (_, outage) => {
      const world = new World();
      const expired: string[] = [];
      const renewedAtMs = new Map<string, number>();
      const isOut = (atMs: number) => atMs >= seconds(60) && atMs < seconds(260);
      world.answer = ({ id, atMs }) => {
        if (isOut(atMs)) return outage;
        if (atMs - (renewedAtMs.get(id) ?? atMs) > seconds(300)) expired.push(id);
        renewedAtMs.set(id, atMs);
        return accepted;
      };
      await world.keepMany(count);
      await world.clock.advance(seconds(400));
      expect(expired).toEqual([]);
      expect(renewedAtMs.size).toBe(count);
      expect(Math.min(...renewedAtMs.values())).toBeGreaterThan(seconds(360));
      expect(world.peakPerSecond(seconds(260))).toBeLessThanOrEqual(mean * 2);
    },
  );
});

// COVERAGE 78
test.each([100, 500, 2000])(
  'the limiter, slowed down by 200 s of 429, lets out no burst of %i heartbeats afterwards',
  async (count) => {
    const world = new World();
    const isOut = (atMs: number) => atMs >= seconds(60) && atMs < seconds(260);
    const api = world.limitedApi(1000, 10, (atMs) => (isOut(atMs) ? 429 : 200));
    const serviceId = systemRandom.uuid();
    for (let index = 0; index < count; index += 1) world.keep(`task-${index}`, { api, serviceId });
    await world.clock.advance(seconds(320));
    const renewed = world.sent.filter(({ atMs }) => atMs >= seconds(260));
    expect(new Set(renewed.map(({ id }) => id)).size).toBe(count);
    expect(world.peakPerSecond(seconds(60))).toBeLessThanOrEqual((count / 30) * 2);
  },
);

test.each([50, 5000])(
  'an account that allows hardly more requests than there are heartbeats, and answers after %i ms, gets each of them',
  async (answerMs) => {
    const world = new World();
    const api = world.limitedApi(5, answerMs, () => 200);
    const serviceId = systemRandom.uuid();
    for (let index = 0; index < 120; index += 1) world.keep(`task-${index}`, { api, serviceId });
    await world.clock.advance(seconds(300));
    expect(new Set(world.sent.map(({ id }) => id)).size).toBe(120);
    expect(world.longestGapMs(seconds(60))).toBeLessThanOrEqual(40_000);
  },
);

test('what else waits for the limiter takes nothing from the heartbeats', async () => {
  const world = new World();
  const api = world.limitedApi(75, 10, () => 200);
  const serviceId = systemRandom.uuid();
  for (let index = 0; index < 1500; index += 1) world.keep(`task-${index}`, { api, serviceId });
  await world.clock.advance(seconds(60));
  const endsAtMs = seconds(180);
  const rollOut = async () => {
    while (world.clock.monotonicMs() < endsAtMs) await api.activities(serviceId);
  };
  for (let worker = 0; worker < 16; worker += 1) void rollOut();
  await world.clock.advance(endsAtMs - seconds(60));
  expect(world.longestGapMs(seconds(60))).toBeLessThanOrEqual(33_000);
});

describe('where heartbeats alone take all requests that an account allows', () => {
  test('each task is registered, also one that was registered by the process before', async () => {
    const world = new World();
    const api = world.limitedApi(5, 50, () => 200);
    const serviceId = systemRandom.uuid();
    for (let index = 0; index < 200; index += 1)
      world.keep(`task-${index}`, { api, serviceId, isNew: false });
    await world.clock.advance(seconds(300));
    expect(new Set(world.sent.map(({ id }) => id)).size).toBe(200);
    await world.clock.advance(seconds(600));
    expect(world.longestGapMs()).toBeLessThan(seconds(100));
  });

  test('a release is sent within a minute', async () => {
    const world = new World();
    const api = world.limitedApi(5, 50, () => 200);
    const serviceId = systemRandom.uuid();
    for (let index = 0; index < 160; index += 1) world.keep(`task-${index}`, { api, serviceId });
    await world.clock.advance(seconds(120));
    world.keep('task-7', { api, serviceId, wanted: 'released' });
    await world.clock.advance(seconds(60));
    expect(world.keep('task-7', { api, serviceId, wanted: 'released' }).phase).toBe('released');
  });
});

test('forty tasks whose heartbeats fail keep no other from being registered', async () => {
  const world = new World();
  await world.keepMany(40);
  await world.clock.advance(seconds(30));
  const failing = new Set(world.sent.map(({ id }) => id));
  world.answer = ({ id }) => (failing.has(id) ? busy : accepted);
  await world.clock.advance(seconds(120));
  for (let index = 0; index < 10; index += 1) world.keep(`more-${index}`);
  await world.clock.advance(seconds(30));
  const sent = new Set(world.sent.map(({ id }) => id));
  expect([...sent].filter((id) => id.startsWith('id-of-more'))).toHaveLength(10);
});

describe('times', () => {
  test('law: the next slot is more than a second and at most a period and a second away, at the lease’s place', () => {
    const times = fc.double({ min: 0, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(fc.nat(10_000), fc.integer({ min: 2000, max: 60_000 }), times, (index, periodMs, nowMs) => {
        const phaseMs = phaseOf(index, periodMs);
        const slotMs = nextSlotMs(phaseMs, periodMs, nowMs);
        expect(slotMs).toBeGreaterThanOrEqual(nowMs + 1000 - 1e-3);
        expect(slotMs).toBeLessThanOrEqual(nowMs + 1000 + periodMs + 1e-3);
      }),
    );
  });

  test('law: a retry comes soon, and what the server asks for never costs the record', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.option(fc.integer({ min: 1000, max: 3_600_000 }), { nil: undefined }),
        fc.integer({ min: 30_000, max: 300_000 }),
        (failures, fraction, askedMs, untilExpiryMs) => {
          const pauseMs = retryMs(failures, fraction, askedMs, untilExpiryMs);
          expect(pauseMs).toBeGreaterThanOrEqual(500);
          expect(pauseMs).toBeLessThanOrEqual(
            askedMs === undefined ? 10_000 : Math.max(10_000, untilExpiryMs / 2),
          );
        },
      ),
    );
  });
});

describe('a process that may change nothing for now', () => {
  const cutOff = async (listed: wire.Activity[]) => {
    const world = new World();
    world.keep();
    await world.clock.advance(0);
    Object.assign(world, { mayAct: false, listed });
    return world;
  };

  test('keeps fresh what it has registered, for as long as nobody has released it', async () => {
    const world = await cutOff([{ id: 'ID-OF-A' }]);
    await world.clock.advance(seconds(600));
    expect(world.sent.length).toBeGreaterThanOrEqual(20);
    expect(world.lists).toBe(world.sent.length - 1);
    world.listed = [{ id: 'id-of-a', released: true }];
    world.sent.length = 0;
    await world.clock.advance(seconds(600));
    expect(world.sent).toEqual([]);
    expect(world.keep().failure).toContain('not there any more');
  });

  test('keeps fresh what the process before it has registered, and it has not renewed yet', async () => {
    const world = new World();
    Object.assign(world, { mayAct: false, listed: [{ id: 'id-of-a' }] });
    world.keep('a', { isNew: false });
    await world.clock.advance(seconds(600));
    expect(world.sent.length).toBeGreaterThanOrEqual(19);
    expect(world.keep().phase).toBe('held');
  });

  test('does not register anew what is not there any more, before it may', async () => {
    const world = await cutOff([]);
    await world.clock.advance(seconds(600));
    expect(world.sent.length).toBe(1);
    world.mayAct = true;
    await world.clock.advance(seconds(31));
    expect(world.sent.length).toBeGreaterThan(1);
  });

  test('registers nothing and releases nothing', async () => {
    const world = await cutOff([{ id: 'id-of-a' }]);
    world.keep('b');
    world.keep('a', { wanted: 'released' });
    await world.clock.advance(seconds(120));
    expect(world.sent.length).toBe(1);
    world.mayAct = true;
    await world.clock.advance(seconds(31));
    expect(world.sent.slice(1).map(({ id, release }) => [id, release])).toEqual(
      expect.arrayContaining([
        ['id-of-a', true],
        ['id-of-b', false],
      ]),
    );
  });

  test('waits for a list that lags: the record goes stale, which protects, and is renewed once it is shown', async () => {
    const world = await cutOff([]);
    await world.clock.advance(seconds(120));
    expect([world.sent.length, world.keep().phase]).toEqual([1, 'held']);
    world.listed = [{ id: 'id-of-a' }];
    await world.clock.advance(seconds(60));
    expect(world.sent.length).toBeGreaterThan(1);
  });

  test('that has lost its office beats no more', async () => {
    const world = await cutOff([{ id: 'id-of-a' }]);
    world.maySendHeartbeats = false;
    await world.clock.advance(seconds(600));
    expect([world.sent.length, world.lists]).toEqual([1, 0]);
  });
});
