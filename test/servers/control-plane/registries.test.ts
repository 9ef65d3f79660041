import { describe, expect, test } from 'vitest';
import { registry as registrySchema } from '../../../src/api/wire.ts';
import { normalRepository, repositoryOf } from '../../../src/control-plane/domain/image-reference.ts';
import { Store } from '../../../src/control-plane/store/store.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { key, startWorld, trainer, type Json, type World } from './support.ts';

const access = { repository: 'ghcr.io/acme/trainer', username: 'robot', password: 'hunter2' };

async function theOnly(world: World): Promise<Json> {
  return (await world.ok('GET', '/api/registries')).registries[0];
}

async function asleep(world: World): Promise<Json> {
  const service = await world.running({ sleepAfterMinutes: 1 });
  await world.clock.advance(63_000);
  expect((await world.service(service.id)).state).toBe('sleeping');
  return service;
}

describe('names', () => {
  test.each([
    ['ghcr.io/acme/trainer:1.4', 'ghcr.io/acme/trainer'],
    [`GHCR.io/acme/trainer@sha256:${'0'.repeat(64)}`, 'ghcr.io/acme/trainer'],
    ['localhost:5000/a:1', 'localhost:5000/a'],
    ['registry:5000/a/b', 'registry:5000/a/b'],
    ['nginx', 'docker.io/library/nginx'],
    ['nginx:1.29', 'docker.io/library/nginx'],
    ['acme/trainer', 'docker.io/acme/trainer'],
    ['index.docker.io/nginx', 'docker.io/library/nginx'],
    ['ghcr.io/', undefined],
    ['ghcr.io/A', undefined],
  ])('the image %s is of the repository %s', (image, repository) => {
    expect(repositoryOf(image)).toBe(repository);
  });

  test.each([
    'ghcr.io/acme/trainer:1',
    'ghcr.io/a@sha256:0',
    'nginx',
    'acme/a',
    'https://ghcr.io/a',
    'ghcr.io',
    '',
  ])('"%s" is no fully qualified repository', async (repository) => {
    await using world = await startWorld();
    expect(normalRepository(repository)).toBeUndefined();
    expect(await world.refusal('POST', '/api/registries', { ...access, repository })).toBe(
      '400 invalid_request',
    );
  });
});

test('access to a repository is answered with 201, as metadata only', async () => {
  await using world = await startWorld();
  const answer = await world.call('POST', '/api/registries', {
    ...access,
    repository: 'GHCR.IO/acme/trainer',
  });
  expect(answer.status).toBe(201);
  expect(registrySchema.parse(answer.body)).toEqual({
    id: expect.any(String),
    repository: access.repository,
    revision: 1,
    linkedServices: [],
    createdAt: expect.any(Number),
    rotatedAt: null,
  });
  expect(await theOnly(world)).toEqual(answer.body);
});

test('a repository is there once per account, and each account has its own', async () => {
  await using world = await startWorld();
  const { id } = await world.ok('POST', '/api/registries', access);
  expect(await world.refusal('POST', '/api/registries', access)).toBe('409 registry_exists');
  expect((await world.ok('GET', '/api/registries', undefined, key.bob)).registries).toEqual([]);
  const path = `/api/registries/${id}`;
  expect(await world.refusal('PUT', path, { revision: 1, spec: access }, key.bob)).toBe('404 not_found');
  expect(await world.refusal('DELETE', path, { revision: 1 }, key.bob)).toBe('404 not_found');
  await world.ok('POST', '/api/registries', access, key.bob);
});

