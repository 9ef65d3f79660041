/** Who may read, and what: tokens, claims, namespaces. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { firstTally, storedTally } from '../../../src/engine/plan/index.ts';
import { anyOf } from '../../../src/read-api/access/access.ts';
import { hostRule } from '../../../src/read-api/access/hosts.ts';
import { parseAccess, readerOf } from '../../../src/read-api/access/oidc.ts';
import { TokenAccess } from '../../../src/read-api/access/tokens.ts';
import type { Reader } from '../../../src/read-api/fleet/reader.ts';
import { routes } from '../../../src/read-api/routes.ts';
import { viewNames } from '../../../src/read-api/live/views.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import {
  ask,
  condition,
  createWorld,
  FakeSource,
  held,
  intentOf,
  openStream,
  readAccount,
  recordOf,
  startMs,
  waiting,
  type Json,
} from './support.ts';

const [first, second] = ['first-token-0123456789', 'second-token-0123456789'];

function tokenFile(text: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'tokens-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'tokens');
  writeFileSync(file, text);
  return file;
}

function tokenWorld(text = `# people\n${first}\n\n${second}\n`) {
  const file = tokenFile(text);
  const clock = new ManualClock();
  const tokens = new TokenAccess(file, clock);
  const world = createWorld(new FakeSource([recordOf('ContainerService/default/web')]), {
    access: anyOf([tokens]),
  });
  const get = (headers: Record<string, string>) => ask(world, '/api/v1/summary', { headers });
  const bearer = (token: string) => get({ authorization: `Bearer ${token}` });
  return { file, clock, tokens, world, get, bearer };
}

describe('a token', () => {
  test('lets its reader in; another one, a part of it and none do not', async () => {
    const { world, get, bearer } = tokenWorld();
    expect((await bearer(first)).status).toBe(200);
    expect((await bearer(second)).status).toBe(200);
    for (const wrong of [first.slice(0, -1), `${first}x`, '# people', 'x'.repeat(10_000)])
      expect((await bearer(wrong)).status).toBe(401);
    const none = await get({});
    expect([none.status, none.headers['www-authenticate']]).toEqual([401, 'Bearer realm="fleetkeeper"']);
    expect(world.counts.denied).toEqual(['invalid', 'invalid', 'missing', 'invalid', 'missing']);
  });

  test('who sends none that is accepted learns which ones are, and nobody else does', async () => {
    const { tokens, get, bearer } = tokenWorld();
    const shown = 'fleetkeeper-access';
    expect([(await get({})).headers[shown], (await bearer('wrong')).headers[shown]]).toEqual([
      'token-file',
      'token-file',
    ]);
    expect((await bearer(first)).headers[shown]).toBeUndefined();
    const ofCluster = { kinds: ['kubernetes', 'oidc'] as const, reader: tokens.reader.bind(tokens) };
    const both = createWorld(new FakeSource([]), { access: anyOf([tokens, ofCluster]) });
    const { headers } = await ask(both, '/api/v1/summary');
    expect(headers[shown]).toBe('token-file kubernetes oidc');
  });

  test('that was taken out of the file is refused within a second, and a new one is accepted', async () => {
    const { file, clock, bearer } = tokenWorld();
    expect((await bearer(first)).status).toBe(200);
    writeFileSync(file, 'third-token-0123456789\n');
    await clock.advance(1000);
    expect([(await bearer(first)).status, (await bearer('third-token-0123456789')).status]).toEqual([
      401, 200,
    ]);
  });

  test('nobody is let in while the file can not be read', async () => {
    const { file, clock, world, bearer } = tokenWorld();
    rmSync(file);
    await clock.advance(1000);
    const answer = await bearer(first);
    expect([answer.status, answer.text.includes(file), world.counts.denied]).toEqual([
      503,
      false,
      ['unavailable'],
    ]);
    writeFileSync(file, first);
    await clock.advance(1000);
    expect((await bearer(first)).status).toBe(200);
  });

  test.each([
    ['short\n', 'line 1 is no token: one has at least 16 characters and no blanks'],
    ['# x\nwith a blank 0123456789\n', 'line 2 is no token'],
  ])('%j is none', (text, message) => {
    expect(() => tokenWorld(text).tokens.check()).toThrow(message);
  });
});

describe('the form', () => {
  function formWorld() {
    const made = tokenWorld();
    const enter = (token: string, more: Parameters<typeof ask>[2] = {}) =>
      ask(made.world, '/login', { method: 'POST', body: `token=${token}`, ...more });
    const cookieOf = async (token: string, more: Parameters<typeof ask>[2] = {}) =>
      /^[^;]+/.exec((await enter(token, more)).headers['set-cookie'] ?? '')?.[0] ?? '';
    return { ...made, enter, cookieOf };
  }

  test('sets a cookie that no script reads, and that has nothing of the token', async () => {
    const { enter } = formWorld();
    const { status, headers } = await enter(first);
    expect([status, headers['location']]).toEqual([303, '/']);
    expect(headers['set-cookie']).toMatch(
      /^fleetkeeper-page=[\w-]{32}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    expect(headers['set-cookie']).not.toContain(first);
    expect((await enter('wrong')).status).toBe(401);
  });

  test.each([
    [true, '127.0.0.1:8080', {}, false],
    [true, 'localhost', {}, false],
    [true, '127.0.0.1:8080', { 'x-forwarded-proto': 'https' }, true],
    [true, 'page.example', {}, true],
    [false, '127.0.0.1:8080', {}, true],
  ])(
    'from this machine: %j, for %s with %j: the cookie is Secure: %j',
    async (isLoopback, host, more, isSecure) => {
      const file = tokenFile(`${first}\n`);
      const world = createWorld(new FakeSource([]), {
        access: anyOf([new TokenAccess(file, new ManualClock())]),
        hosts: hostRule('127.0.0.1', ['page.example']),
      });
      const headers = { host, ...more };
      const answer = await ask(world, '/login', {
        method: 'POST',
        body: `token=${first}`,
        isLoopback,
        headers,
      });
      const [cookie = ''] = (answer.headers['set-cookie'] ?? '').split(';', 1);
      expect([answer.headers['set-cookie']?.includes('; Secure'), cookie.startsWith('__Host-')]).toEqual([
        isSecure,
        isSecure,
      ]);
      const read = await ask(world, '/api/v1/summary', { isLoopback, headers: { ...headers, cookie } });
      expect(read.status).toBe(200);
    },
  );

  test('a session lets in until its token is taken out, or for 12 hours', async () => {
    const { file, clock, world, get, cookieOf } = formWorld();
    const [one, two] = [await cookieOf(first), await cookieOf(second)];
    expect([(await get({ cookie: one })).status, (await get({ cookie: two })).status]).toEqual([200, 200]);
    writeFileSync(file, second);
    await clock.advance(1000);
    expect([(await get({ cookie: one })).status, (await get({ cookie: two })).status]).toEqual([401, 200]);
    await world.clock.advance(12 * 3_600_000);
    expect((await get({ cookie: two })).status).toBe(401);
  });

  test('forged cookies of the same name keep nobody out', async () => {
    const { get, cookieOf } = formWorld();
    const own = await cookieOf(first);
    const forged = `fleetkeeper-page=forged; fleetkeeper-page=${first}; fleetkeeper-page=`;
    expect((await get({ cookie: `${forged}; ${own}` })).status).toBe(200);
    expect((await get({ cookie: forged })).status).toBe(401);
  });

  test('a session of a token that was taken out keeps no later one of its reader out', async () => {
    const { file, clock, get, cookieOf } = formWorld();
    const [one, two] = [await cookieOf(first), await cookieOf(second)];
    writeFileSync(file, second);
    await clock.advance(1000);
    expect((await get({ cookie: `${one}; ${two}` })).status).toBe(200);
  });

  test.each(['cross-site', 'same-site'])('is refused to a page of elsewhere (%s)', async (site) => {
    const { enter } = formWorld();
    const { status, headers } = await enter(first, { headers: { 'sec-fetch-site': site } });
    expect([status, headers['set-cookie']]).toEqual([403, undefined]);
  });

  test('of one token, 20 sessions are open: the oldest one is closed', async () => {
    const { get, cookieOf } = formWorld();
    const other = await cookieOf(second);
    const cookies: string[] = [];
    for (let count = 0; count < 21; count++) cookies.push(await cookieOf(first));
    const statuses = await Promise.all(cookies.map(async (cookie) => (await get({ cookie })).status));
    expect(statuses).toEqual([401, ...Array.from({ length: 20 }, () => 200)]);
    expect((await get({ cookie: other })).status).toBe(200);
  });
});

test('names and messages that others wrote are strings in JSON, and no browser takes them for anything else', async () => {
  const hostile = `</script><img src=x onerror=alert(1)>"'\u2028{{7*7}}`;
  const record = recordOf('ContainerService/default/web', {
    conditions: held('Refused', { message: hostile }),
    labels: { [hostile]: hostile },
    status: { state: hostile, endpoint: 'javascript:alert(1)' },
  });
  const world = createWorld(new FakeSource([record]));
  for (const target of [
    '/api/v1/objects',
    '/api/v1/objects/csvc/default/web',
    '/api/v1/tree',
    '/api/v1/problems',
  ]) {
    const { headers, text } = await ask(world, target);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(JSON.stringify(JSON.parse(text))).toContain('onerror=alert(1)');
  }
});

describe('the access file', () => {
  const entries = parseAccess(`
    access:
      - {claim: groups, value: team-a, namespaces: [a, shared]}
      - {claim: groups, value: team-b, namespaces: [b]}
      - {claim: email, value: admin@example.com, namespaces: ['*']}
  `);
  const seen = (claims: object) => {
    const { namespaces } = readerOf(claims as never, entries);
    return namespaces && [...namespaces];
  };

  test.each([
    [{ groups: ['team-a'] }, ['a', 'shared']],
    [{ groups: 'team-b' }, ['b']],
    [{ groups: ['team-a', 'team-b'] }, ['a', 'shared', 'b']],
    [{ groups: ['team'] }, []],
    [{}, []],
    [{ email: 'admin@example.com', email_verified: true }, undefined],
    [{ email: 'admin@example.com', email_verified: false }, []],
    [{ email: 'admin@example.com' }, []],
    [{ email: ['admin@example.com'], email_verified: true }, []],
    [{ email: ['other@example.com', 'admin@example.com'], email_verified: true }, []],
  ])('%j sees %j', (claims, namespaces) => {
    expect(seen(claims)).toEqual(namespaces);
  });

  test.each([
    'access: {}',
    'acces: []',
    'access: [{claim: a, value: b}]',
    'access: [{claim: a, value: b, namespaces: [A]}]',
  ])('%s is refused', (text) => {
    expect(() => parseAccess(text)).toThrow(/./);
  });
});

describe('two namespaces, and a reader with the right to one (GI2)', () => {
  const secret = 'hidden';

  /** All that belongs to the namespace `b` has the word in its name. */
  function world() {
    const conditions = [
      ...waiting('OutcomeUnknown'),
      condition('OutcomeUnknown', 'True', 'AwaitingEvidence'),
    ];
    const source = new FakeSource(
      [
        recordOf('Account/a/default'),
        recordOf('ContainerService/a/web', { conditions: held('UnknownRegion') }),
        recordOf('ContainerService/a/shared', { account: 'default/default' }),
        recordOf(`Account/b/${secret}`),
        recordOf(`ContainerService/b/${secret}`, {
          account: `b/${secret}`,
          conditions: held('DataLost', { message: secret }),
          status: { hourlyMicros: 777_777 },
          labels: { [secret]: secret },
        }),
        recordOf(`ContainerService/b/${secret}-2`, { account: 'default/default', conditions }),
        recordOf(`ServiceFleet/b/${secret}`, { account: `b/${secret}`, conditions: held('Paused') }),
        recordOf(`StorageVolume/b/${secret}`, { account: `b/${secret}` }),
        recordOf(`Budget/b/${secret}`, { account: `b/${secret}` }),
      ],
      [
        readAccount('a/default'),
        readAccount(`b/${secret}`, { balanceMicros: 888_888 }),
        readAccount('default/default', { isShared: true, balanceMicros: 999_999 }),
      ],
    );
    source.intents.push({ number: 1, intent: intentOf(`ContainerService/b/${secret}`) });
    const reader: Reader = { namespaces: new Set(['a']) };
    return createWorld(source, { access: { reader: async () => reader } });
  }

  const names: Readonly<Record<string, readonly string[]>> = {
    object: [`ContainerService/b/${secret}`, `Budget/b/${secret}`].map((key) => `/api/v1/objects/${key}`),
    fleet: [`/api/v1/fleets/b/${secret}`],
    endpoints: [`/api/v1/fleets/b/${secret}/endpoints`],
    revisions: [`/api/v1/fleets/b/${secret}/revisions`],
    tree: [
      '/api/v1/tree',
      '/api/v1/tree?depth=6',
      `/api/v1/tree?account=b/${secret}`,
      `/api/v1/tree?fleet=b/${secret}`,
    ],
    objects: [
      '/api/v1/objects',
      '/api/v1/objects?namespace=b',
      `/api/v1/objects?account=b/${secret}`,
      '/api/v1/objects?sort=cost',
    ],
    timeline: ['/api/v1/timeline', `/api/v1/timeline?object=ContainerService/b/${secret}`],
    money: ['/api/v1/money', '/api/v1/money?by=account', '/api/v1/money?by=fleet'],
  };

  test('no list, object or count has anything of the other one', async () => {
    const shown = world();
    for (const route of routes) {
      for (const target of names[route.id] ?? [route.path]) {
        const { status, text } = await ask(shown, target);
        const isList = target.includes('/timeline') || target.startsWith('/api/v1/objects?');
        const isNamed = target.includes(`b/${secret}`) && !isList;
        expect([target, status]).toEqual([target, isNamed ? 404 : 200]);
        expect([target, text.includes(secret)]).toEqual([target, false]);
        for (const amount of ['777777', '888888', '999999'])
          expect([target, text.includes(amount)]).toEqual([target, false]);
      }
    }
    const { body } = await ask(shown, '/api/v1/summary');
    expect([body.objects, body.problems.objects, body.suspended, body.health]).toEqual([
      3,
      1,
      [],
      { Healthy: 2, Held: 1 },
    ]);
  });

  test('no event has anything of it either, whatever changes there', async () => {
    const shown = world();
    const parameters: Readonly<Record<string, string>> = {
      object: `&object=ContainerService/b/${secret}`,
      fleet: `&fleet=b/${secret}`,
    };
    for (const name of viewNames) {
      const reader = await openStream(shown, `view=${name}${parameters[name] ?? ''}`);
      await shown.source.store.save(
        recordOf(`ContainerService/b/${secret}`, { conditions: held('Refused', { message: secret }) }),
      );
      await shown.clock.advance(11_000);
      expect([name, reader.texts.join('').includes(secret)]).toEqual([name, false]);
      reader.close();
    }
  });

  test('who may see all sees it: the test above can fail', async () => {
    const { source } = world();
    const all = createWorld(source);
    for (const target of [
      '/api/v1/summary',
      '/api/v1/objects',
      '/api/v1/tree',
      '/api/v1/timeline',
      '/api/v1/problems',
    ])
      expect([target, (await ask(all, target)).text.includes(secret)]).toEqual([target, true]);
  });

  test('the amounts of the account that all share are shown to who sees all namespaces', async () => {
    const accounts = [readAccount('default/default', { isShared: true, balanceMicros: 999_999 })];
    const source = new FakeSource([recordOf('ContainerService/default/web')], accounts);
    const reader: Reader = { namespaces: new Set(['default']) };
    const shown = createWorld(source, { access: { reader: async () => reader } });
    for (const target of ['/api/v1/summary', '/api/v1/money']) {
      expect([target, (await ask(shown, target)).text.includes('999999')]).toEqual([target, false]);
      expect([target, (await ask(createWorld(source), target)).text.includes('999999')]).toEqual([
        target,
        true,
      ]);
    }
  });
});

