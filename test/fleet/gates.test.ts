import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ControlPlane, apiKey, isMutation } from '../support/processes/control-plane.ts';
import { createFleet, account, placeOf, service, volume } from '../support/processes/fleet.ts';
import { Front } from '../support/processes/front.ts';
import { eventually, fetch, fleetkeeper, nowMs, temporaryFolder } from '../support/processes/processes.ts';

async function world(entry = 'balanceMicros: 1000000000') {
  const folder = await temporaryFolder();
  const accounts = `accounts: [{name: acme, email: a@b.example, ${entry}, apiKeys: [${apiKey}]}]`;
  const plane = await new ControlPlane(folder, { accounts }).start();
  const front = await new Front(() => plane.url).start();
  return { folder, plane, front, fleet: await createFleet(folder) };
}

const catalogReads = (front: Front) => front.seen.filter(({ path }) => path === '/api/catalog').length;

// COVERAGE 82
test('an unverified e-mail address stops what needs one, by one condition, until it is verified', async () => {
  const { plane, front, fleet } = await world();
  await fleet.write('account.yaml', account(front.url));
  await fleet.write('web.yaml', [service('old'), service('leaves')]);
  fleet.run();
  await fleet.untilReady(2);
  const isVerified = { is: false };
  front.rewrite = ({ path }, body) => (path === '/api/me' ? { ...body, emailVerified: isVerified.is } : body);
  // The identity is read anew when the credential may have changed.
  front.answer = ({ path }) =>
    path === '/api/account'
      ? { status: 401, body: { error: { code: 'unauthenticated', message: 'no' } } }
      : undefined;
  await fleet.until('Account/default', 'Ready', 'Unknown', 'CredentialRejected');
  front.answer = () => undefined;
  await fleet.until('Account/default', 'SpendingAllowed', 'False', 'EmailUnverified');
  await plane.forgetRequests();
  await fleet.write('web.yaml', [
    service('old', { image: 'ghcr.io/acme/app:2' }),
    ...Array.from({ length: 5 }, (_, index) => service(`new-${index}`)),
    volume('data'),
  ]);
  const held = ['old', ...Array.from({ length: 5 }, (_, index) => `new-${index}`)];
  for (const name of held) {
    await fleet.until(`ContainerService/${name}`, 'Stalled', 'True', 'EmailUnverified');
  }
  await fleet.until('StorageVolume/data', 'Stalled', 'True', 'EmailUnverified');
  // What needs no verified address goes on.
  await eventually('the deletion', async () => (await plane.service('leaves')) === undefined);
  expect(
    (await plane.requests())
      .filter(isMutation)
      .map(({ method, path }) => [method, path.endsWith('/actions')]),
  ).toEqual([['POST', true]]);
  isVerified.is = true;
  await fleet.until('Account/default', 'SpendingAllowed', 'True', 'Allowed');
  await fleet.untilReady(7, 90_000);
});

