import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  afterGrant,
  afterRefusal,
  afterSighting,
  capacityPauseMs,
  demandKey,
  nextInLine,
  turnOf,
  turnText,
  type Asking,
  type Capacity,
  type CapacityDemand,
  type Turn,
} from '../../../../src/engine/plan/index.ts';
import { rfc3339 } from '../../../../src/base/index.ts';
import type { ObjectKey } from '../../../../src/resources/index.ts';
import {
  capacitySignature,
  readCapacity,
  shownCapacity,
  type CapacityEntry,
} from '../../../../src/state/index.ts';
import { owner } from '../../../support/plan.ts';

const noon = Date.UTC(2026, 0, 1, 12);
const minuteMs = 60_000;
const gpu: CapacityDemand = {
  region: 'standard',
  geography: 'auto',
  gpuCount: 1,
  cpu: 8,
  memoryGb: 64,
  storageGb: 0,
};
const larger = { ...gpu, gpuCount: 2 };
const disk = { ...gpu, gpuCount: 0, cpu: 0, memoryGb: 0, storageGb: 100 };
const refusal = { status: 409, code: 'capacity_unavailable', message: 'none left' };
const key = (name: string): ObjectKey => `ContainerService/default/${name}`;

const at = (sinceNoonMs: number) => ({ wallMs: noon + sinceNoonMs, monotonicMs: sinceNoonMs });

function scarce(demand: CapacityDemand, more: Partial<CapacityEntry> = {}): CapacityEntry {
  return {
    ...afterRefusal(undefined, demand, refusal, { failures: 1, pauseMs: 10_000, at: noon }),
    ...more,
  };
}

function granted(demand: CapacityDemand, grantedAt = noon): CapacityEntry {
  const [entry] = afterGrant({ entries: new Map(), windows: new Map() }, demand, {
    sentAt: grantedAt,
    at: grantedAt,
  }).changed;
  if (!entry) throw new Error('a grant of something unknown is learned');
  return entry;
}

/** In line in this order. */
function memory(
  entries: readonly CapacityEntry[],
  {
    line = [] as readonly string[],
    asking = [] as readonly string[],
    demand = gpu,
    windows = new Map<string, number>(),
  } = {},
): Capacity {
  return {
    entries: new Map(entries.map((entry) => [demandKey(entry.demand), entry])),
    windows,
    asking: asking.map((name): Asking => ({
      key: key(name),
      demand,
      isProbe: true,
      at: noon,
      monotonicMs: 0,
    })),
    line: line.map((name, since) => ({ key: key(name), demand, asked: 0, since })),
  };
}

const asks = (capacity: Capacity, name: string, sinceNoonMs: number, demand = gpu) =>
  turnOf(capacity, { key: key(name), demand }, at(sinceNoonMs)).kind === 'ask';

function waits(capacity: Capacity, name: string, sinceNoonMs: number, demand = gpu) {
  const turn = turnOf(capacity, { key: key(name), demand }, at(sinceNoonMs));
  if (turn.kind === 'ask') throw new Error(`${name} may ask`);
  return turn;
}

