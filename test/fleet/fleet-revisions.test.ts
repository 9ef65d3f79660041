/** Revisions of a fleet's template in a folder: what each replica has is known, and nothing else reaches it. */
import { expect, test } from 'vitest';
import { Sqlite } from '../../src/base/index.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  type Fleet,
  type Json,
  testInFolder,
} from '../support/processes/fleet.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

const statusOf = async (fleet: Fleet) => (await fleet.records()).get('ServiceFleet/llm')?.status;
const sent = async (plane: ControlPlane) => (await plane.requests()).filter(isMutation);

async function images(plane: ControlPlane): Promise<string[]> {
  const { services } = await plane.call('GET', '/api/account');
  return services.map(({ name, image }: Json) => `${name} ${image}`).sort();
}

const secret = (value: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'llm' },
  stringData: { token: value },
});
const pausedMetadata = { name: 'llm', annotations: { 'fleetkeeper.dev/paused': 'true' } };
const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'llm', key: 'token' } } }];

test('each template is a revision, and the status shows which one is in use', async () => {
  const { fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm')]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('llm.yaml', [fleetOf('llm', { template: template({ image: 'ghcr.io/acme/llm:2' }) })]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await statusOf(fleet)).toMatchObject({
    currentRevision: 'r2',
    updateRevision: 'r2',
    revisions: [
      { name: 'r1', outcome: 'Healthy', image: 'ghcr.io/acme/llm:1' },
      { name: 'r2', outcome: 'Healthy', image: 'ghcr.io/acme/llm:2' },
    ],
  });
  const child = (await fleet.records()).get('ContainerService/llm-0');
  expect(child?.manifest.labels).toMatchObject({ 'fleetkeeper.dev/revision': 'r2' });
});

/** As a version without revisions left it: each replica has a digest of its content. */
function withoutRevisions(file: string): void {
  const database = new Sqlite(file);
  const key = 'ServiceFleet/default/llm';
  const recordAt = (at: string) => {
    const row = database.get('SELECT record FROM objects WHERE key = $key', { key: at });
    return JSON.parse(String(row?.['record']));
  };
  const fleet = recordAt(key);
  const { update: _update, rollout: _rollout, ...kind } = fleet.kind;
  const roster = kind.roster.map(({ revision: _revision, ...entry }: Json) => {
    const { settled } = recordAt(`ContainerService/default/llm-${entry.slot}`).derived;
    return { ...entry, granted: settled };
  });
  const record = JSON.stringify({ ...fleet, kind: { ...kind, roster } });
  database.run('UPDATE objects SET record = $record WHERE key = $key', { key, record });
  database.run('ALTER TABLE intents DROP COLUMN why');
  database.run('DROP TABLE revisions');
  database.run('DROP TABLE commands');
  database.run('DROP TABLE plan_files');
  database.run('PRAGMA user_version = 5');
  database.close();
}

testInFolder('an upgrade from a version without revisions rolls no fleet', async () => {
  const { plane, fleet } = await world();
  const documents = (image: string) => [
    secret('one'),
    fleetOf('llm', { template: template({ env, image }) }),
  ];
  await fleet.write('llm.yaml', documents('ghcr.io/acme/llm:1'));
  expect((await fleet.apply()).code).toBe(0);
  withoutRevisions(folderOf(fleet).state);
  await plane.forgetRequests();
  const { code, plan } = await fleet.plan();
  expect([code, plan.changes]).toEqual([0, []]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await sent(plane)).toEqual([]);
  expect(await statusOf(fleet)).toMatchObject({ currentRevision: 'r1', revisions: [{ outcome: 'Healthy' }] });
  await fleet.write('llm.yaml', documents('ghcr.io/acme/llm:2'));
  expect((await fleet.apply()).code).toBe(0);
  expect(await images(plane)).toEqual([0, 1, 2].map((slot) => `llm-${slot} ghcr.io/acme/llm:2`));
});

testInFolder(
  'a template that was edited during the upgrade is a rollout, as it would have been',
  async () => {
    const { plane, fleet } = await world();
    await fleet.write('llm.yaml', [fleetOf('llm')]);
    expect((await fleet.apply()).code).toBe(0);
    withoutRevisions(folderOf(fleet).state);
    await plane.forgetRequests();
    await fleet.write('llm.yaml', [fleetOf('llm', { template: template({ image: 'ghcr.io/acme/llm:2' }) })]);
    expect((await fleet.apply()).code).toBe(0);
    expect((await sent(plane)).map(({ method }) => method)).toEqual([
      'POST',
      'PATCH',
      'PATCH',
      'PATCH',
      'POST',
    ]);
  },
);

test('new values of a Secret reach no replica before its turn, whatever else is corrected in it', async () => {
  const { plane, fleet } = await world();
  const documents = (value: string, image: string) => [
    secret(value),
    fleetOf('llm', { template: template({ env, image }) }),
  ];
  await fleet.write('llm.yaml', documents('one', 'ghcr.io/acme/llm:1'));
  expect((await fleet.apply()).code).toBe(0);
  await plane.forgetRequests();
  await fleet.write('llm.yaml', documents('two', 'registry.invalid/llm:2'));
  const run = fleet.run();
  await eventually(
    'the new replica is broken',
    async () => (await plane.service('llm-3'))?.state === 'error',
  );
  const { id, revision, environmentNames } = await plane.service('llm-0');
  await plane.call('PATCH', `/api/services/${id}`, { revision, patch: { image: 'ghcr.io/acme/other:9' } });
  await eventually(
    'the drift is corrected',
    async () => (await plane.service('llm-0')).image === 'ghcr.io/acme/llm:1',
  );
  // The mark of a service has a digest of the values that were sent.
  expect((await plane.service('llm-0')).environmentNames).toEqual(environmentNames);
  await run.kill('SIGTERM');
});

test('a replica that is made anew gets the present values of its Secret', async () => {
  const { plane, fleet } = await world();
  const spec = { template: template({ env }) };
  await fleet.write('llm.yaml', [secret('one'), fleetOf('llm', spec)]);
  expect((await fleet.apply()).code).toBe(0);
  const paused = { ...fleetOf('llm', spec), metadata: pausedMetadata };
  await fleet.write('llm.yaml', [secret('two'), paused]);
  const run = fleet.run();
  const [one, other] = await Promise.all([plane.service('llm-0'), plane.service('llm-1')]);
  await plane.call('POST', `/api/services/${one.id}/actions`, { action: 'delete' });
  await eventually('another one is there', async () => {
    const found = await plane.service('llm-0');
    return found?.state === 'running' && found.id !== one.id;
  });
  // The mark of a service has a digest of the values that were sent.
  expect((await plane.service('llm-0')).environmentNames).not.toEqual(one.environmentNames);
  expect((await plane.service('llm-0')).environmentNames).toContain('TOKEN');
  expect((await plane.service('llm-1')).environmentNames).toEqual(other.environmentNames);
  await fleet.write('llm.yaml', [secret('two'), fleetOf('llm', spec)]);
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect(await statusOf(fleet)).toMatchObject({ currentRevision: 'r2' });
  expect((await plane.service('llm-1')).environmentNames).not.toEqual(other.environmentNames);
  await run.kill('SIGTERM');
});
