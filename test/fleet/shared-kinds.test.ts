import { describe, expect, test } from 'vitest';
import { ControlPlane, isMutation, keysWithTwoBodies } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  FleetFolder,
  folderOf,
  placeOf,
  service,
  testInFolder,
  volume,
} from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

const apiVersion = 'fleetkeeper.dev/v1alpha1';
const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };
const repository = 'ghcr.io/acme/app';

function template(name: string, spec: object = {}): object {
  return {
    apiVersion,
    kind: 'ServiceTemplate',
    metadata: { name },
    spec: { image: 'ghcr.io/acme/app:1', resources, ...spec },
  };
}

function registry(name: string, spec: object = {}): object {
  const kind = 'ImageRegistry';
  return {
    apiVersion,
    kind,
    metadata: { name },
    spec: { repository, credentialsSecretRef: { name }, ...spec },
  };
}

function secret(name: string, password: string): object {
  const stringData = { username: 'acme-bot', password };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData };
}

function fromTemplate(name: string, spec: object = {}): object {
  return service(name, { image: undefined, resources: undefined, templateRef: { name: 'web' }, ...spec });
}

async function world(timeScale = 60) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

/** Of the account, without the built-in ones. */
async function templates(plane: ControlPlane): Promise<Record<string, unknown>[]> {
  const answer = await plane.call('GET', '/api/templates');
  return answer.templates.filter(({ builtIn }: { builtIn: boolean }) => !builtIn);
}

async function registries(plane: ControlPlane): Promise<Record<string, unknown>[]> {
  return (await plane.call('GET', '/api/registries')).registries;
}

async function mutations(plane: ControlPlane): Promise<string[]> {
  return (await plane.requests())
    .filter(isMutation)
    .map(({ method, path }) => `${method} ${path.replace(/[0-9a-f-]{36}/, 'ID')}`);
}

