import { describe, expect, test } from 'vitest';
import { configMap, configMaps, eventually, startServer, type Client } from './support.ts';

const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const inTeam = '/api/v1/namespaces/team/configmaps';

async function isGone(client: Client, path: string): Promise<boolean> {
  return (await client.get(path)).status === 404;
}

describe('a namespace that is deleted', () => {
  test('takes nothing in, loses what is in it, and goes when it is empty', async () => {
    const client = await startServer();
    await client.post('/api/v1/namespaces', namespace('team'));
    await client.post(inTeam, configMap('plain'));
    await client.post(inTeam, configMap('held', {}, { finalizers: ['example.dev/a'] }));
    const deleted = await client.delete('/api/v1/namespaces/team');
    expect(deleted.body).toMatchObject({
      status: { phase: 'Terminating' },
      spec: { finalizers: ['kubernetes'] },
    });
    const refused = await client.post(inTeam, configMap('late'));
    expect(refused.body).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      details: { causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }] },
    });
    await eventually(() => isGone(client, `${inTeam}/plain`));
    expect((await client.get('/api/v1/namespaces/team')).status).toBe(200);
    await client.patch(`${inTeam}/held`, 'merge', { metadata: { finalizers: null } });
    await eventually(() => isGone(client, '/api/v1/namespaces/team'));
    expect((await client.post('/api/v1/namespaces', namespace('team'))).status).toBe(201);
  });

  test('stays where no controller runs, until it is finalized', async () => {
    const client = await startServer({ controllers: false });
    await client.post('/api/v1/namespaces', namespace('team'));
    await client.delete('/api/v1/namespaces/team');
    await new Promise(setImmediate);
    expect((await client.get('/api/v1/namespaces/team')).status).toBe(200);
    await client.put('/api/v1/namespaces/team/finalize', { ...namespace('team'), spec: { finalizers: [] } });
    expect((await client.get('/api/v1/namespaces/team')).status).toBe(404);
  });
});

describe('what an object owns', () => {
  async function familyOf(finalizers: readonly string[] = []): Promise<Client> {
    const client = await startServer();
    const { body } = await client.post(configMaps, configMap('owner'));
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: body.metadata.uid };
    const metadata = { ownerReferences: [owner], ...(finalizers.length > 0 && { finalizers }) };
    await client.post(configMaps, configMap('child', {}, metadata));
    return client;
  }

  test('goes after it', async () => {
    const client = await familyOf();
    await client.delete(`${configMaps}/owner`);
    await eventually(() => isGone(client, `${configMaps}/child`));
    expect((await client.get(`${configMaps}/owner`)).status).toBe(404);
  });

  test('goes before it, in the foreground', async () => {
    const client = await familyOf(['example.dev/a']);
    const deleted = await client.delete(`${configMaps}/owner`, { propagationPolicy: 'Foreground' });
    expect(deleted.body.metadata.finalizers).toEqual(['foregroundDeletion']);
    await eventually(
      async () => (await client.get(`${configMaps}/child`)).body.metadata.deletionTimestamp !== undefined,
    );
    expect((await client.get(`${configMaps}/owner`)).status).toBe(200);
    await client.patch(`${configMaps}/child`, 'merge', { metadata: { finalizers: null } });
    await eventually(() => isGone(client, `${configMaps}/owner`));
    expect((await client.get(`${configMaps}/child`)).status).toBe(404);
  });

  test('stays and forgets it, when orphaned', async () => {
    const client = await familyOf();
    await client.delete(`${configMaps}/owner?propagationPolicy=Orphan`);
    await eventually(() => isGone(client, `${configMaps}/owner`));
    expect((await client.get(`${configMaps}/child`)).body.metadata.ownerReferences).toBeUndefined();
  });
});

test('an Event is the same object in both of its groups', async () => {
  const client = await startServer();
  const path = '/api/v1/namespaces/default/events';
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'e' },
    involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' },
    message: 'hello',
    reason: 'Said',
  };
  await client.post(path, event);
  expect((await client.get('/apis/events.k8s.io/v1/namespaces/default/events/e')).body).toMatchObject({
    apiVersion: 'events.k8s.io/v1',
    note: 'hello',
    regarding: { name: 'p' },
  });
  const found = await client.get(`${path}?fieldSelector=involvedObject.name=p,involvedObject.kind=Pod`);
  expect(found.body.items).toHaveLength(1);
  const stray = { ...event, metadata: { name: 'f' }, involvedObject: { name: 'p', namespace: 'elsewhere' } };
  expect((await client.post(path, stray)).body.message).toContain('does not match event.namespace');
});
