import { expect, test } from 'vitest';
import {
  configMap,
  configMaps,
  startServer,
  startWithWidgets,
  widget,
  widgets,
  type Client,
  type Reply,
} from './support.ts';

function apply(client: Client, manager: string, data: object, query = ''): Promise<Reply> {
  return client.patch(
    `${configMaps}/one?fieldManager=${manager}${query}`,
    'apply',
    configMap('one', { data }),
  );
}

test('an apply creates what is not there, and says who owns what', async () => {
  const client = await startServer();
  const created = await apply(client, 'me', { a: '1' });
  expect(created.status).toBe(201);
  expect(created.body.metadata.managedFields).toMatchObject([
    { manager: 'me', operation: 'Apply', apiVersion: 'v1', fieldsV1: { 'f:data': { 'f:a': {} } } },
  ]);
  const again = await apply(client, 'me', { a: '1' });
  expect(again.body.metadata.resourceVersion).toBe(created.body.metadata.resourceVersion);
});

test('what a manager leaves out the next time is removed, unless another owns it too', async () => {
  const client = await startServer();
  await apply(client, 'me', { a: '1', b: '2', c: '3' });
  await apply(client, 'you', { b: '2' });
  expect((await apply(client, 'me', { a: '1' })).body.data).toEqual({ a: '1', b: '2' });
});

test('a field of another manager is a conflict, and is taken over by force', async () => {
  const client = await startServer();
  await apply(client, 'me', { a: '1', b: '2' });
  const refused = await apply(client, 'you', { a: 'x' });
  expect(refused.status).toBe(409);
  expect(refused.body.message).toBe('Apply failed with 1 conflict: conflict with "me": .data.a');
  expect(refused.body.details.causes).toEqual([
    { reason: 'FieldManagerConflict', message: 'conflict with "me"', field: '.data.a' },
  ]);
  const forced = await apply(client, 'you', { a: 'x' }, '&force=true');
  expect(forced.body.data).toEqual({ a: 'x', b: '2' });
  expect(forced.body.metadata.managedFields).toMatchObject([
    { manager: 'me', fieldsV1: { 'f:data': { 'f:b': {} } } },
    { manager: 'you', fieldsV1: { 'f:data': { 'f:a': {} } } },
  ]);
});

test('an update takes the fields that it changes from those who applied them', async () => {
  const client = await startServer();
  await apply(client, 'me', { a: '1', b: '2' });
  await client.patch(`${configMaps}/one?fieldManager=hand`, 'merge', { data: { a: '9' } });
  const refused = await apply(client, 'me', { a: '1', b: '2' });
  expect(refused.body.message).toMatch(
    /^Apply failed with 1 conflict: conflict with "hand" using v1 at .*: \.data\.a$/,
  );
});

test('an apply needs a manager', async () => {
  const client = await startServer();
  const refused = await client.patch(`${configMaps}/one`, 'apply', configMap('one'));
  expect(refused.status).toBe(422);
});

test('items of a list with keys have owners of their own', async () => {
  const text = { type: 'string' } as const;
  const condition = { type: 'object', properties: { type: text, status: text }, required: ['type'] } as const;
  const list = {
    type: 'array',
    items: condition,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  } as const;
  const client = await startWithWidgets({ type: 'object', properties: { list } });
  const applyItems = (manager: string, ...types: readonly string[]) =>
    client.patch(
      `${widgets}/one?fieldManager=${manager}`,
      'apply',
      widget('one', { list: types.map((type) => ({ type, status: manager })) }),
    );
  await applyItems('me', 'A', 'B');
  expect((await applyItems('you', 'C')).body.spec['list']).toHaveLength(3);
  expect((await applyItems('you', 'A')).body.message).toContain('.spec.list[type="A"].status');
  expect((await applyItems('me', 'B')).body.spec['list']).toEqual([
    { type: 'B', status: 'me' },
    { type: 'C', status: 'you' },
  ]);
});

test('an apply of a field that the schema does not know is an error', async () => {
  const client = await startWithWidgets({ type: 'object', properties: {} });
  const refused = await client.patch(`${widgets}/one?fieldManager=me`, 'apply', widget('one', { nope: 1 }));
  expect(refused.status).toBe(500);
  expect(refused.body.message).toContain('.spec.nope: field not declared in schema');
});

test('an apply of status touches nothing else, and needs the object', async () => {
  const client = await startWithWidgets({ type: 'object', properties: { a: { type: 'integer' } } });
  const body = { ...widget('one', { a: 2 }), status: { phase: 'Ready' } };
  expect((await client.patch(`${widgets}/one/status?fieldManager=me`, 'apply', body)).status).toBe(404);
  await client.post(widgets, widget('one', { a: 1 }));
  const applied = await client.patch(`${widgets}/one/status?fieldManager=me`, 'apply', body);
  expect(applied.body).toMatchObject({
    spec: { a: 1 },
    status: { phase: 'Ready' },
    metadata: { generation: 1 },
  });
  expect(applied.body.metadata.managedFields?.at(-1)).toMatchObject({
    manager: 'me',
    subresource: 'status',
    fieldsV1: { 'f:status': { 'f:phase': {} } },
  });
});