describe('a template', () => {
  test('is made, changed, healed and deleted, and services take from it only when they are created', async () => {
    const { plane, fleet } = await world();
    await fleet.write('web.yaml', [template('web', { httpPort: 8080, requiredEnvironment: ['TOKEN'] })]);
    await fleet.write('first.yaml', [fromTemplate('first', { env: [{ name: 'TOKEN', value: 'x' }] })]);
    fleet.run();
    await fleet.untilReady(2);
    expect(await plane.service('first')).toMatchObject({ image: 'ghcr.io/acme/app:1', httpPort: 8080 });

    // Somebody else sets what the spec does not give, and changes what it gives: only that is put back.
    const [before] = await templates(plane);
    const { id, revision, builtIn, createdAt, ...spec } = before as Record<string, unknown>;
    expect([builtIn, typeof createdAt]).toEqual([false, 'number']);
    await plane.call('PUT', `/api/templates/${String(id)}`, {
      revision,
      spec: { ...spec, image: 'ghcr.io/acme/app:theirs', containerDiskGb: 33 },
    });
    await eventually('the template is healed', async () => {
      const [now] = await templates(plane);
      return now?.['image'] === 'ghcr.io/acme/app:1' && now['containerDiskGb'] === 33;
    });

    await plane.forgetRequests();
    await fleet.write('web.yaml', [
      template('web', { image: 'ghcr.io/acme/app:2', httpPort: 8080, requiredEnvironment: ['TOKEN'] }),
    ]);
    const outdated = await fleet.until('ContainerService/first', 'TemplateOutdated', 'True');
    expect(outdated.message).toContain('gives another image now');
    await eventually(
      'the template is replaced',
      async () => (await templates(plane))[0]?.['image'] === 'ghcr.io/acme/app:2',
    );
    await fleet.write('second.yaml', [fromTemplate('second', { env: [{ name: 'TOKEN', value: 'y' }] })]);
    await fleet.untilReady(3);
    expect((await plane.service('second')).image).toBe('ghcr.io/acme/app:2');
    expect((await plane.service('first')).image).toBe('ghcr.io/acme/app:1');
    expect((await mutations(plane)).sort()).toEqual(['POST /api/services', 'PUT /api/templates/ID']);

    await fleet.write('first.yaml', [
      fromTemplate('first', { env: [{ name: 'TOKEN', value: 'x' }], templateUpdates: 'Apply' }),
    ]);
    await eventually(
      'the first one follows',
      async () => (await plane.service('first')).image === 'ghcr.io/acme/app:2',
    );
    await fleet.until('ContainerService/first', 'TemplateOutdated', 'False');

    await fleet.remove('web.yaml');
    await eventually('the template is gone', async () => (await templates(plane)).length === 0);
    await fleet.until('ContainerService/first', 'TemplateOutdated', 'Unknown', 'TemplateMissing');
    await fleet.untilReady(2);
    expect((await plane.service('first')).image).toBe('ghcr.io/acme/app:2');
  });

  // COVERAGE 65
  test('that requires variables holds the services that lack them, and says which', async () => {
    const { plane, fleet } = await world();
    await fleet.write('web.yaml', [
      template('web', { requiredEnvironment: ['TOKEN', 'MODE'] }),
      fromTemplate('app', { env: [{ name: 'MODE', value: 'x' }] }),
    ]);
    const { code, plan } = await fleet.plan();
    expect(code).toBe(1);
    expect(plan.held).toMatchObject([{ name: 'app', reason: 'MissingEnvironment' }]);
    const place = placeOf('ContainerService', 'app', 'web.yaml');
    expect(plan.held[0].message).toMatch(
      new RegExp(`^${place}: spec\\.env: the template web requires TOKEN; add it to env`),
    );
    expect((await fleet.apply()).code).toBe(1);
    expect(await templates(plane)).toHaveLength(1);
    expect((await fleet.records()).get('ServiceTemplate/web')?.status).toMatchObject({
      services: ['app'],
      missingEnvironment: [{ service: 'app', variables: ['TOKEN'] }],
    });
  });

  // COVERAGE 20
  test('that is built in can be referred to, and one that is nowhere is told with what there is', async () => {
    const { plane, fleet } = await world();
    const { templates: all } = await plane.call('GET', '/api/templates');
    const builtIn = all.find((item: { builtIn: boolean }) => item.builtIn);
    const name = builtIn.name.toLowerCase().replaceAll(/[^a-z0-9.]+/g, '-');
    const env = builtIn.requiredEnvironment.map((variable: string) => ({ name: variable, value: 'x' }));
    await fleet.write('app.yaml', [fromTemplate('app', { templateRef: { name }, resources, env })]);
    expect((await fleet.apply()).code).toBe(0);
    expect((await plane.service('app')).image).toBe(builtIn.image);
    expect((await fleet.plan()).code).toBe(0);
    expect(await mutations(plane)).toEqual(['POST /api/services']);

    await fleet.write('app.yaml', [
      fromTemplate('app', { templateRef: { name: 'nowhere' }, resources, env }),
    ]);
    const { plan } = await fleet.plan();
    expect(plan.held).toMatchObject([{ reason: 'ReferenceNotFound' }]);
    expect(plan.held[0].message).toContain(`${name} (built-in)`);
  });

  testInFolder('is found again by its mark after the state was lost, and nothing is sent', async () => {
    const { plane, fleet } = await world();
    await fleet.write('web.yaml', [template('web', { description: 'For the web.' }), fromTemplate('app')]);
    expect((await fleet.apply()).code).toBe(0);
    await plane.forgetRequests();
    const other = new FleetFolder(folderOf(fleet).folder.replace(/\/fleet$/, ''));
    const again = await fleetkeeper([
      'apply',
      '--source',
      other.folder,
      '--state',
      `${other.state}.new`,
      '--yes',
    ]);
    expect([again.code, again.stderr]).toEqual([0, expect.any(String)]);
    expect(await mutations(plane)).toEqual([]);
  });
});

