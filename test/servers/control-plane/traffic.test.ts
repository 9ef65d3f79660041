import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { networkOf } from '../../../src/control-plane/http/network.ts';
import {
  Traffic,
  defaultTrafficLimits,
  type TrafficLimits,
} from '../../../src/control-plane/http/traffic.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { key, startWorld, trainer, type World } from './support.ts';

const response = () => new EventEmitter() as ServerResponse;
const trafficWith = (limits: Partial<TrafficLimits>) =>
  new Traffic({ ...defaultTrafficLimits, ...limits }, new ManualClock());

describe('one account', () => {
  test('has a rate also where nobody has set one, and others are not affected', async () => {
    await using world = await startWorld();
    const statuses: number[] = [];
    for (let round = 0; round < 21; round += 1) {
      const calls = Array.from({ length: 100 }, () => world.call('GET', '/api/me'));
      statuses.push(...(await Promise.all(calls)).map(({ status }) => status));
    }
    expect(statuses.filter((status) => status === 429).length).toBe(100);
    expect((await world.call('GET', '/api/me', undefined, { as: key.bob })).status).toBe(200);
    await world.clock.advance(1_000);
    expect((await world.call('GET', '/api/me')).status).toBe(200);
  });

  test('has a bound for requests that are being answered; one with a body counts for four', () => {
    const traffic = trafficWith({ requestsInFlight: 5 });
    const first = response();
    traffic.admit('a', true, first);
    traffic.admit('a', false, response());
    expect(() => traffic.admit('a', false, response())).toThrow('too many requests');
    traffic.admit('b', true, response());
    first.emit('finish');
    first.emit('close');
    traffic.admit('a', true, response());
    expect(() => traffic.admit('a', false, response())).toThrow('too many requests');
  });

  test('has a bound for answers that it does not read, but may always have one', () => {
    const traffic = trafficWith({ unsentBytes: 1_000_000, answerBytesPerSecond: 1e9 });
    const first = response();
    traffic.answer('a', 5_000_000, first);
    expect(() => traffic.answer('a', 100_000, response())).toThrow('have not been read');
    traffic.answer('a', 1_000, response());
    traffic.answer('b', 100_000, response());
    expect(() => traffic.requireRoom('a')).toThrow('have not been read');
    traffic.answer('a', 100_000, response(), true);
    first.emit('close');
    traffic.requireRoom('a');
    traffic.answer('a', 800_000, response());
    expect(() => traffic.answer('a', 200_000, response())).toThrow('have not been read');
  });

  test('has a bound for bytes of answers per second', () => {
    const traffic = trafficWith({ answerBytesPerSecond: 1_000_000 });
    traffic.admit('a', false, response());
    traffic.answer('a', 6_000_000, response());
    expect(() => traffic.admit('a', false, response())).toThrow('wait 3 s');
    traffic.admit('b', false, response());
  });
});

describe('refusals', () => {
  test('beyond a rate are held back for a second, those of others are not', async () => {
    const clock = new ManualClock();
    const traffic = new Traffic({ ...defaultTrafficLimits, refusalsPerSecond: 2 }, clock);
    const answered: string[] = [];
    const refuse = (id: string) => traffic.refuse(id, () => answered.push(id));
    for (let index = 0; index < 4; index += 1) expect(refuse('a')).toBe(true);
    refuse('b');
    expect(answered).toEqual(['a', 'a', 'b']);
    await clock.advance(999);
    expect(answered.length).toBe(3);
    await clock.advance(1);
    expect(answered).toEqual(['a', 'a', 'b', 'a', 'a']);
  });

  test('are held back only so many at once', async () => {
    const clock = new ManualClock();
    const limits = { ...defaultTrafficLimits, refusalsPerSecond: 1, heldRefusals: 2 };
    const traffic = new Traffic(limits, clock);
    const refuse = () => traffic.refuse('a', () => undefined);
    expect([refuse(), refuse(), refuse(), refuse()]).toEqual([true, true, true, false]);
    await clock.advance(1_000);
    expect(refuse()).toBe(true);
  });

  test('of a whole flood come slowly; then the account is answered as before', async () => {
    await using world = await startWorld({
      traffic: { requestsPerSecond: 5, requestBurst: 5, refusalsPerSecond: 5 },
    });
    let answered = 0;
    const calls = Array.from({ length: 20 }, async () => {
      const { status } = await world.call('GET', '/api/me');
      answered += 1;
      return status;
    });
    await expect.poll(() => answered).toBe(10);
    await delay(50);
    expect(answered).toBe(10);
    expect((await world.call('GET', '/api/me', undefined, { as: key.bob })).status).toBe(200);
    await world.clock.advance(1_000);
    const statuses = await Promise.all(calls);
    expect(statuses.filter((status) => status === 200).length).toBe(5);
    expect(statuses.filter((status) => status === 429).length).toBe(15);
    expect((await world.call('GET', '/api/me')).status).toBe(200);
  });
});

