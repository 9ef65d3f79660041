/** Fleets whose replicas get what a ServiceTemplate gives (FLEETS 2, rule 4). */
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  FleetFolder,
  folderOf,
  testInFolder,
  type Fleet,
  type Json,
} from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf } from '../support/processes/replicas.ts';

const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };

const webTemplate = (image: string, spec: object = {}): object => ({
  apiVersion,
  kind: 'ServiceTemplate',
  metadata: { name: 'web' },
  spec: { image: `ghcr.io/acme/web:${image}`, resources, ...spec },
});

/** Three replicas, unless told otherwise, that get what `web` gives. */
const fleetFrom = (own: object = {}, spec: object = {}): object =>
  fleetOf('llm', {
    ...spec,
    template: { spec: { region: 'standard', templateRef: { name: 'web' }, ...own } },
  });

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

async function images(plane: ControlPlane): Promise<string[]> {
  const { services } = await plane.call('GET', '/api/account');
  return services.map(({ name, image }: Json) => `${name} ${image.split(':').at(-1)}`).sort();
}

const all = (image: string, count = 3) => Array.from({ length: count }, (_, slot) => `llm-${slot} ${image}`);
const statusOf = async (fleet: Fleet) => (await fleet.records()).get('ServiceFleet/llm')?.status;
const conditionOf = async (fleet: Fleet, type: string) =>
  (await statusOf(fleet))?.conditions.find((condition: Json) => condition.type === type);
const sentIn = async (plane: ControlPlane) => (await plane.requests()).filter(isMutation);

async function applied(fleet: Fleet, ...documents: object[]): Promise<void> {
  await fleet.write('web.yaml', documents);
  expect((await fleet.apply()).code).toBe(0);
}

test('replicas get what the template gives; when it changes, they stay, and one more is like the others', async () => {
  const { plane, fleet } = await world();
  await applied(fleet, webTemplate('1', { httpPort: 80 }), fleetFrom());
  expect(await images(plane)).toEqual(all('1'));
  expect((await plane.service('llm-0')).httpPort).toBe(80);
  expect(await statusOf(fleet)).toMatchObject({
    template: 'web',
    revisions: [{ image: 'ghcr.io/acme/web:1' }],
  });
  expect(await conditionOf(fleet, 'TemplateOutdated')).toMatchObject({ status: 'False' });

  await applied(fleet, webTemplate('2', { httpPort: 80 }), fleetFrom({}, { replicas: 4 }));
  expect(await images(plane)).toEqual(all('1', 4));
  expect(await statusOf(fleet)).toMatchObject({ templateOutdated: ['image'], updateRevision: 'r1' });
  expect(await conditionOf(fleet, 'TemplateOutdated')).toMatchObject({
    status: 'True',
    reason: 'TemplateChanged',
  });
  expect((await fleet.plan()).code).toBe(0);
});

test('the next revision takes what the template gives by then, and an edit that is taken back leads back', async () => {
  const { plane, fleet } = await world();
  await applied(fleet, webTemplate('1'), fleetFrom());
  await applied(fleet, webTemplate('2'), fleetFrom());
  await applied(fleet, webTemplate('2'), fleetFrom({ restartToken: 'now' }));
  expect(await images(plane)).toEqual(all('2'));
  expect(await statusOf(fleet)).toMatchObject({ currentRevision: 'r2' });
  expect(await statusOf(fleet)).not.toHaveProperty('templateOutdated');
});

test('with `templateUpdates: Apply`, a changed template is a rollout', async () => {
  const { plane, fleet } = await world();
  const follows = fleetFrom({ templateUpdates: 'Apply' });
  await applied(fleet, webTemplate('1'), follows);
  await fleet.write('web.yaml', [webTemplate('2'), follows]);
  const { code, plan } = await fleet.plan();
  expect(code).toBe(2);
  expect(plan.changes).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        kind: 'ServiceFleet',
        differences: expect.arrayContaining([expect.objectContaining({ path: 'template.image' })]),
      }),
    ]),
  );
  expect((await fleet.apply()).code).toBe(0);
  expect(await images(plane)).toEqual(all('2'));
  expect(await statusOf(fleet)).toMatchObject({ currentRevision: 'r2' });
});

test('without its template a fleet goes on with what it took, and no new revision is made', async () => {
  const { plane, fleet } = await world();
  await applied(fleet, webTemplate('1'), fleetFrom());
  await applied(fleet, fleetFrom({}, { replicas: 4 }));
  expect(await images(plane)).toEqual(all('1', 4));
  expect(await conditionOf(fleet, 'TemplateOutdated')).toMatchObject({
    status: 'Unknown',
    reason: 'TemplateMissing',
  });
  await plane.forgetRequests();
  await fleet.write('web.yaml', [fleetFrom({ restartToken: 'now' }, { replicas: 4 })]);
  const { plan } = await fleet.plan();
  expect(plan.held).toMatchObject([
    { reason: 'ReferenceNotFound', message: expect.stringContaining('no ServiceTemplate web') },
  ]);
  expect((await fleet.apply()).code).not.toBe(0);
  expect(await sentIn(plane)).toEqual([]);
});

