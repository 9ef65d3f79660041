/** What is no HTTP, on raw sockets: it is refused in the contract's form, shows nothing of the process, and ends its connection. */
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { withReadApi } from '../../../src/http/limits.ts';
import { createPageServer } from '../../support/page-server.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { seed } from '../../support/seed.ts';
import { FakeSource, recordOf } from '../../unit/read-api/support.ts';

const requestMs = 700;
const idleMs = 1500;

async function serve(): Promise<number> {
  const source = new FakeSource([recordOf('ContainerService/default/web')]);
  const { readApi, app } = createPageServer(source, new Map(), { ...withReadApi, requestMs, idleMs });
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    readApi.stop();
    await app.close();
  });
  return (app.server.address() as AddressInfo).port;
}

async function open(
  port: number,
): Promise<{ socket: Socket; received: () => string; closed: Promise<unknown> }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.on('data', (data) => (text += data.toString('latin1')));
  const closed = once(socket, 'end').catch(() => undefined);
  const cut = once(socket, 'close').catch(() => undefined);
  await once(socket, 'connect');
  return { socket, received: () => text, closed: Promise.race([closed, cut]) };
}

/** Everything that the server sends until it ends the connection; the client leaves its own side open. */
async function answerTo(port: number, bytes: string | Buffer): Promise<string> {
  const { socket, received, closed } = await open(port);
  socket.write(bytes);
  await closed;
  return received();
}

const host = 'Host: 127.0.0.1\r\n';
const get = `GET /api/v1/summary HTTP/1.1\r\n${host}`;
const post = `POST /login HTTP/1.1\r\n${host}`;
const secret = 'hush-hush';

function expectRefused(answer: string, status: number, code: string): void {
  const [head = '', body = '', ...more] = answer.split('\r\n\r\n');
  const [first, ...lines] = head.split('\r\n');
  expect(first).toMatch(new RegExp(`^HTTP/1.1 ${status} [A-Z]`));
  const headers = lines.map((line) => line.toLowerCase());
  expect(headers).toContain('connection: close');
  expect(headers).toContain(`content-length: ${Buffer.byteLength(body)}`);
  expect(headers).toContain('content-type: application/json; charset=utf-8');
  expect(headers).toContain('x-content-type-options: nosniff');
  expect(head).toContain("default-src 'none'");
  expect([JSON.parse(body), more]).toEqual([{ error: { code, message: expect.any(String) as string } }, []]);
  expect(answer).not.toMatch(/HPE_|ERR_|node:|at .*\.ts|hush-hush|statusCode|Client Error/i);
}

