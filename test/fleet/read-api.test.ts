/** The read API of a manager that runs: what it shows, what it never shows, and that it lags behind nothing. */
import { expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey, ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  service,
  testInCluster,
  testInFolder,
  type Json,
} from '../support/processes/fleet.ts';
import { eventually, fetch, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

const values = ['literal-value-of-env', 'value-of-a-secret', 'password-of-a-registry'];

const fleetOf = (replicas: number): object => ({
  apiVersion,
  kind: 'ServiceFleet',
  metadata: { name: 'llm' },
  spec: {
    replicas,
    template: {
      spec: {
        region: 'standard',
        image: 'ghcr.io/acme/llm:1',
        resources: { cpu: 1, memoryGb: 1 },
        env: [{ name: 'MODEL', value: values[0] }],
      },
    },
    update: { minReadySeconds: 0 },
  },
});

const env = [
  { name: 'LITERAL', value: values[0] },
  { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'app', key: 'token' } } },
];

async function world(...flags: string[]) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('secrets.yaml', [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'app' }, stringData: { token: values[1] } },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'pull' },
      stringData: { username: 'robot', password: values[2] },
    },
  ]);
  await fleet.write('registry.yaml', [
    {
      apiVersion,
      kind: 'ImageRegistry',
      metadata: { name: 'ghcr' },
      spec: {
        repository: 'ghcr.io/acme',
        credentialsSecretRef: { name: 'pull' },
      },
    },
  ]);
  await fleet.write('web.yaml', [service('web', { env, httpPort: 80 })]);
  await fleet.write('llm.yaml', [fleetOf(2)]);
  const manager = fleet.run('--listen', '127.0.0.1:0', ...flags);
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  const get = async (target: string): Promise<{ status: number; body: Json; text: string }> => {
    const response = await fetch(`${url}${target}`);
    const text = await response.text();
    return { status: response.status, text, body: text === '' ? undefined : JSON.parse(text) };
  };
  return { plane, fleet, manager, get };
}

testInFolder('shows what `status` shows, and no secret value at any path (GI2)', async () => {
  const { plane, fleet, get } = await world();
  await fleet.untilReady(5);
  await eventually('all are healthy', async () => {
    const { body } = await get('/api/v1/summary');
    return body.health.Healthy === 6 && body.objects === 6;
  });
  const { body } = await get('/api/v1/objects?limit=200&sort=name');
  const status = JSON.parse((await fleetkeeper(['status', '-o', 'json', ...fleet.flags])).stdout);
  const keyOf = ({ kind, metadata }: Json) => `${kind}/${metadata.namespace}/${metadata.name}`;
  expect(body.items.map(({ key }: Json) => key).toSorted()).toEqual(status.items.map(keyOf).toSorted());
  const targets = [
    '/api/v1/summary',
    '/api/v1/problems',
    '/api/v1/tree?depth=6',
    '/api/v1/timeline?limit=200',
    '/api/v1/money',
    '/api/v1/money?by=fleet',
    '/api/v1/fleets/default/llm',
    '/api/v1/fleets/default/llm/endpoints',
    '/api/v1/fleets/default/llm/revisions',
    '/api/v1/objects?limit=200',
    ...body.items.map(({ key }: Json) => `/api/v1/objects/${key}`),
  ];
  for (const target of targets) {
    const answer = await get(target);
    expect([target, answer.status]).toEqual([target, 200]);
    for (const value of [...values, apiKey])
      for (const form of [value, Buffer.from(value).toString('base64')])
        expect([target, answer.text.includes(form)]).toEqual([target, false]);
  }
  const web = await get('/api/v1/objects/ContainerService/default/web');
  expect(web.body.spec.env.map(({ name }: Json) => name)).toEqual(['LITERAL', 'TOKEN']);
  expect(web.body.intents.newest.map(({ action, outcome }: Json) => [action, outcome])).toContainEqual([
    'create-service',
    'applied',
  ]);
  const money = (await get('/api/v1/money')).body;
  // The registry is one as well.
  expect(money.total.things).toBe((await plane.account()).services.length + 1);
  expect(money.total.hourlyMicros).toBe((await get('/api/v1/summary')).body.burnMicrosPerHour);
});

testInFolder('what the API repeats of a secret, in any form, is in no answer (GI2)', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  const secret = 'p@ss/word+of=the env';
  const forms = [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64'),
    Buffer.from(`TOKEN=${secret}`).toString('base64url'),
    Buffer.from(secret).toString('hex'),
  ];
  await plane.faults([
    { method: 'POST', path: '/api/services$', fault: 'status', status: 409, code: `no ${forms.join(' ')}` },
  ]);
  await fleet.write('fleet.yaml', [
    ...account(plane.url),
    service('web', { env: [{ name: 'TOKEN', value: secret }] }),
  ]);
  const manager = fleet.run('--listen', '127.0.0.1:0');
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  const object = '/api/v1/objects/ContainerService/default/web';
  await eventually('the refusal is shown', async () =>
    (await (await fetch(`${url}${object}`)).text()).includes('[redacted]'),
  );
  // Streams show what these show (test/unit/read-api/streams.test.ts); no stream ends, so a simulated world can have none.
  for (const target of [
    object,
    ...['objects', 'problems', 'tree', 'timeline'].map((each) => `/api/v1/${each}`),
  ]) {
    const text = await (await fetch(`${url}${target}`)).text();
    for (const form of forms) expect([target, text.includes(form)]).toEqual([target, false]);
  }
});

