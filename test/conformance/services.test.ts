import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Json } from './api.ts';
import { expectRefused, knownFields } from './expectations.ts';
import { browserSession, revision, resources, service as serviceShape } from './shapes.ts';
import { required, target } from './target.ts';
import { Workspace, once } from './workspace.ts';

const workspace = new Workspace();
const { api } = workspace;
const secret = `value-${randomUUID()}`;
const environment = { CONFORMANCE_FIRST: secret, CONFORMANCE_SECOND: `${secret}-2` };
const created = once(() => workspace.createService({ httpPort: target.httpPort, environment }));
const running = once(async () => workspace.untilState((await created()).id, 'running'));

/** Of the shared service, as it is now. */
async function current(): Promise<Json> {
  return api.service((await running()).id);
}

async function patch(fields: object): Promise<Json> {
  const { id, revision: now } = await current();
  const patched = await api.expect(200, 'PATCH', `/api/services/${id}`, { revision: now, patch: fields });
  await workspace.untilState(id, 'running');
  return patched;
}

describe('a created service', () => {
  test('§4 rule 2: a created service is answered bare', async () => {
    expect(serviceShape.safeParse(await created()).error?.message).toBeUndefined();
  });

  test('§4 GET /api/services/{id}: the service is wrapped as {service}', async () => {
    const { id } = await created();
    const { service } = await api.get(`/api/services/${id}`);
    expect(service.id).toBe(id);
    expect(serviceShape.safeParse(service).error?.message).toBeUndefined();
  });

  test('§4 rule 1: a created service is in the account', async () => {
    const { services } = await api.account();
    expect(services.map(({ id }: Json) => id)).toContain((await created()).id);
  });

  test('§2 Service: it has the resources that were asked for', async () => {
    const { resources: given } = await created();
    expect(resources.parse(given)).toMatchObject(target.resources);
  });

  test('§2 Service: it has a revision greater than 0', async () => {
    expect(revision.safeParse((await created()).revision).error?.message).toBeUndefined();
  });

  test('§3: a created service becomes running', async () => {
    expect((await running()).state).toBe('running');
  });

  test('§2 Service: it has an endpoint', async () => {
    expect(await running()).toHaveProperty('endpoint');
  });

  test('§2 Service: it shows the names of its environment variables', async () => {
    const { text } = await api.call('GET', `/api/services/${(await created()).id}`);
    expect(Object.keys(environment).filter((name) => !text.includes(name))).toEqual([]);
  });

  test('§2 Service: it does not show the values of its environment variables', async () => {
    const { id } = await created();
    const reads = await Promise.all(
      ['/api/account', `/api/services/${id}`].map((path) => api.call('GET', path)),
    );
    expect(`${JSON.stringify(await created())} ${reads.map(({ text }) => text).join(' ')}`).not.toContain(
      secret,
    );
  });

  test('§2 Service: it shows the resolved geography', async (context) => {
    const geography = required(context, 'geography', '--geography');
    const service = await workspace.createService({ geography });
    expect(JSON.stringify(service)).toContain(JSON.stringify(geography));
    await workspace.discard('service', service);
  });
});

