/** What snapshots show of prices, and what of that counts for what is yet to be created. */
import pino from 'pino';
import { expect, test } from 'vitest';
import type { wire } from '../../../../src/api/index.ts';
import type { AccountHandle } from '../../../../src/engine/accounts.ts';
import { PriceBooks } from '../../../../src/engine/money/price-books.ts';
import type { AccountSnapshot } from '../../../../src/observed/index.ts';
import { MemoryStore } from '../../../../src/state/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { aService } from '../../../support/plan.ts';
import { stateIdentity } from '../../../support/scripted-fleet.ts';

const account = { name: 'default/default', spec: {}, catalog: {} } as unknown as AccountHandle;
const [one, other] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];

const dayMs = 86_400_000;

/** Each of these is read one after another; a number: so many milliseconds pass. Returns the price that counts in the end. */
function learned(...shown: readonly (Partial<wire.Service> | number)[]): number | undefined {
  const store = new MemoryStore(stateIdentity, [], []);
  let nowMs = 0;
  const clock = Object.assign(new ManualClock(0), { wallMs: () => nowMs });
  const books = new PriceBooks({ store, clock, logger: pino({ level: 'silent' }) });
  for (const more of shown) {
    if (typeof more === 'number') {
      nowMs += more;
      continue;
    }
    const service = aService({ id: one, region: 'standard', geography: 'europe', ...more });
    const services = new Map([[service.id, service]]);
    const snapshot = { services, volumes: new Map() } as unknown as AccountSnapshot;
    books.observe(account, { snapshot, changedIds: new Set([service.id]) });
  }
  return books.book(account).observed[0]?.hourlyMicros;
}

const full = { state: 'running', hourlyMicros: 1000 };

test('the newest price of what runs counts', () => {
  expect(learned(full)).toBe(1000);
  expect(learned(full, { ...full, hourlyMicros: 1500 })).toBe(1500);
  expect(learned(full, { ...full, hourlyMicros: 700 })).toBe(700);
});

test('what is being made may show a part of its price: less than is known does not count', () => {
  const part = { id: other, state: 'provisioning', hourlyMicros: 400 };
  expect(learned(part)).toBe(400);
  expect(learned(full, part)).toBe(1000);
  expect(learned(full, { ...part, hourlyMicros: 1200 })).toBe(1200);
});

test('what runs may show 0 before it is charged: that does not count where a price is known', () => {
  const early = { id: other, state: 'running', hourlyMicros: 0 };
  expect(learned(early)).toBe(0);
  expect(learned(full, early)).toBe(1000);
  expect(learned(early, full)).toBe(1000);
});

test.each([undefined, null, -1])('a price of %s contradicts none', (hourlyMicros) => {
  expect(learned(full, { id: other, state: 'running', hourlyMicros })).toBe(1000);
  expect(learned({ ...full, hourlyMicros: 0 }, { state: 'running', hourlyMicros })).toBe(0);
});

test('a price that was not seen for 30 days contradicts nothing any more', () => {
  const free = { id: other, state: 'running', hourlyMicros: 0 };
  expect(learned(full, 31 * dayMs, free)).toBe(0);
  expect(learned(full, 29 * dayMs, free)).toBe(1000);
});
