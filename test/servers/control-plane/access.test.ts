import { describe, expect, test } from 'vitest';
import { catalog as catalogSchema } from '../../../src/api/wire.ts';
import { key, startWorld, trainer } from './support.ts';

const dataset = { name: 'dataset', region: 'standard', sizeGb: 10 };

describe('who may call', () => {
  test('the catalog needs no key', async () => {
    await using world = await startWorld();
    const answer = await world.call('GET', '/api/catalog', undefined, { headers: { authorization: '' } });
    expect(answer.status).toBe(200);
    expect(catalogSchema.parse(answer.body).regions.map(({ name }) => name)).toEqual(['standard', 'economy']);
  });

  test.each([
    '',
    'Bearer',
    'Bearer ',
    'Bearer wrong',
    `Basic ${key.alice}`,
    key.alice,
    `Bearer ${key.alice} x`,
  ])('the authorization "%s" opens nothing', async (authorization) => {
    await using world = await startWorld();
    for (const [method, path] of [
      ['GET', '/api/account'],
      ['GET', '/api/me'],
      ['POST', '/api/services'],
    ] as const) {
      const answer = await world.call(method, path, undefined, { headers: { authorization } });
      expect(answer.status).toBe(401);
      expect(answer.body.error.code).toBe('unauthenticated');
    }
  });

  test('an account knows its identity', async () => {
    await using world = await startWorld();
    expect(await world.ok('GET', '/api/me', undefined, key.newcomer)).toMatchObject({
      name: 'newcomer',
      email: 'newcomer@example.com',
      emailVerified: false,
    });
  });

  test('what belongs to another account does not exist', async () => {
    await using world = await startWorld();
    const service = await world.running({ volumeGb: 10 });
    const volume = await world.ok('POST', '/api/volumes', dataset);
    await world.clock.advance(5_000);
    const attempts = [
      ['GET', `/api/services/${service.id}`],
      ['PATCH', `/api/services/${service.id}`, { revision: 2, patch: { image: 'evil' } }],
      ['POST', `/api/services/${service.id}/actions`, { action: 'delete' }],
      ['PATCH', `/api/services/${service.id}/sleep`, { sleepAfterMinutes: 1 }],
      ['GET', `/api/services/${service.id}/events`],
      ['GET', `/api/services/${service.id}/activity`],
      ['POST', `/api/services/${service.id}/activity`, { id: volume.id, name: 'x' }],
      ['GET', `/api/volumes/${volume.id}`],
      ['PATCH', `/api/volumes/${volume.id}`, { revision: 2, sizeGb: 20 }],
      ['DELETE', `/api/volumes/${volume.id}`],
      ['POST', '/api/services', { ...trainer, volumeId: volume.id }],
    ] as const;
    for (const [method, path, body] of attempts) {
      expect(`${path} ${await world.refusal(method, path, body, key.bob)}`).toBe(`${path} 404 not_found`);
    }
    const bob = await world.ok('GET', '/api/account', undefined, key.bob);
    expect([bob.services, bob.volumes]).toEqual([[], []]);
    expect((await world.ok('GET', '/api/volumes', undefined, key.bob)).volumes).toEqual([]);
    expect(await world.service(service.id)).toMatchObject({ state: 'running', image: trainer.image });
  });

  test('the same Idempotency-Key means different things in different accounts', async () => {
    await using world = await startWorld();
    const mine = await world.call('POST', '/api/volumes', dataset, { idempotencyKey: 'k' });
    const theirs = await world.call('POST', '/api/volumes', dataset, { idempotencyKey: 'k', as: key.bob });
    expect(theirs.status).toBe(201);
    expect(theirs.body.id).not.toBe(mine.body.id);
  });
});

describe('the gates', () => {
  test('without a verified email nothing is created, started, patched or grown', async () => {
    await using world = await startWorld();
    const id = '00000000-0000-4000-8000-000000000000';
    const gated = [
      ['POST', '/api/services', trainer],
      ['PATCH', `/api/services/${id}`, { revision: 1, patch: { image: 'b' } }],
      ['POST', `/api/services/${id}/actions`, { action: 'start' }],
      ['POST', `/api/services/${id}/actions`, { action: 'restart' }],
      ['POST', `/api/services/${id}/actions`, { action: 'resize', resources: trainer.resources }],
      ['POST', '/api/volumes', dataset],
      ['PATCH', `/api/volumes/${id}`, { revision: 1, name: 'x' }],
    ] as const;
    for (const [method, path, body] of gated) {
      expect(await world.refusal(method, path, body, key.newcomer)).toBe('403 email_unverified');
    }
    const open = [
      ['POST', `/api/services/${id}/actions`, { action: 'stop' }],
      ['POST', `/api/services/${id}/actions`, { action: 'delete' }],
      ['PATCH', `/api/services/${id}/sleep`, { sleepAfterMinutes: null }],
      ['DELETE', `/api/volumes/${id}`, undefined],
    ] as const;
    for (const [method, path, body] of open) {
      expect(await world.refusal(method, path, body, key.newcomer)).toBe('404 not_found');
    }
  });

  test('without funds nothing is created', async () => {
    await using world = await startWorld();
    expect(await world.refusal('POST', '/api/services', trainer, key.poor)).toBe('409 insufficient_funds');
    expect(await world.refusal('POST', '/api/volumes', dataset, key.poor)).toBe('409 insufficient_funds');
  });

  test('a region that is not offered, and a geography that the region does not have, are named', async () => {
    await using world = await startWorld();
    const elsewhere = await world.call('POST', '/api/services', { ...trainer, region: 'moon' });
    expect(elsewhere.body.error).toMatchObject({ code: 'unknown_region' });
    expect(elsewhere.body.error.message).toContain('standard');
    const geography = { ...trainer, geography: 'asia' };
    expect(await world.refusal('POST', '/api/services', geography)).toBe('400 unknown_geography');
    expect(await world.refusal('POST', '/api/volumes', { ...dataset, region: 'moon' })).toBe(
      '400 unknown_region',
    );
    expect((await world.ok('POST', '/api/services', { ...trainer, geography: 'auto' })).geography).toBe(
      'europe',
    );
  });
});

test('an environment value never leaves: not in answers, events, logs or the journal', async () => {
  const log: string[] = [];
  const { default: pino } = await import('pino');
  const logger = pino({ level: 'trace' }, { write: (line: string) => void log.push(line) });
  await using world = await startWorld({ logger });
  const canary = 'canary-5b1c';
  const service = await world.running({ environment: { TOKEN: canary } });
  await world.ok('PATCH', `/api/services/${service.id}`, {
    revision: 2,
    patch: { environment: { TOKEN: `${canary}-2` } },
  });
  const wrong = { revision: 'x', patch: { environment: { TOKEN: [canary] } } };
  await world.call('PATCH', `/api/services/${service.id}`, wrong);
  await world.call('POST', '/api/services', `{"environment": {"TOKEN": "${canary}"`);
  await world.ok('GET', '/api/account');
  await world.ok('GET', `/api/services/${service.id}/events`);
  await world.admin('GET', '/requests');
  expect(world.answers.length).toBeGreaterThan(6);
  expect(world.answers.join('\n')).not.toContain(canary);
  expect(log.length).toBeGreaterThan(2);
  expect(log.join('\n')).not.toContain(canary);
  expect([...world.answers, ...log].join('\n')).not.toContain(key.alice);
});
