/** What the administrative listener shows of all accounts: in windows, read-only, as text, and without a secret. */
import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import type {
  Account,
  AccountDetail,
  Fault,
  LedgerEntry,
  Service,
  ServiceDetail,
  Summary,
  Window,
} from '../../../src/control-plane/http/overview/answers.ts';
import { pageFiles } from '../../../src/http/index.ts';
import { key, startWorld, trainer, type Json, type World } from './support.ts';

async function read<Answer>(world: World, path: string): Promise<Answer> {
  const { status, body, text } = await world.admin('GET', `/admin/v1/${path}`);
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return body as Answer;
}

const refusal = async (world: World, path: string) => {
  const { status, body } = await world.admin('GET', `/admin/v1/${path}`);
  return `${status} ${body?.error?.code}`;
};

/** Any method, path and header: fetch refuses some. */
function raw(
  world: World,
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<Json> {
  return new Promise((resolve, reject) => {
    const sent = request(world.adminUrl + path, { method, headers }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part) => (body += part));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
    });
    sent.on('error', reject).end();
  });
}

const paths = [
  'summary',
  'accounts',
  'account?name=alice',
  'services',
  'volumes',
  'ledger?account=alice',
  'service?id=none',
  'faults',
];
const cpu = { ...trainer, resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } };

test('an account shows what it has: state, place, price, endpoint and the newest event of each service', async () => {
  await using world = await startWorld();
  const running = await world.running({ name: 'web', volumeGb: 20 });
  await world.ok('POST', '/api/services', { ...cpu, name: 'new' });
  await world.clock.advance(3_600_000);
  const { account, quotas, services, volumes, ledger } = await read<AccountDetail>(
    world,
    'account?name=alice',
  );
  expect(account).toMatchObject({ name: 'alice', services: 2, volumes: 1, suspended: false });
  expect(account.hourlyMicros).toBeGreaterThan(0);
  expect(account.runwaySeconds).toBe(Math.floor((3600 * account.balanceMicros) / account.hourlyMicros));
  expect(quotas).toContainEqual({ resource: 'gpus', used: 1, limit: 100_000 });
  expect(quotas.find(({ resource }) => resource === 'storageGb')?.used).toBe(20);
  const web = services.items.find(({ name }) => name === 'web');
  expect(web).toMatchObject({
    id: running.id,
    account: 'alice',
    state: 'running',
    doing: null,
    region: 'standard',
    endpoint: running.endpoint,
    hourlyMicros: running.hourlyMicros,
    isCharged: true,
    isProtected: false,
    error: null,
    latest: { message: 'running' },
  });
  expect(Date.parse(String(web?.latest?.at))).toBe(Date.parse(String(web?.createdAt)) + 8_000);
  expect(volumes.items).toMatchObject([{ sizeGb: 20, status: 'ready', mode: 'service', service: 'web' }]);
  expect(ledger.items[0]?.description).toContain('compute of web');
});

test('the entries of the ledger, written and accrued, sum to the balance over all its windows', async () => {
  await using world = await startWorld();
  await world.running();
  await world.clock.advance(130 * 60_000 + 17);
  const entries: LedgerEntry[] = [];
  let total = 1;
  while (entries.length < total) {
    const window = await read<Window<LedgerEntry>>(
      world,
      `ledger?account=alice&limit=50&offset=${entries.length}`,
    );
    expect(window.items.length).toBeLessThanOrEqual(50);
    entries.push(...window.items);
    ({ total } = window);
  }
  expect(entries).toHaveLength(total);
  expect(entries[0]?.number).toBeNull();
  const numbers = entries.slice(1).map(({ number }) => number);
  expect(numbers).toEqual(numbers.map((_, index) => numbers.length - index));
  const { account } = await read<AccountDetail>(world, 'account?name=alice');
  expect(entries.reduce((sum, { amountMicros }) => sum + amountMicros, 0)).toBe(account.balanceMicros);
});

