/** A state store that takes its time, as the API server of a cluster does. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { service } from '../support/processes/fleet.ts';
import { Lab } from '../support/processes/lab.ts';

test('of ten services that fail together, two are restarted at a time', async () => {
  const lab = await Lab.start();
  const save = lab.store.saveIntent.bind(lab.store);
  lab.store.saveIntent = async (...given) => {
    await delay(100);
    await save(...given);
  };
  const failing = { image: 'registry.invalid/app:1', onError: { restarts: 1 } };
  lab.want(Array.from({ length: 10 }, (_, index) => service(`web-${index}`, failing)));
  const reported = (reason: string) =>
    lab.records().filter(({ status }) => status?.conditions.some((one) => one.reason === reason)).length;
  await lab.until(
    'two have been restarted, eight wait',
    () => reported('RemediationExhausted') === 2 && reported('RemediationBrake') === 8,
  );
  const restarts = (await lab.requests()).filter(({ path }) => path.endsWith('/actions'));
  expect(restarts).toHaveLength(2);
});