test('a built-in template can be referred to, and its variables have to be given', async () => {
  const { plane, fleet } = await world();
  const { templates } = await plane.call('GET', '/api/templates');
  const builtIn = templates.find((item: Json) => item.builtIn && item.requiredEnvironment.length > 0);
  const name = builtIn.name.toLowerCase().replaceAll(/[^a-z0-9.]+/g, '-');
  const env = builtIn.requiredEnvironment.map((variable: string) => ({ name: variable, value: 'x' }));
  await fleet.write('web.yaml', [fleetFrom({ templateRef: { name }, resources })]);
  const { plan } = await fleet.plan();
  expect(plan.held).toMatchObject([{ reason: 'MissingEnvironment' }]);
  expect(plan.held[0].message).toContain(env[0].name);
  await applied(fleet, fleetFrom({ templateRef: { name }, resources, env }));
  expect((await plane.service('llm-2')).image).toBe(builtIn.image);
});

testInFolder('after a lost state the replicas keep what they took, and nothing is sent', async () => {
  const { plane, fleet } = await world();
  await applied(fleet, webTemplate('1'), fleetFrom());
  await applied(fleet, webTemplate('2'), fleetFrom());
  await plane.forgetRequests();
  const { folder, state } = new FleetFolder(folderOf(fleet).folder.replace(/\/fleet$/, ''));
  const again = () => fleetkeeper(['apply', '--source', folder, '--state', `${state}.new`, '--yes']);
  expect((await again()).code).toBe(0);
  expect((await again()).code).toBe(0);
  expect(await sentIn(plane)).toEqual([]);
  expect(await images(plane)).toEqual(all('1'));
});

test('values that a document takes over from its template change nothing, and are kept when it changes', async () => {
  const { plane, fleet } = await world();
  const own = { image: 'ghcr.io/acme/web:1', resources };
  await applied(fleet, webTemplate('1'), fleetFrom({ ...own, templateRef: undefined }));
  await plane.forgetRequests();
  await applied(fleet, webTemplate('1'), fleetFrom());
  await applied(fleet, webTemplate('2'), fleetFrom());
  expect((await sentIn(plane)).map(({ path }) => path).filter((path) => path.includes('services'))).toEqual(
    [],
  );
  expect(await images(plane)).toEqual(all('1'));
});

test('a Secret that is missing holds a new revision, and the replicas that are there', async () => {
  const { plane, fleet } = await world();
  const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'tokens', key: 'web' } } }];
  await fleet.write('web.yaml', [webTemplate('1'), fleetFrom({ env })]);
  const { plan } = await fleet.plan();
  expect(plan.held).toMatchObject([
    {
      kind: 'ServiceFleet',
      reason: 'InvalidReference',
      message: expect.stringContaining('no usable Secret tokens'),
    },
  ]);
  expect(plan.held[0].message).toContain('spec.template.spec.env[0].valueFrom.secretKeyRef');
  expect((await fleet.apply()).code).toBe(1);
  expect((await sentIn(plane)).filter(({ path }) => path === '/api/services')).toEqual([]);
  await applied(fleet, webTemplate('1'), fleetFrom());
  await fleet.write('web.yaml', [webTemplate('1'), fleetFrom({ env })]);
  expect((await fleet.apply()).code).toBe(1);
  expect(await images(plane)).toEqual(all('1'));
  expect(await statusOf(fleet)).toMatchObject({ updateRevision: 'r1', availableReplicas: 3 });
});

test('another size of the replicas has a cost in the plan', async () => {
  const { fleet } = await world();
  const follows = fleetFrom({ templateUpdates: 'Apply' });
  await applied(fleet, webTemplate('1'), follows);
  await fleet.write('web.yaml', [webTemplate('1', { resources: { ...resources, memoryGb: 8 } }), follows]);
  const { plan } = await fleet.plan();
  expect(plan.cost.deltaHourlyMicros).toBeGreaterThan(0);
});

test('the status of a template names who lacks variables that it requires', async () => {
  const { fleet } = await world();
  await applied(fleet, webTemplate('1'), fleetFrom());
  await applied(fleet, webTemplate('1', { requiredEnvironment: ['MODEL'] }), fleetFrom());
  const { status } = (await fleet.records()).get('ServiceTemplate/web') ?? {};
  expect(status).toMatchObject({
    services: ['llm'],
    missingEnvironment: [{ service: 'llm', variables: ['MODEL'] }],
  });
});