describe('a demand that was refused', () => {
  const one = memory([scarce(gpu)]);

  test('is asked for by nobody until its pause is over', () => {
    expect(asks(one, 'a', 9999)).toBe(false);
    expect(asks(one, 'a', 10_000)).toBe(true);
  });

  test('is then asked for by one: whoever is first in line', () => {
    const waiting = memory([scarce(gpu)], { line: ['a', 'b'] });
    expect([asks(waiting, 'a', 10_000), asks(waiting, 'b', 10_000)]).toEqual([true, false]);
  });

  test('is asked for by nobody else while the probe is under way', () => {
    const probed = memory([scarce(gpu)], { line: ['b'], asking: ['a'] });
    expect(waits(probed, 'b', 10_000)).toMatchObject({ by: key('a'), isAsking: true });
    expect(asks(probed, 'b', 60_000)).toBe(false);
  });

  test('is asked for by anybody when the first in line has not for five seconds: it may be gone, paused or held', () => {
    const waiting = memory([scarce(gpu)], { line: ['gone', 'b', 'c'] });
    expect(asks(waiting, 'c', 14_999)).toBe(false);
    expect(asks(waiting, 'c', 15_000)).toBe(true);
  });

  test('is asked for again after half an hour when nobody knows what became of the probe', () => {
    const lost = memory([scarce(gpu)], { line: ['b'], asking: ['a'] });
    expect(asks(lost, 'b', 30 * minuteMs - 1)).toBe(false);
    expect(asks(lost, 'b', 30 * minuteMs)).toBe(true);
  });

  test('is asked for by those first who have not asked yet: a request that is always refused holds up nobody', () => {
    const capacity = memory([scarce(gpu)]);
    const line = [
      { key: key('poisoned'), demand: gpu, asked: 7, since: 0 },
      { key: key('fine'), demand: gpu, asked: 0, since: 9 },
    ];
    expect(nextInLine({ ...capacity, line }, at(10_000), 9)).toEqual([key('fine')]);
  });

  test.each([
    ['another region', { ...gpu, region: 'economy' }],
    ['a geography by name', { ...gpu, geography: 'asia' }],
    ['fewer GPUs', { ...gpu, gpuCount: 0 }],
    ['less memory, although more of everything else', { ...larger, memoryGb: 63 }],
    ['storage alone', disk],
  ])('says nothing of %s', (_, demand) => {
    expect(asks(one, 'a', 0, demand)).toBe(true);
  });

  test('that is storage alone says nothing of a service with more storage', () => {
    const storage = memory([scarce(disk)]);
    expect(asks(storage, 'a', 0, { ...gpu, storageGb: 200 })).toBe(true);
    expect(asks(storage, 'a', 0, { ...disk, storageGb: 200 })).toBe(false);
  });

  test.each([
    ['more GPUs', larger],
    ['storage beside it', { ...gpu, storageGb: 10 }],
  ])('makes %s scarce, too', (_, demand) => {
    expect(waits(one, 'a', 0, demand)).toMatchObject({ leftMs: 10_000 });
  });

  test('has one probe together with all larger ones', () => {
    const asking: Asking[] = [
      { key: key('large'), demand: larger, isProbe: true, at: noon, monotonicMs: 10_000 },
    ];
    expect(asks({ ...one, asking }, 'a', 10_001)).toBe(false);
  });

  test('and whose pause is longer keeps a larger one waiting as long', () => {
    const both = memory([scarce(gpu, { retryAt: noon + minuteMs }), scarce(larger)]);
    expect(waits(both, 'a', 0, larger).leftMs).toBe(minuteMs);
  });

  test('is due at once when the wall clock was set back: how long ago the refusal was is unknown', () => {
    expect(asks(one, 'a', -1)).toBe(true);
    expect(asks(one, 'a', -24 * 60 * minuteMs)).toBe(true);
  });
});

