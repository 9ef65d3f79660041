import { expect, test } from 'vitest';
import { catalog as catalogSchema, template as templateSchema } from '../../../src/api/wire.ts';
import { key, startWorld, trainer, type Json, type World } from './support.ts';

const minimal = { name: 'notebook', image: 'quay.io/jupyter/base' };
const full = {
  ...minimal,
  description: 'for everybody',
  command: ['start', '--quiet'],
  resources: { gpuCount: 1, cpu: 4, memoryGb: 16 },
  httpPort: 8888,
  containerDiskGb: 20,
  workspaceGb: 50,
  sleepAfterMinutes: 30,
  requiredEnvironment: ['TOKEN', 'DATA_SET'],
};
const defaults = {
  description: '',
  command: null,
  resources: { gpuCount: 0, cpu: 1, memoryGb: 2 },
  httpPort: null,
  containerDiskGb: 10,
  workspaceGb: null,
  sleepAfterMinutes: null,
  requiredEnvironment: [],
};

async function ownTemplates(world: World, as?: string): Promise<Json[]> {
  const { templates } = await world.ok('GET', '/api/templates', undefined, as);
  return templates.filter((template: Json) => !template.builtIn);
}

test('a template is answered bare, with 201 and all its fields, and is then in the list', async () => {
  await using world = await startWorld();
  const answer = await world.call('POST', '/api/templates', full);
  expect(answer.status).toBe(201);
  expect(templateSchema.parse(answer.body)).toMatchObject({ ...full, revision: 1, builtIn: false });
  expect(await ownTemplates(world)).toEqual([answer.body]);
});

test('omitted fields of a specification have defaults', async () => {
  await using world = await startWorld();
  expect(await world.ok('POST', '/api/templates', minimal)).toMatchObject(defaults);
});

test('an update replaces the whole specification: what it omits is back at its default', async () => {
  await using world = await startWorld();
  const { id } = await world.ok('POST', '/api/templates', full);
  const updated = await world.ok('PUT', `/api/templates/${id}`, {
    revision: 1,
    spec: { ...minimal, name: 'b' },
  });
  expect(updated).toMatchObject({ ...defaults, id, name: 'b', revision: 2 });
});

test('a stale revision changes and deletes nothing', async () => {
  await using world = await startWorld();
  const { id } = await world.ok('POST', '/api/templates', full);
  await world.ok('PUT', `/api/templates/${id}`, { revision: 1, spec: full });
  const path = `/api/templates/${id}`;
  expect(await world.refusal('PUT', path, { revision: 1, spec: minimal })).toBe('409 revision_conflict');
  expect(await world.refusal('DELETE', path, { revision: 1 })).toBe('409 revision_conflict');
  expect(await ownTemplates(world)).toMatchObject([{ ...full, revision: 2 }]);
});

test('a deleted template is gone, and says so once more under the same key', async () => {
  await using world = await startWorld();
  const { id } = await world.ok('POST', '/api/templates', minimal);
  const remove = () => world.call('DELETE', `/api/templates/${id}`, { revision: 1 }, { idempotencyKey: 'k' });
  const first = await remove();
  expect([first.status, first.body]).toEqual([200, { id, deleted: true }]);
  expect((await remove()).body).toEqual({ id, deleted: true });
  expect(await world.refusal('DELETE', `/api/templates/${id}`, { revision: 1 })).toBe('404 not_found');
  expect(await ownTemplates(world)).toEqual([]);
});

test('built-in templates are public, in the catalog and in every list, and can not be changed', async () => {
  await using world = await startWorld();
  const answer = await world.call('GET', '/api/catalog', undefined, { headers: { authorization: '' } });
  const { templates } = catalogSchema.parse(answer.body);
  expect(templates.length).toBeGreaterThan(0);
  expect((await world.ok('GET', '/api/templates')).templates).toEqual(templates);
  const { id } = templateSchema.parse(templates[0]);
  const path = `/api/templates/${id}`;
  expect(await world.refusal('PUT', path, { revision: 1, spec: minimal })).toBe('403 template_built_in');
  expect(await world.refusal('DELETE', path, { revision: 1 })).toBe('403 template_built_in');
});

test('templates of one account do not exist for another, nor in the catalog', async () => {
  await using world = await startWorld();
  const { id } = await world.ok('POST', '/api/templates', minimal);
  const path = `/api/templates/${id}`;
  expect(await world.refusal('PUT', path, { revision: 1, spec: full }, key.bob)).toBe('404 not_found');
  expect(await world.refusal('DELETE', path, { revision: 1 }, key.bob)).toBe('404 not_found');
  expect(await ownTemplates(world, key.bob)).toEqual([]);
  expect((await world.call('GET', '/api/catalog')).text).not.toContain(id);
});

test('of 60 templates that are made at once, 50 are accepted', async () => {
  await using world = await startWorld();
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => world.call('POST', '/api/templates', minimal)),
  );
  const refused = answers.filter(({ status }) => status !== 201);
  expect(refused.map(({ status, body }) => `${status} ${body.error.code}`)).toEqual(
    Array.from({ length: 10 }, () => '409 limit_reached'),
  );
  expect(await ownTemplates(world)).toHaveLength(50);
  expect((await world.call('POST', '/api/templates', minimal, { as: key.bob })).status).toBe(201);
});

test.each([
  ['no image', { name: 'a' }],
  ['no name', { image: 'a' }],
  ['an unknown field', { ...minimal, environment: { TOKEN: 'x' } }],
  ['a value of a variable', { ...minimal, requiredEnvironment: ['TOKEN=x'] }],
  ['values by name', { ...minimal, requiredEnvironment: { TOKEN: 'x' } }],
  ['a name twice', { ...minimal, requiredEnvironment: ['A', 'A'] }],
  ['half a GPU', { ...minimal, resources: { gpuCount: 0.5, cpu: 1, memoryGb: 1 } }],
  ['a workspace below 10 GB', { ...minimal, workspaceGb: 9 }],
  ['sleep after 0 minutes', { ...minimal, sleepAfterMinutes: 0 }],
])('a template with %s is refused', async (_what, spec) => {
  await using world = await startWorld();
  expect(await world.refusal('POST', '/api/templates', spec)).toBe('400 invalid_request');
});

test('what was read can be sent back', async () => {
  await using world = await startWorld();
  const { id, revision, builtIn, createdAt, ...spec } = await world.ok('POST', '/api/templates', minimal);
  expect([builtIn, typeof createdAt]).toEqual([false, 'number']);
  expect(await world.ok('PUT', `/api/templates/${id}`, { revision, spec })).toMatchObject(spec);
});

test('changing and deleting a template leaves services alone', async () => {
  await using world = await startWorld();
  const { id } = await world.ok('POST', '/api/templates', { ...minimal, image: trainer.image });
  const before = await world.running();
  await world.ok('PUT', `/api/templates/${id}`, { revision: 1, spec: full });
  await world.ok('DELETE', `/api/templates/${id}`, { revision: 2 });
  expect(await world.service(before.id)).toEqual(before);
});