test('a connection with more requests than anybody waits for is cut, and most of them are not looked at', async () => {
  await using world = await startWorld();
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
  const closed = new Promise((resolve) => void socket.once('close', resolve));
  socket.on('error', () => undefined);
  socket.resume();
  socket.write(`GET /api/me HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${key.alice}\r\n\r\n`.repeat(600));
  await closed;
  const { requests } = (await world.admin('GET', '/requests')).body;
  expect(requests.length).toBeLessThan(150);
});

test('all accounts together have a bound for answers that are not read, too', () => {
  const traffic = trafficWith({ unsentBytesInAll: 1_000_000 });
  for (const account of ['a', 'b', 'c']) traffic.answer(account, 400_000, response());
  expect(() => traffic.answer('a', 100_000, response())).toThrow('have not been read');
});

test('who has no credentials is limited by address', async () => {
  await using world = await startWorld({ traffic: { anonymousPerSecond: 3 } });
  const foreign = () => world.call('GET', '/api/me', undefined, { as: 'nobody-knows-it' });
  const statuses = [];
  for (let index = 0; index < 5; index += 1) statuses.push((await foreign()).status);
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect((await world.call('GET', '/api/me')).status).toBe(200);
  await world.clock.advance(1_000);
  expect((await foreign()).status).toBe(401);
});

/** Asks for the account, and reads nothing. Resolves when the server has begun to answer. */
async function deafReader(world: World): Promise<Socket> {
  const socket = connect({ port: Number(new URL(world.url).port), host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write(`GET /api/account HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${key.alice}\r\n\r\n`);
  await new Promise((resolve) => socket.once('readable', resolve));
  return socket;
}

async function withLargeAccount(world: World): Promise<void> {
  for (let index = 0; index < 200; index += 1) {
    await world.ok('POST', '/api/services', { ...trainer, command: ['x'.repeat(60_000)] });
  }
}

describe('a client that does not read its answer', () => {
  test('has the next large one refused in the error form, while small ones and other accounts go on', async () => {
    await using world = await startWorld({ traffic: { unsentBytes: 1 } });
    await withLargeAccount(world);
    const deaf = await deafReader(world);
    expect(await world.refusal('GET', '/api/account')).toBe('429 rate_limited');
    expect((await world.call('GET', '/api/me')).status).toBe(200);
    expect((await world.call('GET', '/api/account', undefined, { as: key.bob })).status).toBe(200);
    deaf.destroy();
    await world.clock.advance(1_000);
    await expect.poll(async () => (await world.call('GET', '/api/account')).status).toBe(200);
  });

  test('is not refused a mutation that has happened: it is refused before', async () => {
    await using world = await startWorld({ traffic: { unsentBytes: 1 } });
    await withLargeAccount(world);
    const registry = { repository: 'ghcr.io/acme/web', username: 'robot', password: 'secret' };
    const { id } = await world.ok('POST', '/api/registries', registry);
    const deaf = await deafReader(world);
    expect(await world.refusal('PUT', `/api/registries/${id}`, { revision: 1, spec: registry })).toBe(
      '429 rate_limited',
    );
    deaf.destroy();
    await world.clock.advance(1_000);
    await expect.poll(async () => (await world.call('GET', '/api/account')).status).toBe(200);
    expect(await world.ok('PUT', `/api/registries/${id}`, { revision: 1, spec: registry })).toMatchObject({
      revision: 2,
    });
  });

  test('is cut after a minute', async () => {
    await using world = await startWorld();
    await withLargeAccount(world);
    const deaf = await deafReader(world);
    await world.clock.advance(60_000);
    const received: Buffer[] = [];
    await new Promise((resolve) => {
      deaf.on('data', (chunk: Buffer) => received.push(chunk));
      deaf.once('close', resolve);
      deaf.once('end', resolve);
    });
    deaf.destroy();
    expect(Buffer.concat(received).length).toBeLessThan(12_000_000);
  });
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::7', '2001:db8:1:2::/64'],
  ['2001:db8::7', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  [undefined, 'unknown'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
