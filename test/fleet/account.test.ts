import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import {
  ControlPlane,
  apiKey,
  isMutation,
  type RecordedRequest,
} from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  isInCluster,
  service,
  task,
  testInFolder,
} from '../support/processes/fleet.ts';
import { Front } from '../support/processes/front.ts';
import {
  eventually,
  fetch,
  fleetkeeper,
  launch,
  nowMs,
  temporaryFolder,
} from '../support/processes/processes.ts';

const otherKey = 'key-of-other-0123456789';
const accounts = `accounts:
  - {name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}
  - {name: other, email: x@y.example, balanceMicros: 1000000000, apiKeys: [${otherKey}]}`;

/** A control plane with two accounts, and a front server before it. */
async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { accounts }).start();
  const front = await new Front(() => plane.url).start();
  return { folder, plane, front, fleet: await createFleet(folder) };
}

function secret(key: string): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'compute' }, stringData: { apiKey: key } };
}

function documents(url: string, key: string, annotations?: Record<string, string>): object[] {
  const [document] = account(url) as { metadata: object }[];
  return [{ ...document, metadata: { name: 'default', ...(annotations && { annotations }) } }, secret(key)];
}

async function identityOf(plane: ControlPlane, key: string): Promise<string> {
  const answer = await fetch(`${plane.url}/api/me`, { headers: { authorization: `Bearer ${key}` } });
  return ((await answer.json()) as { id: string }).id;
}

async function servicesOf(plane: ControlPlane, key: string): Promise<{ name: string }[]> {
  const answer = await fetch(`${plane.url}/api/account`, { headers: { authorization: `Bearer ${key}` } });
  return ((await answer.json()) as { services: { name: string }[] }).services;
}

/** What was asked of the control plane as the account `other`. */
async function asOther(plane: ControlPlane): Promise<string[]> {
  const id = await identityOf(plane, otherKey);
  const requests = (await plane.requests()) as (RecordedRequest & { account: string | null })[];
  return requests
    .filter((request) => request.account === id || request.account === 'other')
    .map(({ method, path }) => `${method} ${path}`);
}

// COVERAGE 83
test('a key of another account stops everything while it runs, says why, and the right key sets it going again', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', documents(plane.url, apiKey));
  await fleet.write('web.yaml', [service('a'), service('b')]);
  fleet.run();
  await fleet.untilReady(2);
  await fleet.until('Account/default', 'Ready', 'True', 'Connected');
  const [mine, theirs] = [await identityOf(plane, apiKey), await identityOf(plane, otherKey)];
  expect((await fleet.records()).get('Account/default')?.status).toMatchObject({
    identityPinned: true,
    identity: mine,
  });
  await plane.forgetRequests();
  await fleet.write('account.yaml', documents(plane.url, otherKey));
  // What would be sent meanwhile: a change, a creation and a deletion.
  await fleet.write('web.yaml', [service('a', { image: 'ghcr.io/acme/app:2' }), service('c')]);
  const reported = await fleet.until('Account/default', 'Stalled', 'True', 'IdentityChanged');
  expect(reported.message).toContain(`belonged to the account ${mine}, and now belongs to ${theirs}`);
  expect(reported.message).toContain(`fleetkeeper.dev/accept-identity: "${theirs}"`);
  for (const name of ['a', 'b', 'c']) {
    await fleet.until(`ContainerService/${name}`, 'Ready', 'Unknown', 'IdentityChanged');
  }
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  expect(new Set(await asOther(plane))).toEqual(new Set(['GET /api/me']));
  await fleet.write('account.yaml', documents(plane.url, apiKey));
  await fleet.untilReady(2);
  const names = (await servicesOf(plane, apiKey)).map(({ name }) => name);
  expect(names.sort()).toEqual(['a', 'c']);
  expect(await servicesOf(plane, otherKey)).toEqual([]);
});

