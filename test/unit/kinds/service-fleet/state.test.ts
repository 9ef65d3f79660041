/** A fleet's part of a record that a later version wrote, after a downgrade to this one. */
import { expect, test } from 'vitest';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import { objectKey, readKindState } from '../../../../src/resources/index.ts';
import { replicaIn, startMs } from './worlds.ts';

test('fields that a later version added to replicas, a rollout and its analyses are kept', () => {
  const later = { later: { n: 1 } };
  const counts = { spentMs: 0, passed: 0, failed: 0, inconclusive: 0 };
  const analysis = { step: 0, checks: 'c', at: startMs, ...counts, ...later };
  const stored = {
    roster: [{ ...replicaIn('updated', 0).entry, ...later }],
    rollout: { ...rolloutTo(2, startMs, 1), analyses: [analysis], ...later },
    ...later,
  };
  expect(readKindState(objectKey('ServiceFleet', 'lab', 'llm'), stored)?.kind).toEqual(stored);
});
