/** The page of a control plane: its addresses, its questions to the server, and what each view shows, as text. */
import { expect, test } from 'vitest';
import { rendered, textOf, textsOf } from './rendered.ts';
import { at, nowMs } from './fleets.ts';
import { ask } from '../../src/page/control-plane/polling.ts';
import { hrefOf, pathOf, routeOf } from '../../src/page/control-plane/route.ts';
import type {
  Account,
  AccountDetail,
  Fault,
  LedgerEntry,
  Service,
  ServiceDetail,
  Summary,
  Volume,
  Window,
} from '../../src/page/control-plane/shapes.ts';
import { pageView, titleOf, type PageModel } from '../../src/page/control-plane/views/index.ts';

const now = { serverMs: nowMs, timeZone: 'UTC' };
const hostile = `"><img src=x onerror=alert(1)><script>alert(1)</script> 2026-12-31T23:59:60Z`;

const summary: Summary = {
  page: '"a"',
  timeScale: 1,
  accounts: { total: 3, suspended: 0, withoutFunds: 1 },
  services: { running: 5, error: 1 },
  volumes: { ready: 4 },
  hourlyMicros: 4_180_000,
  faults: { total: 0, hits: 0 },
  capacity: [
    { place: null, what: 'memoryGb', taken: 142, total: 512 },
    { place: { region: 'standard', geography: 'europe' }, what: 'h100', taken: 4, total: 4 },
  ],
  capacityOmitted: 0,
};

const account: Account = {
  name: 'acme',
  balanceMicros: 999_830_000,
  hourlyMicros: 3_200_000,
  runwaySeconds: 1_124_000,
  services: 5,
  volumes: 4,
  storedBytes: 5300,
  suspended: false,
};

const service: Service = {
  id: '019b76e9-5313-7a25-8bbe-75333194145a',
  account: 'acme',
  name: 'web',
  state: 'running',
  doing: null,
  region: 'standard',
  geography: 'europe',
  gpuModel: null,
  resources: { gpuCount: 0, cpu: 2, memoryGb: 4 },
  image: 'ghcr.io/acme/web:1',
  hourlyMicros: 30_000,
  isCharged: true,
  endpoint: 'https://web.acme.example',
  error: null,
  isProtected: false,
  createdAt: at(7200),
  latest: { at: at(60), message: 'running' },
};

const volume: Volume = {
  id: '019b76e9-5313-7a25-8bbe-75333194145b',
  account: 'acme',
  name: 'models',
  mode: 'independent',
  status: 'ready',
  sizeGb: 100,
  requestedSizeGb: 140,
  region: 'standard',
  geography: 'europe',
  service: null,
  hourlyMicros: 14_000,
  error: null,
  createdAt: at(7200),
};

const fault: Fault = {
  fault: 'status',
  method: 'POST',
  path: '/api/services$',
  status: 409,
  code: 'capacity_unavailable',
  retryAfter: '3',
  delayMs: null,
  times: 20,
  every: 3,
  hits: 2,
};

const entries: LedgerEntry[] = [
  { number: null, at: at(0), amountMicros: -7900, description: 'compute of web' },
  { number: 1, at: at(7200), amountMicros: 1_000_000_000, description: 'opening balance' },
];

const serviceDetail: ServiceDetail = {
  service: { ...service, state: 'error', error: "can't pull the image", isProtected: true },
  events: [
    { at: at(60), message: "error: can't pull the image" },
    { at: at(90), message: 'created by acme' },
  ],
  activities: [
    { name: 'training', registeredAt: at(80), lastHeartbeatAt: at(12), fresh: true },
    { name: 'lost', registeredAt: at(900), lastHeartbeatAt: at(700), fresh: false },
  ],
};

const window = <Item>(...items: readonly Item[]): Window<Item> => ({ total: items.length, offset: 0, items });

const detail: AccountDetail = {
  account,
  quotas: [{ resource: 'gpus', used: 3, limit: 4 }],
  services: { ...window(service), total: 120 },
  volumes: window(),
  ledger: window(...entries),
};

