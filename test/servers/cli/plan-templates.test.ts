/** Plans of what takes its resources of a template that the same plan makes: the API's default for them is not known yet. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion } from '../../../src/resources/index.ts';
import { apiKey, ControlPlane } from '../../support/processes/control-plane.ts';
import { service, type Json } from '../../support/processes/fleet.ts';
import { fleetOf } from '../../support/processes/replicas.ts';
import { stepsIn } from '../../support/processes/plan-files.ts';
import { temporaryFolder } from '../../support/processes/processes.ts';
import { readPlanJson } from '../../support/plan-form.ts';
import { run } from '../../unit/cli/support.ts';

const templated = { image: undefined, resources: undefined, templateRef: { name: 'web' } };
const app = (spec: object = {}) => service('app', { ...templated, ...spec });
const replicas = fleetOf('llm', { template: { spec: { region: 'standard', templateRef: { name: 'web' } } } });

function template(spec: object = {}): object {
  const metadata = { name: 'web' };
  return { apiVersion, kind: 'ServiceTemplate', metadata, spec: { image: 'ghcr.io/acme/web:1', ...spec } };
}

async function folderWith(...documents: object[]) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 1000 }).start();
  await mkdir(path.join(folder, 'fleet'));
  const write = (...next: object[]) =>
    writeFile(path.join(folder, 'fleet/all.yaml'), next.map((each) => stringify(each)).join('---\n'));
  await write(...documents);
  const environment = { FLEETKEEPER_API_URL: plane.url, FLEETKEEPER_API_KEY: apiKey };
  const command = (...args: string[]) =>
    run([...args, '--source', path.join(folder, 'fleet')], { environment, currentFolder: folder });
  const planned = async () => readPlanJson((await command('plan', '-o', 'json')).stdout);
  const services = async (): Promise<Json[]> => (await plane.account()).services;
  const file = path.join(folder, 'plan.json');
  return { write, command, planned, services, file };
}

const applied = ['apply', '--yes', '--stable', '0s', '--timeout', '20s'];
const unpriced = { basis: 'unknown' };

test('a service whose size is the default of its new template is a change without a known price', async () => {
  const { planned, command, services } = await folderWith(template(), app());
  const { changes, cost, summary } = await planned();
  expect(changes).toMatchObject([
    { kind: 'ContainerService', name: 'app', action: 'create', cost: unpriced },
    { kind: 'ServiceTemplate', name: 'web', action: 'create' },
  ]);
  expect(changes[0].differences).toEqual(
    expect.arrayContaining([
      { path: 'image', desired: 'ghcr.io/acme/web:1', observed: null },
      { path: 'resources', desired: '(default of the API)', observed: null, from: 'ServiceTemplate web' },
    ]),
  );
  expect([cost.unpriced, summary.create]).toEqual([1, 2]);
  const limited = await command(...applied, '--max-cost-increase', '1000');
  expect([limited.code, limited.stderr]).toEqual([4, expect.stringContaining('no known price')]);
  expect(await services()).toEqual([]);
  expect((await command(...applied)).code).toBe(0);
  expect(await services()).toMatchObject([{ name: 'app' }]);
});

test('so is the stop of one that is not to run, which follows', async () => {
  const { planned } = await folderWith(template(), app({ desiredState: 'Stopped' }));
  const actions = (await planned()).changes.map(({ name, action }: Json) => `${action} ${name}`);
  expect(actions).toEqual(['create app', 'stop app', 'create web']);
});

test('with its own resources, or those of the document of the template, it has its price', async () => {
  const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };
  for (const documents of [
    [template({ resources }), app()],
    [template(), app({ resources })],
  ]) {
    const { changes } = await (await folderWith(...documents)).planned();
    expect(changes[0]).toMatchObject({ name: 'app', action: 'create', cost: { basis: 'catalog' } });
  }
});

test('a plan file names what takes an unknown size as not in it, and does not make it', async () => {
  const { command, services, file } = await folderWith(template(), app(), replicas);
  const { code, stderr } = await command('plan', '--out', file);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/not in .*ContainerService default\/app, .*llm/)]);
  expect(stepsIn(JSON.parse(await readFile(file, 'utf8')))).toEqual({
    'ServiceTemplate/web': ['create-template'],
  });
  expect((await command('apply', file, '--stable', '0s', '--timeout', '20s')).code).toBe(0);
  expect(await services()).toEqual([]);
  expect((await command('plan', '--out', file)).stderr).not.toContain('not in');
  expect(Object.keys(stepsIn(JSON.parse(await readFile(file, 'utf8'))))).toEqual([
    'ContainerService/app',
    'ServiceFleet/llm',
  ]);
});

test('a fleet whose replicas take such a size is unclear, and has no known price', async () => {
  const { planned, command } = await folderWith(template(), replicas);
  const { unclear, waitingCosts } = await planned();
  expect(unclear).toMatchObject([{ kind: 'ServiceFleet', name: 'llm', reason: 'TemplateNotReady' }]);
  expect(waitingCosts).toMatchObject([{ kind: 'ServiceFleet', name: 'llm', cost: unpriced }]);
  const limited = await command(...applied, '--max-cost-increase', '1000');
  expect([limited.code, limited.stderr]).toEqual([4, expect.stringContaining('llm: TemplateNotReady')]);
});

test('so is a service that refers to such a template from now on', async () => {
  const { write, planned, command } = await folderWith(service('app'));
  expect((await command(...applied)).code).toBe(0);
  await write(template(), app());
  const { changes, unclear, waitingCosts } = await planned();
  expect(changes).toMatchObject([{ kind: 'ServiceTemplate', action: 'create' }]);
  expect(unclear).toMatchObject([{ kind: 'ContainerService', name: 'app', reason: 'TemplateNotReady' }]);
  expect(waitingCosts).toMatchObject([{ name: 'app', cost: unpriced }]);
});

const size = { gpuCount: 0, cpu: 2, memoryGb: 4 };
const given = template({ resources: size, httpPort: 80 });
const taken = [
  { path: 'resources', desired: '(default of the API)', observed: size },
  { path: 'httpPort', desired: '(default of the API)', observed: 80 },
];
const noSettled = { differences: taken, reason: 'TemplateNotReady' };

test('what is taken out of a template is not known of the services that follow it', async () => {
  const { write, command, planned, file } = await folderWith(given, app({ templateUpdates: 'Apply' }));
  expect((await command(...applied)).code).toBe(0);
  await write(template(), app({ templateUpdates: 'Apply' }));
  const { changes, held, waitingCosts } = await planned();
  expect(changes).toMatchObject([{ kind: 'ServiceTemplate', action: 'update' }]);
  expect(held).toMatchObject([{ name: 'app', actions: [], ...noSettled }]);
  expect(waitingCosts).toMatchObject([{ name: 'app', cost: unpriced }]);
  expect((await command(...applied, '--max-cost-increase', '1000')).code).toBe(4);
  expect((await command('plan', '--out', file)).stderr).toMatch(/not in .*ContainerService default\/app/);

  await write(template(), app({ templateUpdates: 'Apply', image: 'ghcr.io/acme/own:1' }));
  const both = await planned();
  expect(both.changes[0]).toMatchObject({ name: 'app', action: 'update', differences: [{ path: 'image' }] });
  expect([both.held, both.waitingCosts]).toMatchObject([[{ name: 'app', ...noSettled }], [{ name: 'app' }]]);
});

test('services that keep what they took, or give it themselves, are as they were', async () => {
  const own = app({ templateUpdates: 'Apply', resources: size, httpPort: 80 });
  for (const one of [app(), own]) {
    const { write, command, planned } = await folderWith(given, one);
    expect((await command(...applied)).code).toBe(0);
    await write(template(), one, service('other', templated));
    const { changes, held, unclear, waitingCosts } = await planned();
    // What is made meanwhile takes what nobody knows yet.
    expect(changes).toMatchObject([{ name: 'other', action: 'create', cost: unpriced }, { name: 'web' }]);
    expect([held, unclear, waitingCosts]).toEqual([[], [], undefined]);
  }
});

test('a fleet that follows such a template has no known price, whether something else of it changes or not', async () => {
  const following = (spec: object = {}) =>
    fleetOf('llm', {
      ...spec,
      template: { spec: { region: 'standard', templateRef: { name: 'web' }, templateUpdates: 'Apply' } },
    });
  const { write, command, planned, file } = await folderWith(given, following());
  expect((await command(...applied)).code).toBe(0);
  await write(template(), following());
  const { unclear, waitingCosts } = await planned();
  expect(unclear).toMatchObject([{ name: 'llm', reason: 'TemplateNotReady' }]);
  expect(waitingCosts).toMatchObject([{ name: 'llm', cost: unpriced }]);
  expect((await command('plan', '--out', file)).stderr).toMatch(/not in .*ServiceFleet default\/llm/);
  await write(template(), following({ replicas: 1 }));
  const { changes } = await planned();
  expect(changes[0]).toMatchObject({ name: 'llm', action: 'scale', cost: unpriced });
  expect((await command('plan', '--out', file)).stderr).toMatch(/not in .*ServiceFleet default\/llm/);
});

const paused = { annotations: { 'fleetkeeper.dev/paused': 'true' } };
const pausedOne = (document: object) => {
  const { metadata, ...rest } = document as { metadata: object };
  return { ...rest, metadata: { ...metadata, ...paused } };
};

test('a template that is paused changes nothing of those that follow it', async () => {
  const follower = app({ templateUpdates: 'Apply' });
  const { write, command, planned } = await folderWith(given, follower);
  expect((await command(...applied)).code).toBe(0);
  await write(pausedOne(template()), follower);
  const { held, waitingCosts } = await planned();
  expect(held).toMatchObject([{ kind: 'ServiceTemplate', reason: 'Paused' }]);
  expect(waitingCosts).toBeUndefined();
  // A service that is paused does not follow, either.
  await write(template(), pausedOne(follower));
  expect((await planned()).waitingCosts).toBeUndefined();
});

test('a service that a new template keeps from being created is held in the plan', async () => {
  const { planned, write } = await folderWith(template({ requiredEnvironment: ['TOKEN'] }), app());
  const { changes, held } = await planned();
  expect(changes).toMatchObject([{ kind: 'ServiceTemplate', action: 'create' }]);
  expect(held).toMatchObject([{ name: 'app', reason: 'MissingEnvironment' }]);
  await write(template(), pausedOne(app()));
  expect((await planned()).held).toMatchObject([{ name: 'app', reason: 'Paused' }]);
});
