import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Answer, Json } from './api.ts';
import { expectRefused } from './expectations.ts';
import { deletion, revision as revisionShape, uuid } from './shapes.ts';
import { required, target } from './target.ts';
import { Workspace, once } from './workspace.ts';

const workspace = new Workspace();
const { api } = workspace;
const secret = `secret-${randomUUID()}`;
const form = target.registrySpec ?? {};
const repository = `registry.example/${workspace.name()}`;
/** Everything that was answered about the shared registry. */
const answers: string[] = [];

beforeEach((context) => {
  required(context, 'registrySpec', '--registry-spec');
});

const created = once(async () => {
  const registry = await workspace.createRegistry(specOf());
  answers.push(JSON.stringify(registry));
  return registry;
});

function specOf(password = secret): Json {
  return workspace.registrySpec(form, password, repository);
}

async function find(id: string): Promise<Json> {
  const { registries } = await api.get('/api/registries');
  return registries.find((registry: Json) => registry.id === id);
}

async function current(): Promise<Json> {
  return find((await created()).id);
}

async function rotate(body: object): Promise<Answer> {
  const answer = await api.call('PUT', `/api/registries/${(await created()).id}`, body);
  answers.push(answer.text);
  return answer;
}

describe('a created registry', () => {
  test('§4 POST /api/registries: is answered 201 with the metadata', async () => {
    expect(uuid.safeParse((await created()).id).success).toBe(true);
  });

  test('§2 Image registry: it has a revision greater than 0', async () => {
    expect(revisionShape.safeParse((await created()).revision).success).toBe(true);
  });

  test('§4 GET /api/registries: {registries} has a created registry', async () => {
    expect(await current()).toBeDefined();
  });
});

describe('the rotation of a registry', () => {
  test('§4 PUT /api/registries/{id}: is answered 200 with the metadata', async () => {
    const spec = specOf(`${secret}-2`);
    expect((await rotate({ revision: (await current()).revision, spec })).status).toBe(200);
  });

  test('§2 Image registry: rotation keeps the repository', async () => {
    const { revision } = await current();
    const spec = workspace.registrySpec(form, secret);
    expectRefused(await rotate({ revision, spec }));
    expect((await current()).revision).toBe(revision);
  });

  test('§2 Image registry: rotation allows no extra properties', async () => {
    const { revision } = await current();
    expectRefused(await rotate({ revision, spec: { ...specOf(), conformance: 1 } }));
    expectRefused(await rotate({ revision, spec: specOf(), conformance: 1 }));
    expect((await current()).revision).toBe(revision);
  });

  test('§2 Image registry: rotation needs the complete specification', async () => {
    const { revision } = await current();
    const spec = specOf();
    for (const field of Object.keys(spec)) {
      const { [field]: _, ...rest } = spec;
      expectRefused(await rotate({ revision, spec: rest }));
    }
    expect((await current()).revision).toBe(revision);
  });

  test('§4 rule 3: a registry is rotated with its current revision only', async () => {
    const { revision } = await current();
    expectRefused(await rotate({ revision: revision + 1, spec: specOf() }));
    expect((await current()).revision).toBe(revision);
  });

  test.each(['revision', 'spec'])('§2 Image registry: rotation requires %s', async (field) => {
    const { revision } = await current();
    const { [field]: _, ...body } = { revision, spec: specOf() } as Json;
    expectRefused(await rotate(body));
    expect((await current()).revision).toBe(revision);
  });
});

describe('a registry with a linked service', () => {
  const linked = once(async () => {
    const registry = await created();
    const { id } = await workspace.createService({ image: `${repository}:1` });
    const settled = await workspace.eventually('the service has settled', async () => {
      const service = await api.service(id);
      return (service.state === 'running' || service.state === 'error') && service;
    });
    return { registry, service: settled };
  });

  test('§2 Image registry: the metadata lists linked services', async () => {
    const { registry, service } = await linked();
    expect(JSON.stringify(await find(registry.id))).toContain(service.id);
  });

  test('§4 rule 5: a rotation does not affect what was launched before', async () => {
    const spec = specOf(`${secret}-3`);
    const { service } = await linked();
    expect((await rotate({ revision: (await current()).revision, spec })).status).toBe(200);
    const after = await api.service(service.id);
    expect([after.state, after.revision]).toEqual([service.state, service.revision]);
  });

  test('§3 rule 6: a registry is not deleted while a linked service is not sleeping', async () => {
    const { registry } = await linked();
    const { revision } = await current();
    expectRefused(await api.call('DELETE', `/api/registries/${registry.id}`, { revision }));
    expect(await current()).toBeDefined();
  });

  test('§3 rule 6: a registry is deleted while its linked services are sleeping', async (context) => {
    required(context, 'idleSleep', '--idle-sleep');
    const { registry, service } = await linked();
    await api.expect(200, 'PATCH', `/api/services/${service.id}/sleep`, { sleepAfterMinutes: 1 });
    const answer = await workspace.eventually('the service sleeps', async () => {
      const { revision } = await current();
      const deleted = await api.call('DELETE', `/api/registries/${registry.id}`, { revision });
      return deleted.status === 200 && deleted.body;
    });
    expect(deletion.parse(answer).id).toBe(registry.id);
    expect((await api.service(service.id)).id).toBe(service.id);
  });
});

describe('the deletion of a registry', () => {
  test('§2 Image registry: its deletion requires the current revision', async () => {
    const registry = await workspace.createRegistry(workspace.registrySpec(form, secret));
    const path = `/api/registries/${registry.id}`;
    expectRefused(await api.call('DELETE', path, {}));
    expectRefused(await api.call('DELETE', path, { revision: registry.revision + 1 }));
    expect(await find(registry.id)).toBeDefined();
  });

  test('§4 DELETE /api/registries/{id}: is answered 200 {id, deleted: true}, and it is gone', async () => {
    const registry = await workspace.createRegistry(workspace.registrySpec(form, secret));
    const { id, revision } = registry;
    const answer = await api.expect(200, 'DELETE', `/api/registries/${id}`, { revision });
    expect(deletion.parse(answer).id).toBe(id);
    expect(await find(id)).toBeUndefined();
  });
});

test('§2 Image registry: user names and passwords are never returned', async () => {
  await created();
  const reads = await Promise.all(['/api/registries', '/api/account'].map((path) => api.call('GET', path)));
  expect([...answers, ...reads.map(({ text }) => text)].join(' ')).not.toContain(secret);
});
