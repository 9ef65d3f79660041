/** Answers of a proxy, a login page or another server: the message names what they are. */
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readAnswer } from '../../../src/api/answer.ts';
import * as readers from '../../../src/api/readers.ts';
import { Sensitive } from '../../../src/base/index.ts';
import type { HttpReply } from '../../../src/api/transport.ts';
import { clientOf, serve } from './support.ts';

const key = 'key-of-acme-0123456789';

function reasonOf(
  status: number,
  more: Partial<HttpReply & { kind: 'reply' }>,
  body: string | Uint8Array,
): string {
  const reply = { kind: 'reply', status, retryAfter: undefined, body, ...more } as const;
  const notes = { note: () => undefined, spelled: () => undefined };
  const outcome = readAnswer(reply, { answer: readers.account }, new Sensitive(key), 0, notes);
  return outcome.kind === 'unknown' ? outcome.reason : JSON.stringify(outcome);
}

test.each([
  [
    { contentType: 'text/html; charset=utf-8' },
    '<html>',
    'no JSON; its content type is text/html; charset=utf-8',
  ],
  [{}, '<html>', 'no JSON; it shows no content type'],
  [{ contentType: `text/${key}` }, '<html>', 'its content type is text/[redacted]'],
  [{ contentEncoding: 'gzip' }, gzipSync('{}'), 'its body is compressed (content-encoding gzip)'],
  [{ contentType: 'application/json' }, '{"services":', 'no JSON; its content type is application/json'],
  [{ contentType: 'application/json' }, ' ', 'the body: expected an account, found nothing'],
])('a 200 with %j is named', (more, body, expected) => {
  expect(reasonOf(200, more, body)).toContain(expected);
});

test.each([
  ['/v2/api/account', 'to another path of the same host'],
  ['https://user:word@login.example:8443/?next=/api', 'to login.example:8443'],
  ['//login.example/x', 'to login.example'],
  ['mailto:a@b.example', 'a redirect: it is not followed'],
  [`https://${key}.example/`, 'to [redacted].example'],
  ['::', 'a redirect'],
  [undefined, 'a redirect: it is not followed'],
])('a redirect to %j is named', (location, expected) => {
  const reason = reasonOf(308, { location }, '');
  expect(reason).toContain(`status 308, a redirect`);
  expect(reason).toContain(expected);
  expect(reason).not.toContain('word');
});

test('headers of a real answer are in the message', async () => {
  await using server = await serve((response) => {
    response.writeHead(302, { location: 'https://login.example/' }).end();
  });
  await using client = clientOf(server.url);
  const reasonNow = async () => JSON.stringify(await client.api.account());
  expect(await reasonNow()).toContain('status 302, a redirect to login.example');
  server.answer = (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
  expect(await reasonNow()).toContain('its content type is text/html');
  server.answer = (response) =>
    void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{}'));
  expect(await reasonNow()).toContain('compressed (content-encoding gzip)');
});