function view(hash: string, data?: unknown, more: Partial<PageModel> = {}): unknown {
  const model: PageModel = {
    route: routeOf(hash),
    connection: { is: 'live', heardAt: 0 },
    silentMs: 0,
    isOutdated: false,
    onReload: () => undefined,
    onTry: () => undefined,
    summary,
    data,
    refusal: undefined,
    origin: 'http://127.0.0.1:8788',
    onFilter: () => undefined,
    onType: () => undefined,
    ...more,
  };
  return pageView(model, now);
}

test('an address leads to the path that has its data, with what the server takes and no more', () => {
  expect(pathOf(routeOf('#/'))).toBe('/admin/v1/accounts?limit=50');
  expect(pathOf(routeOf('#/services?account=a%2Fb&state=error&q=w&offset=50&x=1'))).toBe(
    '/admin/v1/services?account=a%2Fb&state=error&q=w&offset=50&limit=50',
  );
  expect(pathOf(routeOf('#/account?name=acme'))).toBe('/admin/v1/account?name=acme');
  expect(pathOf(routeOf('#/capacity'))).toBeUndefined();
  expect(routeOf('#/accounts/acme').view).toBe('unknown');
  expect(routeOf('#/constructor').view).toBe('unknown');
  expect(routeOf(hrefOf('ledger', { account: hostile })).query).toEqual({ account: hostile });
  expect(titleOf(routeOf('#/ledger?account=acme'))).toBe('Ledger of acme');
});

test('accounts show what needs attention: no funds, a balance that ends soon, suspension', () => {
  const accounts = window<Account>(
    { ...account, name: 'lab', suspended: true },
    { ...account, name: 'poor', balanceMicros: 0, hourlyMicros: 0, runwaySeconds: null },
    { ...account, name: 'soon', runwaySeconds: 3600 },
    account,
  );
  expect(textsOf(view('#/', accounts), 'tbody tr')).toEqual([
    'suspended lab $999.83 $3.20/h 13 d 5 4 5 KiB',
    'no funds poor $0.00 $0.00/h – 5 4 5 KiB',
    'low soon $999.83 $3.20/h 1 h 5 4 5 KiB',
    'funded acme $999.83 $3.20/h 13 d 5 4 5 KiB',
  ]);
  expect(textsOf(view('#/', accounts), '.figures div')).toEqual([
    'Services 5 of 6 running',
    'Failed 1',
    'Cost now $4.18 an hour',
    'Without funds 1 of 3',
  ]);
});

test('a service shows why, where, for how much and since when; what is stopped is never shown as well', () => {
  const services = window<Service>(
    { ...service, name: 'broken', state: 'error', error: "can't pull the image", endpoint: null },
    { ...service, isProtected: true, resources: { gpuCount: 2, cpu: 8, memoryGb: 32 }, gpuModel: 'h100' },
    { ...service, name: 'asleep', state: 'sleeping', doing: null },
    { ...service, name: 'ends', doing: 'stop' },
  );
  const shown = view('#/services', services);
  expect(textsOf(shown, 'tbody tr')[0]).toBe(
    "error broken ghcr.io/acme/web:1 acme can't pull the image standard, europe 2 CPU, 4 GB $0.0300/h 1 min",
  );
  expect(textsOf(shown, 'tbody tr')[1]).toContain('web protected');
  expect(textsOf(shown, 'tbody tr')[1]).toContain('2 h100, 8 CPU, 32 GB');
  expect(textsOf(shown, '.state.ok')).toEqual(['running', 'running']);
  expect(textsOf(shown, '.state.hold')).toEqual(['sleeping']);
  expect(textsOf(shown, 'tbody tr')[3]).toContain('running stop');
});

test('one service shows its error, what protects it, and its events, the newest first', () => {
  const shown = view(`#/service?id=${service.id}`, serviceDetail);
  expect(textsOf(shown, '.sentence')).toEqual(["can't pull the image"]);
  expect(textsOf(shown, '[aria-labelledby=activities] tbody tr')).toEqual([
    'fresh training last heartbeat 12 s ago',
    'stale lost last heartbeat 11 min ago',
  ]);
  expect(textsOf(shown, '[aria-labelledby=events] tbody tr')).toEqual([
    "14:11:30 error: can't pull the image",
    '14:11:00 created by acme',
  ]);
  expect(textsOf(shown, 'a[aria-current=page]')[0]).toContain('Services');
  const blank = view('#/service', { ...serviceDetail, service: { ...service, name: '  ' } });
  expect(textsOf(blank, 'h1')).toEqual([service.id]);
});

