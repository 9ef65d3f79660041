import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ControlApi,
  Limiter,
  createTransport,
  type Outcome,
  type Transport,
} from '../../../src/api/index.ts';
import { Sensitive } from '../../../src/base/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { clientOf, errorForm, freePort, reply, serve } from './support.ts';

const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
const idempotencyKey = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const resources = { gpuCount: 1, cpu: 8, memoryGb: 32 };
const service = { name: 'trainer', region: 'standard', image: 'ghcr.io/acme/trainer:1', resources };
const template = { name: 'web', image: 'ghcr.io/acme/web:1' };
const registry = { repository: 'ghcr.io/acme/web', username: 'acme-bot', password: 'a-secret-token' };
const account = { balanceMicros: 1, currency: 'USD', services: [], volumes: [], ledger: [] };

const reads = {
  me: (api: ControlApi) => api.me(new Sensitive('key-of-alice')),
  account: (api: ControlApi) => api.account(),
  service: (api: ControlApi) => api.service(id),
  activities: (api: ControlApi) => api.activities(id),
  volume: (api: ControlApi) => api.volume(id),
  templates: (api: ControlApi) => api.templates(),
  registries: (api: ControlApi) => api.registries(),
} satisfies Record<string, (api: ControlApi) => Promise<Outcome<unknown>>>;

const mutations = {
  createService: (api: ControlApi) => api.createService(service, idempotencyKey),
  patchService: (api: ControlApi) =>
    api.patchService(id, { revision: 3, patch: { image: 'b', environment: { MODE: 'x' } } }, idempotencyKey),
  resizeService: (api: ControlApi) => api.actOnService(id, { action: 'resize', resources }, idempotencyKey),
  startService: (api: ControlApi) => api.actOnService(id, { action: 'start' }, idempotencyKey),
  setSleepPolicy: (api: ControlApi) => api.setSleepPolicy(id, null, idempotencyKey),
  createVolume: (api: ControlApi) =>
    api.createVolume({ name: 'data', region: 'standard', sizeGb: 20 }, idempotencyKey),
  updateVolume: (api: ControlApi) => api.updateVolume(id, { revision: 2, sizeGb: 40 }, idempotencyKey),
  deleteVolume: (api: ControlApi) => api.deleteVolume(id, idempotencyKey),
  createTemplate: (api: ControlApi) => api.createTemplate(template, idempotencyKey),
  replaceTemplate: (api: ControlApi) =>
    api.replaceTemplate(id, { revision: 2, spec: template }, idempotencyKey),
  deleteTemplate: (api: ControlApi) => api.deleteTemplate(id, { revision: 2 }, idempotencyKey),
  createRegistry: (api: ControlApi) => api.createRegistry(registry, idempotencyKey),
  rotateRegistry: (api: ControlApi) =>
    api.rotateRegistry(id, { revision: 2, spec: registry }, idempotencyKey),
  deleteRegistry: (api: ControlApi) => api.deleteRegistry(id, { revision: 2 }, idempotencyKey),
} satisfies Record<string, (api: ControlApi) => Promise<Outcome<unknown>>>;

const calls = Object.entries({ ...reads, ...mutations, catalog: (api: ControlApi) => api.catalog() });
const create = mutations.createService;

/** What `call` makes of a server that answers so. */
async function outcomeOf(
  status: number,
  body: unknown,
  call: (api: ControlApi) => Promise<Outcome<unknown>> = create,
  headers: Record<string, string> = {},
): Promise<Outcome<unknown>> {
  await using server = await serve(reply(status, body, headers));
  await using client = clientOf(server.url);
  const outcome = await call(client.api);
  expect(server.requests).toHaveLength(1);
  return outcome;
}

