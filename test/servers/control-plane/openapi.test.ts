import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defaultConfig } from '../../../src/control-plane/main.ts';
import { key, startWorld, trainer, type Answer, type Json, type World } from './support.ts';

/** The table of §4. */
const contract = `
  GET /api/catalog
  GET /api/me
  GET /api/account
  GET /api/registries
  POST /api/registries
  PUT /api/registries/{id}
  DELETE /api/registries/{id}
  POST /api/services
  GET /api/services/{id}
  PATCH /api/services/{id}
  POST /api/services/{id}/actions
  PATCH /api/services/{id}/sleep
  GET /api/services/{id}/events
  GET /api/services/{id}/metrics
  GET /api/services/{id}/logs
  POST /api/services/{id}/exec
  GET /api/services/{id}/activity
  POST /api/services/{id}/activity
  POST /api/services/{id}/browser-session
  GET /api/templates
  POST /api/templates
  PUT /api/templates/{id}
  DELETE /api/templates/{id}
  POST /api/volumes
  GET /api/volumes
  GET /api/volumes/{id}
  PATCH /api/volumes/{id}
  DELETE /api/volumes/{id}
`
  .trim()
  .split(/\n\s*/);

let world: World;
let document: Json;
beforeAll(async () => {
  world = await startWorld({ config: { ...defaultConfig, browserEnabled: true }, rateLimitPerSecond: 1000 });
  document = await world.ok('GET', '/openapi.json');
});
afterAll(() => world.close());

/** `POST /api/services` and its operation, in the order of the document. */
function operations(of: Json = document): [string, Json][] {
  return Object.entries(of.paths as Record<string, Record<string, Json>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as [string, Json],
    ),
  );
}

/** With every reference replaced by what it refers to. Throws where that does not exist. */
function resolved(part: Json): Json {
  if (Array.isArray(part)) return part.map(resolved);
  if (typeof part !== 'object' || part === null) return part;
  if (typeof part.$ref !== 'string') {
    return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, resolved(value)]));
  }
  expect(Object.keys(part)).toEqual(['$ref']);
  const target = part.$ref
    .replace(/^#\//, '')
    .split('/')
    .reduce((place: Json, name: string) => place?.[name], document);
  if (target === undefined) throw new Error(`nothing is at ${part.$ref}`);
  return resolved(target);
}

function placeholder({ name }: Json): string {
  return `{${name}}`;
}

/** As a schema of ours; `closed`: without members that the document does not name. */
function schemaOf(part: Json, closed = false): z.ZodType {
  const text = JSON.stringify(resolved(part));
  return z.fromJSONSchema(
    JSON.parse(closed ? text.replaceAll('"additionalProperties":{}', '"additionalProperties":false') : text),
  );
}

