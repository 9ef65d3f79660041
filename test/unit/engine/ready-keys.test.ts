import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReadyKeys, type QueueLane } from '../../../src/engine/ready-keys.ts';

const lanes = ['new', 'edit', 'moved', 'resync'] as const;

const rooms: Readonly<Record<string, number>> = { one: 1, two: 2, many: 5 };
const share = fc.constantFrom(...Object.keys(rooms));
const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const lane = fc.constantFrom<QueueLane>(...lanes);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('add' as const), key, lane, share }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('next' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('done' as const), which: fc.nat(9) }) },
);

interface Place {
  readonly key: string;
  readonly lane: QueueLane;
  readonly share: string;
  readonly sinceMs: number;
}

/** The same by a list in the order of arrival, and without a word on whose turn it is. */
class Model {
  ready: Place[] = [];
  working: string[] = [];

  add(added: Place): void {
    const before = this.ready.find((place) => place.key === added.key);
    if (before?.lane === added.lane && before.share === added.share) return;
    this.ready = this.ready.filter((place) => place !== before);
    this.ready.push({ ...added, sinceMs: before?.sinceMs ?? added.sinceMs });
  }

  hasRoom(name: string): boolean {
    return this.working.filter((each) => each === name).length < (rooms[name] ?? 0);
  }

  /** The oldest of each lane of each share that has room. */
  candidates(): Place[] {
    const open = this.ready.filter((place) => this.hasRoom(place.share));
    const isFirst = (one: Place) =>
      open.find((other) => other.share === one.share && other.lane === one.lane) === one;
    return open.filter(isFirst);
  }
}

test('law: what is taken is the oldest of a share with room, and nothing is kept back that could be taken', () => {
  const law = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const [ready, model] = [new ReadyKeys<string>(), new Model()];
    for (const [nowMs, next] of steps.entries()) {
      let isRight = true;
      if (next.do === 'add') {
        const { key: added, lane: into, share: name } = next;
        ready.add(added, into, { name, room: rooms[name] ?? 0 }, nowMs);
        model.add({ key: added, lane: into, share: name, sinceMs: nowMs });
      } else if (next.do === 'next') {
        const candidates = model.candidates();
        const taken = ready.next();
        isRight = taken ? candidates.some((one) => isDeepStrictEqual(one, taken)) : candidates.length === 0;
        model.ready = model.ready.filter((place) => place.key !== taken?.key);
        if (taken) model.working.push(taken.share);
      } else {
        const [ended] = model.working.splice(next.which, 1);
        if (ended !== undefined) ready.done(ended);
      }
      expect(isRight).toBe(true);
      expect(ready.size).toBe(model.ready.length);
      expect(ready.hasNext).toBe(model.candidates().length > 0);
      for (const each of ['a', 'b', 'c', 'd', 'e', 'f']) {
        expect(ready.laneOf(each)).toBe(model.ready.find((place) => place.key === each)?.lane);
      }
    }
  });
  fc.assert(law);
});

test('law: of each share, each fourth key comes from the slow lanes, whatever the others do', () => {
  const turns = fc.array(fc.constantFrom('one', 'other'), { minLength: 40, maxLength: 80 });
  const law = fc.property(turns, (ended) => {
    const ready = new ReadyKeys<string>();
    for (const name of ['one', 'other']) {
      for (const into of ['new', 'resync'] as const) {
        for (let at = 0; at < 100; at += 1) ready.add(`${name} ${into} ${at}`, into, { name, room: 2 }, 0);
      }
    }
    const taken = [1, 2, 3, 4].map(() => ready.next());
    // Both are full, so the next one is of the share that has room again.
    for (const name of ended) {
      ready.done(name);
      taken.push(ready.next());
    }
    for (const name of ['one', 'other']) {
      const own = taken.filter((each) => each?.share === name).map((each) => each?.lane);
      for (let from = 0; from + 4 <= own.length; from += 4) {
        expect(own.slice(from, from + 4)).toContain('resync');
      }
    }
    expect(taken).not.toContain(undefined);
  });
  fc.assert(law);
});

describe('shares', () => {
  const roomy = (name: string) => ({ name, room: 100 });

  test('take turns, however many keys one of them has', () => {
    const ready = new ReadyKeys<string>();
    for (let at = 0; at < 1000; at += 1) ready.add(`big ${at}`, 'resync', roomy('big'), 0);
    for (let at = 0; at < 3; at += 1) ready.add(`small ${at}`, 'resync', roomy('small'), 0);
    const taken = Array.from({ length: 8 }, () => ready.next()?.key);
    expect(taken).toEqual(['big 0', 'small 0', 'big 1', 'small 1', 'big 2', 'small 2', 'big 3', 'big 4']);
  });

  test('that are given more room use it at once', () => {
    const ready = new ReadyKeys<string>();
    const narrow = { name: 'account', room: 1 };
    for (const name of ['a', 'b', 'c']) ready.add(name, 'edit', narrow, 0);
    expect([ready.next()?.key, ready.next()]).toEqual(['a', undefined]);
    ready.resize({ ...narrow, room: 2 });
    expect([ready.next()?.key, ready.next()]).toEqual(['b', undefined]);
    ready.add('d', 'edit', { ...narrow, room: 3 }, 0);
    expect(ready.next()?.key).toBe('c');
  });

  test('that are emptied by a stop count the passes under way', () => {
    const ready = new ReadyKeys<string>();
    const narrow = { name: 'account', room: 1 };
    for (const name of ['a', 'b']) ready.add(name, 'edit', narrow, 0);
    ready.next();
    ready.clear();
    ready.add('c', 'edit', narrow, 0);
    expect([ready.size, ready.next()]).toEqual([1, undefined]);
    ready.done('account');
    expect(ready.next()?.key).toBe('c');
  });
});