describe('what is known after an exchange', () => {
  test.each(calls)('%s: a refused connection is not sent', async (_name, call) => {
    await using client = clientOf(`http://127.0.0.1:${await freePort()}`);
    expect((await call(client.api)).kind).toBe('not-sent');
  });

  test.each(calls)('%s: a page of HTML with 200 leaves it unknown', async (_name, call) => {
    const page = '<html><body>Please log in</body></html>';
    expect((await outcomeOf(200, page, call)).kind).toBe('unknown');
  });

  // COVERAGE 98
  test.each(calls)(
    '%s: a connection that is reset leaves it unknown, and nothing is repeated',
    async (_name, call) => {
      await using server = await serve((_response, _request, socket) => socket.resetAndDestroy());
      await using client = clientOf(server.url);
      expect((await call(client.api)).kind).toBe('unknown');
      expect(server.requests).toHaveLength(1);
    },
  );

  // COVERAGE 91, 97
  test.each([400, 401, 403, 404, 409, 422, 429, 503])('%i in the error form is a refusal', async (status) => {
    expect(await outcomeOf(status, errorForm('some_code', 'not today'))).toMatchObject({
      kind: 'refused',
      status,
      code: 'some_code',
      message: 'not today',
      retryAfterMs: undefined,
    });
  });

  test.each([409, 503])('%i whose text leaves open what becomes of the request is none', async (status) => {
    const outcome = await outcomeOf(status, errorForm('outage', 'the request may still be carried out'));
    expect(outcome).toMatchObject({
      kind: 'unknown',
      reason: `status ${status}, which leaves open what becomes of it: the request may still be carried out`,
    });
  });

  // COVERAGE 92, 97
  test.each([400, 404, 409, 429, 503])('%i without an error object leaves it unknown', async (status) => {
    for (const body of ['<h1>nginx</h1>', '', {}, { error: 'no' }, { error: {} }, null]) {
      expect((await outcomeOf(status, body)).kind).toBe('unknown');
    }
  });

  test.each([408, 500, 502, 504])('%i leaves it unknown, with the error form and without', async (status) => {
    expect((await outcomeOf(status, errorForm('internal_error'))).kind).toBe('unknown');
    expect((await outcomeOf(status, 'oops')).kind).toBe('unknown');
  });

  test.each([301, 302, 307])('%i leaves it unknown, and the key goes nowhere else', async (status) => {
    await using other = await serve(reply(200, { id }));
    const location = `${other.url}/api/services`;
    expect((await outcomeOf(status, errorForm('moved'), create, { location })).kind).toBe('unknown');
    expect(other.requests).toEqual([]);
  });

  test.each([
    ['a service without an id', { name: 'trainer' }],
    ['a service whose id is not one', { id: '../volumes' }],
    ['a list', [{ id }]],
    ['nothing', ''],
  ])('201 with %s leaves it unknown', async (_what, body) => {
    expect((await outcomeOf(201, body)).kind).toBe('unknown');
  });

  test.each([
    ['a revision in a text', { id, revision: 'five' }],
    ['a state of another type', { id, state: 3, error: {}, endpoint: 7 }],
    ['the wrapped form of a read', { service: { id } }],
    ['an id in upper case', { id: id.toUpperCase() }],
  ])('201 with %s was applied: the id says what was made', async (_what, body) => {
    expect(await outcomeOf(201, body)).toMatchObject({ kind: 'applied', value: { id } });
  });

  test.each([
    [{ code: 1042, message: 'no' }, '1042', 'no'],
    [{ message: 'no' }, '', 'no'],
    [{ code: 'no_way' }, 'no_way', ''],
    [{ code: 'no_way', message: { text: 1, detail: 'no' }, trace: [] }, 'no_way', 'no'],
  ])('409 with the error %j is a refusal', async (error, code, message) => {
    expect(await outcomeOf(409, { error })).toMatchObject({ kind: 'refused', status: 409, code, message });
  });

  test('a path has the id as the API writes it, who may compare texts', async () => {
    const shown = { ...account, services: [{ id: id.toUpperCase() }] };
    await using server = await serve(reply(200, shown));
    await using client = clientOf(server.url);
    await client.api.account();
    await client.api.urgent('edit').service(id);
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/api/account',
      `/api/services/${id.toUpperCase()}`,
    ]);
  });

  // COVERAGE 101
  test('a silent server leaves it unknown after the deadline', async () => {
    await using server = await serve(() => undefined);
    await using client = clientOf(server.url);
    const pending = client.api.createService(service, idempotencyKey);
    await server.received(1);
    await client.clock.advance(30_000);
    expect((await pending).kind).toBe('unknown');
  });

  test.each([
    ['a read', (api: ControlApi, signal: AbortSignal) => api.service(id, signal)],
    ['whose key it is', (api: ControlApi, signal: AbortSignal) => api.me(new Sensitive('key'), signal)],
    [
      'a heartbeat',
      (api: ControlApi, signal: AbortSignal) =>
        api.recordActivity(id, { id, name: 'epoch', release: false }, idempotencyKey, signal),
    ],
  ] as const)('%s that is given up after it was sent is unknown', async (_name, call) => {
    await using server = await serve(() => {});
    await using client = clientOf(server.url);
    const giveUp = new AbortController();
    const outcome = call(client.api, giveUp.signal);
    await server.received(1);
    giveUp.abort();
    expect((await outcome).kind).toBe('unknown');
  });

  test('without an API key nothing is sent', async () => {
    await using server = await serve(reply(200, account));
    await using client = clientOf(server.url, null);
    // `me` is told which key to ask about.
    const { me: _, ...others } = reads;
    for (const call of [...Object.values(others), ...Object.values(mutations)]) {
      expect(await call(client.api)).toEqual({ kind: 'not-sent', reason: 'there is no API key' });
    }
    expect(server.sockets).toEqual([]);
  });

  test('an API key that is not a header is not sent, and not shown', async () => {
    await using server = await serve(reply(200, account));
    await using client = clientOf(server.url, 'canary\r\nX-Injected: 1');
    const outcome = await client.api.account();
    expect(outcome.kind).toBe('not-sent');
    expect(JSON.stringify(outcome)).not.toContain('canary');
    expect(server.requests).toEqual([]);
  });

  test('law: applied only by a readable 2xx, refused only by a 4xx or 503 in the error form', async () => {
    await using server = await serve(reply(200, ''));
    const body = fc.oneof(
      fc.constant(JSON.stringify({ id })),
      fc.constant(JSON.stringify(errorForm('some_code'))),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 200, max: 599 }), body, async (status, text) => {
        // A client of its own: after a 429 it would wait, and its clock stands still.
        await using client = clientOf(server.url);
        server.answer = reply(status, text);
        const outcome = await create(client.api);
        const readable = text === JSON.stringify({ id });
        const inErrorForm = text === JSON.stringify(errorForm('some_code'));
        const applied = readable && status < 300 && status !== 204;
        const refused = inErrorForm && ((status >= 400 && status < 500 && status !== 408) || status === 503);
        expect(outcome.kind).toBe(applied ? 'applied' : refused ? 'refused' : 'unknown');
      }),
      { examples: [[429, JSON.stringify(errorForm('some_code'))]] },
    );
  });
});

