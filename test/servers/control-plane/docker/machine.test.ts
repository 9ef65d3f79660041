/** What the engine's machine has bounds what is sold of it, unless the configuration says otherwise. */
import { statfs } from 'node:fs/promises';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import {
  connectEngine,
  dockerRuntime,
  withMachineOf,
} from '../../../../src/control-plane/runtimes/docker/engine/connect.ts';
import { RegistryPolicy } from '../../../../src/control-plane/runtimes/containers/registry-policy.ts';
import { parseConfig } from '../../../../src/control-plane/main.ts';
import { key, startWorld, type Json, type World } from '../support.ts';
import { EngineStub } from './engine-stub.ts';

const spec = {
  name: 'web',
  region: 'standard',
  image: 'localhost/web:1',
  resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
};

/** As the command does it. */
async function start(engine: EngineStub, yaml = '{}', log: string[] = []): Promise<World> {
  const address = { socketPath: engine.socketPath };
  const connected = await connectEngine(address);
  const logger = pino({}, { write: (line: string) => log.push(line) });
  const config = await withMachineOf(connected, address, parseConfig(yaml, 'config.yaml'), logger);
  const options = {
    publication: { host: '127.0.0.1' },
    registries: new RegistryPolicy([]),
    gpus: [],
    egress: undefined,
  };
  return startWorld({ config, runtime: dockerRuntime(connected, options) });
}

const create = (world: World, cpu: number, memoryGb: number, more: object = {}, as?: string) =>
  world.refusal('POST', '/api/services', { ...spec, resources: { gpuCount: 0, cpu, memoryGb }, ...more }, as);

async function engineWith(info: Json): Promise<EngineStub> {
  const engine = new EngineStub();
  engine.info = info;
  return engine.listen();
}

describe("without a capacity in the configuration, the engine's machine bounds", () => {
  test('CPUs and memory, of all accounts, regions and geographies together', async () => {
    await using engine = await engineWith({ NCPU: 4, MemTotal: 8 * 2 ** 30 });
    await using world = await start(engine);
    expect(await create(world, 3, 1)).toBe('201 undefined');
    const elsewhere = { region: 'economy', geography: 'asia' };
    expect(await create(world, 1.5, 1, elsewhere, key.bob)).toBe('409 capacity_unavailable');
    expect(await create(world, 1, 7.5, elsewhere, key.bob)).toBe('409 capacity_unavailable');
    expect(await create(world, 1, 7, elsewhere, key.bob)).toBe('201 undefined');
    expect(await create(world, 0.01, 0.01)).toBe('409 capacity_unavailable');
  });

  test('storage, by the disk that the engine keeps volumes on', async () => {
    await using engine = await engineWith({ NCPU: 4, MemTotal: 8 * 2 ** 30, DockerRootDir: '/' });
    await using world = await start(engine);
    const { blocks, bsize } = await statfs('/');
    const volumes = Math.ceil((blocks * bsize) / 2 ** 30 / 4096) + 1;
    const answers: string[] = [];
    for (let index = 0; index < volumes; index += 1) {
      const volume = { name: 'data', region: 'standard', sizeGb: 4096 };
      answers.push(await world.refusal('POST', '/api/volumes', volume));
    }
    expect(answers.at(-1)).toBe('409 capacity_unavailable');
  });

  test('what grows, and not what is launched again as it is', async () => {
    await using engine = await engineWith({ NCPU: 2, MemTotal: 8 * 2 ** 30 });
    await using world = await start(engine);
    const { id } = await world.ok('POST', '/api/services', {
      ...spec,
      resources: { gpuCount: 0, cpu: 2, memoryGb: 1 },
    });
    const patch = { revision: 1, patch: { image: 'localhost/web:2' } };
    expect(await world.refusal('PATCH', `/api/services/${id}`, patch)).toBe('200 undefined');
    await expect
      .poll(
        async () => {
          await world.clock.advance(500);
          return (await world.service(id)).state;
        },
        { interval: 1 },
      )
      .toBe('running');
    const resize = { action: 'resize', resources: { gpuCount: 0, cpu: 2.5, memoryGb: 1 } };
    expect(await world.refusal('POST', `/api/services/${id}/actions`, resize)).toBe(
      '409 capacity_unavailable',
    );
    await world.act(id, 'restart');
  });
});

test('the configuration goes first, field by field; null is no bound', async () => {
  await using engine = await engineWith({ NCPU: 4, MemTotal: 2 ** 30 });
  const yaml = 'containers: {capacity: {cpu: 6, memoryGb: null}}';
  await using world = await start(engine, yaml);
  expect(await create(world, 6, 100)).toBe('201 undefined');
  expect(await create(world, 0.5, 1)).toBe('409 capacity_unavailable');
});

test.each([[{}], [{ NCPU: 0, MemTotal: -1, DockerRootDir: '/nowhere' }], [{ NCPU: 'many', MemTotal: null }]])(
  'what an engine does not tell (%j) is not bounded, and the log says so',
  async (info) => {
    const log: string[] = [];
    await using engine = await engineWith(info);
    await using world = await start(engine, '{}', log);
    expect(await create(world, 500, 4000)).toBe('201 undefined');
    expect(log.join('')).toContain('containers.capacity');
  },
);

test('an engine that refuses to tell is none that bounds', async () => {
  await using engine = await engineWith({});
  engine.refuse('info', { status: 500, message: 'no' });
  await using world = await start(engine);
  expect(await create(world, 500, 4000)).toBe('201 undefined');
});
