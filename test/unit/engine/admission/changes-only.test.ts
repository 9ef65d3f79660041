/** `DRAWS` histories are drawn for each source. test/landing/changes-only.test.ts draws more of them. */
import * as fc from 'fast-check';
import { describe, test } from 'vitest';
import { anyHistory, compareInCluster, compareInFolder } from './changes-only.ts';

const numRuns = Number(process.env['DRAWS'] ?? 150);

describe('EI2: admission of changes gives the same as admission of everything', () => {
  test('in a folder', async () => {
    await fc.assert(fc.asyncProperty(anyHistory, compareInFolder), { numRuns });
  });

  test('in a cluster', async () => {
    await fc.assert(fc.asyncProperty(anyHistory, compareInCluster), { numRuns });
  });
});
