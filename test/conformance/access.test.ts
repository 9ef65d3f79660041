import { describe, expect, test } from 'vitest';
import { expectRefused } from './expectations.ts';
import { protectedEndpoints } from './endpoints.ts';
import { errorBody } from './shapes.ts';
import { required, target } from './target.ts';
import { Workspace, once } from './workspace.ts';

const workspace = new Workspace();
const { api } = workspace;
const shown = (path: string) => path.replace(/[0-9a-f-]{36}/, '{id}').replace(/\?.*/, '');

describe('who may call', () => {
  test('§5 rule 2: an API key in "Authorization: Bearer" authenticates', async () => {
    expect((await api.call('GET', '/api/me')).status).toBe(200);
  });

  test.each(protectedEndpoints.map(([method, path, body]) => ({ method, path, body, of: shown(path) })))(
    '§5 rule 6: $method $of without or with bad credentials is 401',
    async ({ method, path, body }) => {
      for (const foreign of [api.as(undefined), api.as(`${target.runName}-not-a-key`)]) {
        const answer = await foreign.call(method, path, body);
        expect(answer.status).toBe(401);
        expect(errorBody.safeParse(answer.body).success).toBe(true);
      }
    },
  );
});

describe('what belongs to another account', () => {
  const volume = once(() => workspace.createVolume());
  const template = once(() => workspace.createTemplate());
  const service = once(() => workspace.createService());

  test('§5 rule 5: services of another account are not accessible', async (context) => {
    const other = api.as(required(context, 'otherApiKey', '--other-api-key'));
    const { id, revision } = await service();
    const path = `/api/services/${id}`;
    for (const rest of ['', '/events', '/logs', '/activity']) {
      expectRefused(await other.call('GET', `${path}${rest}`));
    }
    expectRefused(await other.call('PATCH', path, { revision, patch: { image: target.otherImage } }));
    expectRefused(await other.call('PATCH', `${path}/sleep`, { sleepAfterMinutes: 1 }));
    expectRefused(await other.call('POST', `${path}/activity`, { id, name: 'x' }));
    expectRefused(await other.call('POST', `${path}/actions`, { action: 'delete' }));
    expect((await other.call('GET', '/api/account')).text).not.toContain(id);
    expect((await api.service(id)).id).toBe(id);
  });

  test('§5 rule 5: volumes of another account are not accessible', async (context) => {
    const other = api.as(required(context, 'otherApiKey', '--other-api-key'));
    const { id, revision } = await volume();
    expectRefused(await other.call('GET', `/api/volumes/${id}`));
    expectRefused(await other.call('PATCH', `/api/volumes/${id}`, { revision, name: 'x' }));
    expectRefused(await other.call('DELETE', `/api/volumes/${id}`));
    expect((await other.call('GET', '/api/volumes')).text).not.toContain(id);
    expect((await other.call('GET', '/api/account')).text).not.toContain(id);
    expect((await api.volume(id)).status).not.toBe('deleting');
  });

  test('§2 Template: workspace templates are isolated per account', async (context) => {
    const other = api.as(required(context, 'otherApiKey', '--other-api-key'));
    const { id, revision } = await template();
    const spec = workspace.templateSpec();
    expectRefused(await other.call('PUT', `/api/templates/${id}`, { revision, spec }));
    expectRefused(await other.call('DELETE', `/api/templates/${id}`, { revision }));
    expect((await other.call('GET', '/api/templates')).text).not.toContain(id);
    expect((await api.call('GET', '/api/templates')).text).toContain(id);
  });

  test('§5 rule 5: registries of another account are not accessible', async (context) => {
    const other = api.as(required(context, 'otherApiKey', '--other-api-key'));
    const form = required(context, 'registrySpec', '--registry-spec');
    const spec = workspace.registrySpec(form, 'secret');
    const { id, revision } = await workspace.createRegistry(spec);
    expectRefused(await other.call('PUT', `/api/registries/${id}`, { revision, spec }));
    expectRefused(await other.call('DELETE', `/api/registries/${id}`, { revision }));
    expect((await other.call('GET', '/api/registries')).text).not.toContain(id);
    expect((await api.call('GET', '/api/registries')).text).toContain(id);
  });

  test('§5 rule 5: a volume of another account can not be attached', async (context) => {
    const other = api.as(required(context, 'otherApiKey', '--other-api-key'));
    const { id } = await workspace.readyVolume();
    expectRefused(await other.call('POST', '/api/services', workspace.serviceSpec({ volumeId: id })));
    expect((await api.volume(id)).serviceId ?? null).toBeNull();
  });
});
