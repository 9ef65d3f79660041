/** Analysis of a rollout, in a folder: replicas with the new revision are measured before others get it. */
import { expect, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, isInCluster, type Fleet, type Json } from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';
import { isSimulated, world as tests } from '../support/world.ts';

const http = { http: { path: '/v1/models' } };
const exec = { exec: { command: ['python', 't.py'] } };

/** A fleet that runs, and whose document has another image from now on. */
async function world(analysis: object) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const steps = [
    { replicas: 1 },
    { analysis: { forSeconds: 10, everySeconds: 5, failures: 1, ...analysis } },
  ];
  const update = { minReadySeconds: 0, steps };
  await fleet.write('llm.yaml', [fleetOf('llm', { update })]);
  expect((await fleet.apply()).code).toBe(0);
  await plane.forgetRequests();
  const next = fleetOf('llm', { template: template({ image: 'ghcr.io/acme/llm:2' }), update });
  await fleet.write('llm.yaml', [next]);
  return { plane, fleet };
}

const order = (fleet: Fleet, ...args: string[]) =>
  fleetkeeper([...args, '-n', fleet.namespace, ...fleet.flags]);

async function images(plane: ControlPlane): Promise<string[]> {
  const { services } = await plane.call('GET', '/api/account');
  return services.map(({ name, image }: Json) => `${name} ${image}`).sort();
}

const all = (image: string) => [0, 1, 2].map((slot) => `llm-${slot} ghcr.io/acme/llm:${image}`);
const rolloutOf = async (fleet: Fleet) =>
  (await fleet.records()).get('ServiceFleet/llm')?.status?.['rollout'] as Json;
const commands = async (plane: ControlPlane) =>
  (await plane.requests()).filter(({ path }) => path.endsWith('/exec'));

test('a canary whose endpoint does not answer is taken back, and no other replica gets its revision', async () => {
  const { plane, fleet } = await world({ checks: [http] });
  const plan = await order(fleet, 'plan', '--detail');
  expect(plan.stdout).toContain('(3 in place), steps 1 → analysis');
  const run = fleet.run();
  const { message } = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'RolloutFailed');
  expect(message).toMatch(
    /^r2 failed: the analysis in step 2 failed: 0 measurements passed, 2 failed, .* http: replica 3: https:.*\/v1\/models/,
  );
  expect(await images(plane)).toEqual(all('1'));
  const patched = (await plane.requests()).filter(({ method }) => method === 'PATCH');
  expect(patched).toEqual([]);
  await run.kill('SIGTERM');
});

test('a command that fails in the canary takes it back, and each one is sent once', async () => {
  const { plane, fleet } = await world({ checks: [exec] });
  const run = fleet.run();
  const { message } = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'RolloutFailed');
  expect(message).toContain('exec: replica 3: the command ends with exit code 126');
  const sent = await commands(plane);
  expect(sent).toHaveLength(2);
  expect(new Set(sent.map(({ path }) => path)).size).toBe(1);
  expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
  await run.kill('SIGTERM');
});

test('a manager that is killed in the middle forgets no failure', async () => {
  const { plane, fleet } = await world({ forSeconds: 600, checks: [exec] });
  const first = fleet.run();
  await eventually('one measurement has failed', async () => {
    const rollout = await rolloutOf(fleet);
    return rollout?.analyses?.[0]?.failed === 1;
  });
  expect(await rolloutOf(fleet)).toMatchObject({ phase: 'Analysing', step: 2, of: 2, kind: 'analysis' });
  expect((await order(fleet, 'describe', 'ServiceFleet/llm')).stdout).toMatch(
    /Rollout: +r2 Analysing, step 2 of 2 \(analysis\); analysis of step 2: 0 passed, 1 failed, 0 inconclusive/,
  );
  await first.kill('SIGKILL');
  const second = fleet.run();
  const { message } = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'RolloutFailed');
  expect(message).toContain('0 measurements passed, 2 failed, 0 were inconclusive');
  expect(await commands(plane)).toHaveLength(2);
  await second.kill('SIGTERM');
});

test('a command that was under way at a kill is not sent again, and has no result', async () => {
  const { plane, fleet } = await world({ forSeconds: 600, everySeconds: 3600, checks: [exec] });
  await plane.faults([{ method: 'POST', path: '/exec$', fault: 'delay', delayMs: 20_000, times: 1 }]);
  const first = fleet.run();
  await eventually('a command is under way', async () => (await plane.faultHits()) > 0);
  await first.kill('SIGKILL');
  const second = fleet.run();
  await eventually('it is known to be lost', async () => {
    const rollout = await rolloutOf(fleet);
    return rollout?.analyses?.[0]?.inconclusive === 1;
  });
  expect(await rolloutOf(fleet)).toMatchObject({
    phase: 'Analysing',
    analyses: [
      { passed: 0, failed: 0, inconclusive: 1, message: expect.stringContaining('the process ended') },
    ],
  });
  await second.kill('SIGTERM');
  expect((await commands(plane)).length).toBeLessThanOrEqual(1);
});

test('a query without a Prometheus has no result, and a person decides', async () => {
  const { plane, fleet } = await world({ checks: [{ prometheus: { query: 'up', min: 1 } }] });
  const run = fleet.run();
  const { message } = await fleet.until('ServiceFleet/llm', 'Reconciling', 'True', 'AnalysisInconclusive');
  expect(message).toContain('start it with --analysis-prometheus');
  expect(await images(plane)).toEqual([...all('1'), 'llm-3 ghcr.io/acme/llm:2']);
  const status = await order(fleet, 'rollout', 'status', 'llm');
  expect(status).toMatchObject({ code: 2, stdout: expect.stringContaining('AnalysisInconclusive') });
  expect((await order(fleet, 'rollout', 'promote', 'llm')).stdout).toContain(
    'step 2 of the rollout of llm to r2 is over',
  );
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect(await images(plane)).toEqual(all('2'));
  await run.kill('SIGTERM');
});

test.skipIf(!isSimulated || isInCluster)(
  'a canary whose endpoint answers goes on to all replicas',
  async () => {
    const asked: string[] = [];
    tests.network?.openEndpoints(({ path, headers }) => {
      asked.push(`${headers['host']}${path}`);
      return Promise.resolve({ status: 200, headers: {}, body: '{"data": [{"id": "llm"}]}' });
    });
    const { plane, fleet } = await world({ checks: [{ http: { path: '/v1/models', contains: '"llm"' } }] });
    const run = fleet.run();
    await fleet.until('ServiceFleet/llm', 'Reconciling', 'True', 'Analysing');
    const canary = (await plane.service('llm-3')).endpoint.replace('https://', '');
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    expect(await images(plane)).toEqual(all('2'));
    expect(asked.length).toBeGreaterThanOrEqual(2);
    expect(asked[0]).toBe(`${canary}/v1/models`);
    await run.kill('SIGTERM');
  },
);
