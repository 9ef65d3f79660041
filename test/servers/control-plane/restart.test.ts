import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, expect, test } from 'vitest';
import { UserError } from '../../../src/base/user-error.ts';
import { accounts, key, startWorld, trainer, type Json, type World } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'fleetkeeper-control-plane-'));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
const newFile = () => join(folder, `${count++}.db`);

/** What a kill -9 at this moment would leave behind: the files as they are, without any farewell. */
function crashImage(file: string): string {
  const image = newFile();
  for (const suffix of ['', '-wal']) {
    if (existsSync(file + suffix)) copyFileSync(file + suffix, image + suffix);
  }
  return image;
}

const sumOf = (ledger: Json[]): number => ledger.reduce((sum, entry) => sum + entry.amountMicros, 0);

async function readAll(world: World): Promise<Json> {
  return world.ok('GET', '/api/account');
}

test('after a kill, everything that was answered is there', async () => {
  const file = newFile();
  await using world = await startWorld({ database: file });
  const service = await world.running({ volumeGb: 10, environment: { A: '1' }, sleepAfterMinutes: 60 });
  const task = { id: '3f0c2f8e-9d68-4a3b-9c0f-2b9d3a3f1a11', name: 'training' };
  await world.ok('POST', `/api/services/${service.id}/activity`, task);
  await world.call('POST', '/api/services', trainer, { idempotencyKey: 'k' });
  await using after = await startWorld({ database: crashImage(file), clock: world.clock });
  expect(await readAll(after)).toEqual(await readAll(world));
  for (const path of ['activity', 'events']) {
    expect(await after.ok('GET', `/api/services/${service.id}/${path}`)).toEqual(
      await world.ok('GET', `/api/services/${service.id}/${path}`),
    );
  }
  const replayed = await after.call('POST', '/api/services', trainer, { idempotencyKey: 'k' });
  expect(replayed.headers.get('idempotency-replayed')).toBe('true');
  const reused = await after.call(
    'POST',
    '/api/services',
    { ...trainer, name: 'b' },
    { idempotencyKey: 'k' },
  );
  expect(reused.status).toBe(409);
});

test('a database without content is begun anew, and the log shows that; one that is there, or is not, is no line', async () => {
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const file = newFile();
  await (await startWorld({ database: file, logger }))[Symbol.asyncDispose]();
  await (await startWorld({ database: file, logger }))[Symbol.asyncDispose]();
  expect(lines).toEqual([]);
  const empty = newFile();
  writeFileSync(empty, '');
  await using _ = await startWorld({ database: empty, logger });
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ database: empty, msg: expect.stringContaining('a new provider begins') }),
  ]);
});

test('after a kill, whatever was under way goes on', async () => {
  const file = newFile();
  await using world = await startWorld({ database: file });
  const stopping = await world.running({ volumeGb: 10 });
  const sleepy = await world.running({ sleepAfterMinutes: 1 });
  const removed = await world.running();
  await world.act(stopping.id, 'stop');
  await world.act(removed.id, 'delete');
  const starting = await world.ok('POST', '/api/services', { ...trainer, httpPort: 80, volumeGb: 10 });
  const volume = await world.ok('POST', '/api/volumes', { name: 'v', region: 'standard', sizeGb: 10 });
  await using after = await startWorld({ database: crashImage(file), clock: world.clock });
  await after.clock.advance(8_000);
  expect(await after.service(stopping.id)).toMatchObject({ state: 'paused' });
  expect(await after.refusal('GET', `/api/services/${removed.id}`)).toBe('404 not_found');
  expect(await after.service(starting.id)).toMatchObject({ state: 'running' });
  expect((await after.service(starting.id)).endpoint).toContain(starting.id);
  expect(await after.volume(volume.id)).toMatchObject({ status: 'ready' });
  await after.clock.advance(63_000);
  expect(await after.service(sleepy.id)).toMatchObject({ state: 'sleeping' });
});

