/**
 * A server in front of the control plane that lets so many requests per second through, and answers the others 429: a process
 * of its own (see gate-process.ts), so that its bucket refills in time whatever else is computed.
 */
import { once } from 'node:events';
import { Agent, createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Passed, Rate } from './gate-process.ts';

let rate: Rate = { perSecond: 1, burst: 1 };
let tokens = 1;
let refilledAtMs = performance.now();
let passed: Passed = { requests: 0, refused: 0, creates: 0, seconds: 0 };
let firstAtMs: number | undefined;
const target = new URL(process.argv[2] ?? '');
const agent = new Agent({ keepAlive: true });

function refill(): void {
  const nowMs = performance.now();
  tokens = Math.min(rate.burst, tokens + ((nowMs - refilledAtMs) / 1000) * rate.perSecond);
  refilledAtMs = nowMs;
}

function answer(incoming: IncomingMessage, response: ServerResponse): void {
  firstAtMs ??= performance.now();
  passed = { ...passed, requests: passed.requests + 1 };
  refill();
  if (tokens < 1) {
    passed = { ...passed, refused: passed.refused + 1 };
    const seconds = Math.ceil((1 - tokens) / rate.perSecond);
    incoming.resume();
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': String(seconds) });
    response.end(JSON.stringify({ error: { code: 'rate_limited', message: 'too many requests' } }));
    return;
  }
  tokens -= 1;
  forward(incoming, response);
}

function forward(incoming: IncomingMessage, response: ServerResponse): void {
  const { method, url: path, headers } = incoming;
  const isCreate = method === 'POST' && path === '/api/services';
  const { hostname: host, port } = target;
  const outgoing = send({ host, port, method, path, headers, agent }, (answered) => {
    if (isCreate && answered.statusCode === 201) {
      const seconds = (performance.now() - (firstAtMs ?? 0)) / 1000;
      passed = { ...passed, creates: passed.creates + 1, seconds };
    }
    response.writeHead(answered.statusCode ?? 502, answered.headers);
    answered.pipe(response);
  });
  // Cut behind us, it is cut before us.
  outgoing.once('error', () => response.destroy());
  incoming.pipe(outgoing);
}

process.on('message', (message: Rate | 'passed') => {
  if (message === 'passed') {
    process.send?.(passed);
    return;
  }
  refill();
  rate = message;
  tokens = firstAtMs === undefined ? rate.burst : Math.min(tokens, rate.burst);
});
const server = createServer(answer);
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