test('what failed comes first, then what is under way, and among equals the newest', async () => {
  await using world = await startWorld();
  const first = await world.running({ ...cpu, name: 'first' });
  await world.running({ ...cpu, name: 'second' });
  await world.running({ ...cpu, name: 'broken', image: 'ghcr.invalid/acme/broken:1' });
  await world.ok('POST', '/api/services', { ...cpu, name: 'starting' });
  await world.running({ ...cpu, name: 'of-bob' }, key.bob);
  await world.act(first.id, 'stop');
  await world.clock.advance(60_000);
  await world.ok('POST', '/api/services', { ...cpu, name: 'newest' });
  const names = async (query: string) =>
    (await read<Window<Service>>(world, `services?${query}`)).items.map(({ name }) => name);
  expect(await names('')).toEqual(['broken', 'newest', 'of-bob', 'starting', 'second', 'first']);
  expect(await names('account=bob')).toEqual(['of-bob']);
  expect(await names('account=nobody')).toEqual([]);
  expect(await names('state=paused')).toEqual(['first']);
  expect(await names('q=SEC')).toEqual(['second']);
  expect(await names('limit=2&offset=1')).toEqual(['newest', 'of-bob']);
  const [broken] = (await read<Window<Service>>(world, 'services?state=error')).items;
  expect(broken?.error).toContain("can't pull");
  const summary = await read<Summary>(world, 'summary');
  expect(summary.services).toEqual({ error: 1, provisioning: 1, running: 3, paused: 1 });
});

test('one service has its events, the newest first, and the tasks that protect it', async () => {
  await using world = await startWorld();
  const { id } = await world.running({ ...cpu, name: 'web' });
  const task = { id: '019b76e9-5313-7a25-8bbe-75333194145a', name: hostile.slice(0, 128) };
  await world.ok('POST', `/api/services/${id}/activity`, task);
  await world.clock.advance(301_000);
  const { service, events, activities } = await read<ServiceDetail>(world, `service?id=${id}`);
  expect([service.name, service.isProtected]).toEqual(['web', true]);
  expect(events.map(({ message }) => message)).toEqual([
    expect.stringContaining('registered by alice'),
    'running',
    'created by alice',
  ]);
  expect(activities).toMatchObject([{ name: task.name, fresh: false }]);
  expect(await refusal(world, 'service?id=none')).toBe('404 not_found');
});

test('accounts that have nothing left come first, then the most expensive', async () => {
  await using world = await startWorld();
  await world.running({}, key.bob);
  const { items } = await read<Window<Account>>(world, 'accounts');
  expect(items.map(({ name }) => name)).toEqual(['poor', 'bob', 'alice', 'newcomer']);
  expect((await read<Summary>(world, 'summary')).accounts).toEqual({
    total: 4,
    suspended: 0,
    withoutFunds: 1,
  });
  expect((await read<Window<Account>>(world, 'accounts?q=LIC')).items.map(({ name }) => name)).toEqual([
    'alice',
  ]);
});

test('faults are shown with how often each has hit', async () => {
  await using world = await startWorld();
  const set = {
    method: 'GET',
    path: '^/api/me$',
    fault: 'status',
    status: 503,
    code: 'busy',
    retryAfter: 3,
    times: 2,
  };
  await world.admin('PUT', '/faults', [set, { fault: 'delay', delayMs: 1, path: '/never' }]);
  for (let asked = 0; asked < 3; asked += 1) await world.call('GET', '/api/me');
  const { items, total } = await read<Window<Fault>>(world, 'faults');
  expect(total).toBe(2);
  expect(items[0]).toEqual({ ...set, retryAfter: '3', delayMs: null, every: null, hits: 2 });
  expect(items[1]).toMatchObject({ fault: 'delay', delayMs: 1, status: null, hits: 0 });
});

