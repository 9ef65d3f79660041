/** Where requests with an API key go, and what is answered there. */
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { checkedLookup, neverConnected, neverConnectedFromOutside } from '../../../src/api/addresses.ts';
import { createTransport } from '../../../src/api/index.ts';
import { systemClock } from '../../../src/base/index.ts';
import { certificate, privateKey } from '../../support/tls.ts';
import { clientOf, get, reply, serve } from './support.ts';

describe('the address of an API', () => {
  test.each([
    'http://169.254.169.254/latest',
    'https://169.254.170.2',
    'http://2852039166',
    'http://0xa9fea9fe',
    'http://0251.0376.0251.0376',
    'http://[::ffff:169.254.169.254]',
    'http://[::ffff:a9fe:a9fe]',
    'http://[64:ff9b::169.254.169.254]',
    'http://[2002:a9fe:a9fe::]',
    'http://[fe80::1]',
    'http://[fd00:ec2::254]',
    'http://100.100.100.200',
    'http://168.63.129.16',
    'http://0.0.0.0:8080',
    'http://0:8080',
    'http://[::]:8080',
    'http://224.0.0.1',
    'http://255.255.255.255',
  ])('is never connected to when it is %s, and no key is sent', async (baseUrl) => {
    await using client = clientOf(baseUrl, 'canary');
    const outcome = await client.api.account();
    expect(outcome).toMatchObject({
      kind: 'not-sent',
      reason: expect.stringContaining('never connected to'),
    });
    expect(JSON.stringify(outcome)).not.toContain('canary');
  });

  test('may be of this machine, and of a private network', async () => {
    await using server = await serve(reply(200, {}));
    const transport = createTransport(systemClock);
    expect((await transport.exchange(get(server.url))).kind).toBe('reply');
    await transport.close();
    expect(['10.0.0.1', '192.168.1.1', '172.16.0.1'].map((one) => neverConnected.check(one))).toEqual([
      false,
      false,
      false,
    ]);
  });
});

test('a server that no authority vouches for is sent no key', async () => {
  const seen: (string | undefined)[] = [];
  const server = createServer({ cert: certificate, key: privateKey }, ({ headers }, response) => {
    seen.push(headers.authorization);
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await using client = clientOf(`https://localhost:${(server.address() as AddressInfo).port}`);
  expect(await client.api.account()).toMatchObject({
    kind: 'not-sent',
    reason: expect.stringContaining('self-signed certificate'),
  });
  expect(seen).toEqual([]);
  server.close();
});

describe('a name', () => {
  const resolve = (never: typeof neverConnected, all: boolean) =>
    new Promise<string | readonly LookupAddress[]>((resolve_, reject) => {
      const reported = (address: string) => `not ${address}`;
      checkedLookup(never, reported)('localhost', { all }, (error, found) =>
        error ? reject(error) : resolve_(found),
      );
    });

  test.each([true, false])(
    'is checked when it is resolved for a connection, not before (all of its addresses: %s)',
    async (all) => {
      await expect(resolve(neverConnectedFromOutside, all)).rejects.toThrow(/^not (127\.|::1)/);
      expect(JSON.stringify(await resolve(neverConnected, all))).toMatch(/127\.|::1/);
    },
  );
});

describe('an answer that is made to fill the memory', () => {
  test.each([
    [
      'maps and lists',
      'ledger',
      `{"balanceMicros":1,"currency":"USD","services":[],"volumes":[],"ledger":[${'{},'.repeat(300_000)}{}]}`,
    ],
    ['maps and lists', 'nesting', '['.repeat(300_000)],
    ['commas', 'numbers', `{"services":[],"volumes":[],"more":[${'1,'.repeat(700_000)}1]}`],
    [
      'commas',
      'names',
      `{"services":[],"volumes":[],${Array.from({ length: 700_000 }, (_, n) => `"${n}":0`).join(',')}}`,
    ],
  ])('is not taken apart: too many %s, as %s', async (many, _what, body) => {
    await using server = await serve(reply(200, body));
    await using client = clientOf(server.url);
    expect(await client.api.account()).toMatchObject({
      kind: 'unknown',
      reason: `a 200 with more than ${many === 'commas' ? 600_000 : 250_000} ${many} in it`,
    });
  });

  const depth = 3000;
  const lists = '['.repeat(depth) + ']'.repeat(depth);
  const maps = `${'{"message":'.repeat(depth)}1${'}'.repeat(depth)}`;
  test.each([
    ['a field of a service', 200, `{"services":[{"id":"x","endpoint":${lists}}],"volumes":[]}`],
    ['a field that nobody knows', 200, `{"services":[],"volumes":[],"more":${maps}}`],
    ['the place of a list', 200, `{"services":${lists},"volumes":[]}`],
    ['a refusal', 403, `{"error":{"code":"no","message":${maps}}}`],
  ])('or the stack, is not taken apart: %s', async (_what, status, body) => {
    await using server = await serve(reply(status, body));
    await using client = clientOf(server.url);
    expect(await client.api.account()).toMatchObject({
      kind: 'unknown',
      reason: `a ${status} that is nested deeper than 64 levels`,
    });
  });

  test('is not read to its end when it is longer than 16 MiB', async () => {
    await using server = await serve(reply(200, ' '.repeat(16 * 1024 * 1024 + 1)));
    await using client = clientOf(server.url);
    expect((await client.api.account()).kind).toBe('unknown');
  });

  test('that is large, and no more, is read', async () => {
    const service = {
      resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
    };
    const services = Array.from({ length: 10_000 }, (_, index) => ({
      ...service,
      id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      environmentNames: ['A'],
      command: ['b'],
    }));
    const body = { balanceMicros: 1, currency: 'USD', services, volumes: [], ledger: [] };
    await using server = await serve(reply(200, body));
    await using client = clientOf(server.url);
    expect(await client.api.account()).toMatchObject({ kind: 'applied', value: { services } });
  });
});
