import { describe, expect, test } from 'vitest';
import { configMap, configMaps, startServer, startWithWidgets, widget, widgets } from './support.ts';

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;

describe('an object that is created', () => {
  test('gets a uid, a resource version and a time, and can be read', async () => {
    const client = await startServer();
    const created = await client.post(configMaps, configMap('one', { data: { a: '1' } }));
    expect(created.status).toBe(201);
    expect(created.body.metadata).toMatchObject({ name: 'one', namespace: 'default' });
    expect(created.body.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(created.body.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect((await client.get(`${configMaps}/one`)).body).toEqual(created.body);
  });

  test('has a name of its own, in a namespace that there is', async () => {
    const client = await startServer();
    await client.post(configMaps, configMap('one'));
    expect((await client.post(configMaps, configMap('one'))).body).toMatchObject({
      reason: 'AlreadyExists',
      code: 409,
    });
    expect((await client.post('/api/v1/namespaces/none/configmaps', configMap('one'))).body.message).toBe(
      'namespaces "none" not found',
    );
    expect((await client.post(configMaps, configMap('Not_This'))).status).toBe(422);
    const generated = await client.post(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { generateName: 'x-' },
    });
    expect(generated.body.metadata.name).toMatch(/^x-[a-z0-9]{5}$/);
  });

  test('is not kept when it was a dry run', async () => {
    const client = await startServer();
    expect((await client.post(`${configMaps}?dryRun=All`, configMap('one'))).status).toBe(201);
    expect((await client.get(`${configMaps}/one`)).status).toBe(404);
  });

  test('is refused under another kind or version than the address says', async () => {
    const client = await startServer();
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } };
    expect((await client.post(configMaps, secret)).status).toBe(400);
  });

  test('keeps what stringData says of a Secret as data', async () => {
    const client = await startServer();
    const path = '/api/v1/namespaces/default/secrets';
    const { body } = await client.post(path, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      stringData: { a: 'b' },
    });
    expect(body).toMatchObject({ type: 'Opaque', data: { a: 'Yg==' } });
    expect(body).not.toHaveProperty('stringData');
  });
});

