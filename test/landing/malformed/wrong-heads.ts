/** What can be wrong before the body: the request line, the path, the headers, and bytes that are no HTTP. */
import type { Endpoint, Ids } from './endpoints.ts';
import { apiKey, bytesOf, malformed, raw, type Header, type Malformed, type Parts } from './requests.ts';

const methods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'QUERY',
  'M-SEARCH',
];

/** All of §4: where each path leads with which methods. */
const routes: readonly (readonly [path: string, methods: string])[] = [
  ['/api/catalog', 'GET'],
  ['/api/me', 'GET'],
  ['/api/account', 'GET'],
  ['/api/registries', 'GET POST'],
  ['/api/registries/{registry}', 'PUT DELETE'],
  ['/api/services', 'POST'],
  ['/api/services/{service}', 'GET PATCH'],
  ['/api/services/{service}/actions', 'POST'],
  ['/api/services/{service}/sleep', 'PATCH'],
  ['/api/services/{service}/events', 'GET'],
  ['/api/services/{service}/metrics', 'GET'],
  ['/api/services/{service}/logs', 'GET'],
  ['/api/services/{service}/exec', 'POST'],
  ['/api/services/{service}/activity', 'GET POST'],
  ['/api/services/{service}/browser-session', 'POST'],
  ['/api/templates', 'GET POST'],
  ['/api/templates/{template}', 'PUT DELETE'],
  ['/api/volumes', 'GET POST'],
  ['/api/volumes/{volume}', 'GET PATCH DELETE'],
];

function pathFor(route: string, ids: Ids): string {
  return route.replace(/\{(\w+)\}/, (_, kind: keyof Ids) => ids[kind]);
}

export function wrongMethods(ids: Ids): Malformed[] {
  return routes.flatMap(([route, allowed]) =>
    methods
      .filter((method) => !allowed.split(' ').includes(method))
      .map((method) => malformed('wrong method', { method, path: pathFor(route, ids) })),
  );
}

/** Paths that are almost right. */
export function wrongPaths(ids: Ids): Malformed[] {
  const bend = (path: string) => [
    `${path}/`,
    `${path}//`,
    `/${path}`,
    `/v1${path}`,
    path.replace('/api', '/API'),
    path.replace('/api/', '/api//'),
    path.replace('/api/', '/api/./'),
    path.replace('/api/', '/api/x/../'),
    path.replace('/api/', '/api%2f'),
    path.replace('/api/', '/api\\'),
    `${path}%2f`,
    `${path}%00`,
    `${path}%zz`,
    `${path}%`,
    `${path};a=b`,
    `${path}.json`,
    `${path}\u00e9`,
    `${path}/../../etc/passwd`,
    path.slice(1),
  ];
  const bent = routes.flatMap(([route]) => bend(pathFor(route, ids)));
  const others = [
    '/',
    '*',
    '//',
    '/.',
    '/..',
    '/api',
    '/api/',
    '/api/service',
    '/healthz',
    '/requests',
    '/faults',
    '?',
    '#',
  ];
  const long = [600, 4_000, 15_000].map((length) => `/api/services/${'x'.repeat(length)}`);
  return [...bent, ...others, ...long].map((path) => malformed('wrong path', { method: 'GET', path }));
}

const wrongIds = [
  '00000000-0000-0000-0000-000000000000',
  '3f0c2f8e-9d68-4a3b-9c0f-2b9d3a3f1a11',
  'x',
  '1',
  '-1',
  'null',
  'undefined',
  '{id}',
  ':id',
  '*',
  '..',
  '%2e%2e',
  '%00',
  '%0d%0a',
  '%c3%28',
  '%f0%9f%92%a9',
  "'%20OR%201=1--",
  'x'.repeat(511),
  'x'.repeat(513),
];

/** Ids of nothing, and of what belongs to somebody else; everything else about the request is right. */
export function wrongTargets(endpoints: readonly Endpoint[], ids: Ids, foreign: Ids): Malformed[] {
  const withBody = endpoints.map(({ method, path, body }) => ({ method, path, body: JSON.stringify(body) }));
  const reads = routes
    .filter(
      ([route, allowed]) => route.includes('{') && /GET|DELETE/.test(allowed) && !route.includes('metrics'),
    )
    .map(([route, allowed]) => ({
      method: allowed.includes('GET') ? 'GET' : 'DELETE',
      path: pathFor(route, ids),
    }));
  return [...withBody, ...reads].flatMap((parts) => {
    const kind = (Object.keys(ids) as (keyof Ids)[]).find((one) => parts.path.includes(ids[one]));
    if (!kind) return [];
    return [...wrongIds, foreign[kind]].map((id) =>
      malformed('wrong id', { ...parts, path: parts.path.replace(ids[kind], id) }),
    );
  });
}

export function wrongQueries(ids: Ids): Malformed[] {
  const queries = [
    '',
    '?',
    '?minutes',
    '?minutes=',
    '?minutes=14',
    '?minutes=15.0',
    '?minutes=-15',
    '?minutes=1e1',
  ].concat([
    '?minutes=15,60',
    '?minutes=15&minutes=60',
    '?minutes[]=15',
    '?minutes=%3135',
    '?minutes=15%00',
    '?MINUTES=15',
  ]);
  return queries.map((query) =>
    malformed('wrong query', { method: 'GET', path: `/api/services/${ids.service}/metrics${query}` }),
  );
}