describe('a demand that was granted', () => {
  test('and never refused may be asked for by any number', () => {
    const capacity = memory([granted(gpu)], { asking: ['a', 'b', 'c', 'd'] });
    expect(asks(capacity, 'e', 0)).toBe(true);
  });

  test('after a probe is asked for by one, then two, then four: one more with each grant', () => {
    let capacity = memory([scarce(gpu)]);
    const allowed: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const grants = round === 0 ? 1 : (allowed.at(-1) ?? 0);
      for (let grant = 0; grant < grants; grant += 1) {
        const { changed, window = 0 } = afterGrant(capacity, gpu, {
          sentAt: noon + 20_000,
          at: noon + 20_000,
        });
        capacity = memory(changed, { windows: new Map([[demandKey(gpu), window]]) });
      }
      const line = Array.from({ length: 20 }, (_, index) => `w${index}`);
      const waiting = memory([...capacity.entries.values()], { line, windows: new Map(capacity.windows) });
      allowed.push(nextInLine(waiting, at(20_000), 20).length);
    }
    expect(allowed).toEqual([1, 2, 4, 8]);
  });

  test('and refused again starts over, with the first pause', () => {
    const again = afterRefusal(granted(gpu), gpu, refusal, { failures: 1, pauseMs: 9000, at: noon + 1 });
    expect(again).toMatchObject({ state: 'Scarce', failures: 1, since: noon + 1, retryAt: noon + 9001 });
  });

  test('before a smaller one was refused is asked for by one at a time, without a pause', () => {
    const entries = [granted(larger), scarce(gpu, { at: noon + 1, retryAt: noon + 30 * minuteMs })];
    expect(asks(memory(entries), 'a', 2, larger)).toBe(true);
    expect(asks(memory(entries, { asking: ['b'], demand: larger }), 'a', 2, larger)).toBe(false);
    expect(asks(memory(entries, { asking: ['b'], demand: gpu }), 'a', 2, larger)).toBe(false);
  });

  test('at a time that lies ahead, since the clock was set back, is asked for by one at a time', () => {
    const entries = [granted(larger, noon + minuteMs), scarce(gpu)];
    expect(asks(memory(entries), 'a', 1000, larger)).toBe(true);
    expect(asks(memory(entries, { asking: ['b'], demand: larger }), 'a', 1000, larger)).toBe(false);
  });

  test('after a smaller one was refused is not scarce, and makes the smaller one due', () => {
    const capacity = memory([scarce(gpu, { failures: 9, retryAt: noon + 30 * minuteMs })]);
    const { changed } = afterGrant(capacity, larger, { sentAt: noon + 1, at: noon + 2 });
    const after = memory(changed);
    expect(asks(memory(changed, { asking: ['b'], demand: larger }), 'a', 2, larger)).toBe(true);
    expect(after.entries.get(demandKey(gpu))).toMatchObject({
      state: 'Scarce',
      failures: 9,
      retryAt: noon + 2,
    });
  });

  test('by a request that was sent before the last refusal stays scarce', () => {
    const capacity = memory([scarce(gpu)]);
    expect(afterGrant(capacity, gpu, { sentAt: noon - 1, at: noon + 5 }).changed).toEqual([]);
  });
});

describe('what runs', () => {
  test('shows that an unknown demand is granted', () => {
    expect(afterSighting(memory([]), gpu, noon)).toMatchObject({ state: 'Granted', grantedAt: noon });
  });

  test('shows nothing of what is scarce, by itself or by a smaller demand: it may run since before', () => {
    expect(afterSighting(memory([scarce(gpu)]), gpu, noon)).toBeUndefined();
    expect(afterSighting(memory([scarce(gpu)]), larger, noon)).toBeUndefined();
  });
});

describe('pauses', () => {
  const pauses = (fraction: number) =>
    Array.from({ length: 11 }, (_, index) => capacityPauseMs(index + 1, { fraction: () => fraction }) / 1000);

  test('are 10 s, 20 s, 40 s and so on, up to half an hour', () => {
    expect(pauses(0.5)).toEqual([10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800, 1800]);
  });

  test('vary by a fifth, and are never longer than half an hour', () => {
    expect([pauses(0)[0], pauses(1)[0], pauses(0)[10], pauses(1)[10]]).toEqual([8, 12, 1440, 1800]);
  });

  test('requests that were refused together are one failure', () => {
    const next = { failures: 4, pauseMs: 80_000, at: noon };
    const first = afterRefusal(undefined, gpu, refusal, next);
    const second = afterRefusal(first, gpu, refusal, { ...next, pauseMs: 70_000, at: noon + 3 });
    expect(second).toMatchObject({ failures: 4, retryAt: noon + 80_000, since: noon });
  });
});