test('what fell due while the server was down happens at the start, and that time is charged', async () => {
  const file = newFile();
  const world = await startWorld({ database: file });
  const service = await world.running();
  const { id } = await world.ok('POST', '/api/services', trainer);
  const before = await readAll(world);
  await world.close();
  await world.clock.advance(3_600_000);
  await using after = await startWorld({ database: file, clock: world.clock });
  const account = await readAll(after);
  expect(before.balanceMicros - account.balanceMicros).toBe(service.hourlyMicros);
  expect(sumOf(account.ledger)).toBe(account.balanceMicros);
  await after.clock.advance(0);
  expect(await after.service(id)).toMatchObject({ state: 'running' });
});

test('time that ran ahead does not run back, and strands nothing', async () => {
  const file = newFile();
  const world = await startWorld({ database: file, timeScale: 1000 });
  await world.running();
  await world.clock.advance(10_000);
  const { id } = await world.ok('POST', '/api/services', trainer);
  const before = await readAll(world);
  await world.close();
  await using after = await startWorld({ database: file, timeScale: 1, clock: world.clock });
  expect((await readAll(after)).balanceMicros).toBe(before.balanceMicros);
  await after.clock.advance(8_000);
  expect(await after.service(id)).toMatchObject({ state: 'running' });
});

test('at most a day of down time counts', async () => {
  const file = newFile();
  const world = await startWorld({ database: file });
  const { hourlyMicros } = await world.running();
  const before = await readAll(world);
  await world.close();
  await world.clock.advance(1000 * 24 * 3_600_000);
  await using after = await startWorld({ database: file, clock: world.clock });
  expect(before.balanceMicros - (await readAll(after)).balanceMicros).toBe(24 * hourlyMicros);
});

test('a second server on the same database refuses, and says why', async () => {
  const file = newFile();
  await using world = await startWorld({ database: file });
  const second = startWorld({ database: file });
  await expect(second).rejects.toThrow(UserError);
  await expect(second).rejects.toThrow(/is in use by another process/);
  expect((await readAll(world)).services).toEqual([]);
});

test('a server whose port is taken refuses, and gives the database back', async () => {
  const file = newFile();
  await using other = await startWorld();
  const listen = { host: '127.0.0.1', port: Number(new URL(other.url).port) };
  await expect(startWorld({ database: file, listen })).rejects.toThrow('EADDRINUSE');
  await using world = await startWorld({ database: file });
  expect((await readAll(world)).services).toEqual([]);
});

test('accounts are synced by name: balances stay, keys and emails are taken over, the missing lose access', async () => {
  const file = newFile();
  const world = await startWorld({ database: file });
  const { balanceMicros } = await world.ok('GET', '/api/account', undefined, key.bob);
  const me = await world.ok('GET', '/api/me', undefined, key.bob);
  await world.close();
  const [, bob] = accounts.accounts;
  if (!bob) throw new Error('no bob');
  const changed = { ...bob, email: 'new@example.com', balanceMicros: 1, apiKeys: ['a-new-key'] };
  await using after = await startWorld({ database: file, accounts: { accounts: [changed] } });
  expect(await after.ok('GET', '/api/me', undefined, 'a-new-key')).toEqual({
    ...me,
    email: 'new@example.com',
  });
  expect((await after.ok('GET', '/api/account', undefined, 'a-new-key')).balanceMicros).toBe(balanceMicros);
  expect(await after.refusal('GET', '/api/me', undefined, key.bob)).toBe('401 unauthenticated');
  expect(await after.refusal('GET', '/api/me')).toBe('401 unauthenticated');
});

test('API keys are not in the database', async () => {
  const file = newFile();
  const world = await startWorld({ database: file });
  await world.ok('GET', '/api/me');
  await world.close();
  expect(readFileSync(file).includes(key.alice)).toBe(false);
  expect(readFileSync(file).includes('alice@example.com')).toBe(true);
});