const authorizations = [
  '',
  'Bearer',
  'Bearer ',
  'Bearer wrong',
  `Basic ${apiKey}`,
  `Bearer${apiKey}`,
  `Bearer ${apiKey} x`,
  `Bearer x ${apiKey}`,
  `Bearer ${apiKey}\u00e9`,
  `Bearer "${apiKey}"`,
  `Bearer ${apiKey},Bearer ${apiKey}`,
  `Token ${apiKey}`,
  apiKey,
  `Bearer ${apiKey.toUpperCase()}`,
  `Bearer ${'x'.repeat(8_000)}`,
  'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.',
];
const idempotencyKeys = [
  '',
  ' ',
  '\t',
  'a b',
  'a, b',
  '\u00e9',
  '\u007f',
  'x'.repeat(256),
  'x'.repeat(8_000),
];
const contentTypes = [
  '',
  'text/plain',
  'text/json',
  'application/xml',
  'application/jsonx',
  'application',
  '*/*',
].concat([
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  '\u00e9',
]);
const lengths = ['x', '-1', '+5', '0x10', '1.5', '1e1', '5 5', '5, 6', '99999999999999999999', '\u0661'];

export function wrongHeaders(endpoints: readonly Endpoint[]): Malformed[] {
  return endpoints.flatMap(({ method, path, body }) => {
    const parts = { method, path, body: JSON.stringify(body) };
    const one = (what: string, name: string, values: readonly string[]) =>
      values.map((value) => malformed(what, { ...parts, headers: [[name, value]] }, { halfClose: true }));
    return [
      ...one('wrong authorization', 'Authorization', authorizations),
      ...one('wrong key', 'Idempotency-Key', idempotencyKeys),
      ...one('wrong type', 'Content-Type', contentTypes),
      ...one('wrong length', 'Content-Length', lengths),
      ...wrongFraming(parts),
    ];
  });
}

function wrongFraming(parts: Parts): Malformed[] {
  const length = Buffer.byteLength(parts.body ?? '');
  const chunked: Header[] = [
    ['Content-Length', ''],
    ['Transfer-Encoding', 'chunked'],
  ];
  const sets: [what: string, headers: Header[], body?: string][] = [
    [
      'two keys',
      [
        ['Idempotency-Key', 'a'],
        ['Idempotency-Key', 'b'],
      ],
    ],
    [
      'the right key second',
      [
        ['Authorization', 'Bearer wrong'],
        ['Authorization', `Bearer ${apiKey}`],
      ],
    ],
    [
      'two lengths',
      [
        ['Content-Length', String(length)],
        ['Content-Length', String(length + 1)],
      ],
    ],
    [
      'length and chunks',
      [
        ['Content-Length', String(length)],
        ['Transfer-Encoding', 'chunked'],
      ],
    ],
    ['a body that is too short', [['Content-Length', String(length + 10)]]],
    [
      'an unknown encoding',
      [
        ['Content-Length', ''],
        ['Transfer-Encoding', 'gzip'],
      ],
    ],
    ['wrong chunks', chunked, 'zz\r\n{}\r\n0\r\n\r\n'],
    ['a chunk that is too long', chunked, 'ffffffffffffffffff\r\n{}\r\n0\r\n\r\n'],
    ['a chunk without an end', chunked, '5\r\n{'],
    ['large headers', [['X-Filler', 'x'.repeat(17_000)]]],
    ['many headers', Array.from({ length: 400 }, (_, index) => [`X-${index}`, 'x'.repeat(50)])],
    ['a header name with a blank', [['X Filler', 'x']]],
    ['a header with a control character', [['X-Filler', 'a\u0000b']]],
    ['a folded header', [['X-Filler', 'a\r\n b\r\nno colon here']]],
    ['no host', [['Host', '']]],
  ];
  const tooLong: Header[] = [['Content-Length', String(length - 1)]];
  return [
    ...sets.map(([what, headers, body]) =>
      malformed(what, { ...parts, ...(body !== undefined && { body }), headers }, { halfClose: true }),
    ),
    malformed('a body that is too long', { ...parts, headers: tooLong }, { halfClose: true, mayBeCut: true }),
  ];
}

export function notHttp(): Malformed[] {
  const line = (text: string) => `${text}\r\nHost: a\r\n\r\n`;
  const right = bytesOf({ method: 'GET', path: '/api/nothing' }).toString('latin1');
  return [
    raw('nonsense', 'NONSENSE\r\n\r\n'),
    raw('a lower case method', line('get /api/me HTTP/1.1')),
    raw('an unknown method', line('BREW /api/me HTTP/1.1')),
    raw('a very long method', line(`${'X'.repeat(20_000)} /api/me HTTP/1.1`)),
    raw('no path', line('GET HTTP/1.1')),
    raw('no version', line('GET /api/me')),
    raw('another version', line('GET /api/me HTTP/9.9')),
    raw('another protocol', line('GET /api/me SPDY/1')),
    raw('blanks in the path', line('GET /api/me x y HTTP/1.1')),
    raw('a NUL in the path', line('GET /api/m\0e HTTP/1.1')),
    raw('a control character in the path', line('GET /api/m\u0001e HTTP/1.1')),
    raw('a very long path', line(`GET /${'x'.repeat(20_000)} HTTP/1.1`)),
    raw('a tunnel', line('CONNECT elsewhere.example:443 HTTP/1.1')),
    raw('HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    raw('TLS', Buffer.from('16030100c8010000c40303', 'hex')),
    raw('a truncated head', 'GET /api/me HTTP/1.1\r\nHost: a\r\n'),
    raw('only line ends', `${'\r\n'.repeat(10)}x`),
    { ...raw('garbage behind a request', `${right}\u0001\u0002garbage\r\n\r\n`), mayBeCut: true },
    raw('a request behind a request that is wrong', `${line('BREW / HTTP/1.1')}${right}`),
    raw('twenty requests at once', right.repeat(20)),
  ];
}
