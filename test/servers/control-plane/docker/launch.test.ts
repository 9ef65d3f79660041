/** Launches on an engine that answers as Docker does, and not always as one wishes. */
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import {
  connectEngine,
  dockerRuntime,
} from '../../../../src/control-plane/runtimes/docker/engine/connect.ts';
import { parseConfig, type ControlPlaneOptions } from '../../../../src/control-plane/main.ts';
import { startWorld, type Json, type World } from '../support.ts';
import type { DockerOptions } from '../../../../src/control-plane/runtimes/docker/operations.ts';
import { RegistryPolicy } from '../../../../src/control-plane/runtimes/containers/registry-policy.ts';
import { EngineStub } from './engine-stub.ts';

const spec = {
  name: 'web',
  region: 'standard',
  image: 'localhost/web:1',
  resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
  httpPort: 80,
};

async function start(
  engine: EngineStub,
  more: Partial<Omit<ControlPlaneOptions, 'clock'> & DockerOptions> = {},
): Promise<World> {
  const runtime = dockerRuntime(await connectEngine({ socketPath: engine.socketPath }), {
    publication: { host: '127.0.0.1' },
    registries: new RegistryPolicy([]),
    gpus: [],
    ...more,
  });
  return startWorld({ runtime, ...more });
}

/** The service, once nothing is under way any more; the pauses between attempts pass meanwhile. */
async function settled(world: World, id: string): Promise<Json> {
  let service: Json;
  await expect
    .poll(
      async () => {
        await world.clock.advance(500);
        service = await world.service(id);
        return service.operation;
      },
      { interval: 1 },
    )
    .toBe(null);
  return service;
}

test('a launch is one container, which has no value of the environment in any URL', async () => {
  await using engine = await new EngineStub().listen();
  await using world = await start(engine);
  const { id } = await world.ok('POST', '/api/services', { ...spec, environment: { TOKEN: 'secret-1' } });
  expect(await settled(world, id)).toMatchObject({ state: 'running', endpoint: 'http://127.0.0.1:32768' });
  const [container, ...others] = engine.containers.values();
  expect(others).toEqual([]);
  expect(container?.name).toBe(`fleetkeeper-${id}`);
  expect(container?.spec.Env).toEqual(['TOKEN=secret-1', 'NVIDIA_VISIBLE_DEVICES=void']);
  expect(engine.requests.filter((request) => request.includes('secret'))).toEqual([]);
});

test.each(['create', 'start', 'network'])('an engine that fails at "%s" is asked again', async (kind) => {
  await using engine = await new EngineStub().listen();
  await using world = await start(engine);
  engine.refuse(kind, { status: 500, message: 'busy' }, { status: 500, message: 'busy' });
  const { id } = await world.ok('POST', '/api/services', spec);
  expect(await settled(world, id)).toMatchObject({ state: 'running' });
});

