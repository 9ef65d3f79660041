import { expect, test } from 'vitest';
import { Sqlite } from '../../../src/base/sqlite.ts';
import { migrations } from '../../../src/control-plane/store/store.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { startWorld, trainer } from './support.ts';

const accountId = '0b8a9a52-3c43-4a55-9d2b-000000000001';
const serviceId = '0b8a9a52-3c43-4a55-9d2b-000000000002';
const atMs = Date.UTC(2026, 0, 1);

/** As version 1 of the schema wrote them. */
const account = {
  id: accountId,
  accountId,
  name: 'alice',
  email: 'alice@example.com',
  emailVerified: true,
  balanceMicros: 5_000_000,
  ledgerCount: 1,
  hourlyMicros: 0,
  accruedMicros: 0,
  accruedRemainder: 0,
  accruedAtMs: atMs,
};
const service = {
  ...trainer,
  id: serviceId,
  accountId,
  name: 'Überträger',
  geography: 'europe',
  command: null,
  httpPort: null,
  environmentNames: ['A'],
  sleepAfterMinutes: null,
  volumeId: null,
  gpuModel: 'h100',
  state: 'paused',
  revision: 7,
  endpoint: null,
  hourlyMicros: 1_044_000,
  error: null,
  operation: null,
  idleSinceMs: atMs,
  createdAtMs: atMs,
};

/** A database as version `schema` left it. */
function databaseOf(schema: number): string {
  const file = temporaryFile('old.db');
  const old = new Sqlite(file);
  old.migrate(migrations.slice(0, schema));
  const records = [
    ['accounts', account],
    ['services', schema === 1 ? service : { ...service, registryAccess: null }],
  ] as const;
  for (const [table, record] of records) {
    old.run(`INSERT INTO ${table} (id, account_id, document) VALUES ($id, $accountId, $document)`, {
      id: record.id,
      accountId,
      document: JSON.stringify(record),
    });
  }
  old.run(`INSERT INTO environments (service_id, entries) VALUES ($serviceId, '{"A":"1"}')`, { serviceId });
  old.run(
    `INSERT INTO answers (account_id, key, fingerprint, status, body, created_at_ms)
     VALUES ($accountId, 'used', 'of another request', 200, '{}', $atMs)`,
    { accountId, atMs },
  );
  old.close();
  return file;
}

test.each([1, 2])('a database of the schema %i is opened, and what is in it works on', async (schema) => {
  const file = databaseOf(schema);
  await using world = await startWorld({ database: file });
  expect(await world.service(serviceId)).toMatchObject({ name: 'Überträger', state: 'paused', revision: 7 });
  expect((await world.ok('GET', '/api/account')).balanceMicros).toBe(5_000_000);
  const access = { repository: 'ghcr.io/acme/trainer', username: 'u', password: 'p' };
  await world.ok('POST', '/api/registries', access);
  await world.ok('POST', '/api/templates', { name: 'a', image: 'b' });
  await world.act(serviceId, 'start');
  await world.clock.advance(8_000);
  expect(await world.service(serviceId)).toMatchObject({ state: 'running' });
  expect((await world.ok('GET', '/api/registries')).registries[0].linkedServices).toMatchObject([
    { id: serviceId, usesCurrentCredentials: true },
  ]);
});

test.each([1, 2])(
  'the keys of a database of the schema %i stay used until their day is over',
  async (schema) => {
    await using world = await startWorld({ database: databaseOf(schema) });
    const create = () =>
      world.call('POST', '/api/templates', { name: 'a', image: 'b' }, { idempotencyKey: 'used' });
    await world.clock.advance(24 * 60 * 60 * 1000 - 1);
    expect((await create()).body.error.code).toBe('idempotency_key_reused');
    await world.clock.advance(1);
    expect((await create()).status).toBe(201);
  },
);
