/** What the roster of a fleet leads to, as a plan file has it. */
import { expect, test } from 'vitest';
import { Sensitive } from '../../../../src/base/index.ts';
import { inSync } from '../../../../src/engine/plan/index.ts';
import type { FleetLook } from '../../../../src/kinds/service-fleet/look.ts';
import { rosterPlan } from '../../../../src/kinds/service-fleet/roster-plan.ts';
import { fleetSpec, inputsOf, replicaIn, worldOf } from './worlds.ts';

const spec = fleetSpec({ replicas: 8, minReplicas: 1, maxReplicas: 9 });
const two = worldOf(
  [0, 1].map((slot) => replicaIn('updated', slot)),
  { spec },
);

function rosterOf(more: object) {
  const template = { kind: 'none' };
  const look = { ...inputsOf(two), name: 'llm', template, presentValues: new Sensitive({}), ...more };
  return rosterPlan(look as unknown as FleetLook, inSync());
}

test('a fleet that has fewer replicas because of a budget adds none', () => {
  const shed = { budget: 'team', replicas: 2 };
  expect(rosterOf({ shed })).toMatchObject({ replicas: 2, add: 0, update: 0, drain: 0 });
  expect(rosterOf({ shed: undefined })).toMatchObject({ replicas: 8, add: 6, update: 0, drain: 0 });
});
