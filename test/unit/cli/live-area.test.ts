import { expect, test } from 'vitest';
import { openLiveArea } from '../../../src/cli/output/live-area.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { Terminal } from '../../support/terminal.ts';

async function world(columns = 40, rows = 6) {
  const clock = new ManualClock();
  const terminal = new Terminal(columns, rows);
  let shown = ['one'];
  let frames = 0;
  const area = await openLiveArea({
    clock,
    stream: terminal.stream,
    environment: {},
    draw: ({ columns: width }) => {
      frames += 1;
      return shown.map((line) => line.slice(0, width - 1)).join('\n');
    },
  });
  return {
    clock,
    terminal,
    area,
    frames: () => frames,
    show: (...lines: string[]) => {
      shown = lines;
      area.changed();
    },
  };
}

test('a frame replaces the one before, and is drawn at most four times a second', async () => {
  const { clock, terminal, show, frames } = await world();
  expect(terminal.screen).toBe('one');
  for (let change = 0; change < 100; change += 1) {
    show('two', `change ${change}`);
    await clock.advance(10);
  }
  await clock.advance(250);
  expect(terminal.screen).toBe('two\nchange 99');
  expect(frames()).toBeLessThanOrEqual(6);
});

test('lines are written above it, and stay', async () => {
  const { clock, terminal, area, show } = await world();
  area.post('a line');
  area.post('another line');
  await clock.advance(250);
  expect(terminal.screen).toBe('a line\nanother line\none');
  show('two');
  await clock.advance(250);
  expect(terminal.screen).toBe('a line\nanother line\ntwo');
});

test('a terminal of another size gets a frame of that size', async () => {
  const { clock, terminal, show } = await world();
  show('a long line of text', 'second');
  await clock.advance(250);
  terminal.resize(10, 6);
  await clock.advance(250);
  expect(terminal.screen.split('\n').slice(-2)).toEqual(['a long li', 'second']);
});

test('what is shown at the end stays, and nothing is drawn after it', async () => {
  const { clock, terminal, area, show, frames } = await world();
  show('last');
  area.close();
  const drawn = frames();
  expect(terminal.screen).toBe('last');
  area.post('later');
  show('never');
  terminal.resize(20, 6);
  await clock.advance(5000);
  expect([terminal.screen, frames()]).toEqual(['last\nlater', drawn]);
});
