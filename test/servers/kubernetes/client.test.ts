import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Sensitive, systemClock } from '../../../src/base/index.ts';
import { createClient } from '../../../src/kubernetes/client.ts';
import type { Limits } from '../../../src/kubernetes/connection.ts';
import { LineBuffer } from '../../../src/kubernetes/line-buffer.ts';
import { KubernetesError, type KubernetesApi, type WatchEvent } from '../../../src/kubernetes/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { widgets } from './support.ts';

interface Request {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

const requests: Request[] = [];
const metrics = createMetrics();
let server: Server;
let api: KubernetesApi;
let token = 'first';
let refusals = 0;
/** What the server answers with. */
let answer: (request: Request, response: ServerResponse) => void | Promise<void>;

function connectTo(limits: Partial<Limits> = {}): KubernetesApi {
  const { port } = server.address() as AddressInfo;
  return createClient({
    access: {
      server: `http://127.0.0.1:${port}`,
      description: 'a test',
      namespace: 'default',
      proxy: undefined,
      credentials: async () => ({
        headers: new Sensitive({ authorization: `Bearer ${token}` }),
        tls: new Sensitive({ rejectUnauthorized: true }),
      }),
      refused: () => {
        refusals += 1;
      },
    },
    clock: systemClock,
    metrics,
    limits,
  });
}

beforeEach(async () => {
  requests.length = 0;
  server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const { method, url, headers } = incoming;
      const request = { method, url, headers, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
      requests.push(request);
      void answer(request, response);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  api = connectTo();
});

afterEach(async () => {
  await api.close();
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

function reply(status: number, body: unknown, headers: Record<string, string> = {}) {
  return (_request: Request, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

const widget = (name: string, version = '7') => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: version },
});
const target = { type: widgets, namespace: 'default', name: 'a' };

async function failureOf(work: Promise<unknown>): Promise<KubernetesError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(KubernetesError);
  return error as KubernetesError;
}

async function watchAll(silenceMs = 5000, signal = new AbortController().signal): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of api.watch(widgets, { resourceVersion: '5', silenceMs, endMs: 65_000 }, signal))
    events.push(event);
  return events;
}