describe('a refusal', () => {
  test('carries the wait that the server asks for', async () => {
    const outcome = await outcomeOf(429, errorForm('rate_limited'), create, { 'retry-after': '7' });
    expect(outcome).toMatchObject({ kind: 'refused', retryAfterMs: 7000 });
  });

  test('429 of a proxy, without the error form, asks for a pause as well', async () => {
    const outcome = await outcomeOf(429, '<h1>slow down</h1>', create, { 'retry-after': '7' });
    expect(outcome).toMatchObject({ kind: 'unknown', status: 429, retryAfterMs: 7000 });
  });

  test('never shows the API key or a value of the environment that it echoes', async () => {
    await using server = await serve((response, request, socket) => {
      const { authorization } = request.headers;
      reply(422, errorForm(`bad ${authorization}`, `can't use ${request.body}`))(response, request, socket);
    });
    await using client = clientOf(server.url, 'sk-alice');
    const environment = { A: 'hunter2', B: 'hunter2-and-more', C: 'pass' };
    const outcome = await client.api.createService({ ...service, environment }, idempotencyKey);
    expect(outcome.kind).toBe('refused');
    const shown = JSON.stringify(outcome);
    for (const secret of ['sk-alice', 'hunter2', 'and-more', 'pass']) expect(shown).not.toContain(secret);
    expect(shown).toContain('trainer');
  });

  test('law: every secret of at least four characters is taken out whole, also when one begins as another', async () => {
    await using server = await serve(reply(200, ''));
    const secret = fc.stringMatching(/^[A-Z0-9]{4,12}$/);
    await fc.assert(
      fc.asyncProperty(secret, secret, fc.nat(12), fc.array(fc.nat(2)), async (apiKey, value, cut, picks) => {
        await using client = clientOf(server.url, apiKey);
        const prefix = value.slice(0, Math.max(4, cut));
        const words = picks.map((pick) => [apiKey, value, prefix][pick]);
        server.answer = reply(400, errorForm('invalid', words.join(' ')));
        const patch = { environment: { P: prefix, V: value } };
        expect(await client.api.patchService(id, { revision: 1, patch }, idempotencyKey)).toMatchObject({
          kind: 'refused',
          message: words.map(() => '[redacted]').join(' '),
        });
      }),
      { numRuns: 50 },
    );
  });

  test('comes without the API key in any field of a 2xx, too, but for an address of a browser session', async () => {
    const key = 'key-of-alice-0123456789';
    const shown = { id, name: key, state: `as ${key}`, endpoint: `https://x.example/?key=${key}` };
    await using server = await serve(reply(200, shown));
    await using client = clientOf(server.url, key);
    expect(JSON.stringify(await client.api.service(id))).not.toContain(key);
    server.answer = reply(200, { ...account, services: [shown], ledger: [{ description: key }] });
    const read = await client.api.account();
    expect(JSON.stringify(read)).not.toContain(key);
    expect(read).toMatchObject({
      value: { services: [{ id, endpoint: 'https://x.example/?key=[redacted]' }] },
    });
    server.answer = reply(200, { url: shown.endpoint });
    const session = await client.api.openBrowserSession(id, idempotencyKey);
    expect(session.kind === 'applied' && session.value.reveal()).toBe(shown.endpoint);
  });

  test.each([
    ['createRegistry', mutations.createRegistry],
    ['rotateRegistry', mutations.rotateRegistry],
  ])('of %s comes without the credentials', async (_name, call) => {
    const said = `${registry.username} may not log in with "${registry.password}"`;
    expect(await outcomeOf(400, errorForm('bad', said), call)).toMatchObject({
      message: '[redacted] may not log in with "[redacted]"',
    });
  });

  test('comes on one line, without control characters, and not longer than 500', async () => {
    const message = `one\r\ntwo\u001b[31mred\u0000\u009b${'x'.repeat(10_000)}`;
    const outcome = await outcomeOf(400, errorForm('a\nb', message));
    expect(outcome).toMatchObject({ kind: 'refused', code: 'a b' });
    const shown = outcome.kind === 'refused' ? outcome.message : '';
    expect(shown.startsWith('one two [31mred x')).toBe(true);
    expect(shown).toHaveLength(500);
  });
});

