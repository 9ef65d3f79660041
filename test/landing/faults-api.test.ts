/** Faults F16 to F40: what the API answers. Each account has another one, and one manager has them all at the same time. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { service, volume } from '../support/processes/fleet.ts';
import type { Exchange, Front, OwnAnswer } from '../support/processes/front.ts';
import {
  Tenants,
  afterwards,
  answerWith,
  comesTrue,
  failuresOf,
  newKeyOf,
  pass,
  serviceOf,
  settleMs,
  taskOf,
} from '../support/processes/tenants.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const errorForm = (code: string) => ({ error: { code, message: 'no' } });
const newer = { image: 'ghcr.io/acme/app:2' };

/** Every service that is shown, in whatever answer. */
function rewriteServices(front: Front, change: (service: Json) => Json, methods = /./): void {
  front.rewrite = ({ method, path }, body) => {
    if (!methods.test(method)) return body;
    if (path === '/api/account') return { ...body, services: body.services.map(change) };
    if (body.service) return { ...body, service: change(body.service) };
    return body.state === undefined ? body : change(body);
  };
}

/** Beats come each `seconds`, as the answers say. */
function shortHeartbeats(front: Front, heartbeatSeconds = 1): void {
  front.rewrite = (_, body) =>
    body.heartbeatSeconds ? { ...body, heartbeatSeconds, expiresInSeconds: 10 } : body;
}

const heartbeatsOf = (tenants: Tenants, name: string) =>
  tenants.mutations(name).filter(({ path }) => path.endsWith('/activity'));

async function morePolls(tenants: Tenants, names: readonly string[], count: number): Promise<void> {
  const wanted = new Map(names.map((name) => [name, tenants.reads(name) + count]));
  await comesTrue(`${count} more reads of each account`, async () =>
    [...wanted].every(([name, reads]) => tenants.reads(name) >= reads),
  );
}

/** What becomes of the requests that create the service, the first of which is 0. */
const answers: Readonly<Record<string, (exchange: Exchange, index: number) => unknown>> = {
  'f18-refused': (exchange) => answerWith(exchange, 503, errorForm('unavailable')),
  'f18-page': afterwards((exchange) => answerWith(exchange, 503, '<h1>down</h1>')),
  ...Object.fromEntries(
    [500, 502, 504].map((status) => [
      `f19-${status}`,
      afterwards((exchange) => answerWith(exchange, status, errorForm('internal_error'))),
    ]),
  ),
  'f23-under-way': async (exchange, index) => {
    if (index > 0) return answerWith(exchange, 409, errorForm('idempotency_key_in_use'));
    exchange.socket.destroy();
    // So slow that it is sent again before: what looks as if it had not happened still happens.
    await delay(settleMs * 20);
    await exchange.forward();
  },
};

const held = {
  'f21-forbidden': [403, 'insufficient_rights', 'Forbidden'],
  'f24-reused': [409, 'idempotency_key_reused', 'IdempotencyKeyReused'],
} as const;

