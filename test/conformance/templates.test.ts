import { describe, expect, test } from 'vitest';
import type { Json } from './api.ts';
import { expectRefused } from './expectations.ts';
import { deletion, revision as revisionShape, uuid } from './shapes.ts';
import { target } from './target.ts';
import { Workspace, once } from './workspace.ts';

const workspace = new Workspace();
const { api } = workspace;
const full = { description: 'made by the conformance suite', requiredEnvironment: ['CONFORMANCE_TOKEN'] };
const created = once(() => workspace.createTemplate(full));

async function find(id: string): Promise<Json> {
  const { templates } = await api.get('/api/templates');
  return templates.find((template: Json) => template.id === id);
}

/** The shared one, as it is now. */
async function current(): Promise<Json> {
  return find((await created()).id);
}

const put = async (body: object) => api.call('PUT', `/api/templates/${(await created()).id}`, body);

describe('a created template', () => {
  test('§4 POST /api/templates: is answered 201 with the bare template', async () => {
    expect(uuid.safeParse((await created()).id).success).toBe(true);
  });

  test('§2 Template: it has its specification', async () => {
    expect(await created()).toMatchObject(full);
  });

  test('§2 Template: it has a revision greater than 0', async () => {
    expect(revisionShape.safeParse((await created()).revision).success).toBe(true);
  });

  test('§4 GET /api/templates: {templates} has a created template', async () => {
    expect(await current()).toMatchObject(full);
  });

  test('§2 Template: the built-in ones of the catalog are in the list', async () => {
    const names = (list: Json[]) => list.map(({ name }) => name);
    const { templates } = await api.get('/api/catalog');
    expect(names((await api.get('/api/templates')).templates)).toEqual(
      expect.arrayContaining(names(templates)),
    );
  });
});

describe('the update of a template', () => {
  test('§4 PUT /api/templates/{id}: is answered 200 with the bare template', async () => {
    const { id, revision } = await current();
    const spec = workspace.templateSpec(full);
    const answer = await put({ revision, spec });
    expect([answer.status, answer.body.id, answer.body.name]).toEqual([200, id, spec.name]);
  });

  test('§2 Template update: what the specification omits takes its default', async () => {
    const before = await current();
    const spec = workspace.templateSpec();
    const answer = await put({ revision: before.revision, spec });
    expect(answer.status).toBe(200);
    expect(answer.body.description).not.toBe(full.description);
    expect(answer.body.requiredEnvironment ?? []).toEqual([]);
  });

  test('§4 rule 3: a template is updated with its current revision only', async () => {
    const before = await current();
    expectRefused(await put({ revision: before.revision + 1, spec: workspace.templateSpec() }));
    expect((await current()).revision).toBe(before.revision);
  });

  test.each(['revision', 'spec'])('§2 Template update: %s is required', async (field) => {
    const before = await current();
    const { [field]: _, ...body } = { revision: before.revision, spec: workspace.templateSpec() } as Json;
    expectRefused(await put(body));
    expect((await current()).revision).toBe(before.revision);
  });
});

test('§4 rule 4: updating and deleting a template does not change a service created from it', async () => {
  const { id, revision, name, image } = await workspace.createTemplate();
  const service = await workspace.createService({ name, image });
  const running = await workspace.untilState(service.id, 'running');
  const spec = workspace.templateSpec({ image: target.otherImage });
  const updated = await api.expect(200, 'PUT', `/api/templates/${id}`, { revision, spec });
  await api.expect(200, 'DELETE', `/api/templates/${id}`, { revision: updated.revision });
  const after = await api.service(service.id);
  expect([after.state, after.revision]).toEqual([running.state, running.revision]);
  await workspace.discard('service', service);
});

describe('the deletion of a template', () => {
  test('§2 Template: its deletion requires a revision', async () => {
    const { id } = await created();
    expectRefused(await api.call('DELETE', `/api/templates/${id}`, {}));
    expect(await find(id)).toBeDefined();
  });

  test('§4 rule 3: a template is deleted with its current revision only', async () => {
    const { id, revision } = await current();
    expectRefused(await api.call('DELETE', `/api/templates/${id}`, { revision: revision + 1 }));
    expect(await find(id)).toBeDefined();
  });

  test('§4 DELETE /api/templates/{id}: is answered 200 {id, deleted: true}, and it is gone', async () => {
    const { id, revision } = await workspace.createTemplate();
    const answer = await api.expect(200, 'DELETE', `/api/templates/${id}`, { revision });
    expect(deletion.parse(answer).id).toBe(id);
    expect(await find(id)).toBeUndefined();
  });
});