describe('the document', () => {
  test('needs no credentials', async () => {
    const answer = await world.call('GET', '/openapi.json', undefined, { headers: { authorization: '' } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    expect(answer.body).toEqual(document);
  });

  test('has each endpoint of the contract, and no other', () => {
    expect(
      operations()
        .map(([name]) => name)
        .sort(),
    ).toEqual(contract.toSorted());
  });

  test('is OpenAPI 3.1 in its form', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: expect.any(String), version: 'developer-preview' });
    const ids = operations().map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = new Set(document.tags.map(({ name }: Json) => name));
    for (const [name, operation] of operations()) {
      const { summary, description, tags: used, parameters = [], responses } = resolved(operation);
      const inPath = parameters.filter((parameter: Json) => parameter.in === 'path');
      expect({ name, summary, description, used, parameters, inPath: inPath.map(placeholder) }).toEqual({
        name,
        summary: expect.stringMatching(/^\S.{5,}/),
        description: expect.stringMatching(/^Contract: §/),
        used: [expect.toSatisfy((tag) => tags.has(tag))],
        parameters: parameters.map(() =>
          expect.objectContaining({ name: expect.any(String), required: true, schema: expect.any(Object) }),
        ),
        inPath: name.match(/\{\w+\}/g) ?? [],
      });
      for (const { description: meaning, content } of Object.values<Json>(responses)) {
        expect([name, meaning]).toEqual([name, expect.stringMatching(/\S/)]);
        for (const { schema } of Object.values<Json>(content)) schemaOf(schema);
      }
    }
    expect(JSON.stringify(document)).not.toContain('"nullable"');
  });

  test('lists the credentials, keys and refusals of the contract', () => {
    for (const [name, operation] of operations()) {
      const { parameters = [], responses } = resolved(operation);
      const isCatalog = name === 'GET /api/catalog';
      expect([name, operation.security]).toEqual([name, isCatalog ? [] : [{ apiKey: [] }]]);
      const refusals = Object.keys(responses).filter((status) => !status.startsWith('2'));
      const all = ['400', '401', '403', '404', '409', '429', '503'];
      expect([name, refusals]).toEqual([name, isCatalog ? ['400', '404', '409', '429', '503'] : all]);
      expect(responses['429'].headers['Retry-After'].required).toBe(true);
      const headers = parameters.filter((parameter: Json) => parameter.in === 'header');
      expect([name, headers.map((parameter: Json) => parameter.name)]).toEqual([
        name,
        name.startsWith('GET') ? [] : ['Idempotency-Key'],
      ]);
    }
  });

  test('describes ID tokens where there is a provider', async () => {
    const identity = {
      issuer: 'https://login.example',
      audience: ['a'],
      jwksUri: null,
      header: 'x-id-token',
      algorithms: ['RS256'],
    };
    await using other = await startWorld({ config: { ...defaultConfig, identity } });
    const { components, paths } = await other.ok('GET', '/openapi.json');
    expect(components.securitySchemes.idToken).toMatchObject({
      type: 'apiKey',
      in: 'header',
      name: 'x-id-token',
    });
    expect(paths['/api/me'].get.security).toEqual([{ apiKey: [] }, { idToken: [] }]);
  });
});

/** Calls, holds request and answer against the document, and notes which answer was seen. */
async function callChecked(
  seen: Set<string>,
  operation: string,
  id = '',
  body?: unknown,
  options: object = {},
): Promise<Answer> {
  const [method = '', template = ''] = operation.split(' ');
  const described = resolved(document.paths[template.split('?')[0] ?? ''][method.toLowerCase()]);
  const answer = await world.call(method, template.replace('{id}', id), body, options);
  const response = described.responses[answer.status];
  expect([operation, answer.status, response]).toEqual([operation, answer.status, expect.any(Object)]);
  if (answer.status < 300 && body !== undefined) {
    schemaOf(described.requestBody.content['application/json'].schema).parse(body);
  }
  const [mediaType = ''] = (answer.headers.get('content-type') ?? '').split(';');
  const content = response.content[mediaType];
  expect([operation, mediaType, content]).toEqual([operation, mediaType, expect.any(Object)]);
  const { error } = schemaOf(content.schema, answer.status < 300).safeParse(answer.body ?? answer.text);
  expect([operation, answer.status, error?.issues]).toEqual([operation, answer.status, undefined]);
  seen.add(`${operation.split('?')[0]} ${answer.status}`);
  return answer;
}

