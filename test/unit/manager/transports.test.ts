import { describe, expect, test } from 'vitest';
import type { HttpReply, HttpRequest, Transport } from '../../../src/api/index.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';
import { SharedTransports } from '../../../src/manager/transports.ts';

const request: HttpRequest = { method: 'GET', url: 'https://a.example/', headers: {}, body: undefined };
const reply = { kind: 'reply', status: 200, retryAfter: undefined, body: '' } as const satisfies HttpReply;

/** Time passes during work, too. */
class BusyClock extends ManualClock {
  workedMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + this.workedMs;
  }
}

function world(clock = new ManualClock(0)) {
  const made: { isClosed: boolean }[] = [];
  const answers: ((body?: string) => void)[] = [];
  const create = (): Transport => {
    const one = { isClosed: false };
    made.push(one);
    return {
      exchange: () =>
        new Promise((resolve) => {
          answers.push((body = '') => resolve({ ...reply, body }));
        }),
      close: async () => {
        one.isClosed = true;
      },
    };
  };
  return { made, answers, transports: new SharedTransports(create, clock) };
}

describe('transports', () => {
  test('are shared by accounts of one origin, and by no others', () => {
    const { made, transports } = world();
    transports.open('https://a.example');
    transports.open('https://a.example');
    transports.open('https://b.example');
    expect(made).toHaveLength(2);
  });

  test('are closed when the last account that shares them is', async () => {
    const { made, transports } = world();
    const [first, second] = [transports.open('https://a.example'), transports.open('https://a.example')];
    await Promise.all([first.close(), first.close()]);
    expect(made).toEqual([{ isClosed: false }]);
    await second.close();
    expect(made).toEqual([{ isClosed: true }]);
    transports.open('https://a.example');
    expect(made).toEqual([{ isClosed: true }, { isClosed: false }]);
  });

  test('send nothing more for an account that is closed, and go on for the others', async () => {
    const { answers, transports } = world();
    const [first, second] = [transports.open('https://a.example'), transports.open('https://a.example')];
    await first.close();
    expect(await first.exchange(request)).toMatchObject({ kind: 'not-sent' });
    const answer = second.exchange(request);
    answers[0]?.();
    expect(await answer).toEqual(reply);
  });

  test('finish what an account has under way before it is closed', async () => {
    const { made, answers, transports } = world();
    const only = transports.open('https://a.example');
    const answer = only.exchange(request);
    const closed = only.close();
    await Promise.resolve();
    expect(made).toEqual([{ isClosed: false }]);
    answers[0]?.();
    expect(await answer).toEqual(reply);
    await closed;
    expect(made).toEqual([{ isClosed: true }]);
  });

  test('hand over large answers in turns of the event loop, small ones at once', async () => {
    const clock = new BusyClock(0);
    const { answers, transports } = world(clock);
    const taken: string[] = [];
    const take = async (name: string) => {
      await transports.open('https://a.example').exchange(request);
      taken.push(name);
      clock.workedMs += 15;
    };
    const all = ['a', 'b', 'c', 'small'].map((name) => take(name));
    for (const [index, answer] of answers.entries()) {
      answer(index < 3 ? 'x'.repeat(100_000) : 'x');
      await settle();
    }
    expect(taken).toEqual(['a', 'b', 'small']);
    await clock.advance(0);
    expect(taken).toEqual(['a', 'b', 'small', 'c']);
    await Promise.all(all);
  });
});
