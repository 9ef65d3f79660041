import { expect, test } from 'vitest';
import { account as accountSchema } from '../../../src/api/wire.ts';
import { key, startWorld, trainer, type Json } from './support.ts';

const sumOf = (ledger: Json[]): number => ledger.reduce((sum, entry) => sum + entry.amountMicros, 0);

test('a new account shows its opening balance', async () => {
  await using world = await startWorld();
  const account = await world.ok('GET', '/api/account');
  expect(accountSchema.parse(account)).toMatchObject({ balanceMicros: 100_000_000, currency: 'USD' });
  expect(account.ledger).toMatchObject([{ amountMicros: 100_000_000, description: 'opening balance' }]);
});

test('a running hour costs the hourly price, to the micro-USD', async () => {
  await using world = await startWorld();
  const service = await world.running({ volumeGb: 10 });
  const before = (await world.ok('GET', '/api/account')).balanceMicros;
  const volume = await world.volume(service.volumeId);
  expect(service.hourlyMicros).toBe(900_000 + 8 * 12_000 + 32 * 1_500);
  expect(volume.hourlyMicros).toBe(10 * 140);
  await world.clock.advance(3_600_000);
  const after = (await world.ok('GET', '/api/account')).balanceMicros;
  expect(before - after).toBe(service.hourlyMicros + volume.hourlyMicros);
});

test('the ledger sums to the balance at every moment', async () => {
  await using world = await startWorld();
  const service = await world.running({ volumeGb: 10 });
  let previous = Infinity;
  for (const stepMs of [1, 999, 59_000, 1_000, 12_345, 180_000]) {
    await world.clock.advance(stepMs);
    const { balanceMicros, ledger } = await world.ok('GET', '/api/account');
    expect(sumOf(ledger)).toBe(balanceMicros);
    expect(balanceMicros).toBeLessThanOrEqual(previous);
    previous = balanceMicros;
  }
  await world.act(service.id, 'delete');
  await world.clock.advance(3_000);
  const { balanceMicros, ledger } = await world.ok('GET', '/api/account');
  expect(sumOf(ledger)).toBe(balanceMicros);
  await world.clock.advance(3_600_000);
  const later = await world.ok('GET', '/api/account');
  expect(later.balanceMicros).toBe(balanceMicros);
  expect(sumOf(later.ledger)).toBe(balanceMicros);
});

test('an entry, once written, does not change; the newest 100 are shown, newest first', async () => {
  await using world = await startWorld();
  await world.running();
  await world.clock.advance(60_000 * 3);
  const early = (await world.ok('GET', '/api/account')).ledger;
  await world.clock.advance(60_000 * 10);
  const later = (await world.ok('GET', '/api/account')).ledger;
  const closed = (entry: Json) => entry.id !== early[0].id;
  expect(later.slice(-early.length).filter(closed)).toEqual(early.filter(closed));
  await world.clock.advance(60_000 * 120);
  const { ledger } = await world.ok('GET', '/api/account');
  expect(ledger).toHaveLength(100);
  expect(Number(ledger[0].id)).toBe(Number(ledger[99].id) + 99);
});

test('a paused service costs only its storage', async () => {
  await using world = await startWorld();
  const service = await world.running({ volumeGb: 10 });
  await world.act(service.id, 'stop');
  await world.clock.advance(3_000);
  const before = (await world.ok('GET', '/api/account')).balanceMicros;
  await world.clock.advance(3_600_000);
  expect(before - (await world.ok('GET', '/api/account')).balanceMicros).toBe(1_400);
});

test('when the balance is exhausted everything is stopped, storage stays, and starting needs funds', async () => {
  const poor = { name: 'poor', email: 'p@example.com', emailVerified: true, balanceMicros: 100_000 };
  await using world = await startWorld({ accounts: { accounts: [{ ...poor, apiKeys: [key.alice] }] } });
  const service = await world.running({ volumeGb: 10 });
  await world.clock.advance(600_000);
  const account = await world.ok('GET', '/api/account');
  expect(account.balanceMicros).toBeLessThanOrEqual(0);
  expect(sumOf(account.ledger)).toBe(account.balanceMicros);
  expect(account.services).toMatchObject([{ state: 'paused' }]);
  expect(account.volumes).toMatchObject([{ status: 'ready' }]);
  const { events } = await world.ok('GET', `/api/services/${service.id}/events`);
  expect(events.map((event: Json) => event.message)).toContain(
    'stopping: the balance of the account is exhausted',
  );
  for (const body of [{ action: 'start' }, { action: 'resize', resources: trainer.resources }]) {
    expect(await world.refusal('POST', `/api/services/${service.id}/actions`, body)).toBe(
      '409 insufficient_funds',
    );
  }
  const { revision } = await world.volume(service.volumeId);
  expect(await world.refusal('PATCH', `/api/volumes/${service.volumeId}`, { revision, sizeGb: 20 })).toBe(
    '409 insufficient_funds',
  );
  await world.clock.advance(3_600_000);
  const later = await world.ok('GET', '/api/account');
  expect(account.balanceMicros - later.balanceMicros).toBe(1_400);
});

test('time can run faster for lifecycle and charges while keys and activities keep real time', async () => {
  await using world = await startWorld({ timeScale: 60 });
  const { id } = await world.ok('POST', '/api/services', trainer);
  await world.clock.advance(134);
  expect((await world.service(id)).state).toBe('running');
  const task = { id: '3f0c2f8e-9d68-4a3b-9c0f-2b9d3a3f1a11', name: 'training' };
  await world.ok('POST', `/api/services/${id}/activity`, task);
  const before = (await world.ok('GET', '/api/account')).balanceMicros;
  await world.clock.advance(60_000);
  const { balanceMicros, services } = await world.ok('GET', '/api/account');
  expect(before - balanceMicros).toBe(services[0].hourlyMicros);
  const { activities } = await world.ok('GET', `/api/services/${id}/activity`);
  expect(activities).toMatchObject([{ fresh: true }]);
});

test('a charge names what cost, the dearest first, and also what is gone since', async () => {
  await using world = await startWorld();
  const small = { gpuCount: 0, cpu: 1, memoryGb: 1 };
  for (const name of ['one', 'two', 'three', 'four']) await world.running({ name, resources: small });
  const { id } = await world.running({ name: 'x'.repeat(50), volumeGb: 10 });
  const newest = async () => (await world.ok('GET', '/api/account')).ledger[0].description;
  const all = `compute of ${'x'.repeat(40)}…, one, two and 2 more; storage of ${'x'.repeat(40)}…`;
  await world.clock.advance(1_000);
  expect(await newest()).toBe(all);
  await world.act(id, 'delete');
  await world.clock.advance(4_000);
  expect(await newest()).toBe(all);
  await world.clock.advance(120_000);
  expect(await newest()).toBe('compute of one, two, three and 1 more');
});
