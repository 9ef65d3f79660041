/** Which replicas that drain may be taken back. */
import { expect, test } from 'vitest';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import { fleetSpec, planOf, present, replicaIn, rosterAfter, startMs, worldOf } from './worlds.ts';

test.each(['outdated', 'unknown', 'misplaced'] as const)(
  'a replica that drains to be replaced is not taken back: %s',
  (state) => {
    const leaving = replicaIn(state, 2);
    const replicas = [
      replicaIn('updated', 0),
      replicaIn('outdated', 1),
      { ...leaving, entry: { ...leaving.entry, phase: 'draining' as const } },
    ];
    const spec = fleetSpec({ update: { mode: 'Replace', maxSurge: 1, maxUnavailable: 1 } });
    const world = worldOf(replicas, { spec });
    const rollout = rolloutTo(present.number, startMs, 1);
    const roster = rosterAfter(planOf({ ...world, state: { ...world.state, rollout } }));
    expect(roster.find(({ slot }) => slot === 2)?.phase).toBe('draining');
  },
);
