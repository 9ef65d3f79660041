/** The forms of HTTP, and some dialects, over real sockets with the real transport. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createTransport, type HttpRequest } from '../../src/api/index.ts';
import { systemClock } from '../../src/base/index.ts';
import type { Dialect } from './dialect.ts';
import { dialectNamed } from './index.ts';
import { wireForms, type WireForm } from './http-forms.ts';
import { live, type Answering, type Life } from './life.ts';

async function liveOver(form: WireForm['write'], dialect: Dialect): Promise<Life> {
  let answering: Answering | undefined;
  const server = createServer((request, response) => {
    void asked(request).then((what) => {
      if (!answering) throw new Error('nobody answers yet');
      const { status, retryAfter, text } = answering(what);
      return form(response, status, retryAfter === undefined ? {} : { 'Retry-After': retryAfter }, text);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  try {
    return await live(dialect, (given) => {
      answering = given;
      return { url: `http://127.0.0.1:${port}`, createTransport: () => createTransport(systemClock) };
    });
  } finally {
    await closed(server);
  }
}

async function asked(request: IncomingMessage): Promise<HttpRequest> {
  const body = await textOf(request);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  return {
    method: request.method as HttpRequest['method'],
    url: `http://${request.headers.host}${request.url}`,
    headers,
    body: body === '' ? undefined : body,
  };
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
}

test.each(wireForms)('a fleet lives with $name: $plays', async ({ write }) => {
  const { problems } = await liveOver(write, dialectNamed('throttled'));
  expect(problems).toEqual([]);
});

const overSockets = [
  'plain',
  'volume-deletion-202',
  'more-fields',
  'identity-nested',
  'ids-upper-case',
  'key-refused',
];

test.each(overSockets)('a fleet lives with the dialect %s over real sockets', async (name) => {
  const { problems } = await liveOver(
    (response, status, headers, text) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text),
    dialectNamed(name),
  );
  expect(problems).toEqual([]);
});
