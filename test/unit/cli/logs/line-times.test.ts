import { expect, test } from 'vitest';
import { linesSince, timeOf } from '../../../../src/cli/logs/line-times.ts';

const noon = Date.UTC(2026, 0, 31, 12);

test.each([
  ['2026-01-31T12:00:00Z started'],
  ['2026-01-31T12:00:00.000000000Z started'],
  ['2026-01-31 13:00:00,000+01:00 started'],
  ['2026-01-31T13:00:00+0100'],
  ['[2026-01-31T12:00:00Z] started'],
  ['\u001b[2m2026-01-31T12:00:00Z\u001b[0m INFO started'],
  ['{"level":30,"time":1769860800000,"msg":"started"}'],
  ['{"ts":1769860800.0,"msg":"started"}'],
  ['{"msg":"started", "timestamp": "2026-01-31T12:00:00Z"}'],
])('%j shows its time', (line) => {
  expect(timeOf(line)).toBe(noon);
});

test.each([
  ['2026-01-31 12:00:00 local, wherever that is'],
  ['2026-13-41T12:00:00Z'],
  ['at 2026-01-31T12:00:00Z it was noon'],
  ['10.0.0.1 - - [31/Jan/2026:12:00:00 +0000] "GET /"'],
  ['{"lifetime":1769860800000}'],
  [''],
])('%j shows no time', (line) => {
  expect(timeOf(line)).toBeUndefined();
});

const old = '2026-01-31T11:59:59Z old\n';
const recent = '2026-01-31T12:00:00Z new\n';
const trace = '    at main.js:1\n';

test.each([
  [[old, trace, recent, trace], [recent, trace], false],
  [[trace, recent], [trace, recent], true],
  [[trace, old, recent], [recent], false],
  [[trace, trace], [trace, trace], true],
  [[recent, old], [recent], false],
  [[old], [], false],
  [[], [], false],
])('of %j, %j are from noon on; whether that is unknown of some: %j', (lines, shown, isUnknown) => {
  expect(linesSince(lines, noon)).toEqual({ lines: shown, isUnknown });
});