test('a key that was changed while nothing ran is found out before anything is read or sent', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', documents(plane.url, apiKey));
  await fleet.write('web.yaml', [service('a')]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('account.yaml', documents(plane.url, otherKey));
  await plane.forgetRequests();
  const planned = await fleet.plan();
  expect([planned.code, planned.stderr]).toEqual([
    1,
    expect.stringMatching(/can't be read: .* now belongs to /),
  ]);
  const applied = await fleet.apply();
  expect([applied.code, applied.stderr]).toEqual([1, expect.stringContaining('now belongs to')]);
  fleet.run();
  await fleet.until('ContainerService/a', 'Ready', 'Unknown', 'IdentityChanged');
  expect(new Set(await asOther(plane))).toEqual(new Set(['GET /api/me']));
  expect((await servicesOf(plane, apiKey)).map(({ name }) => name)).toEqual(['a']);
});

test('a new key of the same account is no other account', async () => {
  const folder = await temporaryFolder();
  const keys = `accounts: [{name: acme, email: a@b.example, apiKeys: [${apiKey}, ${otherKey}]}]`;
  const plane = await new ControlPlane(folder, { accounts: keys }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', documents(plane.url, apiKey));
  await fleet.write('web.yaml', [service('a')]);
  fleet.run();
  await fleet.untilReady(1);
  await fleet.write('account.yaml', documents(plane.url, otherKey));
  await fleet.write('web.yaml', [service('a', { image: 'ghcr.io/acme/app:2' })]);
  await eventually('the new image', async () => (await plane.service('a')).image === 'ghcr.io/acme/app:2');
  expect((await fleet.condition('Account/default', 'Stalled'))?.status).toBe('False');
});

test('an identity that a person accepts is used, and nothing of the old account is touched', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', documents(plane.url, apiKey));
  await fleet.write('web.yaml', [service('a'), service('b')]);
  expect((await fleet.apply()).code).toBe(0);
  const theirs = await identityOf(plane, otherKey);
  const accepted = { 'fleetkeeper.dev/accept-identity': theirs };
  await fleet.write('account.yaml', documents(plane.url, otherKey, accepted));
  fleet.run();
  // Everything is gone there, which is a mass change, and wants a word of its own.
  await fleet.until('Account/default', 'Stalled', 'True', 'MassChangeBrake');
  const until = new Date(nowMs() + 600_000).toISOString();
  await fleet.write(
    'account.yaml',
    documents(plane.url, otherKey, { ...accepted, 'fleetkeeper.dev/allow-mass-change-until': until }),
  );
  await eventually('both in the other account', async () => (await servicesOf(plane, otherKey)).length === 2);
  await fleet.untilReady(2);
  expect(await servicesOf(plane, apiKey)).toHaveLength(2);
});

// The account of the environment has no object in a cluster, and so no pin that outlives a restart.
// COVERAGE 79, 83
testInFolder(
  'a key file that is swapped is checked before the next request is sent with it, and a flag accepts its account',
  async () => {
    const { folder, plane, fleet } = await world();
    const file = `${folder}/key`;
    const environment = { FLEETKEEPER_API_URL: plane.url, FLEETKEEPER_API_KEY_FILE: file };
    await writeFile(file, apiKey);
    await fleet.write('web.yaml', [service('a')]);
    const run = launch(['run', ...fleet.flags], environment);
    await fleet.untilReady(1);
    await plane.forgetRequests();
    await writeFile(file, otherKey);
    // Looked at before a poll (each 15 s) has asked whose key it is.
    await fleet.write('web.yaml', [service('a', { image: 'ghcr.io/acme/app:2' }), service('b')]);
    await fleet.until('ContainerService/a', 'Ready', 'Unknown', 'IdentityChanged');
    await fleet.until('ContainerService/b', 'Ready', 'Unknown', 'IdentityChanged');
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
    expect(new Set(await asOther(plane))).toEqual(new Set(['GET /api/me']));
    await run.kill('SIGTERM');
    const theirs = await identityOf(plane, otherKey);
    const refused = await fleetkeeper(['plan', ...fleet.flags], environment);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining(`--accept-identity ${theirs}`),
    ]);
    const flags = [...fleet.flags, '--accept-identity', theirs];
    const planned = await fleetkeeper(['plan', ...flags, '--output', 'json'], environment);
    expect(planned.code).toBe(2);
    expect(
      (JSON.parse(planned.stdout) as { changes: { action: string }[] }).changes.map(({ action }) => action),
    ).toEqual(['create', 'create']);
  },
);

