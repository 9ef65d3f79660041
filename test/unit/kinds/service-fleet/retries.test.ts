/** Restart tokens of replicas that were tried again: what a retry has restarted needs no other restart. */
import { expect, test } from 'vitest';
import { ownedBy } from '../../../../src/kinds/service-fleet/children.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import type { ContainerServiceSpec } from '../../../../src/resources/index.ts';
import type { OwnerRevision } from '../../../../src/state/index.ts';
import { fleetSpec, old, planOf, present, replicaIn, rosterAfter, startMs, worldOf } from './worlds.ts';

const withToken = (revision: OwnerRevision, restartToken: string | undefined): OwnerRevision => ({
  ...revision,
  content: { ...revision.content, ...(restartToken === undefined ? {} : { restartToken }) },
});

/** Its token, and what counts as that, after an update from r1, which a retry has restarted, to r2. */
function updated(before: string | undefined, after: string | undefined) {
  const { template } = fleetSpec();
  const spec = fleetSpec({
    replicas: 1,
    template: { spec: { ...template.spec, restartToken: after } },
    update: { maxSurge: 0, maxUnavailable: 1 },
  });
  const revisions = [withToken(old, before), withToken(present, after)];
  const shown = (state: object) => {
    const [replica] = ownedBy({ name: 'llm', spec, state, revisions });
    return [(replica?.spec as ContainerServiceSpec | undefined)?.restartToken, replica?.restartedFor];
  };
  const outdated = replicaIn('outdated', 0);
  const replica = { ...outdated, revision: revisions[0], entry: { ...outdated.entry, retried: 2 } };
  expect(shown({ roster: [replica.entry] })).toEqual(['r1#2', undefined]);
  const state = { update: 2, rollout: rolloutTo(2, startMs, 0) };
  const [entry] = rosterAfter(planOf(worldOf([replica], { spec, revisions, state })));
  if (!entry) throw new Error('it is not updated');
  expect(entry).toMatchObject({ revision: 2 });
  return shown({ roster: [entry] });
}

test.each([
  ['the same token as before the retry', 'a', 'a', ['a', 'r1#2']],
  ['another token than before the retry', 'a', 'b', ['b', undefined]],
  ['a token, which it did not have at the retry', undefined, 'a', ['a', undefined]],
  ['no token', undefined, undefined, [undefined, undefined]],
])('a replica that gets %s is restarted for it only if it is another one', (_what, before, after, shown) => {
  expect(updated(before, after)).toEqual(shown);
});