describe('a patch', () => {
  test('§4 rule 2: a patched service is answered bare', async () => {
    const patched = await patch({ image: target.otherImage });
    expect(serviceShape.safeParse(patched).error?.message).toBeUndefined();
  });

  test('§2 Service patch: it may hold a command', async (context) => {
    const command = required(context, 'command', '--command');
    expect((await patch({ command })).id).toBe((await created()).id);
  });

  test('§2 Service patch: it may hold an HTTP port', async () => {
    expect((await patch({ httpPort: target.httpPort })).id).toBe((await created()).id);
  });

  test('§2 Service patch: an absent environment keeps the entries', async () => {
    await patch({ environment });
    const text = JSON.stringify(await patch({ image: target.image }));
    expect(Object.keys(environment).filter((name) => !text.includes(name))).toEqual([]);
  });

  test('§2 Service patch: a present environment replaces all previous entries', async () => {
    await patch({ environment });
    const text = JSON.stringify(await patch({ environment: { CONFORMANCE_THIRD: secret } }));
    expect(['FIRST', 'SECOND', 'THIRD'].filter((name) => text.includes(`CONFORMANCE_${name}`))).toEqual([
      'THIRD',
    ]);
  });

  test('§2 Service patch: resources are not patchable', async () => {
    const { id, revision: now } = await current();
    const body = { revision: now, patch: { resources: target.otherResources } };
    const answer = await api.call('PATCH', `/api/services/${id}`, body);
    if (answer.status >= 300) expectRefused(answer);
    expect((await workspace.untilState(id, 'running')).resources).toMatchObject(target.resources);
  });

  test('§4 rule 3: a service is patched with its current revision only', async () => {
    const before = await current();
    const body = { revision: before.revision + 1, patch: { image: target.otherImage } };
    expectRefused(await api.call('PATCH', `/api/services/${before.id}`, body));
    expect(knownFields(await current())).toEqual(knownFields(before));
  });

  test.each([{ revision: 1 }, { patch: {} }, {}])(
    '§4 PATCH /api/services/{id}: the body %j is refused',
    async (body) => {
      const before = await current();
      expectRefused(await api.call('PATCH', `/api/services/${before.id}`, body));
      expect(knownFields(await current())).toEqual(knownFields(before));
    },
  );
});

describe('the sleep policy', () => {
  /** Not the shared one: it might fall asleep. */
  const sleepy = once(() => workspace.createService());
  const setSleep = async (body: object) =>
    api.call('PATCH', `/api/services/${(await sleepy()).id}/sleep`, body);

  test.each([1440, 1, null])('§8: the sleep policy %s is accepted', async (sleepAfterMinutes) => {
    const answer = await setSleep({ sleepAfterMinutes });
    expect([answer.status, serviceShape.safeParse(answer.body).success]).toEqual([200, true]);
  });

  test.each([0, 1441, 1.5, '5'])('§8: the sleep policy %j is refused', async (sleepAfterMinutes) => {
    expectRefused(await setSleep({ sleepAfterMinutes }));
  });

  test('§4 PATCH /api/services/{id}/sleep: sleepAfterMinutes is required', async () => {
    expectRefused(await setSleep({}));
  });
});

describe('what happens in a service', () => {
  const path = async (rest: string) => `/api/services/${(await running()).id}${rest}`;

  test('§4 GET /api/services/{id}/logs: is answered with plain text', async () => {
    const answer = await api.call('GET', await path('/logs'));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('text/plain');
  });

  test.for([15, 60, 360])(
    '§4 GET /api/services/{id}/metrics: minutes=%i is answered where metrics are collected',
    async (minutes, context) => {
      const answer = await api.call('GET', await path(`/metrics?minutes=${minutes}`));
      if (answer.status < 300) return;
      expectRefused(answer);
      context.skip(`no metric collection here: ${answer.status} ${answer.body.error.code}`);
    },
  );

  test.each([0, 30, 1440])('§8: a metrics window of %i minutes is refused', async (minutes) => {
    expectRefused(await api.call('GET', await path(`/metrics?minutes=${minutes}`)));
  });

  test('§4 POST /api/services/{id}/exec: is answered with a result', async (context) => {
    const body = required(context, 'execBody', '--exec-body');
    expect(await api.expectSuccess('POST', await path('/exec'), body)).toBeDefined();
  });

  test('§4 POST /api/services/{id}/browser-session: is answered {url}, only where supported', async () => {
    const { browserEnabled } = await api.get('/api/catalog');
    const answer = await api.call('POST', await path('/browser-session'));
    expect(answer.status < 300).toBe(browserEnabled);
    if (browserEnabled) browserSession.parse(answer.body);
    else expectRefused(answer);
  });
});