test('what is sent and answered is as documented, for each endpoint and each kind of refusal', async () => {
  const seen = new Set<string>();
  const call = callChecked.bind(undefined, seen);
  const service = await world.running({
    volumeGb: 10,
    volumeMode: 'independent',
    httpPort: 80,
    command: ['a'],
  });
  await call('GET /api/catalog');
  await call('GET /api/me');
  const { body: registry } = await call('POST /api/registries', '', {
    repository: 'ghcr.io/acme/trainer',
    username: 'u',
    password: 'p',
  });
  const { body: created } = await call('POST /api/services', '', {
    ...trainer,
    sleepAfterMinutes: 5,
    environment: { A: '1' },
  });
  await call('GET /api/services/{id}', created.id);
  await world.clock.advance(8_000);
  await call('GET /api/services/{id}', created.id);
  await call('PATCH /api/services/{id}', created.id, {
    revision: 2,
    patch: { httpPort: 81, environment: {} },
  });
  await call('POST /api/services/{id}/actions', service.id, {
    action: 'resize',
    resources: trainer.resources,
  });
  await world.clock.advance(8_000);
  await call('PATCH /api/services/{id}/sleep', service.id, { sleepAfterMinutes: null });
  await call('GET /api/services/{id}/events', service.id);
  await call('GET /api/services/{id}/logs', service.id);
  await world.clock.advance(600_000);
  await call('GET /api/services/{id}/metrics?minutes=15', service.id);
  await call('POST /api/services/{id}/exec', service.id, { command: ['true'] });
  await call('POST /api/services/{id}/browser-session', service.id);
  await call('POST /api/services/{id}/activity', service.id, { id: randomUUID(), name: 'task' });
  await call('GET /api/services/{id}/activity', service.id);
  await call('GET /api/registries');
  await call('PUT /api/registries/{id}', registry.id, {
    revision: 1,
    spec: { repository: 'ghcr.io/acme/trainer', username: 'u', password: 'q' },
  });
  await call('GET /api/registries');
  const { body: template } = await call('POST /api/templates', '', { name: 't', image: 'i' });
  await call('GET /api/templates');
  await call('PUT /api/templates/{id}', template.id, {
    revision: 1,
    spec: { name: 't', image: 'i', httpPort: null },
  });
  await call('DELETE /api/templates/{id}', template.id, { revision: 2 });
  const { body: volume } = await call('POST /api/volumes', '', { name: 'v', region: 'standard', sizeGb: 10 });
  await world.clock.advance(5_000);
  await call('PATCH /api/volumes/{id}', volume.id, { revision: 2, name: 'w', sizeGb: 20 });
  await call('GET /api/volumes/{id}', volume.id);
  await call('GET /api/volumes');
  await call('GET /api/account');
  await call('DELETE /api/volumes/{id}', volume.id);
  await call('POST /api/services/{id}/actions', created.id, { action: 'delete' });
  await call('POST /api/services/{id}/actions', service.id, { action: 'delete' });
  await world.clock.advance(8_000);
  await call('DELETE /api/registries/{id}', registry.id, { revision: 2 });
  await call('GET /api/account');
  for (const [name] of operations()) {
    expect([...seen].filter((one) => one.startsWith(`${name} 2`))).toEqual([expect.any(String)]);
  }

  await call('POST /api/services', '', { name: 1 });
  await call('GET /api/me', '', undefined, { as: 'nobody' });
  await call('POST /api/services', '', trainer, { as: key.newcomer });
  await call('GET /api/services/{id}', created.id);
  await call('POST /api/services', '', trainer, { as: key.poor });
  await world.admin('PUT', '/faults', [
    { path: '/me$', times: 1, fault: 'status', status: 429, code: 'rate_limited', retryAfter: 1 },
    { path: '/me$', times: 1, fault: 'status', status: 503, code: 'unavailable' },
  ]);
  await call('GET /api/me');
  await call('GET /api/me');
  const refusals = [...seen].map((one) => one.slice(-3)).filter((status) => status >= '300');
  expect(new Set(refusals)).toEqual(new Set(['400', '401', '403', '404', '409', '429', '503']));
});

test('a body that the document forbids is refused', async () => {
  const forbidden: [string, unknown][] = [
    ['POST /api/services', { ...trainer, surprise: 1 }],
    ['POST /api/services', { ...trainer, httpPort: 0 }],
    ['POST /api/volumes', { name: '', region: 'standard', sizeGb: 10 }],
    ['POST /api/volumes', { name: 'v', region: 'standard', sizeGb: 4097 }],
    ['POST /api/templates', { image: 'i' }],
    ['POST /api/registries', { repository: 'ghcr.io/a/b' }],
  ];
  for (const [name, body] of forbidden) {
    const [method = '', path = ''] = name.split(' ');
    const { schema } = document.paths[path][method.toLowerCase()].requestBody.content['application/json'];
    expect([name, schemaOf(schema).safeParse(body).success]).toEqual([name, false]);
    expect([name, (await world.call(method, path, body)).status]).toEqual([name, 400]);
  }
});
