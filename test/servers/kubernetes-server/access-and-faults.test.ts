import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { Client, configMap, configMaps, startServer } from './support.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const apiVersion = 'rbac.authorization.k8s.io/v1';

describe('a service account', () => {
  async function accountWith(rule: object): Promise<{ readonly admin: Client; readonly account: Client }> {
    const admin = await startServer();
    const roles = `${rbac}/namespaces/default`;
    await admin.post(`${roles}/roles`, { apiVersion, kind: 'Role', metadata: { name: 'r' }, rules: [rule] });
    await admin.post(`${roles}/rolebindings`, {
      apiVersion,
      kind: 'RoleBinding',
      metadata: { name: 'r' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
      subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: 'default' }],
    });
    await admin.post('/api/v1/namespaces/default/serviceaccounts', {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'robot' },
    });
    const token = await admin.post('/api/v1/namespaces/default/serviceaccounts/robot/token', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    });
    const { token: text } = token.body.status as { readonly token: string };
    return { admin, account: new Client(admin.server, text) };
  }

  test('may do what a Role allows and no more', async () => {
    const { account } = await accountWith({
      apiGroups: [''],
      resources: ['configmaps'],
      verbs: ['get', 'create'],
    });
    expect((await account.post(configMaps, configMap('one'))).status).toBe(201);
    expect((await account.get(`${configMaps}/one`)).status).toBe(200);
    expect((await account.delete(`${configMaps}/one`)).body).toMatchObject({
      code: 403,
      message:
        'configmaps "one" is forbidden: User "system:serviceaccount:default:robot" cannot delete resource "configmaps" in API group "" in the namespace "default"',
    });
    expect((await account.get('/api/v1/configmaps')).body.message).toContain('at the cluster scope');
  });

  test('may be bound to single names', async () => {
    const { admin, account } = await accountWith({
      apiGroups: [''],
      resources: ['configmaps'],
      resourceNames: ['one'],
      verbs: ['get', 'list'],
    });
    for (const name of ['one', 'two']) await admin.post(configMaps, configMap(name));
    expect((await account.get(`${configMaps}/one`)).status).toBe(200);
    expect((await account.get(`${configMaps}/two`)).status).toBe(403);
    expect((await account.get(`${configMaps}?fieldSelector=metadata.name=one`)).status).toBe(200);
    expect((await account.get(configMaps)).status).toBe(403);
  });

  test('can be impersonated by the administrator, and by nobody else', async () => {
    const { admin, account } = await accountWith({
      apiGroups: [''],
      resources: ['configmaps'],
      verbs: ['list'],
    });
    const as = async (token: string | undefined, user: string) => {
      const headers = {
        'impersonate-user': user,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      };
      return (await fetch(`${admin.server.url}/api/v1/namespaces/default/configmaps`, { headers })).status;
    };
    expect(await as(undefined, 'system:serviceaccount:default:robot')).toBe(200);
    expect(await as(undefined, 'system:serviceaccount:default:stranger')).toBe(403);
    expect(await as(admin.server.tokenOf('default', 'stranger'), 'kubernetes-admin')).toBe(403);
    expect((await account.get(configMaps)).status).toBe(200);
  });

  test('is known in the journal', async () => {
    const { admin, account } = await accountWith({
      apiGroups: [''],
      resources: ['configmaps'],
      verbs: ['get'],
    });
    admin.server.forgetRequests();
    await account.get(`${configMaps}/one`);
    expect(admin.server.requests()).toMatchObject([
      {
        user: 'system:serviceaccount:default:robot',
        verb: 'get',
        path: `${configMaps}/one`,
        resource: { plural: 'configmaps', namespace: 'default', name: 'one' },
        status: 404,
      },
    ]);
  });
});

test('an unknown token is refused, and none where one is required', async () => {
  const client = await startServer({ requireToken: true });
  expect((await client.get(configMaps)).status).toBe(401);
  expect((await new Client(client.server, 'nonsense').get(configMaps)).status).toBe(401);
  const folder = mkdtempSync(path.join(tmpdir(), 'kubeconfig-'));
  const config = parse(readFileSync(client.server.kubeconfig(folder), 'utf8')) as {
    readonly users: readonly [{ readonly user: { readonly token: string } }];
  };
  expect((await new Client(client.server, config.users[0].user.token).get(configMaps)).status).toBe(200);
});

describe('a fault', () => {
  test('is answered as often as it was asked for', async () => {
    const client = await startServer();
    client.server.faults.add({ match: { verbs: ['list'] }, times: 2, status: 429, retryAfterSeconds: 3 });
    const refused = await client.get(configMaps);
    expect(refused.body).toMatchObject({
      code: 429,
      reason: 'TooManyRequests',
      details: { retryAfterSeconds: 3 },
    });
    expect(refused.headers.get('retry-after')).toBe('3');
    expect((await client.get(`${configMaps}/one`)).status).toBe(404);
    expect((await client.get(configMaps)).status).toBe(429);
    expect((await client.get(configMaps)).status).toBe(200);
  });

  test('can be taken back', async () => {
    const client = await startServer();
    const takeBack = client.server.faults.add({ match: { resource: 'configmaps' }, status: 500 });
    expect((await client.get(configMaps)).status).toBe(500);
    takeBack();
    expect((await client.get(configMaps)).status).toBe(200);
  });

  test('breaks a connection before a write, or after it', async () => {
    const client = await startServer();
    client.server.faults.add({ match: { verbs: ['create'] }, times: 1, reset: 'before' });
    await expect(client.post(configMaps, configMap('one'))).rejects.toThrow('fetch failed');
    expect((await client.get(`${configMaps}/one`)).status).toBe(404);
    client.server.faults.add({ match: { verbs: ['create'] }, times: 1, reset: 'after' });
    await expect(client.post(configMaps, configMap('one'))).rejects.toThrow('fetch failed');
    expect((await client.get(`${configMaps}/one`)).status).toBe(200);
  });

  test('silences watches, which stay open', async () => {
    const client = await startServer();
    const silent = await client.watch(`${configMaps}?watch=true`);
    client.server.silenceWatches();
    const hearing = await client.watch(`${configMaps}?watch=true`);
    await client.post(configMaps, configMap('one'));
    expect(await hearing.take(1)).toEqual(['ADDED one']);
    expect(client.server.openWatches).toBe(2);
    client.server.resetConnections();
    expect(await silent.next()).toBeUndefined();
  });
});

test('a server that is started again has the same address and objects, and goes on with watches from before', async () => {
  const client = await startServer();
  await client.post(configMaps, configMap('one'));
  const { resourceVersion } = (await client.get(configMaps)).body.metadata;
  const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${resourceVersion}`);
  const { url } = client.server;
  await client.server.stop();
  expect(await watch.next()).toBeUndefined();
  await client.server.start();
  expect(client.server.url).toBe(url);
  await client.post(configMaps, configMap('two'));
  const next = await client.watch(`${configMaps}?watch=true&resourceVersion=${resourceVersion}`);
  expect(await next.take(1)).toEqual(['ADDED two']);
});