// COVERAGE 12, 27, 32, 44
describe('what is on the wire', () => {
  test.each([
    ['createService', 'POST', '/api/services', service],
    [
      'patchService',
      'PATCH',
      `/api/services/${id}`,
      { revision: 3, patch: { image: 'b', environment: { MODE: 'x' } } },
    ],
    ['resizeService', 'POST', `/api/services/${id}/actions`, { action: 'resize', resources }],
    ['startService', 'POST', `/api/services/${id}/actions`, { action: 'start' }],
    ['setSleepPolicy', 'PATCH', `/api/services/${id}/sleep`, { sleepAfterMinutes: null }],
    ['createVolume', 'POST', '/api/volumes', { name: 'data', region: 'standard', sizeGb: 20 }],
    ['updateVolume', 'PATCH', `/api/volumes/${id}`, { revision: 2, sizeGb: 40 }],
    ['deleteVolume', 'DELETE', `/api/volumes/${id}`, undefined],
  ] as const)(
    '%s is %s %s with exactly its body and its idempotency key',
    async (name, method, path, body) => {
      await using server = await serve(
        reply(200, { id, volumeId: id, operationId: 'o', status: 'deleting' }),
      );
      await using client = clientOf(server.url);
      expect((await mutations[name](client.api)).kind).toBe('applied');
      const request = server.only;
      expect([request.method, request.path]).toEqual([method, path]);
      expect(request.body === '' ? undefined : JSON.parse(request.body)).toEqual(body);
      expect(request.headers).toMatchObject({
        authorization: 'Bearer key-of-alice',
        'idempotency-key': idempotencyKey,
      });
      expect(request.headers['content-type']).toBe(body && 'application/json');
    },
  );

  test.each([
    ['me', '/api/me'],
    ['account', '/api/account'],
    ['service', `/api/services/${id}`],
    ['activities', `/api/services/${id}/activity`],
    ['volume', `/api/volumes/${id}`],
  ] as const)('%s is GET %s, without body and idempotency key', async (name, path) => {
    await using server = await serve(reply(200, {}));
    await using client = clientOf(server.url);
    await reads[name](client.api);
    const { method, path: asked, body, headers } = server.only;
    expect([method, asked, body]).toEqual(['GET', path, '']);
    expect(headers).toMatchObject({ authorization: 'Bearer key-of-alice' });
    expect(headers).not.toHaveProperty('idempotency-key');
  });

  // COVERAGE 80
  test.each([
    ['X-Api-Key', 'x-api-key', 'key-of-alice'],
    ['AUTHORIZATION', 'authorization', 'Bearer key-of-alice'],
  ])('the credential may be in another header: %s', async (given, name, value) => {
    await using other = await serve(reply(200, account));
    await using server = await serve(
      reply(307, errorForm('moved'), { location: `${other.url}/api/account` }),
    );
    await using client = clientOf(server.url, 'key-of-alice', given);
    const outcomes = [await client.api.account(), await create(client.api), await client.api.catalog()];
    expect(server.requests.map(({ headers }) => headers[name])).toEqual([value, value, undefined]);
    expect(
      server.requests.some(({ headers }) => name !== 'authorization' && 'authorization' in headers),
    ).toBe(false);
    expect(other.requests).toEqual([]);
    expect(JSON.stringify(outcomes)).not.toContain('key-of-alice');
  });

  // COVERAGE 1
  test('the catalog is asked for without a credential', async () => {
    await using server = await serve(reply(200, {}));
    await using client = clientOf(server.url);
    await client.api.catalog();
    expect(server.only.headers).not.toHaveProperty('authorization');
  });

  test.each(['', '..', `${id}/actions`, `${id}?x=1`, '%2e%2e'])(
    'the id %o never gets into a path',
    async (bad) => {
      await using server = await serve(reply(200, {}));
      await using client = clientOf(server.url);
      await expect(client.api.service(bad)).rejects.toThrow('must be a UUID');
      expect(server.requests).toEqual([]);
    },
  );
});