// The case that was measured before requests reserved what they cost: all sixteen were made.
test('of a balance of $50.01 with a floor of $50.00, no service with a GPU is created, and each states why', async () => {
  const { plane, fleet } = await world('balanceMicros: 50010000');
  await fleet.write('account.yaml', account(plane.url, { minimumBalanceMicros: 50_000_000 }));
  const names = Array.from({ length: 16 }, (_, index) => `gpu-${index}`);
  const resources = { gpuCount: 1, cpu: 8, memoryGb: 32 };
  await fleet.write(
    'gpu.yaml',
    names.map((name) => service(name, { resources })),
  );
  fleet.run();
  for (const name of names) await fleet.until(`ContainerService/${name}`, 'Ready', 'False', 'BalanceTooLow');
  const messages = [...(await fleet.records()).entries()].flatMap(([key, { status }]) =>
    key.startsWith('ContainerService/')
      ? (status?.conditions ?? []).flatMap(({ type, message }) => (type === 'Ready' ? [message] : []))
      : [],
  );
  expect(messages).toEqual(
    names.map(
      () =>
        `it adds $1.04/h; the balance of account ${fleet.namespace}/default is $50.01, and minimumBalanceMicros, $50.00, would not be left after an hour`,
    ),
  );
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

// COVERAGE 8, 89
test('without funds nothing is even tried to be created, and a top-up is noticed', async () => {
  const { plane, front, fleet } = await world('balanceMicros: 0');
  await fleet.write('account.yaml', account(front.url));
  await fleet.write('web.yaml', [service('web'), volume('data')]);
  fleet.run();
  await fleet.until('ContainerService/web', 'Reconciling', 'True', 'InsufficientFunds');
  await fleet.until('StorageVolume/data', 'Reconciling', 'True', 'InsufficientFunds');
  await fleet.until('Account/default', 'SpendingAllowed', 'False', 'InsufficientFunds');
  await fleet.until('Account/default', 'Ready', 'True', 'Connected');
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  front.rewrite = ({ path }, body) =>
    path === '/api/account' ? { ...body, balanceMicros: 5_000_000 } : body;
  await fleet.until('Account/default', 'SpendingAllowed', 'True', 'Allowed');
});

test('one refusal for want of funds is enough for the whole account', async () => {
  const { plane, fleet } = await world();
  await fleet.write(
    'account.yaml',
    account(plane.url, { requests: { perSecond: 100, burst: 100, concurrency: 1 } }),
  );
  const names = Array.from({ length: 40 }, (_, index) => `app-${index}`);
  await plane.faults([
    { method: 'POST', path: '/api/services$', fault: 'status', status: 409, code: 'insufficient_funds' },
  ]);
  await fleet.write(
    'web.yaml',
    names.map((name) => service(name)),
  );
  fleet.run();
  for (const name of names) {
    await fleet.until(`ContainerService/${name}`, 'Reconciling', 'True', 'InsufficientFunds');
  }
  await fleet.until('Account/default', 'SpendingAllowed', 'False', 'InsufficientFunds');
  // Those that were under way with it, at most one per worker.
  const { length } = (await plane.requests()).filter(isMutation);
  expect(length).toBeLessThanOrEqual(16);
});

// COVERAGE 87
test('another currency stops spending, and is told', async () => {
  const { plane, front, fleet } = await world();
  front.rewrite = ({ path }, body) => (path === '/api/account' ? { ...body, currency: 'EUR' } : body);
  await fleet.write('account.yaml', account(front.url));
  await fleet.write('web.yaml', [service('web')]);
  fleet.run();
  await fleet.until('ContainerService/web', 'Stalled', 'True', 'ContractDrift');
  const reported = await fleet.until('Account/default', 'SpendingAllowed', 'False', 'ContractDrift');
  expect(reported.message).toContain('"EUR"');
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

// COVERAGE 29
test('a region, a geography or a GPU that is not offered is held with the list of what is, and nothing is sent', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [
    service('lost', { region: 'atlantis' }),
    service('high', { geography: 'moon' }),
    volume('data', { region: 'atlantis' }),
    service('fine', { geography: 'europe' }),
  ]);
  const planned = await fleet.plan();
  expect(planned.code).toBe(2);
  expect(
    planned.plan.held.map(({ name, reason, actions }: Record<string, unknown>) => [name, reason, actions]),
  ).toEqual([
    ['high', 'UnknownGeography', ['create']],
    ['lost', 'UnknownRegion', ['create']],
    ['data', 'UnknownRegion', ['create']],
  ]);
  fleet.run();
  const lost = await fleet.until('ContainerService/lost', 'Stalled', 'True', 'UnknownRegion');
  const place = placeOf('ContainerService', 'lost', 'web.yaml');
  const offer = 'there is no region "atlantis"; the catalog offers standard, economy';
  expect(lost.message).toMatch(new RegExp(`^${place}: spec\\.region: ${offer}$`));
  const high = await fleet.until('ContainerService/high', 'Stalled', 'True', 'UnknownGeography');
  expect(high.message).toMatch(/spec\.geography: .*offers auto, europe, north-america$/);
  await fleet.until('StorageVolume/data', 'Stalled', 'True', 'UnknownRegion');
  await fleet.until('ContainerService/fine', 'Ready', 'True');
  expect((await plane.requests()).filter(isMutation).map(({ status }) => status)).toEqual([201]);
  await fleet.write('web.yaml', [
    service('lost'),
    service('high'),
    volume('data'),
    service('fine', { geography: 'europe' }),
  ]);
  await fleet.untilReady(4);
});

test('a replacement that the catalog does not offer deletes nothing', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [service('web', { replacement: 'Recreate' })]);
  fleet.run();
  await fleet.untilReady(1);
  await fleet.write('web.yaml', [service('web', { replacement: 'Recreate', region: 'atlantis' })]);
  await fleet.until('ContainerService/web', 'Stalled', 'True', 'UnknownRegion');
  expect((await plane.service('web')).state).toBe('running');
});

