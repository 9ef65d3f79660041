/** What answers at the address of a browser session. */
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { simulatedRuntime } from '../../../src/control-plane/runtimes/simulated/runtime.ts';
import { defaultConfig } from '../../../src/control-plane/main.ts';
import { key, startWorld, type World } from './support.ts';

const config = { ...defaultConfig, browserEnabled: true };
const hour = 60 * 60 * 1000;

async function sessionOf(world: World, id: string, as?: string): Promise<string> {
  return (await world.ok('POST', `/api/services/${id}/browser-session`, undefined, as)).url;
}

async function page(url: string, init: RequestInit = {}) {
  const answer = await fetch(url, { redirect: 'manual', ...init });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

test('the address of a session in a simulated service shows a page about it, without authentication', async () => {
  await using world = await startWorld({ config });
  const { id } = await world.running({ httpPort: 8080 });
  const { status, headers, text } = await page(await sessionOf(world, id));
  expect(status).toBe(200);
  for (const part of ['trainer', 'running', 'ghcr.io/acme/trainer:1.4', 'simulates containers', id, '8080']) {
    expect(text).toContain(part);
  }
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*sandbox/);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
});

test('the page obeys nothing that a tenant wrote, and has nothing of the request in it', async () => {
  await using world = await startWorld({ config });
  const name = `</title><script>alert(1)</script><img src=x onerror='a'>"\u202e&`;
  const { id } = await world.running({ name, image: 'a"onload=<b>' });
  const url = await sessionOf(world, id);
  const { text } = await page(`${url}reflected?<reflected>`, { headers: { referer: 'reflected' } });
  expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  expect(text).not.toMatch(/<(?:script|img|b)\b|\u202e|reflected|alert\(1\)<\/script>/);
});

test('the page shows the state of now, and ends with its service', async () => {
  await using world = await startWorld({ config });
  const { id } = await world.running();
  const url = await sessionOf(world, id);
  await world.act(id, 'stop');
  await world.clock.advance(3_000);
  expect((await page(url)).text).toContain('paused');
  await world.act(id, 'delete');
  await world.clock.advance(60_000);
  expect(await page(url)).toMatchObject({ status: 410, text: expect.stringContaining('deleted') });
});

test('a session ends after an hour, and is forgotten after another one', async () => {
  await using world = await startWorld({ config });
  const { id } = await world.running();
  const url = await sessionOf(world, id);
  await world.clock.advance(hour - 1);
  expect((await page(url)).status).toBe(200);
  await world.clock.advance(1);
  expect(await page(url)).toMatchObject({ status: 410, text: expect.stringContaining('has ended') });
  await world.clock.advance(hour);
  await sessionOf(world, id);
  expect((await page(url)).status).toBe(404);
});

test('an account has 50 sessions, and a new one ends its oldest, but none of another account', async () => {
  await using world = await startWorld({ config });
  const [mine, others] = [await world.running(), await world.running({}, key.bob)];
  const ofBob = await sessionOf(world, others.id, key.bob);
  const urls: string[] = [];
  for (let count = 0; count < 51; count += 1) urls.push(await sessionOf(world, mine.id));
  expect((await page(urls[0] ?? '')).status).toBe(404);
  expect((await page(urls[1] ?? '')).status).toBe(200);
  expect((await page(ofBob)).text).toContain(others.id);
  expect(new Set(urls.map((url) => new URL(url).pathname)).size).toBe(51);
});

test('a guessed address shows nothing, and many guesses are refused', async () => {
  await using world = await startWorld({ config });
  const { id } = await world.running();
  const url = await sessionOf(world, id);
  const { origin, pathname } = new URL(url);
  expect(pathname).toMatch(/^\/s\/[\w-]{43}\/$/);
  for (const path of ['/', `/s/${id}/`, `/s/${'a'.repeat(43)}/`, pathname.slice(0, -2)]) {
    expect((await page(origin + path)).status).toBe(path === pathname.slice(0, -2) ? 308 : 404);
  }
  const guesses = await Promise.all(Array.from({ length: 40 }, () => page(`${origin}/s/${'b'.repeat(43)}/`)));
  expect(guesses.map(({ status }) => status)).toContain(429);
  expect((await page(url)).status).toBe(200);
});

test('the sessions have a listener of their own: no API is there, and no session is at the API', async () => {
  await using world = await startWorld({ config });
  const { id } = await world.running();
  const url = new URL(await sessionOf(world, id));
  expect(url.origin).not.toBe(world.url);
  expect((await page(`${url.origin}/api/catalog`)).status).toBe(404);
  const { requests } = (await world.admin('GET', '/requests')).body;
  expect(JSON.stringify(requests)).not.toContain(url.pathname);
  expect((await page(world.url + url.pathname)).status).toBe(404);
});

test('a simulated service takes no changes', async () => {
  await using world = await startWorld({ config });
  const { id } = await world.running();
  const url = await sessionOf(world, id);
  expect((await page(url, { method: 'POST', body: 'x' })).status).toBe(405);
});

