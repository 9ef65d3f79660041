/** The page of a cluster on real sockets: streams, a reader who loses a right, an API server that stops and comes back. Also on a real one. */
import { parse } from 'yaml';
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { allowReading, forbidReading, openClusterPage } from '../../support/processes/cluster-page.ts';
import { apiServer } from '../../support/processes/api-server.ts';
import { account, service, type Json } from '../../support/processes/fleet.ts';
import {
  createWorld,
  replica,
  serverOf,
  withoutFaults,
  type World,
} from '../../support/processes/operator.ts';
import { eventually } from '../../support/processes/processes.ts';

/** The namespaces of the fleet and of its neighbour, with a reader of the first one. */
async function createNeighbours(world: World) {
  const { fleet, plane } = world;
  const documents: Json[] = [...account(plane.url), service('hidden-service')];
  for (const { metadata } of documents) metadata.namespace = 'other';
  await fleet.write('web.yaml', [service('web')]);
  await fleet.write('other.yaml', documents);
  const operator = replica(fleet);
  await fleet.untilReady(2, 120_000);
  const ask = await apiServer(fleet.cluster.kubeconfig);
  const path = `/api/v1/namespaces/${fleet.namespace}/serviceaccounts`;
  const metadata = { name: 'reader', namespace: fleet.namespace };
  await ask({ method: 'POST', path, body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata } });
  const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { body } = await ask({ method: 'POST', path: `${path}/reader/token`, body: asked });
  return {
    operator,
    token: body.status.token as string,
    reading: { namespace: fleet.namespace, reader: 'reader' },
  };
}

/** Everything that the server sends until it ends the stream. */
function follow(url: string, token: string): { text(): string; readonly ended: Promise<void> } {
  let text = '';
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const read = async () => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(url, { headers, signal: leaving.signal });
    expect(response.status).toBe(200);
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true });
  };
  // The server ends it by cutting the connection.
  return { text: () => text, ended: read().catch(() => undefined) };
}

test('a stream has what its reader may list, and ends within two minutes when the right was taken (GI2)', async () => {
  const world = await createWorld();
  const { fleet } = world;
  const { token, reading } = await createNeighbours(world);
  const { api } = fleet.cluster;
  await allowReading(api, { ...reading, events: true });
  const { get, url } = await openClusterPage([...fleet.flags, '--page-kubernetes-auth']);
  const views = ['summary', 'objects', 'problems', 'tree', 'timeline', 'money'];
  const streams = views.map((view) => follow(`${url}/api/v1/stream?view=${view}`, token));
  for (const [index, stream] of streams.entries())
    await eventually(`the state of ${views[index]}`, async () => stream.text().includes('event: state'));
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
  const [, objects, , , timeline] = streams;
  await eventually('a change', async () => objects?.text().includes('event: change'));
  await eventually('the mutation', async () => timeline?.text().includes('patch-service'));
  const texts = streams.map((stream) => stream.text()).join('\n');
  expect(texts).toContain(`${fleet.namespace}/web`);
  expect(texts).not.toContain('hidden');
  expect(texts).not.toMatch(/other\/default/);
  await forbidReading(api, reading);
  await Promise.race([
    Promise.all(streams.map(({ ended }) => ended)),
    new Promise((_, reject) => setTimeout(() => reject(new Error('still open')), 150_000)),
  ]);
  expect((await get('/api/v1/summary', token)).body.objects).toBe(0);
}, 300_000);

test('a reader sees his namespace alone, and since when no operator is at work', async () => {
  const world = await createWorld();
  const { fleet } = world;
  const { operator, token, reading } = await createNeighbours(world);
  await allowReading(fleet.cluster.api, reading);
  const { get, page } = await openClusterPage([...fleet.flags, '--page-kubernetes-auth']);
  const summary = async () => (await get('/api/v1/summary', token)).body;
  const seen = await summary();
  expect(seen).toMatchObject({ objects: 2, health: { Healthy: 2 }, manager: { state: 'Running' } });
  expect((await get('/api/v1/objects?q=hidden', token)).body.total).toBe(0);
  expect((await get('/api/v1/summary', 'not-a-token')).status).toBe(401);
  await operator.kill('SIGTERM');
  await eventually('that nobody is at work', async () => (await summary()).manager.state === 'Stopped');
  expect((await summary()).health).toEqual({ Stale: 2 });
  const { users } = parse(await readFile(fleet.cluster.kubeconfig, 'utf8'));
  const { code, stdout, stderr } = await page.kill('SIGTERM');
  expect(code).toBe(0);
  for (const secret of [token, users[0].user.token].filter(Boolean))
    expect(stdout + stderr).not.toContain(secret);
}, 120_000);

test.skipIf(withoutFaults)(
  'an API server that stops leaves the page up, stale, and current again when it is back',
  async () => {
    const { fleet } = await createWorld();
    await fleet.write('web.yaml', [service('web')]);
    replica(fleet);
    await fleet.untilReady(1);
    const { get } = await openClusterPage(fleet.flags);
    const summary = async () => (await get('/api/v1/summary')).body;
    expect((await summary()).health).toEqual({ Healthy: 2 });
    const server = serverOf(fleet);
    await server.stop({ abruptly: true });
    await eventually('it was noticed', async () => (await summary()).manager.state === 'Unknown', 90_000);
    const { health, manager, objects } = await summary();
    expect([objects, health]).toEqual([2, { Stale: 2 }]);
    expect(manager.note).toContain('the Kubernetes API does not answer');
    await server.start();
    await eventually('all is current', async () => (await summary()).health.Healthy === 2, 90_000);
  },
  240_000,
);