describe('a registry', () => {
  test('is made before the services that need it, rotated with its Secret, and deleted when nothing is awake', async () => {
    const { plane, fleet } = await world();
    await fleet.write('ghcr.yaml', [registry('ghcr'), secret('ghcr', 'first-password')]);
    await fleet.write('app.yaml', [service('app', { image: `${repository}:1` })]);
    const manager = fleet.run();
    await fleet.untilReady(2);
    expect((await mutations(plane)).slice(0, 2)).toEqual(['POST /api/registries', 'POST /api/services']);
    expect((await fleet.records()).get('ContainerService/app')?.status).toMatchObject({ registry: 'ghcr' });
    const status = async () => (await fleet.records()).get('ImageRegistry/ghcr')?.status;
    await eventually('the link is told', async () =>
      JSON.stringify((await status())?.['linkedServices'] ?? '').includes('"Current"'),
    );

    await plane.forgetRequests();
    await fleet.write('ghcr.yaml', [registry('ghcr'), secret('ghcr', 'second-password')]);
    await eventually('rotated', async () => (await registries(plane))[0]?.['revision'] === 2);
    const ready = await eventually('the lag is told', async () => {
      const found = await fleet.condition('ImageRegistry/ghcr', 'Ready');
      return found?.status === 'True' && found.message !== '' && found;
    });
    expect(ready.message).toBe(
      'launched with the credentials before the last rotation: app; their next launch takes the present ones',
    );
    expect(await status()).toMatchObject({
      repository,
      linkedServices: [{ name: 'app', credentials: 'Outdated' }],
    });
    expect(typeof (await status())?.['rotatedAt']).toBe('string');
    expect(await mutations(plane)).toEqual(['PUT /api/registries/ID']);

    await fleet.write('app.yaml', [service('app', { image: `${repository}:1`, restartToken: 'now' })]);
    await eventually('the restart took the new ones', async () =>
      JSON.stringify((await status())?.['linkedServices'] ?? '').includes('"Current"'),
    );

    await fleet.remove('ghcr.yaml');
    const waiting = await fleet.until('ImageRegistry/ghcr', 'Reconciling', 'True', 'RegistryInUse');
    expect(waiting.message).toContain('app (running)');
    await plane.call('PATCH', `/api/services/${(await plane.service('app')).id}/sleep`, {
      sleepAfterMinutes: 1,
    });
    await eventually('asleep, and then gone', async () => (await registries(plane)).length === 0, 60_000);
    await eventually('forgotten', async () => !(await fleet.records()).has('ImageRegistry/ghcr'));

    const { stdout, stderr } = await manager.kill('SIGTERM');
    const everything = [stdout, stderr, JSON.stringify([...(await fleet.records())])].join('\n');
    expect(everything).not.toMatch(/first-password|second-password|acme-bot/);
  });

  test('that somebody else made is taken over only when the document says so', async () => {
    const { plane, fleet } = await world();
    const theirs = await plane.call('POST', '/api/registries', {
      repository,
      username: 'them',
      password: 'theirs',
    });
    await fleet.write('ghcr.yaml', [registry('ghcr'), secret('ghcr', 'ours')]);
    const { code, plan } = await fleet.plan();
    expect([code, plan.held[0].reason]).toEqual([2, 'AlreadyExists']);
    expect(plan.held[0].message).toContain(`adopt: {id: ${theirs.id}}`);
    expect((await fleet.apply()).code).toBe(1);
    expect((await registries(plane))[0]).toMatchObject({ id: theirs.id, revision: 1 });

    await fleet.write('ghcr.yaml', [registry('ghcr', { adopt: { id: theirs.id } }), secret('ghcr', 'ours')]);
    expect((await fleet.plan()).plan.changes).toMatchObject([{ action: 'update', reason: 'Adopted' }]);
    expect((await fleet.apply()).code).toBe(0);
    expect((await fleet.plan()).code).toBe(0);
    expect((await registries(plane))[0]).toMatchObject({ id: theirs.id, revision: 2 });
  });

  test('that somebody else rotates is drift, and rotated back once', async () => {
    const { plane, fleet } = await world();
    await fleet.write('ghcr.yaml', [registry('ghcr'), secret('ghcr', 'ours')]);
    fleet.run();
    await fleet.untilReady(1);
    const [{ id, revision } = {}] = await registries(plane);
    await eventually(
      'its revision is known',
      async () => (await fleet.records()).get('ImageRegistry/ghcr')?.baseline !== undefined,
    );
    await plane.forgetRequests();
    await plane.call('PUT', `/api/registries/${String(id)}`, {
      revision,
      spec: { repository, username: 'them', password: 'theirs' },
    });
    await eventually('rotated back', async () => (await registries(plane))[0]?.['revision'] === 3);
    await fleet.until('ImageRegistry/ghcr', 'Drifted', 'False');
    expect(await mutations(plane)).toEqual(['PUT /api/registries/ID', 'PUT /api/registries/ID']);
  });

  testInFolder('without its Secret is held at the line that names it', async () => {
    const { fleet } = await world();
    await fleet.write('ghcr.yaml', [registry('ghcr')]);
    const { code, plan } = await fleet.plan();
    expect([code, plan.held[0].reason]).toEqual([1, 'InvalidReference']);
    expect(plan.held[0].message).toMatch(
      /ghcr\.yaml:\d+: spec\.credentialsSecretRef\.name: no usable Secret ghcr/,
    );
  });
});

