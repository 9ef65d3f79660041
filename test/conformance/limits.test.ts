import { beforeEach, expect, test } from 'vitest';
import type { Answer, Json } from './api.ts';
import { expectRefused } from './expectations.ts';
import type { Kind } from './removal.ts';
import { required } from './target.ts';
import { Workspace } from './workspace.ts';

const workspace = new Workspace();
const { api } = workspace;

beforeEach((context) => {
  required(context, 'fillLimits', '--fill-limits');
});

/** Makes as many as are allowed, one more, and removes them. */
async function expectLimit(
  kind: Kind,
  limit: number,
  count: () => Promise<number>,
  create: () => Promise<Answer>,
): Promise<void> {
  const made: Json[] = [];
  for (let free = limit - (await count()); free > 0; free -= 1) {
    const answer = workspace.keepIfMade(kind, await create());
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
    made.push(answer.body);
  }
  expect(await count()).toBe(limit);
  expectRefused(workspace.keepIfMade(kind, await create()));
  expect(await count()).toBe(limit);
  await workspace.discard(kind, ...made);
}

test('§8: an account has at most 50 volumes', async () => {
  await expectLimit(
    'volume',
    50,
    async () => (await api.get('/api/volumes')).volumes.length,
    () => api.call('POST', '/api/volumes', workspace.volumeSpec()),
  );
});

test('§8: an account has at most 50 workspace templates', async () => {
  const builtIn = (await api.get('/api/catalog')).templates.length;
  await expectLimit(
    'template',
    50,
    async () => (await api.get('/api/templates')).templates.length - builtIn,
    () => api.call('POST', '/api/templates', workspace.templateSpec()),
  );
});

test('§8: an account has at most 20 registry repositories', async (context) => {
  const form = required(context, 'registrySpec', '--registry-spec');
  await expectLimit(
    'registry',
    20,
    async () => (await api.get('/api/registries')).registries.length,
    () => api.call('POST', '/api/registries', workspace.registrySpec(form, 'secret')),
  );
});

test('§8: a volume may have 4,096 GB', async () => {
  const volume = await workspace.createVolume({ sizeGb: 4096 });
  expect(volume.requestedSizeGb).toBe(4096);
  await workspace.discard('volume', volume);
});

test('§8: a read has at most 100 events', async () => {
  const { id } = await workspace.createService();
  for (let change = 1; change <= 110; change += 1) {
    const body = { sleepAfterMinutes: change };
    await api.expect(200, 'PATCH', `/api/services/${id}/sleep`, body);
  }
  expect((await api.get(`/api/services/${id}/events`)).events.length).toBeLessThanOrEqual(100);
});