describe('an answer', () => {
  // COVERAGE 9, 26, 44
  test('of a read comes without its wrapper', async () => {
    expect(await outcomeOf(200, { service: { id } }, reads.service)).toMatchObject({ value: { id } });
    expect(await outcomeOf(200, { volume: { id } }, reads.volume)).toMatchObject({ value: { id } });
    expect(await outcomeOf(200, { activities: [{ id }] }, reads.activities)).toMatchObject({
      value: [{ id }],
    });
  });

  // COVERAGE 116
  test('keeps fields and states that nobody has heard of', async () => {
    const answered = { id, state: 'hibernating', revision: 3, endpoint: null, shade: { deep: ['blue'] } };
    expect(await outcomeOf(200, { service: answered, more: 1 }, reads.service)).toEqual({
      kind: 'applied',
      status: 200,
      value: answered,
    });
    const lists = { services: [answered], volumes: [{ id, status: 'melting', x: 1 }] };
    expect(await outcomeOf(200, { ...account, ...lists, y: 2 }, reads.account)).toMatchObject({
      value: lists,
    });
  });

  // COVERAGE 118
  test('may come with any 2xx', async () => {
    for (const status of [200, 201, 202]) {
      expect(await outcomeOf(status, { id })).toEqual({ kind: 'applied', status, value: { id } });
    }
  });
});

test('what was read of an answer outlasts it: its bytes are given back at once', async () => {
  const bodies: Uint8Array[] = [];
  const services = [{ id, name: 'trainer', state: 'running', revision: 3, environmentNames: ['MODE'] }];
  const transport: Transport = {
    exchange: async () => {
      const text = JSON.stringify({ ...account, services, balanceMicros: bodies.length + 1 });
      const body = new TextEncoder().encode(text).slice();
      bodies.push(body);
      return { kind: 'reply', status: 200, retryAfter: undefined, body };
    },
    close: async () => {},
  };
  const clock = new ManualClock();
  const metrics = createMetrics();
  const limits = { account: 'default', perSecond: 10, burst: 10, concurrency: 4 };
  const api = new ControlApi({
    baseUrl: 'https://api.invalid',
    credential: () => new Sensitive('key-of-alice'),
    transport,
    limiter: new Limiter(limits, clock, metrics),
    clock,
    metrics,
  });
  const read = [await api.account(), await api.account(), await api.account()];
  expect(bodies.map(({ buffer }) => buffer.byteLength)).toEqual([0, 0, 0]);
  expect(read).toMatchObject(
    [1, 2, 3].map((balanceMicros) => ({ kind: 'applied', value: { balanceMicros, services } })),
  );
});

