import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { drawProgress } from '../../../../src/cli/progress/table.ts';
import type { Progress, ProgressRow, ProgressView } from '../../../../src/cli/progress/view.ts';
import { palette } from '../../../../src/cli/output/render.ts';

const colours = palette({ isTTY: false }, {});

function row(name: string, progress: Progress, rest: Partial<ProgressRow> = {}): ProgressRow {
  return {
    object: `ContainerService default/${name}`,
    progress,
    reason: 'Any',
    message: '',
    sinceMs: 0,
    ...rest,
  };
}

function viewOf(rows: readonly ProgressRow[], nowMs = 65_000): ProgressView {
  const counts = { sending: 0, waiting: 0, held: 0, checking: 0, ready: 0, gone: 0 };
  for (const { progress } of rows) counts[progress] += 1;
  return { elapsedMs: nowMs, nowMs, rows, counts };
}

const mixed = viewOf([
  row('api', 'ready', { reason: 'Running' }),
  row('web', 'waiting', {
    reason: 'CapacityUnavailable',
    message:
      'create-service: 409 capacity_unavailable: no capacity for 8 GPUs in the region standard; the next attempt follows in 30 s',
    sinceMs: 5000,
  }),
  row('worker', 'held', {
    reason: 'InvalidReference',
    message: 'fleet/worker.yaml:12: there is no Secret keys',
  }),
  row('trainer', 'sending', {
    reason: 'Create',
    doing: 'creating',
    action: 'create-service',
    sinceMs: 64_000,
  }),
]);

test('shows who needs a person first, and what is Ready last, with the messages in full', () => {
  expect(`\n${drawProgress(mixed, { columns: 80, lines: 24, colours })}\n`).toMatchInlineSnapshot(`
    "
    1 ready, 2 waiting, 1 held  (1:05)
    ✘ ContainerService default/worker   1m    InvalidReference
        fleet/worker.yaml:12: there is no Secret keys
    → ContainerService default/trainer  1s    creating (Create)
    · ContainerService default/web      1m    CapacityUnavailable
        create-service: 409 capacity_unavailable: no capacity for 8 GPUs in the
        region standard; the next attempt follows in 30 s
    ✔ ContainerService default/api            Running
    "
  `);
});

test('puts a message beside its reason where the terminal is wide enough', () => {
  expect(`\n${drawProgress(mixed, { columns: 160, lines: 24, colours })}\n`).toMatchInlineSnapshot(`
    "
    1 ready, 2 waiting, 1 held  (1:05)
    ✘ ContainerService default/worker   1m    InvalidReference: fleet/worker.yaml:12: there is no Secret keys
    → ContainerService default/trainer  1s    creating (Create)
    · ContainerService default/web      1m    CapacityUnavailable
        create-service: 409 capacity_unavailable: no capacity for 8 GPUs in the region standard; the next attempt follows in 30 s
    ✔ ContainerService default/api            Running
    "
  `);
});

describe('of 500 objects', () => {
  const rows = Array.from({ length: 500 }, (_, at) =>
    row(`s${at}`, at < 480 ? 'ready' : 'waiting', { sinceMs: at }),
  );

  test('only what is not Ready is shown', () => {
    const lines = drawProgress(viewOf(rows), { columns: 80, lines: 24, colours }).split('\n');
    expect(lines[0]).toBe('480 ready, 20 waiting  (1:05)');
    expect(lines).toHaveLength(21);
    expect(lines.slice(1).every((line) => line.includes('Any'))).toBe(true);
  });

  test('so much of it as there is room for, and the number of the others', () => {
    const waiting = Array.from({ length: 500 }, (_, at) => row(`s${at}`, 'waiting'));
    const lines = drawProgress(viewOf(waiting), { columns: 80, lines: 24, colours }).split('\n');
    expect(lines).toHaveLength(23);
    expect(lines.at(-1)).toBe('  … and 479 more');
  });
});

test.each([
  [20, 5],
  [40, 10],
  [80, 24],
  [300, 80],
])('fits %i columns and %i lines, whatever is in the names and messages', (columns, lines) => {
  const hostile = [
    '\u001b[2J',
    'a'.repeat(500),
    '漢字'.repeat(50),
    'বাংলা লেখা '.repeat(30),
    'x\ny\r\tz',
    '👩‍👩‍👧‍👦'.repeat(20),
    '\u202eabc',
  ];
  const rows = hostile.flatMap((message, at) => [
    row(`s${at}`.repeat(30), 'held', { message, reason: 'R'.repeat(90) }),
    row(`t${at}`, 'waiting', { message }),
  ]);
  const drawn = drawProgress(viewOf(rows), { columns, lines, colours }).split('\n');
  expect(drawn.length).toBeLessThan(lines);
  expect(Math.max(...drawn.map((line) => stringWidth(line)))).toBeLessThan(columns);
  // oxlint-disable-next-line no-control-regex
  expect(drawn.join('\n')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
});
