/** `apply` without a state file that outlives it, as in CI: each run knows of the ones before, and of those beside it, by marks and keys only. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey, ControlPlane, isMutation, keysWithTwoBodies } from '../support/processes/control-plane.ts';
import { FleetFolder, service, volume, type Json } from '../support/processes/fleet.ts';
import { Front, type Exchange, type Seen } from '../support/processes/front.ts';
import { fleetkeeper, temporaryFolder, type Finished } from '../support/processes/processes.ts';

const secret = (value: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'app' },
  stringData: { token: value, user: 'bot' },
});
const template = {
  apiVersion,
  kind: 'ServiceTemplate',
  metadata: { name: 'base' },
  spec: { image: 'ghcr.io/acme/base:1', resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } },
};
const registry = {
  apiVersion,
  kind: 'ImageRegistry',
  metadata: { name: 'private' },
  spec: {
    repository: 'ghcr.io/acme/private',
    credentialsSecretRef: { name: 'app', usernameKey: 'user', passwordKey: 'token' },
  },
};
const web = service('web', {
  env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'app', key: 'token' } } }],
});

/** Creations of the same thing wait for each other, so that no process can see what the other one has made. */
function atOnce(front: Front): void {
  const waiting = new Map<string, () => void>();
  front.disturb = ({ method, path: where, body }: Seen) => {
    if (method !== 'POST' || where.split('/').length !== 3) return undefined;
    return async ({ response, forward }: Exchange) => {
      const { name, repository } = JSON.parse(body);
      const what = `${where} ${String(name ?? repository).replace(/-fk.*/, '')}`;
      const other = waiting.get(what);
      if (other) other();
      else
        await Promise.race([
          new Promise<void>((resolve) => {
            waiting.set(what, resolve);
          }),
          delay(15_000),
        ]);
      const answer = await forward();
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer.body));
    };
  };
}

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const front = await new Front(() => plane.url).start();
  const fleet = new FleetFolder(folder);
  /** One run of a container that starts with the checked-out folder, and nothing else. */
  const apply = (flags: readonly string[], environment: Record<string, string> = {}): Promise<Finished> => {
    const state = path.join(folder, randomUUID(), 'state.db');
    return fleetkeeper(
      ['apply', '--source', fleet.folder, '--state', state, '--yes', '--settle', '1s', ...flags],
      { FLEETKEEPER_API_URL: front.url, FLEETKEEPER_API_KEY: apiKey, ...environment },
    );
  };
  const changes = async (): Promise<string[]> =>
    (await plane.requests()).filter(isMutation).map(({ method, path: where }) => `${method} ${where}`);
  return { folder, plane, front, fleet, apply, changes };
}

test('two that are started at once with one owner make each thing once', async () => {
  const { plane, front, fleet, apply } = await world();
  await fleet.write('fleet.yaml', [secret('one'), web, service('api'), volume('data'), template, registry]);
  atOnce(front);
  const ends = await Promise.all([apply(['--owner', 'shop']), apply(['--owner', 'shop'])]);
  const { services, volumes } = await plane.account();
  const { templates } = await plane.call('GET', '/api/templates');
  const { registries } = await plane.call('GET', '/api/registries');
  const own = templates.filter(({ name }: Json) => name === 'base');
  expect([services.length, volumes.length, own.length, registries.length]).toEqual([2, 1, 1, 1]);
  expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, expect.any(String)],
    [0, expect.any(String)],
  ]);
  const requests = await plane.requests();
  expect(keysWithTwoBodies(requests)).toEqual([]);
  const creations = requests.filter(
    ({ method, path: where }) => method === 'POST' && where.split('/').length === 3,
  );
  // Both have sent all five.
  expect(creations).toHaveLength(10);
  expect(new Set(creations.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(5);
});

test('a changed value rolls out once, when the digest key is supplied', async () => {
  const { folder, fleet, apply, plane, changes } = await world();
  const keyFile = path.join(folder, 'digest.key');
  await writeFile(keyFile, `${'0123456789abcdef'.repeat(4)}\n`);
  const flags = ['--digest-key-file', keyFile];
  await fleet.write('fleet.yaml', [secret('value-number-one'), web]);
  expect(await apply(flags)).toMatchObject({ code: 0 });
  await plane.forgetRequests();

  await fleet.write('fleet.yaml', [secret('value-number-two'), web]);
  const second = await apply(flags);
  expect(second).toMatchObject({ code: 0 });
  const { id } = await plane.service('web');
  expect(await changes()).toEqual([`PATCH /api/services/${id}`]);
  await plane.forgetRequests();

  // The same key from the environment: as a file, and as a text.
  const third = await apply([], { FLEETKEEPER_DIGEST_KEY_FILE: keyFile });
  const fourth = await apply([], { FLEETKEEPER_DIGEST_KEY: '0123456789abcdef'.repeat(4) });
  expect([third.code, third.stdout]).toEqual([0, expect.stringContaining('Nothing to do')]);
  expect([fourth.code, fourth.stdout]).toEqual([0, expect.stringContaining('Nothing to do')]);
  expect(await changes()).toEqual([]);
  const reported = [second, third, fourth].map(({ stdout, stderr }) => stdout + stderr).join('');
  const shown = JSON.stringify(await plane.account());
  for (const hidden of ['value-number', '0123456789abcdef']) {
    expect(reported).not.toContain(hidden);
    expect(shown).not.toContain(hidden);
  }
});

test('a changed value rolls out with nothing but the owner, as long as the API key is the same', async () => {
  const { fleet, apply, plane, changes } = await world();
  await fleet.write('fleet.yaml', [secret('value-number-one'), web]);
  expect(await apply(['--owner', 'shop'])).toMatchObject({ code: 0 });
  await plane.forgetRequests();
  await fleet.write('fleet.yaml', [secret('value-number-two'), web]);
  expect(await apply(['--owner', 'shop'])).toMatchObject({ code: 0 });
  expect(await changes()).toHaveLength(1);
  await plane.forgetRequests();
  expect(await apply(['--owner', 'shop'])).toMatchObject({ code: 0 });
  expect(await changes()).toEqual([]);
});

test('a digest key that is short, missing, or another one than that of the state is told, and nothing is sent', async () => {
  const { folder, fleet, apply, plane } = await world();
  await fleet.write('fleet.yaml', [stringify(secret('one')), stringify(web)].join('---\n'));
  const short = await apply([], { FLEETKEEPER_DIGEST_KEY: 'hunter2' });
  expect([short.code, short.stderr]).toEqual([1, expect.stringContaining('openssl rand -hex 32')]);
  expect(short.stderr).not.toContain('hunter2');
  const missing = await apply(['--digest-key-file', path.join(folder, 'none')]);
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("can't read the digest key")]);
  expect(await plane.requests()).toEqual([]);

  const state = ['--state', path.join(folder, 'kept.db')];
  expect(await apply(state, { FLEETKEEPER_DIGEST_KEY: 'a'.repeat(64) })).toMatchObject({ code: 0 });
  const other = await apply(state, { FLEETKEEPER_DIGEST_KEY: 'b'.repeat(64) });
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('another digest key')]);
  expect(await apply(state)).toMatchObject({ code: 0 });
});