describe('a list', () => {
  test('is asked for in pages, with selectors, and comes with types and without managedFields', async () => {
    const item = {
      metadata: { ...widget('a').metadata, managedFields: [{ manager: 'kubectl' }] },
      spec: { size: 1 },
    };
    answer = reply(200, {
      kind: 'WidgetList',
      metadata: { resourceVersion: '9', continue: 'next&=' },
      items: [item],
    });
    const page = await api.list(widgets, {
      namespace: 'a/b',
      labelSelector: 'x=y',
      limit: 500,
      continueToken: 'c=',
    });
    expect(requests[0]?.url).toBe(
      '/apis/example.com/v1/namespaces/a%2Fb/widgets?labelSelector=x%3Dy&limit=500&continue=c%3D',
    );
    expect(page).toEqual({
      items: [{ ...widget('a'), spec: { size: 1 } }],
      resourceVersion: '9',
      continueToken: 'next&=',
    });
    expect(requests[0]?.headers).toMatchObject({
      authorization: 'Bearer first',
      'user-agent': 'fleetkeeper',
    });
  });

  test('of metadata only is asked for as such, and keeps the kind', async () => {
    const item = { ...widget('a'), kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' };
    answer = reply(200, { metadata: { resourceVersion: '9' }, items: [item] });
    const page = await api.list(widgets, { metadataOnly: true });
    expect(requests[0]?.url).toBe('/apis/example.com/v1/widgets');
    expect(requests[0]?.headers.accept).toContain('as=PartialObjectMetadataList');
    expect(page).toEqual({ items: [widget('a')], resourceVersion: '9', continueToken: undefined });
  });

  test('longer than the limit is given up', async () => {
    api = connectTo({ bodyBytes: 1000 });
    answer = reply(200, { metadata: {}, items: [widget('a'.repeat(1000))] });
    expect(await failureOf(api.list(widgets, {}))).toMatchObject({ reason: 'TooLarge', status: undefined });
  });
});

describe('one object', () => {
  test('is read, and is undefined where there is none', async () => {
    answer = reply(200, widget('a'));
    expect(await api.get(target)).toEqual(widget('a'));
    answer = reply(404, { kind: 'Status', code: 404, reason: 'NotFound', message: 'widgets "a" not found' });
    expect(await api.get(target)).toBeUndefined();
  });

  test('is created, replaced, patched and removed under the name of our field manager', async () => {
    answer = reply(200, widget('a'));
    await api.create(widgets, widget('a'));
    await api.replace(widgets, widget('a'));
    await api.patch(target, { kind: 'merge', body: { status: { x: 1 } }, subresource: 'status' });
    await api.patch(target, { kind: 'apply', body: { spec: {} }, force: true, dryRun: true });
    await api.remove(target, { uid: 'u', resourceVersion: '7' });
    const collection = '/apis/example.com/v1/namespaces/default/widgets';
    expect(requests.map(({ method, url, headers }) => [method, url, headers['content-type']])).toEqual([
      ['POST', `${collection}?fieldManager=fleetkeeper`, 'application/json'],
      ['PUT', `${collection}/a?fieldManager=fleetkeeper`, 'application/json'],
      ['PATCH', `${collection}/a/status?fieldManager=fleetkeeper`, 'application/merge-patch+json'],
      [
        'PATCH',
        `${collection}/a?fieldManager=fleetkeeper&force=true&dryRun=All`,
        'application/apply-patch+yaml',
      ],
      ['DELETE', `${collection}/a`, 'application/json'],
    ]);
    expect(requests[2]?.body).toEqual({ status: { x: 1 } });
    expect(requests[4]?.body).toMatchObject({ preconditions: { uid: 'u', resourceVersion: '7' } });
  });

  test('that is gone already is removed', async () => {
    answer = reply(404, { code: 404, reason: 'NotFound' });
    await expect(api.remove(target)).resolves.toBeUndefined();
  });

  test('of the core group has its own path', async () => {
    answer = reply(200, widget('a'));
    const secrets = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
    const secret = await api.get({ type: secrets, namespace: 'default', name: 'a' });
    expect(requests[0]?.url).toBe('/api/v1/namespaces/default/secrets/a');
    expect(secret).toMatchObject({ apiVersion: 'v1', kind: 'Secret' });
  });
});

describe('a refusal', () => {
  test('says what was attempted, on what, and what the server said', async () => {
    answer = reply(409, {
      kind: 'Status',
      code: 409,
      reason: 'Conflict',
      message: 'the object has been modified;\nplease apply your changes to the latest version',
    });
    const error = await failureOf(api.patch(target, { kind: 'merge', body: {}, subresource: 'status' }));
    expect(error).toMatchObject({ status: 409, reason: 'Conflict' });
    expect(error.message).toBe(
      "can't patch widgets.example.com default/a (its status): the Kubernetes API answered 409 Conflict: " +
        'the object has been modified; please apply your changes to the latest version',
    );
  });

  test.each([
    ['30', {}, 30_000],
    [undefined, { details: { retryAfterSeconds: 5 } }, 5000],
    [undefined, {}, undefined],
  ])('with Retry-After %o and %o is known to pass after %o ms', async (header, more, expected) => {
    answer = reply(
      429,
      { code: 429, reason: 'TooManyRequests', ...more },
      header === undefined ? {} : { 'retry-after': header },
    );
    expect(await failureOf(api.list(widgets, {}))).toMatchObject({ status: 429, retryAfterMs: expected });
  });

  test('by a right that is missing, or by a kind that is not installed, says what to do', async () => {
    answer = reply(403, {
      code: 403,
      reason: 'Forbidden',
      message: 'User "x" cannot list resource "widgets"',
    });
    expect((await failureOf(api.list(widgets, { namespace: 'team' }))).message).toBe(
      "can't list widgets.example.com in the namespace team: the Kubernetes API answered 403 Forbidden: " +
        'User "x" cannot list resource "widgets"; the right to list it is missing in a Role or ClusterRole, see manifests/',
    );
    answer = reply(404, '404 page not found');
    expect((await failureOf(api.list(widgets, {}))).message).toContain('fleetkeeper crds | kubectl apply');
  });

  test('in the words of a proxy is a refusal, too', async () => {
    answer = reply(502, '<html>Bad Gateway</html>');
    const error = await failureOf(api.get(target));
    expect(error).toMatchObject({ status: 502, reason: '' });
    expect(error.message).toContain('<html>Bad Gateway</html>');
  });

  test('of the credentials has them made anew, and never shows them', async () => {
    refusals = 0;
    answer = reply(401, { code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
    const error = await failureOf(api.get(target));
    expect(refusals).toBe(1);
    expect(JSON.stringify(error) + error.message).not.toContain(token);
  });

  test('by a redirect is not followed', async () => {
    answer = reply(302, '', { location: 'http://127.0.0.1:1/' });
    expect(await failureOf(api.get(target))).toMatchObject({ status: 302 });
    expect(requests.length).toBe(1);
  });
});

test('a token that was renewed is used with the next request', async () => {
  answer = reply(200, widget('a'));
  await api.get(target);
  token = 'second';
  await api.get(target);
  expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second']);
  token = 'first';
});

test.each([
  ['that is no JSON', reply(200, 'ok')],
  ['that is no object', reply(200, [1])],
  ['without an object in it', reply(200, {})],
])('an answer %s is a failure without a status', async (_what, answers) => {
  answer = answers;
  const error = await failureOf(api.get(target));
  expect(error.status).toBeUndefined();
  expect(error.message).toMatch(
    /^can't get widgets.example.com default\/a at http:\/\/127.0.0.1:\d+: the answer is no/,
  );
});

test('a request that is not answered in time is given up', async () => {
  api = connectTo({ totalMs: 100 });
  answer = () => {};
  expect((await failureOf(api.get(target))).message).toContain('no complete answer within 0.1 s');
  answer = (_request, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('{');
  };
  expect((await failureOf(api.get(target))).message).toContain('no complete answer within 0.1 s');
});

test('a connection that is refused or reset is named with its address', async () => {
  answer = (_request, response) => void response.socket?.resetAndDestroy();
  const { port } = server.address() as AddressInfo;
  expect((await failureOf(api.get(target))).message).toMatch(new RegExp(`at http://127.0.0.1:${port}: .+`));
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  expect((await failureOf(api.get(target))).message).toContain('ECONNREFUSED');
});

test('requests are counted by method and code', async () => {
  metrics.kubernetesRequests.reset();
  answer = reply(200, widget('a'));
  await api.get(target);
  answer = reply(409, {});
  await failureOf(api.replace(widgets, widget('a')));
  answer = (_request, response) => void response.socket?.resetAndDestroy();
  await failureOf(api.get(target));
  const { values } = await metrics.kubernetesRequests.get();
  expect(values.map(({ labels, value }) => [labels.method, labels.code, value])).toEqual([
    ['GET', '200', 1],
    ['PUT', '409', 1],
    ['GET', '<error>', 1],
  ]);
});

describe('a watch', () => {
  const line = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;

  function stream(...parts: (string | Buffer)[]) {
    return async (_request: Request, response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      for (const part of parts) {
        response.write(part);
        await new Promise((resolve) => {
          setTimeout(resolve, 5);
        });
      }
      response.end();
    };
  }

  test('asks for bookmarks, and gives events as they come, until the server ends it', async () => {
    answer = stream(
      line('ADDED', { ...widget('a'), metadata: { ...widget('a').metadata, managedFields: [] } }),
      line('MODIFIED', widget('a', '8')) + line('DELETED', widget('a', '9')),
      line('SURPRISE', widget('a')),
      line('BOOKMARK', { metadata: { resourceVersion: '12' } }),
      line('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }),
    );
    expect(await watchAll()).toEqual([
      { type: 'ADDED', object: widget('a') },
      { type: 'MODIFIED', object: widget('a', '8') },
      { type: 'DELETED', object: widget('a', '9') },
      { type: 'BOOKMARK', resourceVersion: '12' },
      { type: 'ERROR', status: 410, message: 'too old' },
    ]);
    expect(requests[0]?.url).toBe(
      '/apis/example.com/v1/widgets?watch=true&allowWatchBookmarks=true&timeoutSeconds=65&resourceVersion=5',
    );
  });

  test('that is refused is a failure with its status', async () => {
    answer = reply(410, { code: 410, reason: 'Expired', message: 'too old resource version' });
    expect(await failureOf(watchAll())).toMatchObject({ status: 410, reason: 'Expired' });
  });

  test('whose connection breaks, also within a line, is a failure', async () => {
    answer = (_request, response) => {
      response.writeHead(200);
      response.write(line('ADDED', widget('a')), () => response.socket?.resetAndDestroy());
    };
    expect((await failureOf(watchAll())).status).toBeUndefined();
    answer = stream(line('ADDED', widget('a')).slice(0, 30));
    expect((await failureOf(watchAll())).message).toContain('broke off within a line');
  });

  test('with a line that is no JSON, or too long, is a failure', async () => {
    answer = stream('{"type":\n');
    expect((await failureOf(watchAll())).message).toContain('no JSON');
    api = connectTo({ lineBytes: 100 });
    answer = stream('x'.repeat(101));
    expect((await failureOf(watchAll())).message).toContain('longer than 100 bytes');
  });

  test('in which nothing comes is given up, before and after the first event', async () => {
    answer = () => {};
    expect((await failureOf(watchAll(60))).message).toContain('nothing came for 0.06 s');
    answer = (_request, response) => {
      response.writeHead(200);
      response.write(line('ADDED', widget('a')));
    };
    expect((await failureOf(watchAll(60))).message).toContain('nothing came for 0.06 s');
  });

  test('that is stopped ends without a failure, and closes its connection', async () => {
    const closed = Promise.withResolvers<void>();
    answer = (_request, response) => {
      response.on('close', closed.resolve);
      response.writeHead(200);
      response.write(line('ADDED', widget('a')));
    };
    const stop = new AbortController();
    const events: WatchEvent[] = [];
    for await (const event of api.watch(widgets, { resourceVersion: '5', silenceMs: 5000 }, stop.signal)) {
      events.push(event);
      stop.abort();
    }
    expect(events.length).toBe(1);
    await closed.promise;
  });

  test('does not hold up requests, however many there are', async () => {
    answer = (request, response) => {
      response.writeHead(200);
      if (request.url?.includes('watch=true')) response.write(line('ADDED', widget('a')));
      else response.end(JSON.stringify(widget('a')));
    };
    const stop = new AbortController();
    const watches = Array.from({ length: 10 }, () => watchAll(5000, stop.signal));
    for (let time = 0; time < 20; time += 1) await api.get(target);
    stop.abort();
    expect((await Promise.all(watches)).length).toBe(10);
  });
});

test('law: lines are the same, wherever the chunks of the stream end', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc
          .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
          .filter((text) => !/[\n\r]/.test(text) && text.trim() !== ''),
      ),
      fc.array(fc.nat(7), { minLength: 1 }),
      (lines, sizes) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join('\n'));
        const buffer = new LineBuffer(1000);
        const found: string[] = [];
        for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
          const size = 1 + (sizes[turn % sizes.length] ?? 0);
          found.push(...buffer.push(bytes.subarray(start, start + size)));
          start += size;
        }
        expect(found).toEqual(lines);
        expect(buffer.pendingBytes).toBe(0);
      },
    ),
  );
});