describe('the message', () => {
  const text = (turn: Turn, name: string, isShared = false, demand = gpu) =>
    turn.kind === 'wait' ? turnText(turn, { key: key(name), demand }, isShared, rfc3339) : '';

  test('states what was refused how often, who asks next, and when', () => {
    const capacity = memory([scarce(gpu, { failures: 3 })], { line: ['a', 'b'] });
    const expected =
      '1 GPU, 8 CPU, 64 GB of memory in standard/auto was refused with 409 capacity_unavailable: none left ' +
      '(3 times since 2026-01-01T12:00:00Z); ContainerService/default/a asks next for all, at 2026-01-01T12:00:10Z';
    expect(text(waits(capacity, 'b', 0), 'b')).toBe(expected);
    expect(text(waits(capacity, 'a', 0), 'a')).toBe(expected);
  });

  test('states who is asking', () => {
    const capacity = memory([scarce(gpu)], { asking: ['a'] });
    expect(text(waits(capacity, 'b', 10_000), 'b')).toContain('ContainerService/default/a is asking for all');
  });

  test('states that a smaller demand is scarce', () => {
    const capacity = memory([scarce(gpu)]);
    expect(text(waits(capacity, 'b', 0, larger), 'b', false, larger)).toContain(
      'and this needs at least as much (2 GPU, 8 CPU, 64 GB of memory in standard/auto)',
    );
  });

  test('names no object of another namespace, and quotes no message, where an account serves several', () => {
    const capacity = memory([scarce(gpu)], { asking: ['a'] });
    const turn = waits(capacity, 'b', 10_000);
    if (turn.kind !== 'wait') throw new Error('waits');
    const shown = turnText(turn, { key: 'ContainerService/other/b', demand: gpu }, true, rfc3339);
    expect(shown).not.toMatch(/default|none left/);
    expect(shown).toContain('another object is asking for all');
  });
});

describe('in the status of an Account', () => {
  const entries = [scarce(gpu, { failures: 2, grantedAt: noon - minuteMs }), granted(larger)];
  const status = (capacity: unknown) => ({
    capacity,
    capacitySignature: capacitySignature('default/a', capacity, owner.digestKey),
  });

  test('what was written is read', () => {
    expect(readCapacity('default/a', status(shownCapacity(entries)), owner.digestKey)).toEqual(entries);
  });

  test('there are at most 32', () => {
    const many = Array.from({ length: 40 }, (_, cpu) => granted({ ...gpu, cpu }));
    expect(shownCapacity(many)).toHaveLength(32);
  });

  test('what somebody else has written is not used, and neither is what was copied from another Account', () => {
    const shown = shownCapacity(entries);
    expect(readCapacity('default/a', { capacity: shown }, owner.digestKey)).toEqual([]);
    expect(readCapacity('other/a', status(shown), owner.digestKey)).toEqual([]);
  });

  test.each([
    [{ region: 3 }],
    [{ cpu: -1 }],
    [{ cpu: '8' }],
    [{ state: 'Unknown' }],
    [{ since: 'yesterday' }],
    [{ retryAt: null }],
    [{ code: 7 }],
  ])('an entry with %j is left out', (wrong) => {
    const [first, second] = shownCapacity(entries);
    expect(readCapacity('default/a', status([{ ...first, ...wrong }, second]), owner.digestKey)).toEqual([
      entries[1],
    ]);
  });
});

// ---- laws -------------------------------------------------------------------------------------------------

const demands = [gpu, larger, { ...gpu, cpu: 16 }, { ...gpu, geography: 'asia' }, disk] as const;

interface Event {
  readonly afterMs: number;
  readonly asker: number;
  readonly outcome: 'granted' | 'refused' | 'lost' | 'not-sent';
  readonly lastsMs: number;
}

/** What an outsider knows: for which demands the newest answer was a refusal. Told by the words of the rule, not by its code. */
class Outsider {
  readonly refusedAt = new Map<string, number>();
  readonly grantedAt = new Map<string, number>();

  isScarce(demand: CapacityDemand): boolean {
    const since = Math.max(
      -1,
      ...demands
        .filter((one) => isAtLeast(demand, one))
        .map(demandKey)
        // What was granted since shows nothing about larger ones.
        .filter((one) => (this.refusedAt.get(one) ?? -1) > (this.grantedAt.get(one) ?? -1))
        .map((one) => this.refusedAt.get(one) ?? -1),
    );
    return since > (this.grantedAt.get(demandKey(demand)) ?? -1);
  }
}

function isAtLeast(one: CapacityDemand, other: CapacityDemand): boolean {
  if (one.region !== other.region || one.geography !== other.geography) return false;
  if ((one.cpu === 0) !== (other.cpu === 0)) return false;
  return (['gpuCount', 'cpu', 'memoryGb', 'storageGb'] as const).every((part) => one[part] >= other[part]);
}

