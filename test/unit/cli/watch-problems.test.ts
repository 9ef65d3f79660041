/** What the log has of the problems of a source. */
import { expect, test } from 'vitest';
import { watchProblems } from '../../../src/cli/watch-problems.ts';
import type { DesiredSnapshot, Problem } from '../../../src/desired/index.ts';

function aProblem(message: string): Problem {
  return { file: 'web.yaml', line: 1, path: undefined, message, remedy: 'mend it', key: undefined };
}

test('a problem is reported once while it lasts, however many more there are, and so is the end of all', () => {
  const reported: string[] = [];
  const watch = watchProblems(
    (line) => reported.push(line),
    () => reported.push('mended'),
  );
  const shows = (...messages: string[]) => {
    watch({ problems: messages.map(aProblem) } as unknown as DesiredSnapshot);
    return reported.splice(0).length;
  };
  expect(shows('is wrong', '7 more problems')).toBe(2);
  expect(shows('is wrong', '8 more problems')).toBe(0);
  expect(shows('is wrong, too', '8 more problems')).toBe(1);
  expect(shows()).toBe(1);
  expect(shows('8 more problems')).toBe(1);
});
