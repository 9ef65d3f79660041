import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { startControlPlane, type ControlPlaneOptions } from '../../../src/control-plane/main.ts';
import { systemRandom } from '../../../src/base/random.ts';
import pino from 'pino';
import { ManualClock } from '../../support/manual-clock.ts';
import { accounts } from './support.ts';

const here = { host: '127.0.0.1', port: 0 };
const everywhere = { host: '0.0.0.0', port: 0 };

function start(options: Partial<ControlPlaneOptions>) {
  return startControlPlane({
    listen: here,
    database: ':memory:',
    accounts,
    clock: new ManualClock(),
    random: systemRandom,
    logger: pino({ level: 'silent' }),
    ...options,
  });
}

async function found(url: string | undefined): Promise<string[]> {
  const paths = ['/healthz', '/metrics', '/faults', '/requests', '/accounts', '/api/catalog'];
  const statuses = await Promise.all(paths.map(async (path) => (await fetch(`${url}${path}`)).status));
  return paths.filter((_, index) => statuses[index] === 200);
}

test('faults and the journal have a listener of their own, and so have metrics; the API has none of them', async () => {
  const plane = await start({ testListen: here, metricsListen: here });
  expect(await found(plane.testUrl)).toEqual(['/healthz', '/faults', '/requests']);
  expect(await found(plane.metricsUrl)).toEqual(['/healthz', '/metrics']);
  expect(await found(plane.url)).toEqual(['/api/catalog']);
  expect(plane.adminUrl).toBeUndefined();
  await plane.close();
});

test('the administrative listener still has all of it', async () => {
  const plane = await start({ adminListen: here });
  expect(await found(plane.adminUrl)).toEqual(['/healthz', '/metrics', '/faults', '/requests', '/accounts']);
  await plane.close();
});

describe('where others reach it', () => {
  test.each(['admin', 'test'] as const)('the %s listener is refused, unless it is forced', async (role) => {
    await expect(start({ [`${role}Listen`]: everywhere })).rejects.toThrow('others would reach it');
    const plane = await start({ [`${role}Listen`]: everywhere, allowRemoteAdmin: true });
    await plane.close();
  });

  test('metrics may be', async () => {
    const plane = await start({ metricsListen: everywhere });
    await plane.close();
    expect(plane.metricsUrl).toMatch(/^http:\/\/0\.0\.0\.0:\d+$/);
  });
});

test('a browser that was led here by a name of somebody else is refused', async () => {
  const plane = await start({ testListen: here });
  const status = await new Promise((resolve) => {
    request(`${plane.testUrl}/faults`, { headers: { host: 'rebound.example:80' } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).end();
  });
  expect(status).toBe(400);
  await plane.close();
});