test('of 25 repositories that are added at once, 20 are accepted', async () => {
  await using world = await startWorld();
  const answers = await Promise.all(
    Array.from({ length: 25 }, (_, n) =>
      world.call('POST', '/api/registries', { ...access, repository: `ghcr.io/acme/r${n}` }),
    ),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
  expect(answers.filter(({ body }) => body.error?.code === 'limit_reached')).toHaveLength(5);
});

test('creation and rotation need a verified email; deletion does not', async () => {
  await using world = await startWorld();
  const path = '/api/registries/00000000-0000-4000-8000-000000000000';
  const as = key.newcomer;
  expect(await world.refusal('POST', '/api/registries', access, as)).toBe('403 email_unverified');
  expect(await world.refusal('PUT', path, { revision: 1, spec: access }, as)).toBe('403 email_unverified');
  expect(await world.refusal('DELETE', path, { revision: 1 }, as)).toBe('404 not_found');
});

test('a rotation keeps the repository, needs the current revision, and takes no other fields', async () => {
  await using world = await startWorld();
  const { id } = await world.ok('POST', '/api/registries', access);
  const rotate = (spec: object, revision = 1) =>
    world.refusal('PUT', `/api/registries/${id}`, { revision, spec });
  expect(await rotate({ ...access, repository: 'ghcr.io/acme/other' })).toBe('400 invalid_request');
  expect(await rotate({ ...access, email: 'a@b' })).toBe('400 invalid_request');
  expect(await rotate({ repository: access.repository, password: 'x' })).toBe('400 invalid_request');
  expect(await rotate(access, 2)).toBe('409 revision_conflict');
  const rotated = await world.ok('PUT', `/api/registries/${id}`, { revision: 1, spec: access });
  expect(rotated).toMatchObject({ id, revision: 2, rotatedAt: expect.any(Number) });
});

test('services are linked by the exact repository of their image', async () => {
  await using world = await startWorld();
  const linked = await world.running({ name: 'linked' });
  await world.running({ image: 'ghcr.io/acme/trainer-2:1.4' });
  await world.running({ image: 'ghcr.io/acme/trainer/sub' });
  await world.ok('POST', '/api/registries', access);
  expect((await theOnly(world)).linkedServices).toEqual([
    { id: linked.id, name: 'linked', state: 'running', usesCurrentCredentials: false },
  ]);
  await world.ok('PATCH', `/api/services/${linked.id}`, { revision: 2, patch: { image: 'nginx' } });
  expect((await theOnly(world)).linkedServices).toEqual([]);
});

test.each(['restart', 'resize', 'start', 'patch'])(
  'a rotation is not seen by what was launched before it, and is by the next %s',
  async (next) => {
    await using world = await startWorld();
    const { id } = await world.ok('POST', '/api/registries', access);
    const service = await world.running();
    const isCurrent = async () => (await theOnly(world)).linkedServices[0].usesCurrentCredentials;
    expect(await isCurrent()).toBe(true);
    await world.ok('PUT', `/api/registries/${id}`, { revision: 1, spec: { ...access, password: 'new' } });
    expect(await isCurrent()).toBe(false);
    expect(await world.service(service.id)).toEqual(service);
    if (next === 'start') {
      await world.act(service.id, 'stop');
      await world.clock.advance(3_000);
    }
    const patch = { revision: service.revision, patch: { image: `${access.repository}:2` } };
    if (next === 'patch') await world.ok('PATCH', `/api/services/${service.id}`, patch);
    else await world.act(service.id, next, next === 'resize' ? trainer.resources : undefined);
    expect(await isCurrent()).toBe(true);
  },
);

test('old credentials are kept for as long as a service was launched with them, also over a restart', async () => {
  const file = temporaryFile('control-plane.db');
  const passwords = () => {
    const store = new Store(file);
    const rows = store.database.all('SELECT password FROM registry_secrets ORDER BY password');
    store.close();
    return rows.map((row) => row['password']);
  };
  const world = await startWorld({ database: file });
  const { id } = await world.ok('POST', '/api/registries', { ...access, password: 'first' });
  const service = await world.running();
  const rotate = (revision: number, password: string) =>
    world.ok('PUT', `/api/registries/${id}`, { revision, spec: { ...access, password } });
  await rotate(1, 'second');
  await rotate(2, 'third');
  await world.close();
  expect(passwords()).toEqual(['first', 'third']);
  const after = await startWorld({ database: file, clock: world.clock });
  await after.act(service.id, 'restart');
  await after.close();
  expect(passwords()).toEqual(['third']);
});

test('access is deleted only while every linked service is sleeping; paused is not enough', async () => {
  await using world = await startWorld();
  const { id } = await world.ok('POST', '/api/registries', access);
  const path = `/api/registries/${id}`;
  await asleep(world);
  const other = await world.running();
  expect(await world.refusal('DELETE', path, { revision: 1 })).toBe('409 registry_in_use');
  await world.act(other.id, 'stop');
  await world.clock.advance(3_000);
  expect(await world.refusal('DELETE', path, { revision: 1 })).toBe('409 registry_in_use');
  await world.act(other.id, 'delete');
  await world.clock.advance(3_000);
  expect(await world.refusal('DELETE', path, { revision: 2 })).toBe('409 revision_conflict');
  expect(await world.ok('DELETE', path, { revision: 1 })).toEqual({ id, deleted: true });
  expect(await world.refusal('DELETE', path, { revision: 1 })).toBe('404 not_found');
  expect((await world.ok('GET', '/api/registries')).registries).toEqual([]);
});
