import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReadyKeys, lanes, type QueueLane } from '../../../src/engine/ready-keys.ts';

const rooms: Readonly<Record<string, number>> = { one: 1, two: 2, many: 5 };
const share = fc.constantFrom(...Object.keys(rooms));
const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const lane = fc.constantFrom<QueueLane>(...lanes);
const order = fc.shuffledSubarray([...lanes], { minLength: lanes.length });
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('add' as const), key, lane, share }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('next' as const), order }) },
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
    this.ready = this.ready.filter((place) => place !== before);
    this.ready.push({ ...added, sinceMs: before?.sinceMs ?? added.sinceMs });
  }

  hasRoom(name: string): boolean {
    return this.working.filter((each) => each === name).length < (rooms[name] ?? 0);
  }

  /** The oldest of each share that has room, in the first of the lanes that has one. */
  candidates(inOrder: readonly QueueLane[]): Place[] {
    for (const each of inOrder) {
      const open = this.ready.filter((place) => place.lane === each && this.hasRoom(place.share));
      if (open.length > 0)
        return open.filter((one) => open.find((other) => other.share === one.share) === one);
    }
    return [];
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
        const candidates = model.candidates(next.order);
        const taken = ready.next(next.order);
        isRight = taken ? candidates.some((one) => isDeepStrictEqual(one, taken)) : candidates.length === 0;
        model.ready = model.ready.filter((place) => place.key !== taken?.key);
        if (taken) model.working.push(taken.share);
      } else {
        const [ended] = model.working.splice(next.which, 1);
        if (ended !== undefined) ready.done(ended);
      }
      expect(isRight).toBe(true);
      expect(ready.size).toBe(model.ready.length);
      for (const each of lanes) expect(ready.has(each)).toBe(model.candidates([each]).length > 0);
      for (const each of ['a', 'b', 'c', 'd', 'e', 'f']) {
        expect(ready.laneOf(each)).toBe(model.ready.find((place) => place.key === each)?.lane);
      }
    }
  });
  fc.assert(law);
});

describe('shares', () => {
  const roomy = (name: string) => ({ name, room: 100 });

  test('take turns, however many keys one of them has', () => {
    const ready = new ReadyKeys<string>();
    for (let at = 0; at < 1000; at += 1) ready.add(`big ${at}`, 'resync', roomy('big'), 0);
    for (let at = 0; at < 3; at += 1) ready.add(`small ${at}`, 'resync', roomy('small'), 0);
    const taken = Array.from({ length: 8 }, () => ready.next(lanes)?.key);
    expect(taken).toEqual(['big 0', 'small 0', 'big 1', 'small 1', 'big 2', 'small 2', 'big 3', 'big 4']);
  });

  test('that are given more room use it at once', () => {
    const ready = new ReadyKeys<string>();
    const narrow = { name: 'account', room: 1 };
    for (const name of ['a', 'b', 'c']) ready.add(name, 'edit', narrow, 0);
    expect([ready.next(lanes)?.key, ready.next(lanes)]).toEqual(['a', undefined]);
    ready.add('d', 'edit', { ...narrow, room: 2 }, 0);
    expect(ready.next(lanes)?.key).toBe('b');
  });

  test('that are emptied by a stop count the passes under way', () => {
    const ready = new ReadyKeys<string>();
    const narrow = { name: 'account', room: 1 };
    for (const name of ['a', 'b']) ready.add(name, 'edit', narrow, 0);
    ready.next(lanes);
    ready.clear();
    ready.add('c', 'edit', narrow, 0);
    expect([ready.size, ready.next(lanes)]).toEqual([1, undefined]);
    ready.done('account');
    expect(ready.next(lanes)?.key).toBe('c');
  });
});
