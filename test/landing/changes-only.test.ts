/** EI2 over 100,000 edits of documents (test/unit/engine/admission/changes-only.ts). */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  anyHistory,
  compareInCluster,
  compareInFolder,
  editsIn,
} from '../unit/engine/admission/changes-only.ts';

const wantedEdits = 50_000;
const histories = 100;

describe('EI2: admission of changes gives the same as admission of everything, over 50,000 edits', () => {
  test.each([
    ['in a folder', compareInFolder],
    ['in a cluster', compareInCluster],
  ])('%s', { timeout: 900_000 }, async (_name, compare) => {
    const compared = { edits: 0 };
    const property = fc.asyncProperty(anyHistory, async (steps) => {
      await compare(steps);
      compared.edits += editsIn(steps);
    });
    while (compared.edits < wantedEdits) await fc.assert(property, { numRuns: histories });
    expect(compared.edits).toBeGreaterThanOrEqual(wantedEdits);
  });
});