const shared = [
  ['POST', '/api/templates$'],
  ['PUT', '/api/templates/'],
  ['DELETE', '/api/templates/'],
  ['POST', '/api/registries$'],
  ['PUT', '/api/registries/'],
  ['DELETE', '/api/registries/'],
] as const;

describe.each([
  ['a lost request', { fault: 'drop-request' }],
  ['a lost answer', { fault: 'drop-response' }],
  ['a 500 without a body', { fault: 'status', status: 500 }],
  ['a 503', { fault: 'status', status: 503, code: 'unavailable' }],
  ['a conflict', { fault: 'status', status: 409, code: 'revision_conflict' }],
])('%s of each mutation of templates and registries', (_name, fault) => {
  test('ends as the undisturbed run: nothing twice, nothing lost', async () => {
    const { plane, fleet } = await world();
    await plane.faults(shared.map(([method, path]) => ({ method, path, times: 1, ...fault })));
    await fleet.write('all.yaml', [template('web'), registry('ghcr'), secret('ghcr', 'first')]);
    fleet.run();
    await fleet.untilReady(2);
    await fleet.write('all.yaml', [
      template('web', { image: 'ghcr.io/acme/app:2' }),
      registry('ghcr'),
      secret('ghcr', 'second'),
    ]);
    await eventually('both are changed', async () => {
      const [[web], [ghcr]] = await Promise.all([templates(plane), registries(plane)]);
      return web?.['image'] === 'ghcr.io/acme/app:2' && Number(ghcr?.['revision']) >= 2;
    });
    await fleet.untilReady(2);
    expect(await templates(plane)).toHaveLength(1);
    expect(await registries(plane)).toHaveLength(1);
    await fleet.write('all.yaml', [secret('ghcr', 'second'), volume('keeps-the-source-from-being-empty')]);
    await eventually(
      'both are gone',
      async () => (await templates(plane)).length + (await registries(plane)).length === 0,
    );
    await eventually('and forgotten', async () => (await fleet.records()).size === 2);
    expect(await plane.faultHits()).toBe(shared.length);
    expect(keysWithTwoBodies(await plane.requests())).toEqual([]);
  });
});

// COVERAGE 112
test('a list that can not be read says nothing of what is in it, and services go on', async () => {
  const { plane, fleet } = await world();
  await fleet.write('all.yaml', [template('web'), fromTemplate('app')]);
  fleet.run();
  await fleet.untilReady(2);
  await plane.faults([
    {
      method: 'GET',
      path: '/api/templates$',
      times: 1000,
      fault: 'status',
      status: 503,
      code: 'unavailable',
    },
  ]);
  const blind = await fleet.until('ServiceTemplate/web', 'Ready', 'Unknown', 'ApiUnreachable');
  expect(blind.message).toContain('the templates of the account could not be read');
  await fleet.write('all.yaml', [template('web'), fromTemplate('app', { image: 'ghcr.io/acme/app:own' })]);
  await eventually(
    'the service goes on',
    async () => (await plane.service('app')).image === 'ghcr.io/acme/app:own',
  );
  await fleet.write('all.yaml', [fromTemplate('app', { image: 'ghcr.io/acme/app:own' })]);
  await plane.faults([]);
  await eventually('and the template, too', async () => (await templates(plane)).length === 0);
});

test('a fleet without templates and registries asks for no list', async () => {
  const { plane, fleet } = await world();
  await fleet.write('app.yaml', [service('app')]);
  fleet.run();
  await fleet.untilReady(1);
  const paths = new Set((await plane.requests()).map(({ path }) => path));
  expect([...paths].filter((path) => /templates|registries/.test(path))).toEqual([]);
});