test('a key that the provider hands to another account is found out by what has vanished', async () => {
  const { plane, front, fleet } = await world();
  await fleet.write('account.yaml', documents(front.url, apiKey));
  await fleet.write('web.yaml', [service('only')]);
  fleet.run();
  await fleet.untilReady(1);
  await plane.forgetRequests();
  front.exchangeKey = () => `Bearer ${otherKey}`;
  await fleet.until('ContainerService/only', 'Ready', 'Unknown', 'IdentityChanged');
  await fleet.until('Account/default', 'Stalled', 'True', 'IdentityChanged');
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  front.exchangeKey = (authorization) => authorization;
  // It looks again by itself, although the document has not changed.
  await fleet.untilReady(1);
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

// COVERAGE 114
test('an account that answers with nothing in it is not believed', async () => {
  const { plane, front, fleet } = await world();
  await fleet.write('account.yaml', documents(front.url, apiKey));
  await fleet.write(
    'web.yaml',
    ['a', 'b', 'c'].map((name) => service(name)),
  );
  fleet.run();
  await fleet.untilReady(3);
  await plane.forgetRequests();
  const empty = { services: [], volumes: [], ledger: [] };
  front.rewrite = ({ path }, body) => (path === '/api/account' ? { ...body, ...empty } : body);
  const reported = await fleet.until('Account/default', 'Stalled', 'True', 'MassChangeBrake');
  expect(reported.message).toContain('lacks 3 of 3 managed objects');
  // A document that goes now must not take along what only seems to be gone.
  await fleet.write('web.yaml', [service('a'), service('b'), service('new')]);
  await fleet.until('ContainerService/new', 'Stalled', 'True', 'MassChangeBrake');
  const polls = () => front.seen.filter(({ path }) => path === '/api/account').length;
  const before = polls();
  await eventually('five more polls', async () => polls() >= before + 5);
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  front.rewrite = (_, body) => body;
  await fleet.untilReady(3);
  expect((await servicesOf(plane, apiKey)).map(({ name }) => name).sort()).toEqual(['a', 'b', 'new']);
});

test('one service that only the account read does not show is not created a second time', async () => {
  const { plane, front, fleet } = await world();
  await fleet.write('account.yaml', documents(front.url, apiKey));
  await fleet.write('web.yaml', [service('only')]);
  fleet.run();
  await fleet.untilReady(1);
  await plane.forgetRequests();
  front.rewrite = ({ path }, body) => (path === '/api/account' ? { ...body, services: [] } : body);
  const polls = () => front.seen.filter(({ path }) => path === '/api/account').length;
  const before = polls();
  await eventually('ten more polls', async () => polls() >= before + 10);
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

function secondAccount(url: string): object {
  const credentialsSecretRef = { name: 'second', key: 'apiKey' };
  return {
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'Account',
    metadata: { name: 'second' },
    spec: { url, credentialsSecretRef, pollSeconds: 1 },
  };
}

function keyOfSecond(key: string): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'second' }, stringData: { apiKey: key } };
}

test('a rejected key in one account leaves the other alone; so do its limits', async () => {
  const { plane, front, fleet } = await world();
  const second = secondAccount(front.url);
  await fleet.write('account.yaml', documents(plane.url, apiKey));
  await fleet.write('second.yaml', [second, keyOfSecond('wrong')]);
  await fleet.write('web.yaml', [service('one'), service('two', { accountRef: { name: 'second' } })]);
  const manager = fleet.run('--listen', '127.0.0.1:0');
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  await fleet.until('ContainerService/one', 'Ready', 'True');
  await fleet.until('ContainerService/two', 'Ready', 'Unknown', 'CredentialRejected');
  const ready = await fetch(`${url}/readyz`);
  // In a cluster the accounts are those of tenants.
  const reported = isInCluster
    ? [200, 'ok\n']
    : [
        503,
        expect.stringMatching(
          /^\[\+\]source ok\n\[\+\]account default\/default ok\n\[-\]account default\/second failed: CredentialRejected: .*\nreadyz check failed\n$/,
        ),
      ];
  expect([ready.status, await ready.text()]).toEqual(reported);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await fleet.write('second.yaml', [second, keyOfSecond(otherKey)]);
  await fleet.untilReady(2);
  expect(await (await fetch(`${url}/readyz`)).text()).toBe('ok\n');
  const checks = await (await fetch(`${url}/readyz?verbose`)).text();
  expect(checks).toContain(isInCluster ? '[+]source ok' : '[+]account default/second ok');
  expect((await servicesOf(plane, otherKey)).map(({ name }) => name)).toEqual(['two']);
  // An account that is told to wait for an hour holds up nobody else.
  const limited = { error: { code: 'rate_limited', message: 'later' } };
  front.answer = () => ({ status: 429, body: limited, headers: { 'retry-after': '3600' } });
  await eventually('a 429', async () =>
    (await (await fetch(`${url}/metrics`)).text()).includes(
      `fleetkeeper_api_throttled_total{account="${fleet.namespace}/second"} 1`,
    ),
  );
  await fleet.write('web.yaml', [
    service('one', { image: 'ghcr.io/acme/app:2' }),
    service('two', { accountRef: { name: 'second' }, image: 'ghcr.io/acme/app:2' }),
  ]);
  await eventually('the new image', async () => (await plane.service('one')).image === 'ghcr.io/acme/app:2');
  const seen = front.seen.length;
  await fleet.until('ContainerService/one', 'Ready', 'True');
  expect(front.seen.length).toBe(seen);
});

test('an account in which many requests wait for an hour holds up no other, and no protection of a task', async () => {
  const { plane, front, fleet } = await world();
  await fleet.write('account.yaml', documents(plane.url, apiKey));
  await fleet.write('second.yaml', [secondAccount(front.url), keyOfSecond(otherKey)]);
  const inSecond = { accountRef: { name: 'second' } };
  await fleet.write('web.yaml', [service('web', inSecond)]);
  fleet.run();
  await fleet.untilReady(1);
  const limited = { error: { code: 'rate_limited', message: 'later' } };
  front.answer = ({ method, path }) =>
    method === 'POST' && path === '/api/services'
      ? { status: 429, body: limited, headers: { 'retry-after': '3600' } }
      : undefined;
  const many = Array.from({ length: 100 }, (_, at) => service(`more-${at}`, inSecond));
  await fleet.write('more.yaml', many);
  const creations = () =>
    front.seen.filter(({ method, path }) => `${method} ${path}` === 'POST /api/services');
  await eventually('a refusal', async () => creations().length > 1);
  await eventually('all to show the pause', async () => {
    const shown = await Promise.all(
      many.map((_, at) => fleet.condition(`ContainerService/more-${at}`, 'Ready')),
    );
    return shown.every((condition) => condition?.reason === 'RateLimited');
  });
  await fleet.write('one.yaml', [service('one')]);
  await fleet.write('task.yaml', [task('epoch')]);
  await fleet.until('ContainerService/one', 'Ready', 'True');
  await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  expect((await servicesOf(plane, apiKey)).map(({ name }) => name)).toEqual(['one']);
  expect((await servicesOf(plane, otherKey)).map(({ name }) => name)).toEqual(['web']);
});

test('commands that read an account use no key that is that of another account by now', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', documents(plane.url, apiKey));
  await fleet.write('web.yaml', [service('one')]);
  const manager = fleet.run();
  await fleet.untilReady(1);
  await manager.kill('SIGTERM');
  const commands = [['inventory', '--all'], ['cost'], ['ledger'], ['logs', 'one']];
  for (const command of commands) expect((await fleetkeeper([...command, ...fleet.flags])).code).toBe(0);
  await fleet.write('account.yaml', documents(plane.url, otherKey));
  for (const command of commands) {
    const { code, stdout, stderr } = await fleetkeeper([...command, ...fleet.flags]);
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('nothing is read with it')]);
  }
});
