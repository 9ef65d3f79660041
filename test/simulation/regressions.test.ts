/** All seeds that have found something before. */
import { test } from 'vitest';
import { plain } from '../dialects/dialect.ts';
import { expectNoViolation, longestRunMs } from './expected.ts';
import { regressions } from './regressions.ts';
import { scriptOf } from './script.ts';

test.each(regressions)(
  'once, in a $place: $found (seed $seed)',
  { timeout: longestRunMs },
  async ({ seed, place, crowd }) => {
    await expectNoViolation(scriptOf(seed, place, { crowd, dialect: plain.name }));
  },
);