test.each([
  ['no HTTP', `${secret} ${secret}\r\n\r\n`, 400, 'invalid_request'],
  ['TLS', Buffer.from('1603010200010001fc0303', 'hex'), 400, 'invalid_request'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'invalid_request'],
  ['a method that nobody knows', `HUSH /api/v1/summary HTTP/1.1\r\n${host}\r\n`, 400, 'invalid_request'],
  ['a header without a name', `${get}: ${secret}\r\n\r\n`, 400, 'invalid_request'],
  ['a header of two lines', `${get}X: a\r\n ${secret}\r\n\r\n`, 400, 'invalid_request'],
  ['two lengths', `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, 400, 'invalid_request'],
  ['a length that is none', `${post}Content-Length: ${secret}\r\n\r\n`, 400, 'invalid_request'],
  [
    'a length beside chunks',
    `${post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
    'invalid_request',
  ],
  ['a bad chunk', `${post}Transfer-Encoding: chunked\r\n\r\n${secret}\r\n`, 400, 'invalid_request'],
  ['large headers', `${get}X: ${secret.repeat(3000)}\r\n\r\n`, 431, 'headers_too_large'],
  ['a large target', `GET /${'a'.repeat(27_000)} HTTP/1.1\r\n${host}\r\n`, 431, 'headers_too_large'],
  ['half a line', 'GET /api/v1/summ', 408, 'request_timeout'],
  ['headers without an end', `${get}X-Slow: ${secret}\r\n`, 408, 'request_timeout'],
  ['half a body', `${post}Content-Length: 100\r\n\r\ntoken=${secret}`, 408, 'request_timeout'],
  [
    'a tunnel',
    `CONNECT ${secret}.example:443 HTTP/1.1\r\nHost: ${secret}.example:443\r\n\r\n`,
    405,
    'method_not_allowed',
  ],
] as const)('%s is refused, and the connection ends', async (_what, bytes, status, code) => {
  expectRefused(await answerTo(await serve(), bytes), status, code);
});

test.each([
  ['no Host', 'GET /api/v1/summary HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['no Host, for the health', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['an old version and no Host', 'GET /api/v1/summary HTTP/1.0\r\n\r\n', 421],
  [
    'a Host of elsewhere',
    'GET /api/v1/summary HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n',
    421,
  ],
  ['an expectation', `${get}Expect: ${secret}\r\nConnection: close\r\n\r\n`, 200],
  ['another protocol', `${get}Upgrade: ${secret}\r\nConnection: close, upgrade\r\n\r\n`, 200],
])('a request with %s is answered like others', async (_what, bytes, status) => {
  const answer = await answerTo(await serve(), bytes);
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(head.toLowerCase()).toContain('x-content-type-options: nosniff');
  expect(answer).not.toContain(secret);
  const { error } = JSON.parse(body) as {
    readonly error?: { readonly code: string; readonly message: string };
  };
  expect([error === undefined, Object.keys(error ?? {})]).toEqual(
    status === 200 ? [true, []] : [false, ['code', 'message']],
  );
});

test('what comes behind a stream is no part of it: the connection is only cut', async () => {
  const port = await serve();
  const { socket, received, closed } = await open(port);
  socket.write(`GET /api/v1/stream?view=summary HTTP/1.1\r\n${host}\r\n`);
  await vi.waitFor(() => expect(received()).toContain('event: state'));
  socket.write(`${secret}\r\n\r\n`);
  await closed;
  expect(received()).not.toMatch(/HTTP\/1\.1 400|invalid_request/);
});

test('an answer that is due is not mistaken for the refusal of what comes behind it', async () => {
  const port = await serve();
  const answer = await answerTo(port, `${get}\r\n${secret}\r\n\r\n`);
  // Either all of the first answer is there, or nothing is: never the refusal in its place.
  expect(answer).not.toContain('HTTP/1.1 400');
  expect(answer).toMatch(/^$|^HTTP\/1\.1 200 /);
});

test('a client that leaves its side open is cut, whatever else it sends', async () => {
  const port = await serve();
  const { socket, received, closed } = await open(port);
  const cut = new Promise((resolve) => socket.once('close', resolve));
  socket.write('no HTTP\r\n\r\n');
  await closed;
  const sending = setInterval(() => void socket.write('more\r\n'), 50);
  await cut;
  clearInterval(sending);
  expect(received().match(/HTTP\/1\.1/g)).toHaveLength(1);
});

test(`whatever bytes come, the answers are refusals in the form, or of requests, and others are answered (seed ${seed})`, async () => {
  const draw = new SeededRandom(seed);
  const port = await serve();
  const parts = [
    get,
    post,
    host,
    '\r\n',
    '\r\n\r\n',
    'Content-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\n',
  ].concat(['\0', ': ', 'GET ', ' HTTP/1.1', '/%00', 'x', '\n', 'ffffffff\r\n', '0\r\n\r\n', '\u00ff\u00fe']);
  const drawn = Array.from({ length: 60 }, () =>
    Array.from({ length: draw.between(1, 12) }, () => draw.pick(parts)).join(''),
  );
  const answers = await Promise.all(
    drawn.map((text) => answerTo(port, Buffer.from(`${text}\r\n\r\n`, 'latin1'))),
  );
  for (const [index, answer] of answers.entries()) {
    const statuses = Array.from(answer.matchAll(/HTTP\/1\.1 (\d\d\d) /g), ([, status]) => status);
    const bad = statuses.filter(
      (status) =>
        !['200', '304', '400', '404', '405', '408', '413', '421', '429', '431'].includes(status ?? ''),
    );
    expect([drawn[index], bad]).toEqual([drawn[index], []]);
    expect(answer).not.toMatch(/HPE_|ERR_|node:|statusCode|Client Error/);
  }
  expect(answers.some((answer) => answer.includes('invalid_request'))).toBe(true);
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
});
