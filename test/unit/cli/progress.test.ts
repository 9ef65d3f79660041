import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { withProgress } from '../../../src/cli/output/progress.ts';
import { ManualClock } from '../../support/manual-clock.ts';

function world(isTTY: boolean, what = 'reading') {
  const clock = new ManualClock();
  let shown = '';
  const stream = new PassThrough().setEncoding('utf8').on('data', (text: string) => (shown += text));
  const stderr = Object.assign(stream, { isTTY, columns: 80, rows: 24 }) as unknown as NodeJS.WriteStream;
  let finish = (_value: string): void => undefined;
  const work = () => new Promise<string>((resolve) => (finish = resolve));
  let done = 0;
  const result = withProgress({ clock, stderr }, () => `${what} ${done} of 3`, work);
  return {
    clock,
    result,
    shown: () => shown,
    goOn: () => (done += 1),
    finish: () => finish('result'),
  };
}

test('what takes longer than two seconds says how far it is, and leaves nothing behind', async () => {
  const { clock, result, shown, goOn, finish } = world(true);
  await clock.advance(1900);
  expect(shown()).toBe('');
  await clock.advance(200);
  await expect.poll(shown).toContain('reading 0 of 3 (2 s)');
  goOn();
  await clock.advance(1000);
  expect(shown()).toContain('reading 1 of 3 (3 s)');
  finish();
  expect(await result).toBe('result');
  const before = shown();
  // The line is erased: nothing is written behind the last escape sequence.
  expect(before.lastIndexOf('reading')).toBeLessThan(before.lastIndexOf('\u001b[2K'));
  await clock.advance(5000);
  expect(shown()).toBe(before);
});

test('the cursor stays, and what is named can not steer the terminal', async () => {
  const { clock, result, shown, finish } = world(true, 'reading x\u001b[2J\u001b]0;y\u0007\nz');
  await clock.advance(2100);
  await expect.poll(shown).toContain('reading x?[2J?]0;y??z 0 of 3 (2 s)');
  finish();
  await result;
  expect(shown()).not.toContain('\u001b[?25l');
});

test('what is quick shows nothing', async () => {
  const { clock, result, shown, finish } = world(true);
  await clock.advance(1000);
  finish();
  await result;
  await clock.advance(5000);
  expect(shown()).not.toContain('reading');
});

test('off a terminal nothing is shown, however long it takes', async () => {
  const { clock, result, shown, finish } = world(false);
  await clock.advance(60_000);
  finish();
  await result;
  expect(shown()).toBe('');
});
