/** The seeds of a folder that have found something before; test/landing/regressions.test.ts has those of a cluster. */
import { test } from 'vitest';
import { expectNoViolation, longestRunMs } from './expected.ts';
import { regressions } from './regressions.ts';
import { scriptOf } from './script.ts';

test.each(regressions.filter(({ place }) => place === 'folder'))(
  'once, in a folder: $found (seed $seed)',
  { timeout: longestRunMs },
  async ({ seed, place, crowd, dialect }) => {
    await expectNoViolation(scriptOf(seed, place, { crowd, dialect }));
  },
);

test.each([2, 7])(
  'a fleet whose digest key other states may have derives the keys of its creations, and breaks no rule (seed %i)',
  { timeout: longestRunMs },
  async (seed) => {
    await expectNoViolation(scriptOf(seed, 'folder', { crowd: 'late' }), { sharedKey: true });
  },
);