// COVERAGE 112
test('a catalog that fails, hangs or makes no sense holds nobody up', async () => {
  const { plane, front, fleet } = await world();
  await fleet.write('account.yaml', account(front.url));
  const answers = [
    { status: 500, body: {} },
    { status: 200, body: { regions: 'none', gpuCatalog: [] } },
    { status: 200, body: catalogOf({ tier: 'gold' }) },
  ];
  for (const [index, answer] of answers.entries()) {
    front.answer = ({ path }) => (path === '/api/catalog' ? answer : undefined);
    const name = `web-${index}`;
    await fleet.write(`${name}.yaml`, [service(name)]);
    const { code } = await fleet.apply();
    expect([name, code]).toEqual([name, 0]);
  }
  await plane.faults([{ method: 'GET', path: '/api/catalog$', fault: 'delay', delayMs: 60_000 }]);
  front.answer = () => undefined;
  await fleet.write('late.yaml', [service('late')]);
  expect((await fleet.apply()).code).toBe(0);
});

// COVERAGE 29
test('a catalog with titles, in other letters than the API takes, holds nobody up', async () => {
  const { front, fleet } = await world();
  await fleet.write('account.yaml', account(front.url));
  const regions = [
    { name: 'Standard', geographies: [{ id: 'europe', name: 'Europe West' }] },
    { name: 'STANDARD', geographies: ['Europe', 'Asia'] },
    { id: 1, name: 'The standard tier' },
    { name: 'standard', geographies: [{ name: 'Europe West' }] },
  ];
  for (const [index, region] of regions.entries()) {
    front.answer = ({ path }) =>
      path === '/api/catalog' ? { status: 200, body: catalogOf(region) } : undefined;
    const name = `web-${index}`;
    await fleet.write(`${name}.yaml`, [service(name, { geography: 'europe' })]);
    const { code } = await fleet.apply();
    expect([name, code]).toEqual([name, 0]);
  }
});

function catalogOf(region: object) {
  return {
    regions: [region],
    templates: [],
    gpuCatalog: [],
    currency: 'USD',
    browserEnabled: true,
    payment: { provider: 'p', status: 'enabled' },
  };
}

test('the catalog is read for what is to be created, and not for what is there', async () => {
  const { front, fleet } = await world();
  await fleet.write('account.yaml', account(front.url));
  await fleet.write('web.yaml', [service('a'), service('b'), volume('data')]);
  fleet.run();
  await fleet.untilReady(3);
  expect(catalogReads(front)).toBe(1);
  await fleet.write('web.yaml', [
    service('a', { image: 'ghcr.io/acme/app:2' }),
    service('b'),
    volume('data'),
  ]);
  await fleet.until('ContainerService/a', 'Ready', 'True');
  expect(catalogReads(front)).toBe(1);
});

test('capacity that is not there is not hammered by edits and restarts', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url));
  await plane.faults([
    { method: 'POST', path: '/api/services$', fault: 'status', status: 409, code: 'capacity_unavailable' },
  ]);
  const sent = async () => (await plane.requests()).filter(isMutation).length;
  await fleet.write('web.yaml', [service('web')]);
  let manager = fleet.run();
  await fleet.until('ContainerService/web', 'Reconciling', 'True', 'CapacityUnavailable');
  const startedAt = nowMs();
  for (let edit = 0; edit < 3; edit += 1) {
    const image = `ghcr.io/acme/app:edit-${edit}`;
    await fleet.write('web.yaml', [service('web', { image })]);
    await eventually(
      'the edit taken in',
      async () => (await fleet.records()).get('ContainerService/web')?.manifest.spec['image'] === image,
    );
    await manager.kill('SIGKILL');
    manager = fleet.run();
    await eventually('the restart', async () => /"(manager started|leading)"/.test(manager.stderr));
  }
  await manager.kill('SIGTERM');
  // The pauses are at least 5 s, 10 s and 20 s.
  const seconds = (nowMs() - startedAt) / 1000;
  const allowed = 1 + [5, 15, 35, 75].filter((at) => seconds >= at).length;
  expect(await sent()).toBeLessThanOrEqual(allowed);
  // Another region is another question.
  const before = await sent();
  await fleet.write('web.yaml', [service('web', { region: 'economy' })]);
  fleet.run();
  await eventually('an attempt in the other region', async () => (await sent()) > before);
});

