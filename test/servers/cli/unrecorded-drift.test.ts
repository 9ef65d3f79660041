/** Drift that is only reported, on a runner without a state: nobody can tell it from an edit of the document there, so it is left. */
import { expect, test } from 'vitest';
import { service, type Json } from '../../support/processes/fleet.ts';
import { statelessRunner } from '../../support/processes/stateless-runner.ts';
import { readPlanJson } from '../../support/plan-form.ts';

const accepting = (spec: object = {}): Json => {
  const document: Json = service('web', spec);
  const annotations = { 'fleetkeeper.dev/accept-drift-until': '2099-01-01T00:00:00Z' };
  return { ...document, metadata: { ...document.metadata, annotations } };
};

test.each([
  {
    name: 'driftPolicy: Report',
    document: service('web', { driftPolicy: 'Report' }),
    reason: 'DriftReported',
    code: 2,
  },
  { name: 'accept-drift-until', document: accepting(), reason: 'DriftAccepted', code: 0 },
])('a hotfix at the provider is left under $name, and shown', async ({ document, reason, code }) => {
  const { fresh, apply, sent, hotfix, image } = await statelessRunner(document);
  await hotfix();
  const planned = await fresh('plan', '-o', 'json');
  expect(planned.code).toBe(code);
  expect(readPlanJson(planned.stdout)).toMatchObject({ changes: [], held: [{ name: 'web', reason }] });
  await apply();
  expect([await sent(), await image()]).toEqual([0, 'ghcr.io/acme/hotfix:1']);
});

test('under Correct it is put back, and under Report a value that the mark shows to be another is sent', async () => {
  const corrected = await statelessRunner(service('web'));
  await corrected.hotfix();
  expect((await corrected.apply()).code).toBe(0);
  expect(await corrected.image()).not.toContain('hotfix');
  const withToken = (value: string) =>
    service('web', { driftPolicy: 'Report', env: [{ name: 'TOKEN', value }] });
  const { write, fresh } = await statelessRunner(withToken('one'));
  await write(withToken('two'));
  const planned = await fresh('plan', '-o', 'json');
  expect(readPlanJson(planned.stdout)).toMatchObject({ changes: [{ action: 'update' }], held: [] });
});

test('the state that is kept from then on leaves the hotfix, too, and applies the next edit of the document', async () => {
  const { write, apply, kept, sent, hotfix, image } = await statelessRunner(
    service('web', { driftPolicy: 'Report', sleepAfterMinutes: 0 }),
  );
  await hotfix();
  await apply();
  await kept();
  expect([await sent(), await image()]).toEqual([0, 'ghcr.io/acme/hotfix:1']);
  await write(service('web', { driftPolicy: 'Report', sleepAfterMinutes: 0, image: 'ghcr.io/acme/app:3' }));
  await kept();
  expect(await image()).toBe('ghcr.io/acme/app:3');
});
