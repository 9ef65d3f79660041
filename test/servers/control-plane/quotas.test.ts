/** One tenant takes as much as it gets: what it may have is bounded, and what the others have is theirs. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Sqlite } from '../../../src/base/sqlite.ts';
import { defaultConfig } from '../../../src/control-plane/main.ts';
import type { Quota } from '../../../src/control-plane/domain/quotas.ts';
import { accounts, key, startWorld, trainer, type World, type WorldOptions } from './support.ts';

function worldWith(quota: Partial<Quota>, options: WorldOptions = {}): Promise<World> {
  return startWorld({
    config: { ...defaultConfig, quota: { ...defaultConfig.quota, ...quota } },
    ...options,
  });
}

async function temporaryDatabase(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fleetkeeper-quotas-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, 'control-plane.db');
}

const create = (world: World, spec: object = {}, as?: string) =>
  world.refusal('POST', '/api/services', { ...trainer, ...spec }, as);
const small = { gpuCount: 0, cpu: 1, memoryGb: 1 };

describe('an account has at most so many', () => {
  test('services', async () => {
    await using world = await worldWith({ services: 2 });
    const made = [await create(world), await create(world), await create(world)];
    expect(made).toEqual(['201 undefined', '201 undefined', '409 limit_reached']);
    expect(await create(world, {}, key.bob)).toBe('201 undefined');
  });

  test.each([
    ['CPUs', { cpu: 10 }],
    ['GB of memory', { memoryGb: 40 }],
    ['GPUs', { gpus: 1 }],
  ])('%s at once; what is paused holds none', async (unit, quota) => {
    await using world = await worldWith(quota);
    const first = await world.running();
    const refused = await world.call('POST', '/api/services', trainer);
    expect(refused.body.error).toMatchObject({
      code: 'limit_reached',
      message: expect.stringContaining(unit),
    });
    const larger = { gpuCount: 2, cpu: 16, memoryGb: 64 };
    const grow = { action: 'resize', resources: larger };
    expect(await world.refusal('POST', `/api/services/${first.id}/actions`, grow)).toBe('409 limit_reached');
    await world.act(first.id, 'restart');
    await world.clock.advance(8_000);
    await world.act(first.id, 'stop');
    await world.clock.advance(3_000);
    expect(await create(world)).toBe('201 undefined');
    const start = { action: 'start' };
    expect(await world.refusal('POST', `/api/services/${first.id}/actions`, start)).toBe('409 limit_reached');
  });

  test('CPUs at once, those of a container that is being deleted included', async () => {
    await using world = await worldWith({ cpu: 8 });
    const { id } = await world.running();
    await world.act(id, 'delete');
    expect(await create(world)).toBe('409 limit_reached');
    await world.clock.advance(8_000);
    expect(await create(world)).toBe('201 undefined');
  });

  test('GB of storage, wherever it comes from', async () => {
    await using world = await worldWith({ storageGb: 30 });
    const { id, revision } = await world.ok('POST', '/api/volumes', { ...volume, sizeGb: 10 });
    expect(await create(world, { volumeGb: 21, resources: small })).toBe('409 limit_reached');
    expect(await create(world, { volumeGb: 20, resources: small })).toBe('201 undefined');
    await world.clock.advance(8_000);
    const grow = { revision: revision + 1, sizeGb: 11 };
    expect(await world.refusal('PATCH', `/api/volumes/${id}`, grow)).toBe('409 limit_reached');
  });

  test('bytes of records and environments, and can give some back', async () => {
    await using world = await worldWith({ storedBytes: 100_000 });
    const large = { environment: { A: 'x'.repeat(45_000) } };
    expect(await create(world, large)).toBe('201 undefined');
    const { id, revision } = await world.ok('POST', '/api/services', { ...trainer, ...large });
    expect(await create(world, large)).toBe('409 limit_reached');
    const template = { name: 't', image: 'i', command: ['x'.repeat(60_000)] };
    expect(await world.refusal('POST', '/api/templates', template)).toBe('409 limit_reached');
    expect(await create(world, large, key.bob)).toBe('201 undefined');
    const patch = { revision, patch: { environment: {} } };
    expect(await world.refusal('PATCH', `/api/services/${id}`, patch)).toBe('200 undefined');
    expect(await create(world, large)).toBe('201 undefined');
    await world.act(id, 'delete');
    expect((await world.ok('GET', '/api/account')).services).toHaveLength(3);
  });

  const volume = { name: 'v', region: 'standard' };
});

test('sets of credentials that launches have captured are bounded, and a restart gives one back', async () => {
  await using world = await startWorld();
  const access = { repository: 'ghcr.io/acme/trainer', username: 'u', password: 'p' };
  const { id } = await world.ok('POST', '/api/registries', access);
  const services = [];
  let refused = '';
  for (let revision = 1; refused === '' && revision < 200; revision += 1) {
    services.push(await world.ok('POST', '/api/services', { ...trainer, resources: small }));
    const answer = await world.refusal('PUT', `/api/registries/${id}`, { revision, spec: access });
    if (answer !== '200 undefined') refused = `${revision}: ${answer}`;
  }
  expect(refused).toBe('100: 409 limit_reached');
  await world.clock.advance(8_000);
  await world.act(services[0].id, 'restart');
  expect(await world.refusal('PUT', `/api/registries/${id}`, { revision: 100, spec: access })).toBe(
    '200 undefined',
  );
});

test('where an account has many services, each keeps fewer activities', async () => {
  await using world = await worldWith({});
  const made = [];
  for (let index = 0; index < 200; index += 1) {
    made.push(await world.ok('POST', '/api/services', { ...trainer, resources: small }));
  }
  const path = `/api/services/${made[0].id}/activity`;
  const answers = [];
  for (let index = 0; index < 501; index += 1) {
    answers.push(await world.refusal('POST', path, { id: randomUUID(), name: 'task' }));
  }
  expect(answers.filter((answer) => answer === '200 undefined')).toHaveLength(500);
  expect(answers.at(-1)).toBe('409 limit_reached');
});

test('an account may have a quota of its own', async () => {
  const own = structuredClone(accounts.accounts);
  Object.assign(own[0] ?? {}, { quota: { services: 2 } });
  await using world = await worldWith({ services: 1 }, { accounts: { accounts: own } });
  expect([await create(world), await create(world)]).toEqual(['201 undefined', '201 undefined']);
  await create(world, {}, key.bob);
  expect(await create(world, {}, key.bob)).toBe('409 limit_reached');
});

describe('answers that are kept for replay', () => {
  const command = ['x'.repeat(20_000)];

  test('shrink to the id beyond their bytes: a repetition has no second effect all the same', async () => {
    const database = await temporaryDatabase();
    const world = await worldWith({ keptAnswerBytes: 100_000 }, { database });
    const spec = { ...trainer, command };
    const send = (name: string) =>
      world.call('POST', '/api/services', { ...spec, name }, { idempotencyKey: name });
    const first = await send('first');
    for (let index = 0; index < 30; index += 1) {
      await send(`service ${index}`.replace(' ', '-'));
      await world.clock.advance(1);
    }
    const again = await send('first');
    expect([again.status, again.body]).toEqual([201, { id: first.body.id }]);
    expect((await send('service-29')).body.command).toEqual(command);
    expect((await world.ok('GET', '/api/account')).services).toHaveLength(31);
    await world.close();
    const file = new Sqlite(database);
    const row = file.get('SELECT sum(octet_length(body)) AS bytes FROM answers');
    file.close();
    expect(Number(row?.['bytes'])).toBeLessThan(125_000);
  });

  test('have a maximum: the oldest go after an hour, and until then mutations wait', async () => {
    await using world = await worldWith({ keptAnswers: 3 });
    const add = (as?: string) => world.refusal('POST', '/api/templates', { name: 't', image: 'i' }, as);
    for (let index = 0; index < 3; index += 1) await add();
    expect(await add()).toBe('429 rate_limited');
    expect(await add(key.bob)).toBe('201 undefined');
    await world.clock.advance(3_600_000);
    expect(await add()).toBe('201 undefined');
    await world.clock.advance(86_400_000);
    expect([await add(), await add(), await add()]).toEqual([
      '201 undefined',
      '201 undefined',
      '201 undefined',
    ]);
  });
});

test('a database that one account has filled before there were quotas is started on, and the others are served', async () => {
  const database = await temporaryDatabase();
  const before = await worldWith({}, { database });
  await before.ok('POST', '/api/services', trainer, key.bob);
  const { id } = await before.ok('POST', '/api/services', trainer);
  await before.close();
  const file = new Sqlite(database);
  const row = file.get('SELECT account_id, document FROM services WHERE id = $id', { id });
  const command = JSON.stringify(Array.from({ length: 200_000 }, () => 'xy'));
  file.transaction(() => {
    for (let index = 0; index < 60; index += 1) {
      file.run(
        `INSERT INTO services (id, account_id, document)
         VALUES ($id, $account, json_set($document, '$.id', $id, '$.command', json($command)))`,
        {
          id: `garbage-${index}`,
          account: row?.['account_id'] ?? '',
          document: row?.['document'] ?? '',
          command,
        },
      );
    }
  });
  file.close();

  const log: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line: string) => void log.push(line) });
  const heapBefore = process.memoryUsage().heapUsed;
  await using world = await worldWith({}, { database, logger });
  // 60 times 200,000 words would be 350 MB.
  expect(process.memoryUsage().heapUsed - heapBefore).toBeLessThan(60_000_000);
  expect((await world.ok('GET', '/api/account', undefined, key.bob)).services).toHaveLength(1);
  expect(await world.refusal('GET', '/api/account')).toBe('403 account_suspended');
  expect(log.join('')).toMatch(/"account":"alice".*suspended/);
});
