import { expect, test } from 'vitest';
import { Agenda } from '../../../src/control-plane/domain/agenda.ts';
import { platformClock } from '../../../src/control-plane/domain/platform-clock.ts';
import { ManualClock } from '../../support/manual-clock.ts';

function agenda() {
  const clock = new ManualClock(0);
  const time = platformClock(clock, 1, undefined);
  const batches: string[] = [];
  let isBroken = false;
  const onDue = (keys: readonly string[]) => {
    if (isBroken) throw new Error('the disk is full');
    batches.push(`${time.nowMs()}: ${keys.join(' ')}`);
  };
  const made = new Agenda(time, onDue, () => undefined);
  return { clock, batches, agenda: made, setBroken: (value: boolean) => (isBroken = value) };
}

test('what is due at one moment comes in one batch, and nothing comes early', async () => {
  const { clock, batches, agenda: due } = agenda();
  due.at('c', 200);
  due.at('a', 100);
  due.at('b', 100);
  await clock.advance(99);
  expect(batches).toEqual([]);
  await clock.advance(1);
  expect(batches).toEqual(['100: a b']);
  await clock.advance(100);
  expect(batches).toEqual(['100: a b', '200: c']);
});

test('what falls due right after a batch waits for the next one, 20 ms later', async () => {
  const { clock, batches, agenda: due } = agenda();
  for (let ms = 100; ms < 150; ms += 1) due.at(String(ms), ms);
  await clock.advance(1000);
  expect(batches.map((batch) => [batch.split(' ')[0], batch.split(' ').length - 1])).toEqual([
    ['100:', 1],
    ['120:', 20],
    ['140:', 20],
    ['160:', 9],
  ]);
});

test('a moment can be moved and cancelled', async () => {
  const { clock, batches, agenda: due } = agenda();
  due.at('moved', 100);
  due.at('cancelled', 100);
  due.at('moved', 300);
  due.cancel('cancelled');
  await clock.advance(1000);
  expect(batches).toEqual(['300: moved']);
});

test('a batch that fails comes again, together with what fell due meanwhile', async () => {
  const { clock, batches, agenda: due, setBroken } = agenda();
  due.at('a', 100);
  due.at('b', 600);
  setBroken(true);
  await clock.advance(700);
  setBroken(false);
  await clock.advance(10_000);
  expect(batches.join(' ').match(/[ab]/g)?.sort()).toEqual(['a', 'b']);
});

test('what takes long is done in small batches, one right after the other', async () => {
  const clock = new ManualClock(0);
  const sizes: number[] = [];
  let workedMs = 0;
  const work = (keys: readonly string[]) => {
    sizes.push(keys.length);
    // As if each took a millisecond.
    workedMs += keys.length;
  };
  const time = platformClock(clock, 1, undefined);
  const due = new Agenda({ ...time, nowMs: () => time.nowMs() + workedMs }, work, () => undefined);
  for (let index = 0; index < 500; index += 1) due.at(String(index), 100);
  await clock.advance(2_000);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(500);
  expect(sizes.slice(0, 5)).toEqual([64, 32, 16, 8, 4]);
  expect(Math.max(...sizes.slice(5))).toBeLessThanOrEqual(8);
});

test('what takes no time is done in ever larger batches', async () => {
  const { clock, batches, agenda: due } = agenda();
  for (let index = 0; index < 3000; index += 1) due.at(String(index), 100);
  await clock.advance(100);
  expect(batches.map((batch) => batch.split(' ').length - 1)).toEqual([64, 128, 256, 512, 1024, 1016]);
});