/** A control plane whose containers answer at a server of the test. */
async function withEndpoint(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const service = createServer(answer).listen(0, '127.0.0.1');
  await once(service, 'listening');
  onTestFinished(() => {
    service.close();
    service.closeAllConnections();
  });
  const { port } = service.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}`;
  const world = await startWorld({
    config,
    runtime: (host) => {
      const onReports: typeof host.onReports = (reports) =>
        host.onReports(reports.map((report) => (report.endpoint ? { ...report, endpoint } : report)));
      const simulated = simulatedRuntime(defaultConfig.durations)({ ...host, onReports });
      return Object.assign(simulated, { browser: 'endpoint' as const });
    },
  });
  onTestFinished(() => world.close());
  const { id } = await world.running({ httpPort: 80 });
  return { world, id, service, endpoint, url: await sessionOf(world, id) };
}

test('a session in a real service is passed on to its endpoint, without what is of the session', async () => {
  const seen: IncomingMessage[] = [];
  const { url, endpoint } = await withEndpoint((request, response) => {
    seen.push(request);
    request.pipe(response.writeHead(201, { 'content-type': 'text/x', 'set-cookie': 'a=b', 'x-own': 'c' }));
  });
  const headers = { cookie: 'of=another', referer: url, origin: 'null', 'x-own': 'd' };
  const answer = await page(`${url}a/b?c=d`, { method: 'POST', body: 'the body', headers });
  expect([answer.status, answer.text]).toEqual([201, 'the body']);
  expect(seen[0]).toMatchObject({ method: 'POST', url: '/a/b?c=d' });
  const passed = seen[0]?.headers ?? {};
  expect(passed).toMatchObject({ host: new URL(endpoint).host, 'x-own': 'd' });
  expect(JSON.stringify(passed)).not.toContain(new URL(url).pathname);
  expect([passed.cookie, passed.referer, passed.origin]).toEqual([undefined, undefined, undefined]);
  expect(answer.headers.get('set-cookie')).toBeNull();
  expect(answer.headers.get('x-own')).toBe('c');
  expect(answer.headers.get('content-security-policy')).toMatch(/^sandbox (?!.*allow-same-origin)/);
});

test.each([
  ['/login', (prefix: string) => `${prefix}login`],
  ['next', () => 'next'],
  ['https://elsewhere.example/', () => 'https://elsewhere.example/'],
  ['//elsewhere.example/', () => '//elsewhere.example/'],
])('a service that sends its visitor to %s', async (location, shown) => {
  const { url } = await withEndpoint((_request, response) => response.writeHead(302, { location }).end());
  expect((await page(url)).headers.get('location')).toBe(shown(new URL(url).pathname));
});

test.each(['//127.0.0.1:1/', 'http://127.0.0.1:1/', '/../../', '/%2e%2e/'])(
  'the path %s leads nowhere else',
  async (path) => {
    const urls: (string | undefined)[] = [];
    const { url } = await withEndpoint((request, response) => {
      urls.push(request.url);
      response.end('here');
    });
    const { hostname, port, pathname } = new URL(url);
    const request = send({
      hostname,
      port,
      path: pathname.slice(0, -1) + (path.startsWith('/') ? '' : '/') + path,
    }).end();
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    answer.resume();
    expect([answer.statusCode, urls.length]).toEqual([200, 1]);
  },
);

test('a service that does not run, or does not answer, is explained', async () => {
  const { url, world, id, service } = await withEndpoint((_request, response) => void response.end());
  await new Promise((resolve) => {
    service.close(resolve);
    service.closeAllConnections();
  });
  expect(await page(url)).toMatchObject({ status: 502, text: expect.stringContaining('does not answer') });
  await world.act(id, 'stop');
  await world.clock.advance(3_000);
  expect(await page(url)).toMatchObject({ status: 409, text: expect.stringContaining('does not run') });
});

test('a WebSocket is passed on, and ends with the session', async () => {
  const { url, world, service } = await withEndpoint((_request, response) => void response.end());
  service.on('upgrade', (request, socket) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nset-cookie: a=b\r\n\r\n${request.url} `,
    );
    socket.pipe(socket);
  });
  const { hostname, port, pathname } = new URL(url);
  const upgrade = (path: string) =>
    send({ hostname, port, path, headers: { connection: 'Upgrade', upgrade: 'websocket' } }).end();
  const [answer, socket, head] = (await once(upgrade(`${pathname}ws?a=b`), 'upgrade')) as never as [
    IncomingMessage,
    NodeJS.ReadWriteStream & { destroyed: boolean },
    Buffer,
  ];
  expect(answer.headers['set-cookie']).toBeUndefined();
  let text = head.toString();
  socket.on('data', (part) => (text += String(part)));
  socket.write('ping');
  await expect.poll(() => text).toBe('/ws?a=b ping');
  const [refused] = (await once(upgrade(`/s/${'c'.repeat(43)}/`), 'response')) as [IncomingMessage];
  expect(refused.statusCode).toBe(404);
  const closed = once(socket, 'close');
  await world.clock.advance(hour);
  await closed;
});
