/** The life of a reservation (S15): when it begins, what keeps it, and what ends it. */
import { describe, expect, test } from 'vitest';
import type { wire } from '../../../../src/api/index.ts';
import type { AccountSnapshot } from '../../../../src/observed/index.ts';
import type { Cost } from '../../../../src/engine/plan/index.ts';
import { Reservations } from '../../../../src/engine/money/reservations.ts';
import { objectKey } from '../../../../src/resources/index.ts';
import { MemoryStore, type Intent, type IntentOutcome } from '../../../../src/state/index.ts';
import { aRecord, aService, serviceId } from '../../../support/plan.ts';
import { stateIdentity } from '../../../support/scripted-fleet.ts';
import { intentOf } from '../../state/support.ts';

const key = objectKey('ContainerService', 'default', 'trainer');
const account = 'default/default';
const costs = (afterMicros: bigint, more: Partial<Cost> = {}): Cost => ({
  beforeMicros: 0n,
  afterMicros,
  basis: 'catalog',
  unknown: [],
  ...more,
});

function snapshot(startedAtMs: number, service?: wire.Service): AccountSnapshot {
  const services = new Map(service ? [[service.id, service]] : []);
  return { startedAtMs, services, volumes: new Map() } as unknown as AccountSnapshot;
}

const record = aRecord(key, {
  externalId: serviceId,
  seen: { id: serviceId, revision: 5, state: 'running', since: 0 },
});

function reservations(intents: readonly Intent[] = [], of = record) {
  return new Reservations(new MemoryStore(stateIdentity, [of], intents), 0);
}

function taken(cost = costs(7n)) {
  const open = reservations();
  open.take(key, account, cost);
  return open;
}

const priced = aService({ revision: 5, hourlyMicros: 7 });

