/** Launches on an engine that answers as Docker does, and not always as one wishes. */
import { expect, test } from 'vitest';
import { connectEngine, dockerRuntime } from '../../../src/control-plane/docker/connect.ts';
import { startWorld, type Json, type World } from '../support.ts';
import { EngineStub } from './engine-stub.ts';

const spec = {
  name: 'web',
  region: 'standard',
  image: 'localhost/web:1',
  resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
  httpPort: 80,
};

async function start(engine: EngineStub): Promise<World> {
  const runtime = dockerRuntime(await connectEngine({ socketPath: engine.socketPath }), {
    host: '127.0.0.1',
  });
  return startWorld({ runtime });
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
      { interval: 1, timeout: 10_000 },
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
  expect(container?.spec.Env).toEqual(['TOKEN=secret-1']);
  expect(engine.requests.filter((request) => request.includes('secret'))).toEqual([]);
});

test.each(['create', 'start', 'network'])('an engine that fails at "%s" is asked again', async (kind) => {
  await using engine = await new EngineStub().listen();
  await using world = await start(engine);
  engine.refuse(kind, { status: 500, message: 'busy' }, { status: 500, message: 'busy' });
  const { id } = await world.ok('POST', '/api/services', spec);
  expect(await settled(world, id)).toMatchObject({ state: 'running' });
});

test.each(['create', 'start'])('one that fails at "%s" three times is believed', async (kind) => {
  await using engine = await new EngineStub().listen();
  await using world = await start(engine);
  const refusal = { status: 500, message: 'no such device as secret-1' };
  engine.refuse(kind, refusal, refusal, refusal);
  const { id } = await world.ok('POST', '/api/services', { ...spec, environment: { TOKEN: 'secret-1' } });
  expect((await settled(world, id)).error).toBe(`can't ${kind} the container: no such device as [redacted]`);
});

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
  expect((await settled(world, id)).error).toMatch(/^can't create the container: range of CPUs/);
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
