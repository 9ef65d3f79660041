import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lastLines, newPart } from '../../../src/cli/output/log-text.ts';

describe('the last lines of a log', () => {
  test.each([
    ['a\nb\nc\n', 2, 'b\nc\n'],
    ['a\nb\nc', 2, 'b\nc'],
    ['a\nb\n', 5, 'a\nb\n'],
    ['a\n', 0, ''],
    ['', 3, ''],
    ['\n\n\n', 2, '\n\n'],
  ])('of %j, %i are %j', (text, count, expected) => {
    expect(lastLines(text, count)).toBe(expected);
  });

  test('are as many as are asked for, if there are so many', () => {
    const line = fc.string().filter((text) => !text.includes('\n'));
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), fc.nat(20), (lines, count) => {
        const text = lines.map((one) => `${one}\n`).join('');
        const last = lines.slice(Math.max(0, lines.length - count));
        expect(lastLines(text, count)).toBe(last.map((one) => `${one}\n`).join(''));
      }),
    );
  });
});

describe('what is new in a log', () => {
  test('is what was written behind what was seen', () => {
    expect(newPart('a\nb\n', 'a\nb\nc\n')).toBe('c\n');
  });

  test('is the rest of a line that was half written', () => {
    expect(newPart('a\nhel', 'a\nhello\n')).toBe('lo\n');
  });

  test('is nothing when nothing was written', () => {
    expect(newPart('a\nb\n', 'a\nb\n')).toBe('');
  });

  test('is found although the oldest lines have left', () => {
    expect(newPart('a\nb\nc\n', 'b\nc\nd\n')).toBe('d\n');
    expect(newPart('t\na\nt\nx\n', 't\nx\ny\n')).toBe('y\n');
  });

  test('is everything from the first line that was written anew', () => {
    expect(newPart('start\nstate 1\n', 'start\nstate 2\n')).toBe('state 2\n');
  });

  test('is all of it when nothing of the old is left', () => {
    expect(newPart('a\nb\n', 'c\nd\n')).toBe('c\nd\n');
  });

  test('loses and repeats no line of a log whose lines differ, whatever window of it is shown', () => {
    const windows = fc.array(fc.record({ grows: fc.nat(5), loses: fc.nat(3) }), { maxLength: 20 });
    fc.assert(
      fc.property(windows, (steps) => {
        let from = 0;
        let to = 4;
        const shown = () =>
          Array.from({ length: to - from }, (_, index) => `line ${from + index}\n`).join('');
        let seen = shown();
        let before = seen;
        for (const { grows, loses } of steps) {
          to += grows;
          // At least one line that was seen before is still shown.
          from = Math.min(from + loses, to - grows - 1);
          seen += newPart(before, shown());
          before = shown();
        }
        expect(seen).toBe(Array.from({ length: to }, (_, index) => `line ${index}\n`).join(''));
      }),
    );
  });
});