describe('an object that is changed', () => {
  test('is refused when somebody was faster, or when it is another one under the same name', async () => {
    const client = await startServer();
    const { body: first } = await client.post(configMaps, configMap('one'));
    await client.put(`${configMaps}/one`, { ...first, data: { a: '1' } });
    const stale = await client.put(`${configMaps}/one`, { ...first, data: { a: '2' } });
    expect(stale.body).toMatchObject({ code: 409, reason: 'Conflict' });
    const other = { metadata: { uid: '00000000-0000-0000-0000-000000000000' } };
    expect((await client.patch(`${configMaps}/one`, 'merge', other)).status).toBe(409);
    const { resourceVersion } = first.metadata;
    expect((await client.patch(`${configMaps}/one`, 'merge', { metadata: { resourceVersion } })).status).toBe(
      409,
    );
  });

  test('keeps its version when nothing changed', async () => {
    const client = await startServer();
    const { body } = await client.post(configMaps, configMap('one', { data: { a: '1' } }));
    const again = await client.patch(`${configMaps}/one`, 'merge', { data: { a: '1' } });
    expect(again.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
  });

  test('by each kind of patch', async () => {
    const client = await startServer();
    const path = '/apis/apps/v1/namespaces/default/deployments';
    const containers = [
      { name: 'a', image: 'a:1' },
      { name: 'b', image: 'b:1' },
    ];
    await client.post(path, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd' },
      spec: { replicas: 1, template: { spec: { containers } } },
    });
    const bySpec = (body: object) => ({ spec: { template: { spec: body } } });
    const strategic = bySpec({ containers: [{ name: 'b', image: 'b:2' }] });
    expect((await client.patch(`${path}/d`, 'strategic', strategic)).body.spec).toMatchObject({
      template: { spec: { containers: [containers[0], { name: 'b', image: 'b:2' }] } },
    });
    const deleted = bySpec({ containers: [{ name: 'a', $patch: 'delete' }] });
    expect((await client.patch(`${path}/d`, 'strategic', deleted)).body.spec['template']).toEqual({
      spec: { containers: [{ name: 'b', image: 'b:2' }] },
    });
    expect(
      (await client.patch(`${path}/d`, 'merge', { spec: { replicas: null } })).body.spec,
    ).not.toHaveProperty('replicas');
    const operations = [
      { op: 'test', path: '/spec/template/spec/containers/0/name', value: 'b' },
      { op: 'add', path: '/spec/replicas', value: 3 },
    ];
    expect((await client.patch(`${path}/d`, 'json', operations)).body.spec['replicas']).toBe(3);
    expect(
      (await client.patch(`${path}/d`, 'json', [{ op: 'test', path: '/spec/replicas', value: 4 }])).status,
    ).toBe(422);
  });

  test('counts its generation with the spec only; status is written by its subresource and nothing else is', async () => {
    const client = await startWithWidgets(anything);
    const created = await client.post(widgets, {
      ...widget('one', { a: 1 }),
      status: { phase: 'sent along' },
    });
    expect(created.body.metadata.generation).toBe(1);
    expect(created.body).not.toHaveProperty('status');
    const patch = { metadata: { labels: { x: 'y' } }, spec: { a: 2 }, status: { phase: 'Ready' } };
    const status = await client.patch(`${widgets}/one/status`, 'merge', patch);
    expect(status.body).toMatchObject({
      spec: { a: 1 },
      status: { phase: 'Ready' },
      metadata: { generation: 1 },
    });
    expect(status.body.metadata.labels).toBeUndefined();
    const main = await client.patch(`${widgets}/one`, 'merge', { ...patch, status: { phase: 'Gone' } });
    expect(main.body).toMatchObject({
      spec: { a: 2 },
      status: { phase: 'Ready' },
      metadata: { generation: 2 },
    });
  });

  test('custom resources are replaced with a version only, and know no strategic patch', async () => {
    const client = await startWithWidgets(anything);
    await client.post(widgets, widget('one'));
    expect((await client.put(`${widgets}/one`, widget('one', { a: 1 }))).body.message).toContain(
      'metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    );
    expect((await client.patch(`${widgets}/one`, 'strategic', {})).status).toBe(415);
  });
});

describe('an object that is deleted', () => {
  test('goes at once without finalizers, and only when the preconditions hold', async () => {
    const client = await startServer();
    const { body } = await client.post(configMaps, configMap('one'));
    const wrong = { preconditions: { uid: 'other' } };
    expect((await client.delete(`${configMaps}/one`, wrong)).status).toBe(409);
    const right = {
      preconditions: { uid: body.metadata.uid, resourceVersion: body.metadata.resourceVersion },
    };
    expect((await client.delete(`${configMaps}/one`, right)).body).toMatchObject({
      kind: 'Status',
      status: 'Success',
      details: { uid: body.metadata.uid },
    });
    expect((await client.get(`${configMaps}/one`)).status).toBe(404);
  });

  test('waits for its finalizers, takes no new ones, and goes with the last', async () => {
    const client = await startWithWidgets(anything);
    const finalizers = ['example.dev/a', 'example.dev/b'];
    await client.post(widgets, widget('one', {}, { finalizers }));
    const deleted = await client.delete(`${widgets}/one`);
    expect(deleted.body.metadata).toMatchObject({ finalizers, generation: 2 });
    expect(deleted.body.metadata.deletionTimestamp).toBeDefined();
    const again = await client.delete(`${widgets}/one`);
    expect(again.body.metadata.resourceVersion).toBe(deleted.body.metadata.resourceVersion);
    const more = { metadata: { finalizers: [...finalizers, 'example.dev/c'] } };
    expect((await client.patch(`${widgets}/one`, 'merge', more)).body.message).toContain(
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted',
    );
    await client.patch(`${widgets}/one`, 'merge', { metadata: { finalizers: ['example.dev/b'] } });
    expect((await client.get(`${widgets}/one`)).status).toBe(200);
    expect((await client.patch(`${widgets}/one`, 'merge', { metadata: { finalizers: null } })).status).toBe(
      200,
    );
    expect((await client.get(`${widgets}/one`)).status).toBe(404);
  });

  test('with all others that a selector finds', async () => {
    const client = await startServer();
    for (const name of ['a', 'b', 'c']) {
      await client.post(configMaps, configMap(name, {}, { labels: { keep: String(name === 'b') } }));
    }
    await client.delete(`${configMaps}?labelSelector=keep!=true`);
    expect((await client.get(configMaps)).body.items.map(({ metadata }) => metadata.name)).toEqual(['b']);
  });
});

test('times of Leases and Events have microseconds, no more and no less', async () => {
  const client = await startServer();
  const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  const lease = (renewTime: string) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { generateName: 'l-' },
    spec: { holderIdentity: 'me', leaseDurationSeconds: 15, renewTime },
  });
  expect((await client.post(path, lease('2026-01-01T00:00:00.123Z'))).body).toMatchObject({ code: 400 });
  expect((await client.post(path, lease('2026-01-01T00:00:00.123000Z'))).status).toBe(201);
});

test('an Event of events.k8s.io says who did what and when', async () => {
  const client = await startServer();
  const event = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'e' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'example.dev/robot',
    reportingInstance: 'robot-0',
    action: 'Create',
    reason: 'Created',
    regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
    type: 'Normal',
  };
  const path = '/apis/events.k8s.io/v1/namespaces/default/events';
  expect((await client.post(path, { ...event, action: '', type: 'Odd' })).body.message).toBe(
    'Event.events.k8s.io "e" is invalid: [action: Required value, type: Invalid value: "Odd": has invalid value: Odd]',
  );
  expect((await client.post(path, event)).status).toBe(201);
});

test('an object over the limits is refused', async () => {
  const client = await startServer();
  const large = (size: number) => configMap('large', { data: { a: 'x'.repeat(size) } });
  expect((await client.post(configMaps, large(2_000_000))).body.message).toContain(
    'etcdserver: request is too large',
  );
  expect((await client.post(configMaps, large(4_000_000))).status).toBe(413);
});
