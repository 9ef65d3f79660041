import { expect, test } from 'vitest';
import { hasInputErrors, type ObservedFleet } from '../../../src/cli/change/fleet-plan.ts';
import type { Reason } from '../../../src/reasons/index.ts';

function heldFor(reason: Reason): ObservedFleet {
  const held = [
    { kind: 'ProtectedTask', namespace: 'default', name: 'task', reason, message: '', actions: [] },
  ];
  return { plan: { held }, snapshot: { problems: [] } } as unknown as ObservedFleet;
}

test.each([
  'InvalidReference',
  'MissingEnvironment',
  'AccountNotFound',
  'SourceIncomplete',
  'JobNeedsCluster',
] as const)('`plan` takes what the documents alone cause for a mistake in them: %s', (reason) => {
  expect(hasInputErrors(heldFor(reason))).toBe(true);
});

test.each(['Paused', 'ShrinkRefused', 'DriftReported', 'TaskReleased'] as const)(
  '`plan` takes what the state of the fleet causes for none: %s',
  (reason) => {
    expect(hasInputErrors(heldFor(reason))).toBe(false);
  },
);
