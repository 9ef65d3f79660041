/** Requests and refusals of the read API. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Access } from '../../../src/read-api/access/access.ts';
import { hostRule } from '../../../src/read-api/access/hosts.ts';
import { readsAll } from '../../../src/read-api/fleet/reader.ts';
import { openApi } from '../../../src/read-api/openapi.ts';
import { routes } from '../../../src/read-api/routes.ts';
import {
  ask,
  condition,
  createWorld,
  FakeSource,
  held,
  intentOf,
  readAccount,
  recordOf,
  waiting,
} from './support.ts';

const fleet = 'ServiceFleet/default/llm';

function exampleSource(): FakeSource {
  const source = new FakeSource(
    [
      recordOf('Account/default/default'),
      recordOf(fleet, {
        conditions: waiting('RolloutPaused'),
        status: {
          desiredReplicas: 2,
          readyReplicas: 1,
          rollout: { phase: 'Paused', revision: 'r2' },
          revisions: [{ name: 'r1', outcome: 'Healthy', at: '2026-11-27T10:00:00Z', image: 'a:1' }],
        },
        kind: {
          roster: [
            {
              slot: 0,
              phase: 'wanted',
              since: 0,
              revision: 1,
              place: { account: 'default', region: 'standard' },
            },
          ],
        },
      }),
      recordOf('ContainerService/default/llm-0', {
        derived: { owner: fleet },
        externalId: 'id-0',
        status: {
          state: 'running',
          hourlyMicros: 5,
          drift: [
            { path: 'image', kind: 'Changed', desired: 'a', observed: 'b', since: '2026-11-27T10:00:00Z' },
          ],
        },
      }),
      recordOf('ContainerService/default/web', { conditions: held('UnknownRegion') }),
      recordOf('ProtectedTask/default/train', {
        spec: { serviceRef: { name: 'web' } },
        status: { activityId: 'act', state: 'held' },
      }),
      recordOf('Budget/default/team', {
        spec: { limits: { hourlyMicros: 100 }, mode: 'Gate' },
        status: { hourlyMicros: 50, month: '2026-11', spentMicros: 4 },
      }),
    ],
    [readAccount('default/default'), readAccount('other/default', { readAt: undefined, ageMs: undefined })],
  );
  source.intents.push({ number: 1, intent: intentOf('ContainerService/default/web') });
  source.heartbeats.set('ProtectedTask/default/train', 1_700_000_000_000);
  return source;
}

const examples: Readonly<Record<string, readonly string[]>> = {
  summary: ['/api/v1/summary'],
  objects: ['/api/v1/objects', '/api/v1/objects?limit=1&sort=cost'],
  object: ['ContainerService/default/web', 'csvc/default/llm-0', 'Budget/default/team', fleet].map(
    (key) => `/api/v1/objects/${key}`,
  ),
  tree: ['/api/v1/tree', '/api/v1/tree?account=default/default'],
  timeline: ['/api/v1/timeline'],
  money: ['/api/v1/money', '/api/v1/money?by=label%3Dteam'],
  fleet: ['/api/v1/fleets/default/llm'],
  endpoints: ['/api/v1/fleets/default/llm/endpoints'],
  revisions: ['/api/v1/fleets/default/llm/revisions'],
  problems: ['/api/v1/problems'],
};

describe('every path', () => {
  test.each(routes.map((route) => [route.path, route] as const))(
    '%s answers by its schema',
    async (_path, route) => {
      const targets = examples[route.id] ?? [];
      expect(targets.length).toBeGreaterThan(0);
      for (const target of targets) {
        const { status, body } = await ask(createWorld(exampleSource()), target);
        expect([target, status]).toEqual([target, 200]);
        expect(route.answer.parse(body)).toEqual(body);
      }
    },
  );

  test.each(routes.map(({ path, id }) => [path, id] as const))(
    '%s is in the OpenAPI document',
    async (path, id) => {
      const { body } = await ask(createWorld(exampleSource()), '/api/v1/openapi.json');
      expect(body.paths[path].get.operationId).toBe(id);
      const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
      expect(references.length).toBeGreaterThan(10);
      for (const [, name = ''] of references) expect(Object.keys(body.components.schemas)).toContain(name);
    },
  );
});

test('the OpenAPI document has the parameters, with their bounds', () => {
  const { paths } = openApi('1') as {
    paths: Record<string, { get: { parameters: { name: string; schema: object }[] } }>;
  };
  const names = paths['/api/v1/objects']?.get.parameters.map(({ name }) => name);
  expect(names).toEqual([
    'kind',
    'namespace',
    'reason',
    'health',
    'account',
    'fleet',
    'label',
    'q',
    'sort',
    'limit',
    'cursor',
  ]);
  const depth = paths['/api/v1/tree']?.get.parameters.find(({ name }) => name === 'depth');
  expect(depth?.schema).toMatchObject({ pattern: '^[1-6]$' });
});

describe('an object', () => {
  test('has its drift, and what becomes of it', async () => {
    const source = exampleSource();
    const drift = async () =>
      (await ask(createWorld(source), '/api/v1/objects/csvc/default/llm-0')).body.drift[0];
    expect(await drift()).toMatchObject({
      path: 'image',
      wanted: 'a',
      actual: 'b',
      will: { what: 'it is corrected in the next pass' },
    });
    const record = source.store.record('ContainerService/default/llm-0');
    if (!record) throw new Error('it is there');
    await source.store.save({ ...record, manifest: { ...record.manifest, spec: { driftPolicy: 'Report' } } });
    expect(await drift()).toMatchObject({ will: { what: 'it stays (driftPolicy: Report)', at: null } });
  });

  test('has the commands that apply now, and who protects it', async () => {
    const world = createWorld(exampleSource());
    const { body } = await ask(world, `/api/v1/objects/${fleet}`);
    expect(body.commands.map(({ text }: { text: string }) => text)).toEqual([
      'fleetkeeper rollout promote llm -n default --source fleet',
      'fleetkeeper rollout freeze llm -n default --source fleet',
      'fleetkeeper rollout abort llm -n default --source fleet',
      'fleetkeeper rollout status llm -n default --source fleet',
      'fleetkeeper describe ServiceFleet/llm -n default --source fleet',
      'fleetkeeper explain RolloutPaused',
    ]);
    const web = await ask(world, '/api/v1/objects/csvc/default/web');
    expect(web.body.activities).toMatchObject([
      { task: 'default/train', activityId: 'act', heartbeatAt: '2023-11-14T22:13:20Z' },
    ]);
  });

  test('with an unknown outcome has the commands that resolve it', async () => {
    const conditions = [
      ...waiting('OutcomeUnknown'),
      condition('OutcomeUnknown', 'True', 'AwaitingEvidence'),
    ];
    const source = new FakeSource([recordOf('ContainerService/default/web', { conditions })]);
    const { body } = await ask(createWorld(source), '/api/v1/objects/csvc/default/web');
    expect(body.commands[1].text).toBe(
      'fleetkeeper resolve ContainerService/web --not-applied -n default --source fleet',
    );
  });
});

describe('a request', () => {
  const targets = [
    ...Object.values(examples).flat(),
    '/',
    '/healthzz',
    '/api/v1/stream?view=objects',
    '/api/v1/x',
    '/login',
  ];

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'get'])(
    'with the method %s changes nothing at any path (GI1)',
    async (method) => {
      const world = createWorld(exampleSource());
      const before = JSON.stringify([...world.source.store.records()]);
      for (const target of targets) {
        const { status, headers, body } = await ask(world, target, { method, body: '{"spec":{}}' });
        expect([target, status, headers['allow']]).toEqual([target, 405, 'GET, HEAD']);
        expect(body.error.code).toBe('method_not_allowed');
      }
      expect(JSON.stringify([...world.source.store.records()])).toBe(before);
    },
  );

  test('with GET changes nothing either', async () => {
    const world = createWorld(exampleSource());
    const before = JSON.stringify([...world.source.store.records()]);
    for (const target of targets) await ask(world, target);
    expect(JSON.stringify([...world.source.store.records()])).toBe(before);
    expect(world.counts.defects).toEqual([]);
  });

  test.each([
    ['/api/v1/objects?kin=x', 'unknown_parameter', 'there is no parameter kin; did you mean kind?'],
    ['/api/v1/summary?x=1', 'unknown_parameter', 'there is no parameter x'],
    ['/api/v1/openapi.json?x=1', 'unknown_parameter', 'there is no parameter x'],
    ['/api/v1/objects?limit=0', 'invalid_parameter', 'limit: '],
    ['/api/v1/objects?limit=201', 'invalid_parameter', 'limit: '],
    ['/api/v1/objects?kind=Pod', 'invalid_parameter', 'kind: Pod is no kind; kinds are Account'],
    ['/api/v1/objects?kind=csvc&kind=svol', 'invalid_parameter', 'kind: it is given twice'],
    ['/api/v1/objects?reason=Whatever', 'invalid_parameter', 'reason: no such reason'],
    ['/api/v1/objects?label=%3D', 'invalid_parameter', 'label: expected the key of a label'],
    [`/api/v1/objects?q=${'x'.repeat(257)}`, 'invalid_parameter', 'q: '],
    ['/api/v1/tree?depth=7', 'invalid_parameter', 'depth: expected a number from 1 to 6'],
    ['/api/v1/tree?account=a/b&fleet=a/b', 'invalid_parameter', 'query: give account or fleet, not both'],
    ['/api/v1/money?by=color', 'invalid_parameter', 'by: expected namespace'],
    ['/api/v1/timeline?from=yesterday', 'invalid_parameter', 'from: '],
    ['/api/v1/timeline?object=web', 'invalid_parameter', 'object: expected KIND/NAMESPACE/NAME'],
    ['/api/v1/objects?cursor=abc', 'invalid_cursor', 'cursor is not one that this API made'],
    [`/api/v1/objects?${'limit=1&'.repeat(33)}`, 'invalid_parameter', 'query: it has 33 parameters'],
    [`/api/v1/stream?view=summary&${'a=1&'.repeat(33)}`, 'invalid_parameter', 'query: it has 34 parameters'],
    ['/api/v1/objects?__proto__=1', 'unknown_parameter', 'there is no parameter __proto__'],
    ['/api/v1/stream', 'invalid_parameter', 'view: expected one of summary'],
    ['/api/v1/stream?view=objects&x=1', 'unknown_parameter', 'there is no parameter x'],
  ])('%s is refused: %s', async (target, code, message) => {
    const { status, body } = await ask(createWorld(exampleSource()), target);
    expect([status, body.error.code]).toEqual([400, code]);
    expect(body.error.message).toContain(message);
  });

  test.each([
    '/',
    '/api/v1',
    '/api/v1/objects/',
    '/api/v1/objects/csvc/default/none',
    '/api/v1/objects/Pod/a/b',
    '/api/v1/objects/csvc/default/%2e%2e',
    '/api/v1/objects/csvc/default/%',
    '/api/v1/fleets/default/none',
    '/api/v1/fleets/default/none/endpoints',
    '/api/v1/fleets/default/none/revisions',
    '/api/v1/../v1/summary',
    '/etc/passwd',
  ])('for %s is answered 404 in the form of the contract', async (target) => {
    const { status, body } = await ask(createWorld(exampleSource()), target);
    expect([status, body.error.code]).toEqual([404, 'not_found']);
  });

  test('is answered 304 as long as nothing has changed', async () => {
    const world = createWorld(exampleSource());
    const first = await ask(world, '/api/v1/objects');
    const again = () =>
      ask(world, '/api/v1/objects', { headers: { 'if-none-match': first.headers['etag'] ?? '' } });
    expect([first.status, (await again()).status, (await again()).text]).toEqual([200, 304, '']);
    await world.source.store.save(recordOf('ContainerService/default/web'));
    expect((await again()).status).toBe(200);
  });

  test('with HEAD has the headers alone', async () => {
    const world = createWorld(exampleSource());
    const get = await ask(world, '/api/v1/objects');
    const head = await ask(world, '/api/v1/objects', { method: 'HEAD' });
    expect([head.status, head.text, head.headers['etag']]).toEqual([200, '', get.headers['etag']]);
    expect(head.headers['content-length']).toBe(String(get.text.length));
  });

  test('has a policy that lets nothing of elsewhere run, whatever the answer is', async () => {
    for (const target of ['/api/v1/summary', '/', '/api/v1/objects?x=1']) {
      const { headers } = await ask(createWorld(exampleSource()), target);
      expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['referrer-policy']).toBe('no-referrer');
    }
  });
});

test('files of the page are served to anybody, with their ETag; they have no data', async () => {
  const content = Buffer.from('<!doctype html>');
  const files = new Map([['/', { type: 'text/html; charset=utf-8', content, etag: '"one"' }]]);
  const access = { reader: async () => Promise.reject(new Error('nobody is let in')) };
  const world = createWorld(exampleSource(), { files, access });
  const { status, text, headers } = await ask(world, '/');
  expect([status, text, headers['content-type']]).toEqual([
    200,
    '<!doctype html>',
    'text/html; charset=utf-8',
  ]);
  expect((await ask(world, '/', { headers: { 'if-none-match': '"one"' } })).status).toBe(304);
});

describe('a cursor', () => {
  const first = async (world: ReturnType<typeof createWorld>) =>
    (await ask(world, '/api/v1/objects?limit=1&sort=name')).body.next as string;

  test('is valid for ten minutes, then the client starts over', async () => {
    const world = createWorld(exampleSource());
    const next = await first(world);
    const again = async () => (await ask(world, `/api/v1/objects?limit=1&sort=name&cursor=${next}`)).status;
    await world.clock.advance(600_000);
    expect(await again()).toBe(200);
    await world.clock.advance(1);
    expect(await again()).toBe(410);
  });

  test('of another query or another process is refused', async () => {
    const world = createWorld(exampleSource());
    const next = await first(world);
    expect((await ask(world, `/api/v1/objects?limit=1&sort=cost&cursor=${next}`)).body.error.code).toBe(
      'invalid_cursor',
    );
    const other = await first(createWorld(exampleSource(), { process: 'p0' }));
    expect((await ask(world, `/api/v1/objects?limit=1&sort=name&cursor=${other}`)).status).toBe(410);
    const renamed = other.replace('p0.', 'p1.');
    expect((await ask(world, `/api/v1/objects?limit=1&sort=name&cursor=${renamed}`)).status).toBe(400);
  });

  test('shows nothing of what it points at, and can not be made up', async () => {
    const world = createWorld(exampleSource());
    for (let number = 2; number < 20; number++)
      world.source.intents.push({ number: number * 1000, intent: intentOf('ContainerService/default/web') });
    const cursors: string[] = [];
    for (const limit of [1, 2, 15]) {
      const { body } = await ask(world, `/api/v1/timeline?limit=${limit}`);
      cursors.push(body.next);
      const [, sealed = ''] = body.next.split('.');
      expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toMatch(/\d{4}|position|timeline/);
    }
    expect(new Set(cursors.map(({ length }) => length)).size).toBe(1);
    const [cursor = ''] = cursors;
    const changed = cursor.slice(0, -4) + (cursor.endsWith('AAAA') ? 'BBBB' : 'AAAA');
    expect((await ask(world, `/api/v1/timeline?limit=1&cursor=${changed}`)).body.error.code).toBe(
      'invalid_cursor',
    );
  });
});

describe('the host', () => {
  test.each([
    ['127.0.0.1', [], '127.0.0.1:8080', 200],
    ['127.0.0.1', [], 'localhost', 200],
    ['127.0.0.1', [], '[::1]:8080', 200],
    ['127.0.0.1', [], 'evil.example', 421],
    ['127.0.0.1', [], '10.0.0.1', 421],
    ['127.0.0.1', [], '', 421],
    ['127.0.0.1', [], 'localhost@evil.example', 421],
    ['127.0.0.1', ['page.example'], 'PAGE.example.:443', 200],
    ['0.0.0.0', [], '10.0.0.1:80', 200],
    ['0.0.0.0', [], 'evil.example', 421],
    ['0.0.0.0', ['page.example'], '10.0.0.1', 200],
    ['0.0.0.0', ['page.example'], 'other.example', 421],
    ['10.0.0.1', [], '10.0.0.1:80', 200],
    ['10.0.0.1', [], 'localhost', 421],
  ])('at %s with --page-host %j: %s is answered %i', async (listen, names, host, status) => {
    const world = createWorld(exampleSource(), { hosts: hostRule(listen, names) });
    const answer = await ask(world, '/api/v1/summary', { headers: { host } });
    expect(answer.status).toBe(status);
    expect(world.counts.denied).toEqual(status === 421 ? ['host'] : []);
  });
});

describe('bounds', () => {
  /** A source that answers nothing until it is let. */
  function slow() {
    const source = exampleSource();
    const world = createWorld(source);
    for (let at = 0; at < 300; at++) void source.store.save(recordOf(`ContainerService/default/more-${at}`));
    return world;
  }

  test('32 requests are under way at most', async () => {
    const world = slow();
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(world, '/api/v1/summary')));
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused).toHaveLength(8);
    expect(refused[0]?.headers['retry-after']).toBe('1');
    expect((await ask(world, '/api/v1/summary')).status).toBe(200);
  });

  test('who waits until a token is checked takes no place of those who may read', async () => {
    const { promise: checked, resolve: check } = Promise.withResolvers<never>();
    checked.catch(() => undefined);
    const access: Access = {
      reader: (request) =>
        request.headers['authorization'] === undefined ? checked : Promise.resolve(readsAll),
    };
    const world = createWorld(exampleSource(), { access });
    const asked = Array.from({ length: 210 }, () => ask(world, '/api/v1/summary'));
    const last = await Promise.all(asked.slice(200));
    expect(last.map(({ status }) => status)).toEqual(last.map(() => 503));
    await world.clock.advance(10_000);
    for (const { status } of await Promise.all(asked)) expect(status).toBe(503);
    const some = Array.from({ length: 100 }, () => ask(world, '/api/v1/summary'));
    const headers = { authorization: 'Bearer x' };
    expect((await ask(world, '/api/v1/summary', { headers })).status).toBe(200);
    await world.clock.advance(10_000);
    await Promise.all(some);
    check(undefined as never);
  });

  test('after 10 s without an answer, that is the answer', async () => {
    const world = slow();
    // Its turns of the event loop never come.
    world.clock.after = (delayMs, run) =>
      delayMs === 0
        ? { cancel: () => undefined }
        : Object.getPrototypeOf(Object.getPrototypeOf(world.clock)).after.call(world.clock, delayMs, run);
    const asked = ask(world, '/api/v1/summary');
    await world.clock.advance(10_000);
    expect((await asked).body.error.message).toBe('the answer took longer than 10 s; try again');
  });
});

test('paths in metrics are templates, whatever is asked for', async () => {
  const world = createWorld(exampleSource());
  await ask(world, '/api/v1/objects/csvc/default/web');
  await ask(world, '/secret-path');
  expect(world.requests).toEqual(['/api/v1/objects/{kind}/{namespace}/{name} 200', 'other 404']);
});

test('a defect is answered without its text', async () => {
  const source = exampleSource();
  source.journal = () => {
    throw new Error('secret text');
  };
  const world = createWorld(source);
  const { status, text } = await ask(world, '/api/v1/objects/csvc/default/web');
  expect([status, text.includes('secret')]).toEqual([500, false]);
  expect(world.counts.defects).toHaveLength(1);
});

test('the commands to copy are those of the command line', () => {
  const source = readFileSync(new URL('../../../src/cli/commands.ts', import.meta.url), 'utf8');
  for (const name of ['describe', 'logs', 'events', 'rollout', 'resolve'])
    expect(source).toContain(`'${name}'`);
});
