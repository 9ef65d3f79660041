import { describe, expect, test } from 'vitest';
import { plainLines, terminalLines } from '../../../src/base/index.ts';
import { age, forStream, oneLine } from '../../../src/cli/output/terminal-text.ts';

const escape = '\u001b';

describe('text of others on a terminal', () => {
  test('keeps lines, tabs and colours', () => {
    const text = `a\tb\n${escape}[1;31mred${escape}[0m\n`;
    expect(terminalLines(text)).toBe(text);
  });

  test.each([
    ['moves the cursor', `${escape}[2J${escape}[1;1Hx`, 'x'],
    ['sets the title', `${escape}]0;owned\u0007x`, 'x'],
    ['sets the clipboard', `${escape}]52;c;cm0gLXJm${escape}\\x`, 'x'],
    ['asks the terminal to answer', `${escape}[6n${escape}[cx`, 'x'],
    ['programs keys', `${escape}P1;1|17/726d${escape}\\x`, 'x'],
    ['resets the terminal', `${escape}cx`, 'x'],
    ['uses 8-bit controls', '\u009b2Jx', '2Jx'],
    ['rings and goes back', 'a\u0007\u0008b', 'ab'],
    ['ends in an escape', `x${escape}`, 'x'],
    ['hides a line behind a carriage return', 'rm -rf /\rls\r\n', 'rm -rf /\nls\n'],
    ['turns the direction of writing', 'pay \u202Ecod.exe\u202C \u2066x\u2069', 'pay cod.exe x'],
  ])('loses what %s', (_what, text, expected) => {
    expect(terminalLines(text)).toBe(expected);
  });

  test('keeps the marks that other scripts need', () => {
    const text = 'می\u200cخواهم \u200fשלום\u200e 👩\u200d🚀';
    expect(terminalLines(text)).toBe(text);
  });

  test('in an error has no colours either, and keeps its lines', () => {
    expect(plainLines(`a\nb${escape}[31m\u202ec\r`)).toBe('a\nb?[31m?c?');
  });

  test('is left as it is for a program', () => {
    const text = `${escape}[2Jx\r\n`;
    expect(forStream({}, text)).toBe(text);
    expect(forStream({ isTTY: true }, text)).toBe('x\n');
  });

  test('in a table is one line without any control character', () => {
    expect(oneLine(`one\ntwo${escape}[31m \u202Eevil `)).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(oneLine('x'.repeat(10_000)).length).toBeLessThanOrEqual(2000);
  });
});

test.each([
  [0, '0s'],
  [-5000, '0s'],
  [59_999, '59s'],
  [60_000, '1m'],
  [7_200_000, '2h'],
  [172_800_000, '2d'],
])('%i ms ago is shown as %s', (elapsedMs, expected) => {
  expect(age(1_000_000_000, 1_000_000_000 + elapsedMs)).toBe(expected);
});
