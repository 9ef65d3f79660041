import { describe, expect, test } from 'vitest';
import { disruptionWindow, windowState, type DisruptionWindow } from '../../../src/resources/index.ts';

const at = (time: string) => Date.parse(time);
const window = (more: Partial<DisruptionWindow> = {}): DisruptionWindow =>
  disruptionWindow.parse({ cron: '0 2 * * sat', durationMinutes: 120, timeZone: 'Europe/Berlin', ...more });

describe('disruption windows', () => {
  test('without any, it is always time', () => {
    expect(windowState(undefined, at('2026-11-21T12:00:00Z'))).toEqual({ open: true });
  });

  test.each([
    ['2026-11-21T00:59:59Z', false],
    ['2026-11-21T01:00:00Z', true],
    ['2026-11-21T02:59:59Z', true],
    ['2026-11-21T03:00:00Z', false],
    ['2026-11-22T01:30:00Z', false],
  ])('02:00 to 04:00 on Saturdays in Berlin: at %s it is %s', (time, open) => {
    expect(windowState([window()], at(time)).open).toBe(open);
  });

  test('a closed one says when the next opens, whichever of them that is', () => {
    const windows = [window(), window({ cron: '0 22 * * *', timeZone: 'UTC' })];
    const state = windowState(windows, at('2026-11-21T12:00:00Z'));
    expect(state).toEqual({ open: false, opensAt: at('2026-11-21T22:00:00Z') });
  });

  test('one that lasts longer than its period never closes', () => {
    const always = window({ cron: '0 * * * *', durationMinutes: 90 });
    expect(windowState([always], at('2026-11-21T12:59:59Z')).open).toBe(true);
  });

  test('an opening in the hour that is skipped in spring is at its end, and it lasts as long as ever', () => {
    const spring = window({ cron: '30 2 29 3 *', durationMinutes: 60 });
    expect(windowState([spring], at('2026-03-29T00:59:00Z')).open).toBe(false);
    expect(windowState([spring], at('2026-03-29T01:00:00Z')).open).toBe(true);
    expect(windowState([spring], at('2026-03-29T02:00:00Z')).open).toBe(false);
  });

  test('an opening in the hour that comes twice in autumn is the first one only', () => {
    const autumn = window({ cron: '30 2 25 10 *', durationMinutes: 30 });
    expect(windowState([autumn], at('2026-10-25T00:30:00Z')).open).toBe(true);
    expect(windowState([autumn], at('2026-10-25T01:30:00Z')).open).toBe(false);
  });

  test.each([
    ['six fields', { cron: '0 0 2 * * sat' }, 'cron'],
    ['no cron expression', { cron: 'saturdays' }, 'cron'],
    ['a day that never comes', { cron: '0 0 30 2 *' }, 'cron'],
    ['an unknown time zone', { timeZone: 'Europe/Atlantis' }, 'timeZone'],
    ['no duration', { durationMinutes: 0 }, 'durationMinutes'],
  ])('%s is refused at the door', (_, more, field) => {
    const checked = disruptionWindow.safeParse({ cron: '0 2 * * sat', durationMinutes: 60, ...more });
    expect(checked.error?.issues.map(({ path }) => path.join('.'))).toEqual([field]);
  });
});
