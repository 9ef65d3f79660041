/** Times in what others have written. */
import { expect, test } from 'vitest';
import { rendered, textOf } from './rendered.ts';
import { nowMs } from './fleets.ts';
import { ago, exactMoment, moment, since, withTimes } from '../../src/page/parts/texts.ts';

const now = { serverMs: nowMs, timeZone: 'Asia/Tokyo' };

test('times in a message are in the zone of its reader', () => {
  const view = withTimes('refused at 2026-11-27T14:02:00Z, again at 2026-11-27T14:12:00.5Z', now);
  expect(textOf(view)).toBe('refused at 23:02, again at 23:12');
  expect(rendered(view).querySelector('time')?.title).toBe('2026-11-27 14:02:00 UTC');
});

test.each(['0000-00-00T00:00:00Z', '2026-12-31T23:59:60Z', '2026-13-01T00:00:00Z', '2026-11-27T99:00:00Z'])(
  'a time that there is none is shown as it is: %s',
  (at) => {
    expect(textOf(withTimes(`since ${at}: refused`, now))).toBe(`since ${at}: refused`);
    for (const part of [ago, since, moment, exactMoment]) expect(textOf(part(at, now))).toBe(at);
  },
);