test('the status of an Account says what is left, what it costs, how long it lasts, and what is used of the limits', async () => {
  const { plane, fleet } = await world('balanceMicros: 100000000');
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [
    service('web'),
    service('idle', { desiredState: 'Stopped' }),
    volume('data'),
  ]);
  fleet.run();
  await fleet.untilReady(3);
  const expected = (await plane.service('web')).hourlyMicros + (await plane.volume('data')).hourlyMicros;
  const status = await eventually('the burn', async () => {
    const found = (await fleet.records()).get('Account/default')?.status;
    return found?.['burnMicrosPerHour'] === expected && found;
  });
  expect(status).toMatchObject({
    url: plane.url,
    identityPinned: true,
    emailVerified: true,
    services: 2,
    volumes: 1,
    limits: { volumes: { used: 1, limit: 50 } },
    currency: 'USD',
  });
  const { balanceMicros, runwayHours } = status as unknown as Record<string, number>;
  expect(balanceMicros).toBeGreaterThan(90_000_000);
  expect(runwayHours).toBeCloseTo((balanceMicros ?? 0) / expected, 0);
  const { stdout } = await fleetkeeper(['status', ...fleet.flags, '--output', 'json']);
  expect(stdout).toContain('"burnMicrosPerHour"');
});

test('/metrics has what dashboards ask for, and promtool has nothing to say', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [
    service('web', { driftPolicy: 'Report' }),
    service('lost', { region: 'atlantis' }),
  ]);
  const manager = fleet.run('--listen', '127.0.0.1:0');
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  await fleet.until('ContainerService/web', 'Ready', 'True');
  const { id, revision } = await plane.service('web');
  await plane.call('PATCH', `/api/services/${id}`, { revision, patch: { image: 'theirs:1' } });
  await fleet.until('ContainerService/web', 'Drifted', 'True');
  const ofDefault = (text: string) => text.replaceAll(`"${fleet.namespace}/default"`, '"default/default"');
  const read = async () => ofDefault(await (await fetch(`${url}/metrics`)).text());
  const metrics = await eventually('an age of the drift', async () => {
    const text = await read();
    return /^fleetkeeper_drift_oldest_age_seconds\{kind="ContainerService"\} [1-9]/m.test(text) && text;
  });
  for (const line of [
    /^controller_runtime_reconcile_total\{controller="ContainerService",result="success"\} [1-9]/m,
    /^controller_runtime_active_workers\{controller="ContainerService"\} \d/m,
    /^controller_runtime_max_concurrent_reconciles\{controller="StorageVolume"\} 16$/m,
    /^workqueue_adds_total\{name="fleetkeeper"\} [1-9]/m,
    /^workqueue_work_duration_seconds_count\{name="fleetkeeper"\} [1-9]/m,
    /^workqueue_longest_running_processor_seconds\{name="fleetkeeper"\} \d/m,
    /^fleetkeeper_condition\{kind="ContainerService",type="Stalled",status="True",reason="UnknownRegion"\} 1$/m,
    /^fleetkeeper_condition\{kind="Account",type="SpendingAllowed",status="True",reason="Allowed"\} 1$/m,
    /^fleetkeeper_api_requests_total\{verb="GET",endpoint="\/api\/me",outcome="applied"\} 1$/m,
    /^fleetkeeper_unknown_outcomes\{kind="ContainerService"\} 0$/m,
    /^fleetkeeper_account_balance_micros\{account="default\/default"\} \d+$/m,
    /^fleetkeeper_account_burn_micros_per_hour\{account="default\/default"\} [1-9]\d+$/m,
    /^fleetkeeper_account_runway_seconds\{account="default\/default"\} [1-9]\d+$/m,
    /^fleetkeeper_account_up\{account="default\/default"\} 1$/m,
    /^fleetkeeper_account_quota_limit\{account="default\/default",resource="volumes"\} 50$/m,
    /^fleetkeeper_account_poll_age_seconds\{account="default\/default"\} [\d.]+$/m,
    /^fleetkeeper_build_info\{version="[\d.]+"\} 1$/m,
    /^process_cpu_seconds_total [\d.]+$/m,
  ]) {
    expect(metrics).toMatch(line);
  }
  expect(metrics).not.toContain('web');
  if (spawnSync('promtool', ['--version']).status !== 0) {
    process.stderr.write(
      'promtool is not installed (Debian: prometheus): the names on /metrics are not checked\n',
    );
    return;
  }
  const checked = spawnSync('promtool', ['check', 'metrics'], { input: metrics, encoding: 'utf8' });
  expect([checked.stdout, checked.stderr, checked.status]).toEqual(['', '', 0]);
});
