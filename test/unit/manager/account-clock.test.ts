import { expect, test } from 'vitest';
import type { HttpReply } from '../../../src/api/index.ts';
import { AccountClock } from '../../../src/manager/account-clock.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const startMs = Date.UTC(2026, 0, 1);

/** As that of a machine that is ahead. */
class AheadClock extends ManualClock {
  aheadMs = 0;

  override wallMs(): number {
    return super.wallMs() + this.aheadMs;
  }
}

function world() {
  const clock = new AheadClock(startMs);
  const time = new AccountClock(clock);
  const answered = async (date: string | undefined) => {
    const reply: HttpReply = { kind: 'reply', status: 200, retryAfter: undefined, body: '', date };
    const transport = time.watch({ exchange: async () => reply, close: async () => {} });
    await transport.exchange({ method: 'GET', url: '', headers: {}, body: undefined });
  };
  const dateOf = (wallMs: number) => new Date(wallMs).toUTCString();
  return { clock, time, answered, dateOf };
}

test('the time of the provider goes on after an answer, whatever becomes of the clock of this machine', async () => {
  const { clock, time, answered, dateOf } = world();
  expect(time.now()).toMatchObject({ isAnswered: false, providerMs: undefined });
  await answered(dateOf(startMs));
  clock.aheadMs = 1e9;
  await clock.advance(5000);
  expect(time.now()).toMatchObject({ isAnswered: true, providerMs: startMs + 5000 });
});

test.each([undefined, '', 'yesterday', '2020-01-01', '1'])(
  'an answer whose `Date` is %j shows no time',
  async (date) => {
    const { time, answered } = world();
    await answered(date);
    expect(time.now()).toMatchObject({ isAnswered: true, providerMs: undefined });
  },
);

test('a jump of the clock of this machine begins its steady time anew, small steps do not', async () => {
  const { clock, time } = world();
  await clock.advance(60_000);
  clock.aheadMs = 5000;
  expect(time.now().steadyForMs).toBe(60_000);
  clock.aheadMs = 4 * 86_400_000;
  expect(time.now().steadyForMs).toBe(0);
  await clock.advance(1000);
  expect(time.now().steadyForMs).toBe(1000);
});

test('it counts for how long each answer was behind, also when all have the same `Date`', async () => {
  const { clock, time, answered, dateOf } = world();
  const frozen = dateOf(startMs - 3_600_000);
  for (let count = 0; count < 3; count += 1) {
    await answered(frozen);
    await clock.advance(90_000);
  }
  expect(time.now().behindForMs).toBe(270_000);
  await answered(dateOf(clock.wallMs()));
  expect(time.now().behindForMs).toBe(0);
});
