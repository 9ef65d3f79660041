/** What a plan file foresees of a service is what its passes do. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { laterSteps } from '../../../src/kinds/container-service/later.ts';
import { planService } from '../../../src/kinds/container-service/plan.ts';
import type { Plan, Step } from '../../../src/engine/plan/index.ts';
import { stepFingerprint } from '../../../src/plan-file/fingerprint.ts';
import { HiddenValues } from '../../../src/plan-file/index.ts';
import { aSpec, aVolumeSpec, said, serviceKey, volumeKey } from '../../support/plan.ts';
import {
  ModelFleet,
  anyChoices,
  anySpec,
  anyVolumeSpec,
  noStorage,
  sharedStorage,
  type Wanted,
} from '../../support/plan-worlds.ts';

const hidden = new HiddenValues(Buffer.alloc(32, 1));

function stepsOf(plan: Plan): readonly Step[] {
  if (plan.kind === 'act') return [plan.step, ...plan.later];
  return plan.kind === 'wait' ? plan.steps : [];
}

/** Whether there was something to compare. */
async function expectForeseen(fleet: ModelFleet, before: Wanted, after: Wanted): Promise<boolean> {
  await fleet.converge(before);
  const inputs = fleet.inputsOf(after);
  const plan = planService(inputs);
  const foreseen = [...stepsOf(plan), ...laterSteps(inputs, plan)];
  const earlier = fleet.plans.length;
  const { service } = await fleet.converge(after);
  // A person has to do something first, or the volume can not be as it is to be: then nobody knows what follows.
  const isHeld = fleet.plans.slice(earlier).some(({ kind }) => kind === 'hold');
  if (service.kind !== 'in-sync' || isHeld) return false;
  const done = fleet.mutations.flatMap((mutation) =>
    mutation.key === serviceKey && mutation.plan.kind === 'act' ? [mutation.plan.step] : [],
  );
  const beforeId = inputs.observation.kind === 'present' ? inputs.observation.value.id : undefined;
  const ownerOf = (id: string) => (fleet.record(volumeKey).externalId === id ? volumeKey : undefined);
  const context = { hidden, beforeId, referred: [volumeKey], ownerOf };
  const shown = ({ action }: Step) => [action.do, stepFingerprint(action, context)];
  expect(done.map(shown)).toEqual(foreseen.map(shown));
  return done.length > 0;
}

const runs = { numRuns: 300 };

test('of a service alone: any two documents, one after the other', async () => {
  const spec = anySpec(noStorage);
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(spec, spec, anyChoices, async (before, after, choices) => {
      const one = { service: before, word: true };
      if (await expectForeseen(new ModelFleet(choices), one, { service: after, word: true })) compared += 1;
    }),
    runs,
  );
  expect(compared).toBeGreaterThan(10);
});

test('of a service that is not there yet', async () => {
  await fc.assert(
    fc.asyncProperty(anySpec(noStorage), anyChoices, async (service, choices) => {
      const fleet = new ModelFleet(choices);
      const inputs = fleet.inputsOf({ service });
      const plan = planService(inputs);
      const foreseen = [...stepsOf(plan), ...laterSteps(inputs, plan)].map(
        ({ action, reason }) => `${action.do} (${reason})`,
      );
      await fleet.converge({ service });
      const done = fleet.mutations.map((mutation) => said(mutation.plan));
      expect(foreseen).toEqual(done);
    }),
    runs,
  );
});

test('of a service with a volume that grows, or that it gets', async () => {
  const service = anySpec(fc.oneof(sharedStorage, sharedStorage, noStorage));
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      service,
      anyVolumeSpec,
      service,
      anyVolumeSpec,
      anyChoices,
      async (one, small, two, large, choices) => {
        const first = { service: one, volume: small, word: true };
        const then = { service: two, volume: large, word: true };
        if (await expectForeseen(new ModelFleet(choices), first, then)) compared += 1;
      },
    ),
    runs,
  );
  expect(compared).toBeGreaterThan(10);
});

test('of a stopped service that is to run, while the volume grows that its document does not name any more', async () => {
  const stopped = aSpec({ desiredState: 'Stopped', storage: { volumeRef: { name: 'dataset' } } });
  const volume = (sizeGb: number) => aVolumeSpec({ sizeGb, expansion: 'PauseService' });
  const fleet = new ModelFleet({ stopsAtOnce: false, shows: 'everything' });
  const first = { service: stopped, volume: volume(10), word: true };
  const then = { service: aSpec(), volume: volume(20), word: true };
  expect(await expectForeseen(fleet, first, then)).toBe(true);
});