async function answeredCreations(): Promise<void> {
  const names = Object.keys(answers);
  const tenants = await Tenants.start([...names, ...Object.keys(held), 'f22-conflict', 'f31-error']);
  for (const [name, how] of Object.entries(answers)) {
    await tenants.write(name);
    tenants.disturbMutations(name, name.startsWith('f23') ? 2 : 1, how);
  }
  for (const [name, [status, code]] of Object.entries(held)) {
    await tenants.write(name);
    tenants.disturbMutations(name, 100, (exchange) => answerWith(exchange, status, errorForm(code)));
  }
  await tenants.write('f22-conflict');
  await tenants.write('f31-error', [serviceOf('f31-error', { image: 'registry.invalid/app:1' })]);
  tenants.run();

  await tenants.until('ContainerService/f22-conflict', 'Ready', 'True');
  const [{ id }] = await tenants.services('f22-conflict');
  tenants.disturbMutations('f22-conflict', 3, async (exchange) => {
    // Somebody is quicker: what we have read is not the newest any more.
    await tenants.moveRevision('f22-conflict', id);
    await pass(exchange);
  });
  await tenants.write('f22-conflict', [serviceOf('f22-conflict', newer)]);

  await tenants.until('ContainerService/f31-error', 'Stalled', 'True', 'ServiceError');
  for (const [name, [, , reason]] of Object.entries(held)) {
    await tenants.until(`ContainerService/${name}`, 'Stalled', 'True', reason);
  }
  for (const name of names) await tenants.until(`ContainerService/${name}`, 'Ready', 'True');
  await comesTrue('the newer image', async () => {
    const [only] = await tenants.services('f22-conflict');
    return only?.image === newer.image;
  });
  await morePolls(tenants, [...names, ...Object.keys(held), 'f31-error'], 2);

  const keysOf = (name: string) => tenants.mutations(name).map(({ idempotencyKey }) => idempotencyKey);
  for (const name of names) expect.soft(await tenants.services(name), name).toHaveLength(1);
  for (const name of ['f18-page', 'f19-500', 'f19-502', 'f19-504', 'f31-error', ...Object.keys(held)]) {
    expect.soft(keysOf(name), name).toHaveLength(1);
  }
  // A refused request is over, and the next one is another; one that may still happen keeps its key.
  expect.soft(new Set(keysOf('f18-refused')).size).toBe(2);
  expect.soft([keysOf('f23-under-way').length, new Set(keysOf('f23-under-way')).size]).toEqual([2, 1]);
  const patches = tenants.mutations('f22-conflict').filter(({ method }) => method === 'PATCH');
  const revisions = patches.map(({ body }) => JSON.parse(body).revision as number);
  expect(new Set(patches.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(4);
  expect(revisions).toEqual([...new Set(revisions)].sort((left, right) => left - right));
}

async function patience(): Promise<void> {
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();
  /** The header, the least pause after it, and the most requests within the time that is waited. */
  const forms: Readonly<Record<string, readonly [string | undefined, number, number]>> = {
    seconds: ['3', 3000, 3],
    'a-date': [inSeconds(5), 1000, 6],
    'an-hour': ['3600', 60_000, 1],
    'for-ever': ['1000000000000', 60_000, 1],
    'nobody-knows': ['1e12', 1000, 6],
    negative: ['-5', 1000, 6],
    garbage: ['soon', 1000, 6],
    none: [undefined, 1000, 6],
  };
  const names = Object.keys(forms);
  const tenants = await Tenants.start([...names, 'f20-key']);
  for (const [name, [header]] of Object.entries(forms)) {
    await tenants.write(name);
    const headers: OwnAnswer['headers'] = header === undefined ? {} : { 'retry-after': header };
    tenants.front(name).answer = () => ({ status: 429, body: errorForm('rate_limited'), headers });
  }
  await tenants.write('f20-key', [serviceOf('f20-key'), taskOf('f20-key')]);
  shortHeartbeats(tenants.front('f20-key'));
  const manager = tenants.run();
  await tenants.until('ProtectedTask/f20-key', 'Ready', 'True');
  tenants.front('f20-key').answer = () => ({ status: 401, body: errorForm('unauthenticated') });
  await tenants.until('ContainerService/f20-key', 'Ready', 'Unknown', 'CredentialRejected');
  const rejected = { requests: tenants.front('f20-key').seen.length, atMs: Date.now() };
  await comesTrue('more pauses', async () => tenants.front('seconds').seen.length >= 2);
  await delay(2000);
  for (const [name, [, pauseMs, most]] of Object.entries(forms)) {
    const times = tenants.front(name).seen.map(({ atMs }) => atMs);
    const pauses = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
    // Two clocks, and a millisecond of each.
    expect.soft(Math.min(Infinity, ...pauses), name).toBeGreaterThanOrEqual(pauseMs - 20);
    expect
      .soft(times.length, name)
      .toBeLessThanOrEqual(most + Math.floor(((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000));
    expect.soft(times.length, name).toBeGreaterThan(0);
  }
  // Nothing but a question now and then: heartbeats, too, wait for a key of which it is known whose it is.
  const asked = tenants.front('f20-key').seen.length - rejected.requests;
  expect(asked).toBeLessThanOrEqual(1 + (Date.now() - rejected.atMs) / 2000);
  const sentBefore = heartbeatsOf(tenants, 'f20-key').length;
  tenants.front('f20-key').answer = ({ authorization }) =>
    authorization.includes(newKeyOf('f20-key'))
      ? undefined
      : { status: 401, body: errorForm('unauthenticated') };
  const changedAtMs = Date.now();
  await tenants.write('f20-key', [serviceOf('f20-key'), taskOf('f20-key')], { key: newKeyOf('f20-key') });
  await tenants.until('ContainerService/f20-key', 'Ready', 'True');
  await comesTrue('a heartbeat', async () => heartbeatsOf(tenants, 'f20-key').length > sentBefore);
  expect(Date.now() - changedAtMs).toBeLessThan(60_000);
  expect(new Set(heartbeatsOf(tenants, 'f20-key').map(({ body }) => JSON.parse(body).id)).size).toBe(1);
  expect(manager.running).toBe(true);
}

/** What is shown of the account from some time on, so that nothing is concluded from it: with the reason that is told. */
const oddities: Readonly<Record<string, readonly [string, string, (service: Json) => Json]>> = {
  'f26-older': ['Reconciling', 'StaleRead', (shown) => ({ ...shown, revision: 1 })],
  'f28-state': ['Reconciling', 'UnknownState', (shown) => ({ ...shown, state: 'hibernating' })],
  'f29-revision': ['Stalled', 'RevisionInvalid', (shown) => ({ ...shown, revision: 2 ** 53 })],
  'f29-text': ['Stalled', 'AnswerUnreadable', (shown) => ({ ...shown, revision: 'seven' })],
  'f29-nothing': ['Reconciling', 'AwaitingObservation', (shown) => ({ ...shown, revision: null })],
  'f29-id': ['Reconciling', 'AwaitingObservation', (shown) => ({ ...shown, id: '../volumes' })],
  'f29-list': ['Reconciling', 'AwaitingObservation', () => 7],
};

async function unbelievable(): Promise<void> {
  const names = Object.keys(oddities);
  const tenants = await Tenants.start([...names, 'f29-sparse']);
  const { fleet } = tenants;
  for (const name of [...names, 'f29-sparse']) await tenants.write(name);
  rewriteServices(
    tenants.front('f29-sparse'),
    ({ geography: _geography, httpPort: _port, createdAt: _at, volumeId: _volume, ...shown }) => ({
      ...shown,
      endpoint: null,
      command: null,
      hourlyMicros: null,
      shade: { deep: ['blue'] },
      constructor: 1,
    }),
  );
  tenants.run();
  await tenants.untilReady(names.length + 1);
  for (const name of names) {
    const [{ id }] = await tenants.services(name);
    await tenants.moveRevision(name, id);
  }
  await morePolls(tenants, names, 2);
  for (const [name, [, , change]] of Object.entries(oddities)) rewriteServices(tenants.front(name), change);
  await morePolls(tenants, names, 2);
  for (const name of [...names, 'f29-sparse']) await tenants.write(name, [serviceOf(name, newer)]);
  for (const [name, [type, reason]] of Object.entries(oddities)) {
    const key = `ContainerService/${name}`;
    await tenants.until(key, type, type === 'Ready' ? 'Unknown' : 'True', reason);
    await comesTrue('the edit taken in', async () => (await fleet.records()).get(key)?.generation === 2);
  }
  await tenants.until('ContainerService/f29-sparse', 'Ready', 'True');
  // An account that can't be read is read ever more seldom: the pace is that of the one that can be.
  await morePolls(tenants, ['f29-sparse'], 4);
  for (const name of names) {
    expect.soft(tenants.mutations(name), name).toHaveLength(1);
    tenants.front(name).rewrite = (_, body) => body;
  }
  await tenants.untilReady(names.length + 1);
  for (const name of [...names, 'f29-sparse']) {
    const sent = tenants.mutations(name);
    // On a busy machine an answer may come too late: then the request is repeated with its key.
    const keys = [...new Set(sent.map(({ idempotencyKey }) => idempotencyKey))];
    const methods = keys.map((key) => sent.find(({ idempotencyKey }) => idempotencyKey === key)?.method);
    const all = sent.map(({ method, path, idempotencyKey, body }) => [method, path, idempotencyKey, body]);
    expect.soft(methods, `${name}: ${JSON.stringify(all)}`).toEqual(['POST', 'PATCH']);
    const bodies = new Set(sent.map(({ idempotencyKey, body }) => `${idempotencyKey} ${body}`));
    expect.soft(bodies.size, name).toBe(keys.length);
  }
}

async function lateAndForeign(): Promise<void> {
  const names = ['f27-late', 'f27-account', 'f30-form', 'f30-deaf', 'f32-volume', 'f36-name', 'f40-clock'];
  const tenants = await Tenants.start(names);
  const { fleet } = tenants;
  for (const [name, lagMs, isEverywhere] of [
    ['f27-late', settleMs / 2, true],
    ['f27-account', settleMs * 3, false],
  ] as const) {
    const front = tenants.front(name);
    front.rewrite = ({ method, path, atMs }, body) => {
      const createdAtMs = tenants.mutations(name)[0]?.atMs ?? Infinity;
      return method === 'GET' && path === '/api/account' && atMs < createdAtMs + lagMs
        ? { ...body, services: [] }
        : body;
    };
    front.answer = ({ method, path, atMs }) => {
      const isLate = isEverywhere && atMs < (tenants.mutations(name)[0]?.atMs ?? 0) + lagMs;
      return isLate && method === 'GET' && path.startsWith('/api/services/')
        ? { status: 404, body: errorForm('not_found') }
        : undefined;
    };
  }
  rewriteServices(tenants.front('f30-form'), (shown) => ({
    ...shown,
    image: `${shown.image}@sha256:${'0'.repeat(64)}`,
  }));
  rewriteServices(tenants.front('f30-deaf'), (shown) => ({ ...shown, image: 'theirs:1' }), /GET/);
  const theirs = await tenants.call('f36-name', 'POST', '/api/services', {
    name: 'f36-name',
    region: 'standard',
    image: 'theirs:1',
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
  });
  const ahead = Date.UTC(2199, 0);
  tenants.front('f40-clock').rewrite = (_, body) =>
    JSON.parse(JSON.stringify(body, (key, value: unknown) => (/^created_?at$/i.test(key) ? ahead : value)));
  for (const name of names) await tenants.write(name);
  const data = volume('data', { accountRef: { name: 'f32-volume' }, deletionPolicy: 'Delete' });
  await tenants.write('f32-volume', [data]);
  tenants.run();

  for (const name of names.filter((each) => !/f30-deaf|f32/.test(each))) {
    await tenants.until(`ContainerService/${name}`, 'Ready', 'True');
  }
  await tenants.until('StorageVolume/data', 'Ready', 'True');
  const { volumes } = await tenants.call('f32-volume', 'GET', '/api/account');
  const stuck = { ...volumes[0], status: 'deleting' };
  tenants.front('f32-volume').rewrite = ({ path }, body) =>
    path === '/api/account' && tenants.mutations('f32-volume').length > 1
      ? { ...body, volumes: [stuck] }
      : body;
  tenants.front('f32-volume').answer = ({ method, path }) =>
    method === 'GET' && path.startsWith('/api/volumes/') && tenants.mutations('f32-volume').length > 1
      ? { status: 200, body: { volume: stuck } }
      : undefined;
  await tenants.write('f32-volume', []);
  const [ours] = await tenants.services('f40-clock');
  await tenants.call('f40-clock', 'PATCH', `/api/services/${ours.id}`, {
    revision: ours.revision,
    patch: { image: 'theirs:1' },
  });
  await comesTrue(
    'the image put back',
    async () => (await tenants.services('f40-clock'))[0]?.image !== 'theirs:1',
  );
  await tenants.until('StorageVolume/data', 'Reconciling', 'True', 'Deleting');
  await morePolls(tenants, names, 5);

  const methodsOf = (name: string) => tenants.mutations(name).map(({ method }) => method);
  for (const name of ['f27-late', 'f27-account', 'f30-form', 'f36-name']) {
    expect.soft([name, methodsOf(name)]).toEqual([name, ['POST']]);
  }
  // Each of three corrections would have a quarter of a minute to show.
  expect.soft(methodsOf('f30-deaf').length).toBeLessThanOrEqual(4);
  expect.soft(methodsOf('f32-volume')).toEqual(['POST', 'DELETE']);
  expect.soft(methodsOf('f40-clock')).toEqual(['POST', 'PATCH']);
  expect.soft((await fleet.records()).get('StorageVolume/data')?.externalId).toBe(stuck.id);
  const named = await tenants.services('f36-name');
  expect.soft(named).toHaveLength(2);
  expect.soft(named.find(({ id }) => id === theirs.id)?.image).toBe('theirs:1');
  expect.soft((await fleet.records()).get('ContainerService/f36-name')?.externalId).not.toBe(theirs.id);
}

async function heartbeats(): Promise<void> {
  const names = ['f34-funds', 'f37-lost', 'f38-flood'];
  const tenants = await Tenants.start(names);
  const tasks = (name: string, ...more: object[]) =>
    tenants.write(name, [serviceOf(name), taskOf(name), ...more]);
  const inFunds = (name: string) => service(name, { accountRef: { name: 'f34-funds' } });
  await tasks('f34-funds', inFunds('old'));
  await tasks('f37-lost');
  await tasks('f38-flood');
  shortHeartbeats(tenants.front('f37-lost'));
  shortHeartbeats(tenants.front('f38-flood'), 0.001);
  const poor = { is: false };
  tenants.front('f34-funds').rewrite = ({ path }, body) => {
    if (body.heartbeatSeconds) return { ...body, heartbeatSeconds: 1, expiresInSeconds: 10 };
    return path === '/api/account' && poor.is ? { ...body, balanceMicros: 0 } : body;
  };
  tenants.run();
  await tenants.untilReady(7);
  const floodedFromMs = Date.now();
  const flooded = heartbeatsOf(tenants, 'f38-flood').length;

  poor.is = true;
  await tenants.until('Account/f34-funds', 'SpendingAllowed', 'False', 'InsufficientFunds');
  const sentBefore = heartbeatsOf(tenants, 'f34-funds').length;
  await tasks('f34-funds', inFunds('new'));
  await tenants.until('ContainerService/new', 'Reconciling', 'True', 'InsufficientFunds');
  await comesTrue('the deletion', async () =>
    (await tenants.services('f34-funds')).every(({ name }) => name !== 'old'),
  );
  await comesTrue(
    'three more beats',
    async () => heartbeatsOf(tenants, 'f34-funds').length >= sentBefore + 3,
  );
  expect((await tenants.services('f34-funds')).map(({ name }) => name as string)).toEqual(['f34-funds']);

  let refusals = 0;
  tenants.front('f37-lost').answer = ({ method, path }) =>
    method === 'POST' && path.endsWith('/activity') && refusals++ < 2
      ? { status: 404, body: errorForm('not_found') }
      : undefined;
  await comesTrue('two refusals', async () => refusals >= 2);
  const lost = heartbeatsOf(tenants, 'f37-lost').length;
  await comesTrue('two more beats', async () => heartbeatsOf(tenants, 'f37-lost').length >= lost + 2);
  await tenants.until('ProtectedTask/f37-lost', 'Ready', 'True');
  const ids = heartbeatsOf(tenants, 'f37-lost').map(({ body }) => JSON.parse(body).id as string);
  expect(new Set(ids).size).toBe(1);

  const seconds = (Date.now() - floodedFromMs) / 1000;
  expect(heartbeatsOf(tenants, 'f38-flood').length - flooded).toBeLessThanOrEqual(seconds + 2);
  expect(heartbeatsOf(tenants, 'f38-flood').length).toBeGreaterThan(1);
}

test('whatever the API answers, it is not hammered, nothing is done twice or on bad ground, and it goes on afterwards', async () => {
  const failures = await failuresOf({
    'F18 F19 F21 F22 F23 F24 F31: a refusal is believed, everything else is looked into, and there is one service':
      answeredCreations,
    'F16 F17 F20: whatever `Retry-After` says, and while a key is rejected, the API is not hammered':
      patience,
    'F26 F28 F29: what can not be so is told, and nothing is sent on it': unbelievable,
    'F27 F30 F32 F36 F40: late reads, values in other forms, deletions without end, names of others and clocks ahead cost no mutation':
      lateAndForeign,
    'F34 F37 F38: without funds heartbeats and deletions go on; a lost record is registered again under its id; beats keep the pace that is answered':
      heartbeats,
  });
  expect(failures).toEqual([]);
});
