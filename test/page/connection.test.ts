/** The connection of the page: what is shown when it is cut, refused, or silent. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  delayMs,
  next,
  silentMs,
  start,
  type Connection,
  type ConnectionEvent,
} from '../../src/page/connection.ts';
import { refusalOf } from '../../src/page/stream.ts';

const after = (...events: readonly (readonly [ConnectionEvent, number])[]): Connection =>
  events.reduce((state, [event, at]) => next(state, event, at), start);

test('an answer makes it live, and silence of 30 s makes it stale', () => {
  expect(after([{ is: 'heard' }, 0])).toEqual({ is: 'live', heardAt: 0 });
  expect(after([{ is: 'heard' }, 0], [{ is: 'time' }, silentMs - 1]).is).toBe('live');
  expect(after([{ is: 'heard' }, 0], [{ is: 'time' }, silentMs])).toEqual({
    is: 'stale',
    heardAt: 0,
    attempt: 1,
  });
});

test('what is stale keeps the time at which it was heard, however often it is tried again', () => {
  const cut = { is: 'cut' } as const;
  expect(after([{ is: 'heard' }, 7], [cut, 8], [cut, 9], [cut, 10])).toEqual({
    is: 'stale',
    heardAt: 7,
    attempt: 3,
  });
});

test('a refusal has which tokens are accepted, as far as the server shows it', () => {
  const headers = { 'fleetkeeper-access': 'kubernetes oidc' };
  const refusal = refusalOf(new Response('', { status: 401, headers }));
  const denied = { is: 'denied', status: 401, access: ['kubernetes', 'oidc'] };
  expect(after([{ is: 'refused', ...refusal }, 0])).toEqual(denied);
  expect(refusalOf(new Response('', { status: 403 }))).toEqual({ status: 403 });
});

test('a refusal is kept: nothing is tried again, and no data are shown', () => {
  const refused = { is: 'refused', status: 401 } as const;
  const denied = after([{ is: 'heard' }, 0], [refused, 1]);
  expect(denied).toEqual({ is: 'denied', status: 401 });
  expect(next(denied, { is: 'cut' }, 2)).toBe(denied);
});

test('attempts follow after 1 s, 2 s, 4 s, and never more than 30 s', () => {
  expect([1, 2, 3, 4, 5, 6, 60].map(delayMs)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
});

test('whatever happens, only what was heard is live', () => {
  const event = fc.constantFrom<ConnectionEvent>(
    { is: 'heard' },
    { is: 'cut' },
    { is: 'time' },
    { is: 'refused', status: 403 },
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(event, fc.nat(20_000))), (events) => {
      let state = start;
      let atMs = 0;
      let heardAt: number | undefined;
      for (const [each, passed] of events) {
        atMs += passed;
        state = next(state, each, atMs);
        if (each.is === 'heard') heardAt = atMs;
        const isLive = state.is === 'live';
        const isHeard = each.is === 'heard' || (each.is === 'time' && atMs - (heardAt ?? 0) < silentMs);
        // Nothing but what was heard makes it live, and nothing but time, a cut or a refusal ends that.
        expect(isLive && !isHeard).toBe(false);
        expect(isLive ? { ...state } : undefined).toEqual(isLive ? { is: 'live', heardAt } : undefined);
      }
    }),
  );
});