test('once closed, a client sends nothing more, and finishes what it has sent', async () => {
  const held = Promise.withResolvers<undefined>();
  await using server = await serve((response, request, socket) => {
    void held.promise.then(() => reply(200, { id })(response, request, socket));
  });
  await using client = clientOf(server.url);
  const underWay = create(client.api);
  await server.received(1);
  client.api.close();
  expect(await client.api.account()).toMatchObject({ kind: 'not-sent' });
  held.resolve(undefined);
  expect((await underWay).kind).toBe('applied');
  expect(server.requests).toHaveLength(1);
});

test('templates and registries are read tolerantly: odd ids, unknown fields, links of any form', async () => {
  const templates = [
    { id: 'pytorch', builtIn: true, more: 1 },
    { id, name: 'web', command: null },
  ];
  expect(await outcomeOf(200, { templates, next: null }, reads.templates)).toMatchObject({
    value: { items: templates, unidentified: [] },
  });
  const registries = [
    { id, linkedServices: [id, { id, usesCurrentCredentials: true }], rotatedAt: '2026-01-01' },
    { id: id.replace(/.$/, 'f'), repository: 'ghcr.io/acme/web' },
  ];
  expect(await outcomeOf(200, { registries }, reads.registries)).toMatchObject({
    value: { items: registries, unidentified: [] },
  });
});

describe('an answer to a creation', () => {
  const { createVolume, createTemplate, createRegistry } = mutations;

  test.each([
    ['createService', create, { name: 'another' }],
    ['createVolume', createVolume, { name: 'logs' }],
    ['createTemplate', createTemplate, { name: 'base' }],
    ['createRegistry', createRegistry, { repository: 'ghcr.io/acme/other' }],
  ] as const)('that is about something of another name tells nothing: %s', async (_name, call, shown) => {
    const outcome = await outcomeOf(201, { id, ...shown }, call);
    expect(outcome).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('that is about') });
  });

  test.each([{}, { name: 'trainer' }, { name: ' Trainer' }, { name: 'trai' }, { name: undefined }])(
    'may show the name in its own form, or not at all (%j)',
    async (shown) => {
      expect((await outcomeOf(201, { id, ...shown })).kind).toBe('applied');
    },
  );

  test.each([409, 400, 422])('%i because its key is in use leaves it unknown', async (status) => {
    for (const code of ['idempotency_key_in_use', 'idempotency_in_progress', 'IdempotentRequestPending']) {
      expect((await outcomeOf(status, errorForm(code))).kind).toBe('unknown');
    }
    for (const code of ['idempotency_key_reused', 'operation_in_progress']) {
      expect((await outcomeOf(status, errorForm(code))).kind).toBe('refused');
    }
  });
});

describe('an answer about another object than was asked for', () => {
  const other = '99999999-9999-4999-8999-999999999999';
  const record = { id: other, service: { id: other }, volume: { id: other } };
  const deletion = { volumeId: other, operationId: 'o', status: 'deleting', deleted: true };
  const { service: readService, volume: readVolume } = reads;
  const changes = Object.entries(mutations).filter(([name]) => !name.startsWith('create'));

  test.each([['service', readService], ['volume', readVolume], ...changes] as const)(
    'tells nothing of that one: %s',
    async (_name, call) => {
      expect(await outcomeOf(200, { ...record, ...deletion }, call)).toMatchObject({
        kind: 'unknown',
        reason: `a 200 that is about ${other}, not ${id}`,
      });
    },
  );
});

test('account reads come first, then what a person waits for, and changes before reads', async () => {
  await using server = await serve(reply(200, {}));
  const clock = new ManualClock();
  const metrics = createMetrics();
  const transport = createTransport(clock);
  const api = new ControlApi({
    baseUrl: server.url,
    credential: () => new Sensitive('key'),
    transport,
    limiter: new Limiter({ account: 'a', perSecond: 1000, burst: 1000, concurrency: 1 }, clock, metrics),
    clock,
    metrics,
  });
  const urgent = api.urgent('edit');
  await Promise.all([
    api.templates(),
    api.registries(),
    api.deleteVolume(id, 'k'),
    urgent.service(id),
    urgent.deleteVolume(id, 'l'),
    api.account(),
  ]);
  await transport.close();
  expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /api/templates',
    'GET /api/account',
    `DELETE /api/volumes/${id}`,
    `GET /api/services/${id}`,
    `DELETE /api/volumes/${id}`,
    'GET /api/registries',
  ]);
  expect(server.requests[2]?.headers['idempotency-key']).toBe('l');
});
