/** What a plan costs where no thing in the account has the size that it asks for. The catalog of the control plane has prices. */
import { expect, test } from 'vitest';
import { service, type Json } from '../../support/processes/fleet.ts';
import { statelessRunner } from '../../support/processes/stateless-runner.ts';
import { readPlanJson } from '../../support/plan-form.ts';

test('a resize is priced, whatever is changed before it', async () => {
  const { write, planKept } = await statelessRunner(service('web'));
  await write(service('web', { image: 'ghcr.io/acme/app:2', resources: { cpu: 3, memoryGb: 7 } }));
  const { changes, cost } = readPlanJson((await planKept()).stdout);
  const prices = changes.flatMap(({ action, cost: price }: Json) => (price ? [[action, price.basis]] : []));
  expect(prices).toEqual([['resize', 'catalog']]);
  expect(cost.unpriced).toBe(0);
  expect(cost.deltaHourlyMicros).toBeGreaterThan(0);
});

test('so is one that waits for a disruption window', async () => {
  const disruptionWindows = [{ cron: '0 0 29 2 *', durationMinutes: 1 }];
  const { write, planKept } = await statelessRunner(service('web'));
  await write(service('web', { resources: { cpu: 3, memoryGb: 7 }, disruptionWindows }));
  const { held, waitingCosts } = readPlanJson((await planKept()).stdout);
  expect(held).toMatchObject([{ reason: 'OutsideWindow', actions: ['resize'] }]);
  expect(waitingCosts).toMatchObject([{ cost: { basis: 'catalog' } }]);
});