test.each([
  { kind: 'create', reported: 'the container could not be created' },
  { kind: 'start', reported: 'the container could not be started' },
])(
  'one that fails at "$kind" three times is believed, and its words are in the log only',
  async ({ kind, reported }) => {
    await using engine = await new EngineStub().listen();
    const log: string[] = [];
    await using world = await start(engine, {
      logger: pino({}, { write: (line: string) => log.push(line) }),
    });
    const refusal = { status: 500, message: 'no such device as secret-1' };
    engine.refuse(kind, refusal, refusal, refusal);
    const { id } = await world.ok('POST', '/api/services', { ...spec, environment: { TOKEN: 'secret-1' } });
    const { error } = await settled(world, id);
    const operation = new RegExp(`^${reported} \\(operation ([0-9a-f-]{36})\\)$`).exec(error)?.[1];
    const line = log.find((one) => one.includes('a request of a tenant was refused')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({
      subject: id,
      operation,
      detail: 'no such device as [redacted]',
    });
  },
);

test('a container that can not be started is made anew: its port may have been taken', async () => {
  await using engine = await new EngineStub().listen();
  await using world = await start(engine);
  engine.refuse('start', { status: 500, message: 'address already in use' });
  const { id } = await world.ok('POST', '/api/services', spec);
  expect(await settled(world, id)).toMatchObject({ state: 'running' });
  expect(engine.requests.filter((request) => request.includes('/create?name='))).toHaveLength(2);
  expect(engine.containers.size).toBe(1);
});

test('what an engine refuses is not asked again', async () => {
  await using engine = await new EngineStub().listen();
  await using world = await start(engine);
  engine.refuse('create', { status: 400, message: 'range of CPUs is from 0.01 to 2.00' });
  const { id } = await world.ok('POST', '/api/services', spec);
  expect((await settled(world, id)).error).toMatch(/^a container can not be limited to these resources here/);
  expect(engine.requests.filter((request) => request.includes('/create?name='))).toHaveLength(1);
});

test.each([
  { what: 'whose answer was lost', status: 500 },
  { what: 'that a request of an earlier process has made meanwhile', status: 409 },
])('a container $what is taken, not doubled', async ({ status }) => {
  await using engine = await new EngineStub().listen();
  await using world = await start(engine);
  engine.refuse('create', { status, message: 'the name is already in use', isDone: true });
  const { id } = await world.ok('POST', '/api/services', spec);
  expect(await settled(world, id)).toMatchObject({ state: 'running' });
  expect(engine.containers.size).toBe(1);
  expect(engine.requests.filter((request) => request.includes('/create?name='))).toHaveLength(1);
});

test('an engine that can not limit what a container uses runs none', async () => {
  await using engine = await new EngineStub().listen();
  await using world = await start(engine);
  engine.dropped.add('Memory').add('PidsLimit');
  const { id } = await world.ok('POST', '/api/services', spec);
  expect((await settled(world, id)).error).toBe(
    "the container engine can't limit a container to 1 GB of memory, 4096 processes",
  );
  expect([...engine.containers.values()].filter(({ status }) => status === 'running')).toEqual([]);
});

describe('GPUs', () => {
  const gpus = ['GPU-a', 'GPU-b', 'GPU-c'].map((id) => ({ id, model: id === 'GPU-c' ? 'h100' : 'l4' }));
  const regions = `
gpuCatalog: [{model: l4, name: L4, memoryGb: [24], fullMemoryGb: 24}, {model: h100, name: H100, memoryGb: [80], fullMemoryGb: 80}]
regions: [{name: standard, geographies: [{name: here, gpus: {l4: 9, h100: 1}}], prices: {}}]`;
  const config = parseConfig(regions, 'config.yaml');
  const one = { ...spec, resources: { ...spec.resources, gpuCount: 1 } };
  const devicesOf = (engine: EngineStub, id: string): unknown => {
    const container = [...engine.containers.values()].find(({ name }) => name === `fleetkeeper-${id}`);
    return container?.spec.HostConfig.DeviceRequests;
  };

  test('go to one container each, also after a restart of the control plane', async () => {
    await using engine = await new EngineStub().listen();
    const ids: string[] = [];
    await using world = await start(engine, { gpus, config });
    for (const name of ['first', 'second']) {
      const { id } = await world.ok('POST', '/api/services', { ...one, name });
      expect((await settled(world, id)).state).toBe('running');
      ids.push(id);
    }
    const [first = '', second = ''] = ids;
    expect(devicesOf(engine, first)).toEqual([{ DeviceIDs: ['GPU-a'], Capabilities: [['gpu']] }]);
    expect(devicesOf(engine, second)).toEqual([{ DeviceIDs: ['GPU-b'], Capabilities: [['gpu']] }]);
    // Another control plane on the same engine, which has no memory of these.
    await using other = await start(engine, { gpus, config });
    const { id: third } = await other.ok('POST', '/api/services', one);
    expect((await settled(other, third)).error).toBe('no GPU of that model is free at the moment');
    await world.ok('POST', `/api/services/${first}/actions`, { action: 'delete' });
    await expect.poll(async () => (await world.clock.advance(500), engine.containers.size)).toBe(1);
    await other.ok('POST', `/api/services/${third}/actions`, { action: 'restart' });
    expect((await settled(other, third)).state).toBe('running');
    expect(devicesOf(engine, third)).toEqual([{ DeviceIDs: ['GPU-a'], Capabilities: [['gpu']] }]);
  });

  test('asked for at the same time are different ones', async () => {
    await using engine = await new EngineStub().listen();
    await using world = await start(engine, { gpus, config });
    const made: Json[] = await Promise.all([1, 2].map(() => world.ok('POST', '/api/services', one)));
    await Promise.all(made.map(({ id }) => settled(world, id)));
    const devices = made.map(({ id }) => JSON.stringify(devicesOf(engine, id)));
    expect(new Set(devices).size).toBe(2);
  });
});

test('a tenant can neither name a GPU by a variable nor reach into the network of the engine by an image', async () => {
  await using engine = await new EngineStub().listen();
  await using world = await start(engine);
  const refused = async (more: object) => {
    const { status, body } = await world.call('POST', '/api/services', { ...spec, ...more });
    return `${status} ${body.error.message}`;
  };
  expect(await refused({ environment: { NVIDIA_VISIBLE_DEVICES: 'all' } })).toMatch(
    /^400 environment\.NVIDIA_VISIBLE_DEVICES: names that begin with NVIDIA_/,
  );
  for (const host of [
    '127.0.0.1:5000',
    '169.254.169.254',
    '[::1]:80',
    '2130706433:80',
    '0x7f.1',
    '127.1',
    'localhost:5000',
    'registry:5000',
    'vault.internal',
  ]) {
    expect(`${host}: ${await refused({ image: `${host}/a/b:1` })}`).toMatch(
      /: 400 image: the image is in a registry/,
    );
  }
  expect(engine.requests.filter((request) => request.includes('/images/'))).toEqual([]);
  const { id, revision } = await world.ok('POST', '/api/services', spec);
  const patch = { image: '10.0.0.1/a/b:1' };
  const { status } = await world.call('PATCH', `/api/services/${id}`, { revision, patch });
  expect(status).toBe(400);
});