describe('a Budget that counts all of the account that all share', () => {
  const amounts = [
    '777001',
    '777002',
    '777003',
    '777004',
    '777005',
    '777006',
    '$7.77',
    '777 %',
    'b/other',
    '77.7',
  ];
  const limits = { hourlyMicros: 5_000_000 };
  const spec = { accountRef: { name: 'default' }, limits };
  const conditions = [
    condition('Ready', 'True', 'Counted', { message: '' }),
    condition('WithinBudget', 'False', 'Exceeded', { message: 'hourlyMicros: $7.77 of $5.00, 777 %' }),
  ];
  const status = {
    hourlyMicros: 777_001,
    spentMicros: 777_002,
    unattributedMicros: 777_003,
    reservedMicros: 777_004,
    forecastMicros: 777_005,
    members: 4321,
    waiting: 4322,
    runwayHours: 77.7,
    month: '2026-11',
    days: [{ date: '2026-11-26', micros: 777_002 }],
    shedding: [{ object: 'ContainerService/b/other', since: '2026-11-27T10:00:00Z' }],
  };
  const waits = waiting('BudgetExceeded', {
    message: 'Budget a/all: $7.77 of $8.00 an hour are used; this would add $1.00/h',
    lastTransitionTime: '2026-11-27T10:00:00Z',
  });

  const begun = firstTally({ at: startMs, burnMicros: 0n, balanceMicros: undefined }, 'UTC');
  const counted = { tally: storedTally({ ...begun, spent: 777_006n * 3_600_000n }) };

  const source = (account: Partial<Parameters<typeof readAccount>[1]>, name = 'a/default') =>
    new FakeSource(
      [
        recordOf('Account/a/default', { kind: counted }),
        recordOf('Budget/a/all', { account: undefined, spec, status, conditions }),
        recordOf('Budget/a/own', {
          account: undefined,
          spec: { namespace: true, limits },
          status: { hourlyMicros: 12_345 },
        }),
        recordOf('ContainerService/a/cheap', { status: { hourlyMicros: 1 } }),
        recordOf('ContainerService/a/waits', { conditions: waits }),
        recordOf('ServiceFleet/a/llm', {
          conditions: waits,
          kind: {
            roster: [
              { slot: 0, phase: 'wanted', since: 0, place: { account: 'a/default', region: 'standard' } },
            ],
          },
        }),
        recordOf('ContainerService/a/llm-0', {
          derived: { owner: 'ServiceFleet/a/llm' },
          conditions: waits,
        }),
      ],
      [readAccount(name, account)],
    );
  const reading = (from: FakeSource) =>
    createWorld(from, { access: { reader: async () => ({ namespaces: new Set(['a']) }) } });

  const lists = [
    '/api/v1/summary',
    '/api/v1/money',
    '/api/v1/money?by=account',
    '/api/v1/objects',
    '/api/v1/objects?sort=cost',
    '/api/v1/objects/Budget/a/all',
    '/api/v1/objects/csvc/a/waits',
    '/api/v1/fleets/a/llm',
    '/api/v1/tree?depth=6',
    '/api/v1/problems',
  ];
  const streams = [
    'view=summary',
    'view=money',
    'view=objects',
    'view=objects&sort=cost',
    'view=object&object=Budget/a/all',
    'view=object&object=ContainerService/a/waits',
    'view=fleet&fleet=a/llm',
    'view=tree&depth=6',
    'view=problems',
  ];
  const shownIn = (text: string) => [...amounts, '4321', '4322'].filter((amount) => text.includes(amount));

  test.each(lists)('shows a reader of one namespace no amount in %s', async (target) => {
    const { status: code, text } = await ask(reading(source({ isShared: true })), target);
    expect([code, shownIn(text)]).toEqual([200, []]);
    // The test can fail: who sees all, and who owns the account, sees them.
    const all = await ask(createWorld(source({ isShared: true })), target);
    expect(shownIn(all.text)).not.toEqual([]);
    const own = await ask(reading(source({ isShared: false })), target);
    expect(shownIn(own.text)).toEqual(shownIn(all.text));
  });

  test('a Budget whose amounts are hidden has spent nothing that is known, and not 0', async () => {
    const from = source({ isShared: true });
    const before = { scope: { of: 'namespace' }, inForce: undefined };
    await from.store.save(
      recordOf('Budget/a/all', { account: undefined, spec, status, conditions, kind: before }),
    );
    await from.store.save(recordOf('ContainerService/a/cheap', { externalId: 'id-1' }));
    from.holdings = () => undefined as never;
    const rowOf = async (world: ReturnType<typeof reading>) =>
      (await ask(world, '/api/v1/money')).body.rows.find(({ name }: Json) => name === 'a').spentMicros;
    expect([await rowOf(reading(from)), await rowOf(createWorld(from))]).toEqual([null, 777_002]);
  });

  test.each(streams)('nor in a stream with %s', async (query) => {
    const from = source({ isShared: true });
    const shown = reading(from);
    const reader = await openStream(shown, query);
    const more = { ...status, hourlyMicros: 777_005 };
    await from.store.save(recordOf('Budget/a/all', { account: undefined, spec, status: more, conditions }));
    await shown.clock.advance(11_000);
    expect(shownIn(reader.texts.join(''))).toEqual([]);
    const all = await openStream(createWorld(source({ isShared: true })), query);
    expect(shownIn(all.texts.join(''))).not.toEqual([]);
  });

  test('nor in an Event about it, or about what waits for it', async () => {
    const withEvents = () => {
      const from = source({ isShared: true });
      const about = [
        ['Budget/a/all', 'BudgetPassed', 'hourlyMicros: $7.77 of $5.00, 777 %'],
        ['Budget/a/deleted', 'BudgetNearLimit', 'hourlyMicros: $7.77 of $8.00, 97 %'],
        ['ContainerService/a/waits', 'BudgetExceeded', 'Budget a/all: $7.77 of $8.00 are used'],
      ] as const;
      const entries = about.map(([object, reason, message], number) => ({
        number,
        event: {
          uid: `uid-${number}`,
          object,
          type: 'Normal',
          reason,
          message,
          count: 1,
          at: startMs,
        } as const,
      }));
      from.timeline = () => entries as never;
      return from;
    };
    const { body, text } = await ask(reading(withEvents()), '/api/v1/timeline');
    expect([body.items.length, shownIn(text)]).toEqual([3, []]);
    expect(shownIn((await ask(createWorld(withEvents()), '/api/v1/timeline')).text)).not.toEqual([]);
  });

  test('its place in an order shows nothing of them, and no search finds them', async () => {
    const keys = async (cost: number) => {
      const from = source({ isShared: true });
      const costs = { ...status, hourlyMicros: cost };
      await from.store.save(
        recordOf('Budget/a/all', { account: undefined, spec, status: costs, conditions }),
      );
      const { body } = await ask(reading(from), '/api/v1/objects?sort=cost');
      return body.items.map(({ key }: { key: string }) => key);
    };
    expect(await keys(0)).toEqual(await keys(999_999_999));
    const found = await ask(reading(source({ isShared: true })), '/api/v1/objects?q=7.77');
    expect(found.body.total).toBe(0);
  });

  test('where its account is not known, they are not shown either', async () => {
    const from = source({ isShared: false }, 'a/other');
    expect(shownIn((await ask(reading(from), '/api/v1/objects/Budget/a/all')).text)).toEqual([]);
  });

  test('a Budget of the namespace itself keeps its amounts', async () => {
    const { body } = await ask(reading(source({ isShared: true })), '/api/v1/objects/Budget/a/own');
    expect(body.object.hourlyMicros).toBe(12_345);
  });
});

test('who sees nothing is not shown where the manager runs', async () => {
  const source = new FakeSource([recordOf('ContainerService/default/web')]);
  const shown = createWorld(source, { access: { reader: async () => ({ namespaces: new Set() }) } });
  const { body } = await ask(shown, '/api/v1/summary');
  expect([body.owner, body.manager.host, body.manager.pid, body.objects]).toEqual(['', null, null, 0]);
  expect((await ask(createWorld(source), '/api/v1/summary')).body.manager.host).toBe('host-1');
});