test('capacity is shown where there is a bound, that of the machine first', async () => {
  const { defaultConfig } = await import('../../../src/control-plane/main.ts');
  const geographies = [{ name: 'europe', gpus: { h100: 4 }, cpu: 16 }];
  const [region] = defaultConfig.regions;
  if (!region) throw new Error('there is no region');
  const regions = [{ ...region, geographies }];
  const containers = { ...defaultConfig.containers, capacity: { memoryGb: 128, cpu: null } };
  await using world = await startWorld({ config: { ...defaultConfig, regions, containers } });
  await world.running();
  const place = { region: 'standard', geography: 'europe' };
  expect((await read<Summary>(world, 'summary')).capacity).toEqual([
    { place: null, what: 'memoryGb', taken: 32, total: 128 },
    { place, what: 'cpu', taken: 8, total: 16 },
    { place, what: 'h100', taken: 1, total: 4 },
  ]);
});

describe('the paths', () => {
  test('answer windows of at most 200, and refuse what they do not understand', async () => {
    await using world = await startWorld();
    for (const query of [
      'limit=0',
      'limit=201',
      'limit=x',
      'limit=1&limit=2',
      'offset=-1',
      'offset=1e9',
      'sort=name',
    ]) {
      expect([query, await refusal(world, `services?${query}`)]).toEqual([query, '400 invalid_parameter']);
    }
    expect(await refusal(world, `services?q=${'x'.repeat(257)}`)).toBe('400 invalid_parameter');
    expect(await refusal(world, 'summary?x=1')).toBe('400 invalid_parameter');
    expect(await refusal(world, 'ledger')).toBe('400 invalid_parameter');
    expect(await refusal(world, 'account?name=nobody')).toBe('404 not_found');
    expect(await refusal(world, 'nothing')).toBe('404 not_found');
    const many = Array.from({ length: 1000 }, () => ({ fault: 'delay', delayMs: 0, path: '/never' }));
    await world.admin('PUT', '/faults', many);
    const { items, total } = await read<Window<Fault>>(world, 'faults?limit=200&offset=900');
    expect([items.length, total]).toEqual([100, 1000]);
  });

  test('change nothing by any method: GET and HEAD only', async () => {
    await using world = await startWorld();
    for (const path of [
      ...paths.map((one) => `/admin/v1/${one}`),
      '/',
      '/page/style.css',
      '/admin/v1/nothing',
    ]) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const { status, headers } = await raw(world, method, path);
        expect([method, path, status, headers.allow]).toEqual([method, path, 405, 'GET, HEAD']);
      }
    }
    const head = await raw(world, 'HEAD', '/admin/v1/accounts');
    expect([head.status, head.body]).toEqual([200, '']);
  });

  test('have the policy of the page, and answer 304 for what the reader has', async () => {
    await using world = await startWorld({ page: pageFiles('control-plane') });
    for (const path of [
      ...paths.map((one) => `/admin/v1/${one}`),
      '/',
      '/page/style.css',
      '/admin/v1/nothing',
    ]) {
      const { headers } = await raw(world, 'GET', path);
      expect([path, headers['content-security-policy']]).toEqual([
        path,
        expect.stringContaining("default-src 'none'"),
      ]);
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
    const { headers } = await raw(world, 'GET', '/admin/v1/accounts');
    expect((await raw(world, 'GET', '/admin/v1/accounts', { 'if-none-match': headers.etag })).status).toBe(
      304,
    );
    await world.running();
    expect((await raw(world, 'GET', '/admin/v1/accounts', { 'if-none-match': headers.etag })).status).toBe(
      200,
    );
  });

  test('are for this machine: a name that a browser was led to is 421, also where others may ask', async () => {
    for (const allowRemoteAdmin of [false, true]) {
      await using world = await startWorld({ allowRemoteAdmin });
      for (const path of ['/', '/admin/v1/accounts', '/page/main.js', '/admin/v1/nothing']) {
        const { status, body } = await raw(world, 'GET', path, { host: 'rebound.example:80' });
        expect([path, status]).toEqual([path, 421]);
        expect(body).not.toContain('alice');
      }
      const port = new URL(world.adminUrl).port;
      for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`])
        expect((await raw(world, 'GET', '/admin/v1/accounts', { host })).status).toBe(200);
    }
  });
});

const hostile = `"><img src=x onerror=alert(1)>\u0000\u202E</script><script>`;

test('what tenants write comes back as text that JSON can hold, cut to what a page can show', async () => {
  await using world = await startWorld();
  await world.running({ ...cpu, name: hostile, image: `ghcr.io/acme/${'a'.repeat(1000)}:1` });
  await world.running({ ...cpu, name: `n${'😀'.repeat(120)}` });
  const { text, headers } = await world.admin('GET', '/admin/v1/services');
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  const { items } = JSON.parse(text) as Window<Service>;
  expect(items.map(({ name }) => name)).toContain(hostile);
  expect(Math.max(...items.map(({ name }) => name.length))).toBe(201);
  expect(text.length).toBeLessThan(5000);
});

test('no answer has a secret: not a key, a value of an environment, a command, or a password', async () => {
  const secrets = Array.from(
    { length: 20 },
    (_, index) => `secret-${index}-${Math.random().toString(36).slice(2)}`,
  );
  const [apiKey = '', digestKey = '', user = '', password = '', ...values] = secrets;
  const one = {
    name: 'holder',
    email: 'holder@example.com',
    emailVerified: true,
    balanceMicros: 100_000_000,
  };
  await using world = await startWorld({
    accounts: { accounts: [{ ...one, apiKeys: [apiKey, digestKey] }] },
  });
  const registry = { repository: 'ghcr.io/acme/trainer', username: user, password };
  await world.ok('POST', '/api/registries', registry, apiKey);
  for (const [index, value] of values.entries()) {
    const environment = { [`TOKEN_${index}`]: value, OTHER: values[0] ?? '' };
    const spec = {
      ...cpu,
      name: `s-${index}`,
      environment,
      command: ['run', `--token=${value}`],
      volumeGb: 10,
    };
    const { id } = await world.running(
      index % 4 === 3 ? { ...spec, image: 'ghcr.invalid/a/b:1' } : spec,
      apiKey,
    );
    await world.call('POST', `/api/services/${id}/exec`, { command: ['echo', value] }, { as: apiKey });
    await world.call('POST', `/api/services/${id}/actions`, { action: 'restart' }, { as: apiKey });
  }
  const all = ['summary', 'accounts', 'account?name=holder', 'services?limit=200', 'volumes?limit=200'];
  const { items } = await read<Window<Service>>(world, 'services?limit=200');
  const each = items.map(({ id }) => `service?id=${id}`);
  const answers = await Promise.all(
    [...all, ...each, 'ledger?account=holder&limit=200', 'faults', 'services?q=secret'].map(
      async (path) => (await world.admin('GET', `/admin/v1/${path}`)).text,
    ),
  );
  expect(answers.join('\n')).toContain('s-15');
  expect(secrets.filter((secret) => answers.some((answer) => answer.includes(secret)))).toEqual([]);
  expect(secrets.filter((secret) => !/^secret-\d+-\w{5,}$/.test(secret))).toEqual([]);
});

test('an account that is far beyond its quota is shown as suspended', async () => {
  const { mkdtempSync, rmSync } = await import('node:fs');
  const folder = mkdtempSync('/tmp/fleetkeeper-overview-');
  try {
    const database = `${folder}/plane.db`;
    {
      await using world = await startWorld({ database });
      await world.running();
    }
    const { accounts } = await import('./support.ts');
    const [alice, ...others] = accounts.accounts;
    const small = { accounts: [{ ...alice, quota: { storedBytes: 1 } }, ...others] } as typeof accounts;
    await using world = await startWorld({ database, accounts: small });
    const { items } = await read<Window<Account>>(world, 'accounts');
    expect(items[0]).toMatchObject({ name: 'alice', suspended: true });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