test('only an https address is a link', () => {
  const endpoints = [
    'https://a.example/x',
    'javascript:alert(1)',
    'http://127.0.0.1:1',
    'https://a"onclick=x',
  ];
  const services = window<Service>(...endpoints.map((endpoint) => Object.assign({}, service, { endpoint })));
  const links = Array.from(
    rendered(view('#/services', services)).querySelectorAll('tbody a[target]'),
    (link) => link.getAttribute('href'),
  );
  expect(links).toEqual(['https://a.example/x']);
});

test('a window has ways to the next and to the one before, and keeps the filters', () => {
  const page = { total: 120, offset: 50, items: Array.from({ length: 50 }, () => service) };
  const shown = rendered(view('#/services?state=running&offset=50', page));
  const pager = shown.querySelector('nav[aria-label=Pages]');
  expect(pager?.textContent?.replaceAll(/\s+/g, ' ').trim()).toBe('51 to 100 of 120 Previous page Next page');
  expect(Array.from(pager?.querySelectorAll('a') ?? [], (link) => link.getAttribute('href'))).toEqual([
    '#/services?state=running',
    '#/services?state=running&offset=100',
  ]);
});

test('an account has its quotas, the newest of its ledger, and a command that no name can leave', () => {
  const shown = view('#/account?name=acme', detail);
  expect(textsOf(shown, 'section h2')).toEqual(['Services', 'Volumes', 'Ledger', 'Quotas', 'Commands']);
  expect(textOf(shown)).toContain('All 120');
  expect(textOf(shown)).toContain('GPUs3 of 4');
  expect(textsOf(shown, '[aria-labelledby=ledger] tbody tr')).toEqual([
    'now −$0.0079 compute of web accrued',
    '12:12 $1,000.0000 opening balance 1',
  ]);
  const name = `it's; rm -rf / '"$(x)\``;
  const [command = ''] = textsOf(
    view('#/', { ...detail, account: { ...account, name } }, { route: routeOf('#/account') }),
    'code',
  );
  const [, quoted = ''] = / '(http:[^ ]*)'$/.exec(command) ?? [];
  expect(quoted).not.toMatch(/['"`$;\s]/);
  expect(decodeURIComponent(quoted)).toBe(`http://127.0.0.1:8788/accounts/${name}/credits`);
});

test('faults are on every view, and show which requests they hit, what happens, and how often', () => {
  const withFaults = { ...summary, faults: { total: 2, hits: 3 } };
  const banner = textsOf(view('#/volumes', window(volume), { summary: withFaults }), '.banner');
  expect(banner).toEqual(['2 faults set: requests are made to fail (3 hits so far). Show them']);
  const slow: Fault = {
    ...fault,
    fault: 'delay',
    method: null,
    path: null,
    delayMs: 1500,
    times: null,
    every: null,
  };
  const shown = view('#/faults', window(fault, slow, { ...slow, fault: 'drop-response' }), {
    summary: withFaults,
  });
  expect(textsOf(shown, 'tbody tr')).toEqual([
    'POST /api/services$ answered 409 capacity_unavailable, Retry-After 3 one request in 3, 20 times at most 2 hits',
    'any method any path waits 1.5 s, and is processed each request 2 hits',
    'any method any path processed, and cut without an answer each request 2 hits',
  ]);
  expect(textsOf(shown, 'code').at(-1)).toContain("-X PUT -d '[]'");
  expect(textsOf(view('#/faults', window()), 'code')).toEqual([]);
});

test('volumes show what grows, and capacity what is left', () => {
  expect(textsOf(view('#/volumes', window(volume)), 'tbody tr')[0]).toContain('100 of 140 GB');
  const bars = textsOf(view('#/capacity'), '.body > div');
  expect(bars).toEqual(['this machine142 of 512 GB of memory', 'standard, europe4 of 4 h100']);
});

test('what is refused, missing, awaited or old is stated', () => {
  expect(textOf(view('#/nothing'))).toContain('There is no such view');
  const refusal = { status: 404, message: 'there is no account of that name' };
  expect(textsOf(view('#/account?name=x', undefined, { refusal }), '[role=alert]')[0]).toContain(
    'there is no account of that name',
  );
  expect(rendered(view('#/services')).querySelector('[aria-busy=true]')).not.toBeNull();
  const stale = view('#/services', window(service), {
    connection: { is: 'stale', heardAt: 0, attempt: 2 },
    silentMs: 65_000,
  });
  expect(textOf(stale)).toContain('Stale for 1 min');
  expect(textsOf(stale, '.banner')[0]).toContain('What is shown is 1 min old');
  expect(textsOf(stale, '.banner button')).toEqual(['Try now']);
  expect(textsOf(stale, 'tbody tr')).toHaveLength(1);
  expect(textOf(view('#/', window(account), { isOutdated: true }))).toContain(
    'The server has another version.',
  );
});

test('whatever tenants write stays text in every view', () => {
  const texts = { name: hostile, image: hostile, error: hostile, account: hostile, endpoint: hostile };
  const evil = { ...service, ...texts, latest: { at: at(1), message: hostile } };
  const evilVolume = { ...volume, name: hostile, error: hostile, service: hostile, account: hostile };
  const evilAccount = { ...account, name: hostile };
  const evilFault = { ...fault, method: hostile, path: hostile, code: hostile };
  const evilEntry = { number: 1, at: at(1), amountMicros: 1, description: hostile };
  const data: readonly (readonly [string, unknown])[] = [
    ['#/', window(evilAccount)],
    [
      `#/account?name=${encodeURIComponent(hostile)}`,
      {
        ...detail,
        account: evilAccount,
        services: window(evil),
        volumes: window(evilVolume),
        ledger: window(evilEntry),
      },
    ],
    [`#/services?q=${encodeURIComponent(hostile)}&account=${encodeURIComponent(hostile)}`, window(evil)],
    [
      '#/service?id=x',
      {
        service: evil,
        events: [{ at: at(1), message: hostile }],
        activities: [{ name: hostile, registeredAt: at(1), lastHeartbeatAt: at(1), fresh: true }],
      },
    ],
    ['#/volumes', window(evilVolume)],
    [`#/ledger?account=${encodeURIComponent(hostile)}`, window(evilEntry)],
    ['#/faults', window(evilFault)],
  ];
  for (const [hash, each] of data) {
    const shown = rendered(view(hash, each));
    expect([hash, shown.querySelectorAll('img, script, [onerror]').length]).toEqual([hash, 0]);
    expect(shown.textContent).toContain(hostile);
  }
});

test('a question names what is known, and whatever becomes of it is a value', async () => {
  const asked: (HeadersInit | undefined)[] = [];
  const with_ = (answer: () => Response | Promise<never>) =>
    ask(
      async (_path, init) => {
        asked.push(init?.headers);
        return answer();
      },
      '/admin/v1/accounts',
      '"a"',
      new AbortController().signal,
    );
  const headers = { etag: '"b"', date: 'Fri, 27 Nov 2026 14:12:30 GMT' };
  const json = (body: unknown, status: number) => new Response(JSON.stringify(body), { status, headers });
  expect(await with_(() => json({ total: 0 }, 200))).toEqual({
    is: 'body',
    body: { total: 0 },
    etag: '"b"',
    serverMs: nowMs,
  });
  expect(asked).toEqual([{ 'if-none-match': '"a"' }]);
  expect(await with_(() => new Response(null, { status: 304, headers }))).toEqual({
    is: 'same',
    serverMs: nowMs,
  });
  const error = { error: { code: 'invalid_parameter', message: 'limit: too big' } };
  expect(await with_(() => json(error, 400))).toEqual({
    is: 'refused',
    status: 400,
    message: 'limit: too big',
  });
  expect(await with_(() => json(error, 503))).toEqual({ is: 'cut' });
  expect(await with_(() => new Response('<html>', { status: 200 }))).toEqual({ is: 'cut' });
  expect(await with_(() => Promise.reject(new TypeError('Failed to fetch')))).toEqual({ is: 'cut' });
});
