/** What the client can ask for is what the contract offers (§4), and nothing else. */
import { expect, test } from 'vitest';
import { ControlApi, type Outcome } from '../../../src/api/index.ts';
import { Sensitive } from '../../../src/base/index.ts';
import { clientOf, reply, serve } from './support.ts';

const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
const key = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const { signal } = new AbortController();
const image = 'ghcr.io/acme/web:1';
const registry = { repository: 'ghcr.io/acme/web', username: 'acme-bot', password: 'a-secret-token' };
const service = { name: 'web', region: 'standard', image, resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } };

/** Methods of the client, with what each has to send. */
const calls: Readonly<Record<string, readonly [string, (api: ControlApi) => Promise<Outcome<unknown>>]>> = {
  catalog: ['GET /api/catalog', (api) => api.catalog()],
  me: ['GET /api/me', (api) => api.me(new Sensitive('key-of-alice'))],
  account: ['GET /api/account', (api) => api.account()],
  registries: ['GET /api/registries', (api) => api.registries()],
  createRegistry: ['POST /api/registries', (api) => api.createRegistry(registry, key)],
  rotateRegistry: [
    'PUT /api/registries/{id}',
    (api) => api.rotateRegistry(id, { revision: 1, spec: registry }, key),
  ],
  deleteRegistry: ['DELETE /api/registries/{id}', (api) => api.deleteRegistry(id, { revision: 1 }, key)],
  createService: ['POST /api/services', (api) => api.createService(service, key)],
  service: ['GET /api/services/{id}', (api) => api.service(id)],
  patchService: [
    'PATCH /api/services/{id}',
    (api) => api.patchService(id, { revision: 1, patch: { image } }, key),
  ],
  actOnService: ['POST /api/services/{id}/actions', (api) => api.actOnService(id, { action: 'stop' }, key)],
  setSleepPolicy: ['PATCH /api/services/{id}/sleep', (api) => api.setSleepPolicy(id, null, key)],
  events: ['GET /api/services/{id}/events', (api) => api.events(id)],
  metrics: ['GET /api/services/{id}/metrics', (api) => api.metrics(id, '15')],
  logs: ['GET /api/services/{id}/logs', (api) => api.logs(id)],
  exec: ['POST /api/services/{id}/exec', (api) => api.exec(id, { command: ['true'] }, key)],
  activities: ['GET /api/services/{id}/activity', (api) => api.activities(id)],
  recordActivity: [
    'POST /api/services/{id}/activity',
    (api) => api.recordActivity(id, { id, name: 'epoch', release: false }, key, signal),
  ],
  openBrowserSession: ['POST /api/services/{id}/browser-session', (api) => api.openBrowserSession(id, key)],
  templates: ['GET /api/templates', (api) => api.templates()],
  createTemplate: ['POST /api/templates', (api) => api.createTemplate({ name: 'web', image }, key)],
  replaceTemplate: [
    'PUT /api/templates/{id}',
    (api) => api.replaceTemplate(id, { revision: 1, spec: { name: 'web', image } }, key),
  ],
  deleteTemplate: ['DELETE /api/templates/{id}', (api) => api.deleteTemplate(id, { revision: 1 }, key)],
  createVolume: [
    'POST /api/volumes',
    (api) => api.createVolume({ name: 'data', region: 'standard', sizeGb: 10 }, key),
  ],
  volume: ['GET /api/volumes/{id}', (api) => api.volume(id)],
  updateVolume: ['PATCH /api/volumes/{id}', (api) => api.updateVolume(id, { revision: 1, sizeGb: 20 }, key)],
  deleteVolume: ['DELETE /api/volumes/{id}', (api) => api.deleteVolume(id, key)],
};

test('every method of the client that is a request is here', () => {
  const others = new Set([
    'constructor',
    'close',
    'heartbeatWaits',
    'requestsWait',
    'providedThat',
    'urgent',
  ]);
  const methods = Object.getOwnPropertyNames(ControlApi.prototype);
  expect(methods.filter((name) => !others.has(name)).sort()).toEqual(Object.keys(calls).sort());
});

const rows = Object.entries(calls).map(([name, [endpoint, call]]) => [name, endpoint, call] as const);

// COVERAGE 90, 99, 115
test.each(rows)('%s is %s', async (_name, endpoint, call) => {
  await using server = await serve(reply(200, {}));
  await using client = clientOf(server.url);
  await call(client.api);
  const { method, path, headers } = server.only;
  expect(`${method} ${path.replace(id, '{id}').split('?')[0]}`).toBe(endpoint);
  expect(headers['idempotency-key']).toBe(method === 'GET' ? undefined : key);
});
