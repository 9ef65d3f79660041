import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { expectRefused } from './expectations.ts';
import { errorBody } from './shapes.ts';
import { required, target } from './target.ts';
import { Workspace, once } from './workspace.ts';

const workspace = new Workspace();
const { api } = workspace;

describe('what is refused', () => {
  test.each([
    ['GET', '/api/services/{id}'],
    ['GET', '/api/services/{id}/events'],
    ['GET', '/api/services/{id}/logs'],
    ['GET', '/api/services/{id}/activity'],
    ['GET', '/api/volumes/{id}'],
    ['DELETE', '/api/volumes/{id}'],
  ])('§7 rule 1: %s %s of an unknown id answers an error with code and message', async (method, path) => {
    expectRefused(await api.call(method, path.replace('{id}', randomUUID())));
  });

  test.each(['/api/services/not-a-uuid', '/api/volumes/not-a-uuid'])(
    '§2: an id in a path is a UUID: %s is refused',
    async (path) => {
      expectRefused(await api.call('GET', path));
    },
  );

  test('§4 rule 1: there is no GET /api/services', async () => {
    expect((await api.call('GET', '/api/services')).status).toBeGreaterThanOrEqual(400);
  });

  test('§7 rule 3: a 429 carries Retry-After, and is an error of the same form', async (context) => {
    const count = required(context, 'rateLimitBurst', '--rate-limit-burst');
    const answers = await Promise.all(Array.from({ length: count }, () => api.callOnce('GET', '/api/me')));
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(0);
    for (const answer of limited) {
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(errorBody.safeParse(answer.body).success).toBe(true);
    }
  });
});

describe('a revision', () => {
  const service = once(() => workspace.createService());
  const volume = once(() => workspace.readyVolume());
  const template = once(() => workspace.createTemplate());
  const wrong = [0, -1, 1.5, 9_007_199_254_740_992, '1', null];

  test.each(wrong)('§8: the revision %j of a service is refused', async (revision) => {
    const { id } = await service();
    const body = { revision, patch: { image: target.otherImage } };
    expectRefused(await api.call('PATCH', `/api/services/${id}`, body));
  });

  test.each(wrong)('§8: the revision %j of a volume is refused', async (revision) => {
    const { id } = await volume();
    expectRefused(await api.call('PATCH', `/api/volumes/${id}`, { revision, name: workspace.name() }));
  });

  test.each(wrong)('§8: the revision %j of a template is refused', async (revision) => {
    const { id } = await template();
    const spec = workspace.templateSpec();
    expectRefused(await api.call('PUT', `/api/templates/${id}`, { revision, spec }));
    expectRefused(await api.call('DELETE', `/api/templates/${id}`, { revision }));
  });
});