testInFolder('a change at the provider is in the answers after the read that shows it', async () => {
  const { plane, fleet, get } = await world();
  await fleet.untilReady(5);
  const { id } = (await plane.account()).services.find(({ name }: Json) => name.startsWith('web'));
  await plane.call('POST', `/api/services/${id}/actions`, { action: 'stop' });
  await eventually('it was started again', async () => {
    const { body } = await get('/api/v1/timeline?object=ContainerService/default/web');
    return body.items.some(({ action }: Json) => action === 'start-service');
  });
});

testInFolder('the timeline has why each request was sent, and who asked for it', async () => {
  const { plane, fleet, get } = await world();
  await fleet.untilReady(5);
  const untilShown = async (object: string, action: string, why: string, askedBy: string) => {
    await eventually(`${why}, asked by ${askedBy}`, async () => {
      const { body } = await get(`/api/v1/timeline?object=${object}`);
      return body.items.some(
        (each: Json) => each.action === action && each.why === why && each.askedBy === askedBy,
      );
    });
  };
  const web = 'ContainerService/default/web';
  await untilShown(web, 'create-service', 'Create', 'generation 1 of the document');
  const { id } = (await plane.account()).services.find(({ name }: Json) => name.startsWith('web'));
  await plane.call('POST', `/api/services/${id}/actions`, { action: 'stop' });
  await untilShown(web, 'start-service', 'Drift: desiredState', 'drift: somebody else changed it');
  await fleet.write('web.yaml', [service('web', { env, httpPort: 81 })]);
  await untilShown(web, 'patch-service', 'SpecChanged: httpPort', 'generation 2 of the document');
  await fleet.write('web.yaml', [service('web', { env, httpPort: 81, restartToken: 'again' })]);
  await untilShown(web, 'restart-service', 'RestartRequested: restartToken', 'restart token again');
  const replica = (slot: number) => `ContainerService/default/llm-${slot}`;
  await untilShown(replica(1), 'create-service', 'Create', 'rollout of the fleet llm to revision 1');
  await fleet.write('llm.yaml', [fleetOf(3)]);
  await untilShown(replica(2), 'create-service', 'Create', 'scale of the fleet llm');
  const { body } = await get(`/api/v1/objects/${web}`);
  expect(body.intents.newest[0]).toMatchObject({
    reason: 'RestartRequested',
    fields: ['restartToken'],
    askedBy: 'restart token again',
  });
  const status = JSON.parse((await fleetkeeper(['status', '-o', 'json', ...fleet.flags])).stdout);
  const shown = status.items.find(({ metadata }: Json) => metadata.name === 'web');
  expect(shown.status.lastMutation).toMatchObject({
    reason: 'RestartRequested',
    askedBy: 'restart token again',
  });
});

testInCluster('in a cluster, a status has why its last request was sent', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [service('web')]);
  fleet.run();
  await fleet.untilReady(1);
  const status = JSON.parse((await fleetkeeper(['status', '-o', 'json', ...fleet.flags])).stdout);
  const shown = status.items.find(({ metadata }: Json) => metadata.name === 'web');
  expect(shown.status.lastMutation).toMatchObject({
    action: 'create-service',
    reason: 'Create',
    askedBy: 'generation 1 of the document',
  });
});

testInFolder(
  'on another address there is no API without a flag, and the log has the reason once',
  async () => {
    const folder = await temporaryFolder();
    const plane = await new ControlPlane(folder).start();
    const fleet = await createFleet(folder);
    await fleet.write('account.yaml', account(plane.url));
    const manager = fleet.run('--listen', '0.0.0.0:0');
    const [, url = ''] = await manager.line(/^listening on (.*)$/);
    const reached = url.replace('0.0.0.0', '127.0.0.1');
    expect((await fetch(`${reached}/healthz`)).status).toBe(200);
    expect((await fetch(`${reached}/api/v1/summary`)).status).toBe(404);
    await manager.kill('SIGTERM');
    expect(manager.stderr.split('\n').filter((line) => line.includes('no read API'))).toHaveLength(1);
  },
);

testInFolder('flags that belong together are asked for together', async () => {
  const fleet = await createFleet(await temporaryFolder());
  const flags = ['--listen', '127.0.0.1:0', '--page-oidc-issuer', 'https://issuer.example'];
  const { code, stderr } = await fleetkeeper(['run', ...fleet.flags, ...flags]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('belong together')]);
});

testInCluster('an operator refuses flags of a read API that it does not have', async () => {
  const fleet = await createFleet(await temporaryFolder());
  const { code, stderr } = await fleetkeeper(['run', ...fleet.flags, '--page-host', 'fleet.example']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('--page-host: an operator serves no read API')]);
});