describe('what a request reserves', () => {
  test('stays while the outcome is unknown, whatever is seen', () => {
    const open = taken();
    expect(open.observe(account, snapshot(100, priced), 100)).toEqual([]);
    expect(open.openMicros(account)).toBe(7n);
  });

  test.each([
    ['a read that began before the answer', snapshot(99, priced), 7n],
    ['a read that began after it, and shows the price', snapshot(100, priced), 0n],
    ['a read from before what happened', snapshot(100, aService({ revision: 4, hourlyMicros: 7 })), 7n],
    ['a read that does not show it', snapshot(100), 7n],
    [
      'a read without a price, while it is being made',
      snapshot(100, aService({ state: 'provisioning' })),
      7n,
    ],
    ['a read without a price, once it runs', snapshot(100, aService()), 0n],
    [
      'a read with the price of a part, while it is being made',
      snapshot(100, aService({ state: 'provisioning', hourlyMicros: 2 })),
      7n,
    ],
    [
      'a read with the price of its storage, before it starts',
      snapshot(100, aService({ state: 'paused', hourlyMicros: 2 })),
      7n,
    ],
    [
      'a read with its whole price, while it is being made',
      snapshot(100, aService({ state: 'provisioning', hourlyMicros: 7 })),
      0n,
    ],
  ])('after the answer, and %s', (_what, shown, left) => {
    const open = taken();
    open.heard(key, 100);
    open.observe(account, shown, 200);
    expect(open.openMicros(account)).toBe(left);
  });

  test('ends with a refusal, and for what is gone for certain', () => {
    const refused = taken();
    refused.endUnheard(key);
    expect(refused.openMicros(account)).toBe(0n);
    const gone = taken();
    gone.heard(key, 0);
    gone.absent(key);
    expect(gone.openMicros(account)).toBe(0n);
  });

  test('is given up ten minutes after the answer, if it never shows', () => {
    const open = taken();
    open.heard(key, 0);
    open.observe(account, snapshot(1), 599_999);
    expect(open.openMicros(account)).toBe(7n);
    open.observe(account, snapshot(1), 600_000);
    expect(open.openMicros(account)).toBe(0n);
  });

  test('stays until each Account of the balance has a read that shows it, and for ten minutes if one has none', () => {
    const other = 'team/default';
    const open = taken();
    open.heard(key, 100);
    // It may show no price yet.
    open.observe(other, snapshot(100), 100, [account]);
    expect(open.observe(account, snapshot(101, priced), 102, [other])).toHaveLength(1);
    expect(open.openMicros(account)).toBe(7n);
    expect(open.observe(account, snapshot(110, priced), 111, [other])).toEqual([]);
    expect(open.openMicros(account)).toBe(7n);
    open.observe(other, snapshot(120), 121, [account]);
    expect(open.openMicros(account)).toBe(0n);
    const unread = taken();
    unread.heard(key, 100);
    unread.observe(account, snapshot(100, priced), 101, [other]);
    unread.observe(account, snapshot(600_000, priced), 600_099, [other]);
    expect(unread.openMicros(account)).toBe(7n);
    unread.observe(account, snapshot(600_100, priced), 600_100, [other]);
    expect(unread.openMicros(account)).toBe(0n);
  });

  test('whose price is known, but not read in another Account yet, is not asked for any more', () => {
    const open = taken(costs(0n, { basis: 'unknown', unknown: ['storage in standard/auto'] }));
    open.heard(key, 100);
    open.observe(account, snapshot(100, priced), 101, ['team/default']);
    const other = objectKey('StorageVolume', 'default', 'data');
    expect(open.asks(account, 'storage in standard/auto', other)).toBe(false);
  });

  test('stays for hours while the thing is being made and shows a price of 0', () => {
    const open = taken();
    open.heard(key, 0);
    const making = aService({ revision: 5, state: 'provisioning', hourlyMicros: 0 });
    open.observe(account, snapshot(1, making), 7_200_000);
    expect(open.openMicros(account)).toBe(7n);
    open.observe(account, snapshot(1, aService({ ...making, state: 'deleting' })), 7_200_000);
    expect(open.openMicros(account)).toBe(0n);
  });

  test('does not count against the same request when its turn comes, and does against the next one', () => {
    const open = taken();
    expect(open.openMicros(account, key)).toBe(0n);
    expect(open.openMicros(account)).toBe(7n);
    open.heard(key, 0);
    expect(open.openMicros(account, key)).toBe(7n);
  });

  test('is added to what was not shown yet, and a refusal leaves that', () => {
    const open = taken();
    open.heard(key, 0);
    expect(open.take(key, account, costs(5n)).estimateMicros).toBe(12);
    expect(open.openMicros(account)).toBe(12n);
    expect(open.openMicros(account, key)).toBe(7n);
    open.endUnheard(key);
    expect(open.openMicros(account)).toBe(7n);
  });

  test('is carried on by a request that costs nothing', () => {
    const open = taken();
    open.heard(key, 0);
    expect(open.carried(key)).toEqual({ estimateMicros: 7, basis: 'catalog', unknown: [], of: 'earlier' });
  });

  test('of a deletion that makes room is taken by the creation, and kept until then', () => {
    const open = reservations();
    open.take(key, account, costs(7n), 'creation-to-follow');
    open.heard(key, 0);
    open.absent(key);
    open.observe(account, snapshot(1, priced), 1);
    expect(open.openMicros(account)).toBe(7n);
    expect(open.openMicros(account, key)).toBe(0n);
    open.take(key, account, costs(7n));
    expect(open.openMicros(account)).toBe(7n);
  });

  test('of two that have made room is not what the one waits for in the other', () => {
    const open = reservations();
    open.take(key, account, costs(7n), 'creation-to-follow');
    open.take(objectKey('ContainerService', 'default', 'other'), account, costs(5n), 'creation-to-follow');
    open.take(objectKey('StorageVolume', 'default', 'data'), account, costs(3n));
    expect(open.openMicros(account)).toBe(15n);
    expect(open.openMicros(account, key)).toBe(3n);
  });

  test('with an unknown price is asked for by one', () => {
    const open = taken(costs(0n, { basis: 'unknown', unknown: ['storage in standard/auto'] }));
    const other = objectKey('StorageVolume', 'default', 'data');
    expect(open.asks(account, 'storage in standard/auto', other)).toBe(true);
    expect(open.asks(account, 'storage in standard/auto', key)).toBe(false);
    expect(open.asks(account, 'storage in economy/auto', other)).toBe(false);
  });

  test('may show it in the place that it is given, too', () => {
    const open = taken(costs(0n, { basis: 'unknown', unknown: ['storage in standard/auto'] }));
    const other = objectKey('StorageVolume', 'default', 'data');
    expect(open.asks(account, 'storage in standard/europe', other)).toBe(true);
    const pinned = taken(costs(0n, { basis: 'unknown', unknown: ['storage in standard/europe'] }));
    expect(pinned.asks(account, 'storage in standard/auto', other)).toBe(true);
    expect(pinned.asks(account, 'storage in standard/asia', other)).toBe(false);
  });

  test('with an unknown price is still asked for while a later request of the same object is under way, which has a price', () => {
    const open = taken(costs(0n, { basis: 'unknown', unknown: ['storage in standard/auto'] }));
    open.heard(key, 100);
    const growth = open.take(key, account, costs(3n));
    expect(growth.unknown).toEqual(['storage in standard/auto']);
    expect(
      open.asks(account, 'storage in standard/auto', objectKey('StorageVolume', 'default', 'other')),
    ).toBe(true);
    open.endUnheard(key);
    expect(
      open.asks(account, 'storage in standard/auto', objectKey('StorageVolume', 'default', 'other')),
    ).toBe(true);
  });
});

describe('a process that starts', () => {
  const estimate = { estimateMicros: 7, basis: 'catalog', unknown: [] } as const;
  test.each<[IntentOutcome, bigint]>([
    ['pending', 7n],
    ['unknown', 7n],
    ['applied', 7n],
    ['refused', 0n],
    ['not-sent', 0n],
    ['not-applied', 0n],
  ])('has reserved for an intent that is %s: %s', (outcome, left) => {
    const open = reservations([intentOf(key, 'k', { outcome, estimate })]);
    expect(open.openMicros(account)).toBe(left);
  });

  test('forgets what was applied with its first read that shows it', () => {
    const open = reservations([intentOf(key, 'k', { outcome: 'applied', estimate })]);
    open.observe(account, snapshot(1, priced), 1);
    expect(open.openMicros(account)).toBe(0n);
  });

  test('has what an intent carried on of one before, whatever became of it', () => {
    const carried = { ...estimate, of: 'earlier' } as const;
    const open = reservations([intentOf(key, 'k', { outcome: 'refused', estimate: carried })]);
    expect(open.openMicros(account)).toBe(7n);
  });

  test('has nothing of an intent of 0.1.0, or of one that somebody has edited', () => {
    expect(reservations([intentOf(key, 'k')]).openMicros(account)).toBe(0n);
    const forged = { ...estimate, estimateMicros: -5 };
    expect(reservations([intentOf(key, 'k', { estimate: forged })]).openMicros(account)).toBe(0n);
  });
});