/** Twenty objects that ask whenever they may. Calls `onAsk` with those under way when one is sent. */
function play(
  events: readonly Event[],
  onAsk: (demand: CapacityDemand, underWay: readonly Asking[], outsider: Outsider) => void,
): void {
  const entries = new Map<string, CapacityEntry>();
  const windows = new Map<string, number>();
  const outsider = new Outsider();
  let asking: (Asking & { readonly endsMs: number; readonly event: Event; readonly failures: number })[] = [];
  let nowMs = 0;
  for (const event of events) {
    nowMs += event.afterMs;
    const over = asking
      .filter(({ endsMs }) => endsMs <= nowMs)
      .sort((left, right) => left.endsMs - right.endsMs);
    asking = asking.filter(({ endsMs }) => endsMs > nowMs);
    for (const { demand, event: past, endsMs, failures, at: sentAt } of over) {
      const wallMs = noon + endsMs;
      if (past.outcome === 'refused') {
        outsider.refusedAt.set(demandKey(demand), endsMs);
        windows.delete(demandKey(demand));
        const pauseMs = capacityPauseMs(failures + 1, { fraction: () => 0.5 });
        const next = { failures: failures + 1, pauseMs, at: wallMs };
        entries.set(demandKey(demand), afterRefusal(entries.get(demandKey(demand)), demand, refusal, next));
      } else if (past.outcome === 'granted') {
        const { changed, window } = afterGrant({ entries, windows }, demand, { sentAt, at: wallMs });
        if (changed.length > 0) outsider.grantedAt.set(demandKey(demand), endsMs);
        if (window !== undefined) windows.set(demandKey(demand), window);
        for (const entry of changed) entries.set(demandKey(entry.demand), entry);
      }
    }
    const asker = key(`o${event.asker}`);
    if (asking.some((each) => each.key === asker)) continue;
    const demand = demands[event.asker % demands.length] ?? gpu;
    const turn = turnOf({ entries, windows, asking, line: [] }, { key: asker, demand }, at(nowMs));
    if (turn.kind === 'wait') continue;
    onAsk(demand, asking, outsider);
    const endsMs = nowMs + (event.outcome === 'lost' ? 31 * minuteMs : event.lastsMs);
    const sent = { key: asker, demand, isProbe: turn.isProbe, at: noon + nowMs, monotonicMs: nowMs };
    asking.push({ ...sent, endsMs, event, failures: turn.failures });
  }
}

const histories = fc.array(
  fc.record({
    afterMs: fc.integer({ min: 0, max: 20_000 }),
    asker: fc.integer({ min: 0, max: 19 }),
    outcome: fc.constantFrom('granted', 'refused', 'refused', 'lost', 'not-sent'),
    lastsMs: fc.integer({ min: 1, max: 40_000 }),
  }),
  { maxLength: 200 },
);

test('law: while a demand is scarce, at most one request for it or for a larger one is under way', () => {
  fc.assert(
    fc.property(histories, (events) => {
      play(events, (demand, underWay, outsider) => {
        for (const one of demands) {
          if (!isAtLeast(demand, one) || !outsider.isScarce(one) || !outsider.isScarce(demand)) continue;
          const rivals = underWay.filter(
            (each) => isAtLeast(each.demand, one) && outsider.isScarce(each.demand),
          );
          expect(rivals).toEqual([]);
        }
      });
    }),
    { numRuns: 300 },
  );
});

test('law: nobody waits for ever: an hour after the last news, somebody of each demand may ask', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...demands), { minLength: 1, maxLength: 20 }),
      fc.nat(12),
      (list, failures) => {
        const pauseMs = capacityPauseMs(failures + 1, { fraction: () => 1 });
        const next = { failures: failures + 1, pauseMs, at: noon };
        const entries = list.map((demand) => afterRefusal(undefined, demand, refusal, next));
        const line = list.map((demand, since) => ({
          key: key(`o${since}`),
          demand,
          asked: since % 3,
          since,
        }));
        const asking = [{ key: key('lost'), demand: gpu, isProbe: true, at: noon, monotonicMs: 0 }];
        expect(nextInLine({ ...memory(entries), line, asking }, at(60 * minuteMs), 1)).toHaveLength(1);
      },
    ),
  );
});
