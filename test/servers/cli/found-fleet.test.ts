/** The plan of a ServiceFleet whose state was lost, or that a runner does not keep: what `apply` does to the replicas that it finds again. */
import { expect, test } from 'vitest';
import type { Json } from '../../support/processes/fleet.ts';
import { fleetOf, template } from '../../support/processes/replicas.ts';
import { statelessRunner } from '../../support/processes/stateless-runner.ts';
import { readPlanJson } from '../../support/plan-form.ts';

const two = (image: string, spec: object = {}) =>
  fleetOf('llm', { replicas: 2, template: template({ image }), ...spec });

async function runner() {
  const { fresh, plane, ...rest } = await statelessRunner(two('ghcr.io/acme/llm:1'));
  const plan = async (...flags: string[]) => {
    const { code, stdout } = await fresh('plan', '-o', 'json', ...flags);
    return { code, ...readPlanJson(stdout) };
  };
  const images = async () =>
    (await plane.account()).services.map(({ name, image }: Json) => `${name} ${image}`).sort();
  return { fresh, plane, plan, images, ...rest };
}

test('with the same template, there is nothing to do', async () => {
  const { plan, sent, plane, apply } = await runner();
  await plane.forgetRequests();
  expect(await plan()).toMatchObject({ code: 0, changes: [], held: [], unclear: [] });
  expect((await apply()).code).toBe(0);
  expect(await sent()).toBe(0);
});

test('a changed template is a rollout that the plan shows, and that apply makes', async () => {
  const { write, plan, apply, images } = await runner();
  await write(two('ghcr.io/acme/llm:2'));
  expect(await plan()).toMatchObject({
    code: 2,
    changes: [
      {
        kind: 'ServiceFleet',
        action: 'update',
        differences: [{ path: 'template', observed: '2 of 2 replicas differ (2 in place)' }],
        replicas: [
          { name: 'llm-0', action: 'update' },
          { name: 'llm-1', action: 'update' },
        ],
      },
    ],
  });
  expect((await apply()).code).toBe(0);
  expect(await images()).toEqual(['llm-0 ghcr.io/acme/llm:2', 'llm-1 ghcr.io/acme/llm:2']);
});

test('so it is where only the fleet is selected', async () => {
  const { write, plan } = await runner();
  await write(two('ghcr.io/acme/llm:2'));
  const { code, changes } = await plan('--target', 'ServiceFleet/llm');
  expect([code, changes]).toMatchObject([2, [{ action: 'update', replicas: [{}, {}] }]]);
});

test('apply does not roll out without an answer', async () => {
  const { write, fresh, plane, sent } = await runner();
  await write(two('ghcr.io/acme/llm:2'));
  await plane.forgetRequests();
  const { code, stdout, stderr } = await fresh('apply', '--timeout', '20s');
  expect(`${stdout}${stderr}`).toMatch(/llm/);
  expect([code, await sent()]).toEqual([1, 0]);
});
