import { rm, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ControlPlane, apiKey, isMutation } from '../support/processes/control-plane.ts';
import { createFleet, account, isInCluster, service, volume } from '../support/processes/fleet.ts';
import { eventually, fetch, fleetkeeper, launch, temporaryFolder } from '../support/processes/processes.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  return { folder, plane, fleet: await createFleet(folder) };
}

// COVERAGE 79, 84
test('a rejected key stops everything, says so, and a corrected Secret sets it going again', async () => {
  const { plane, fleet } = await world();
  const documents = account(plane.url);
  const wrong = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'compute' },
    stringData: { apiKey: 'wrong' },
  };
  await fleet.write('account.yaml', [documents[0] ?? {}, wrong]);
  await fleet.write('web.yaml', [service('web')]);
  fleet.run();
  await fleet.until('ContainerService/web', 'Ready', 'Unknown', 'CredentialRejected');
  const planned = await fleet.plan();
  expect([planned.code, planned.stderr]).toEqual([1, expect.stringMatching(/account can't be read: .*401/)]);
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  await fleet.write('account.yaml', documents);
  await fleet.untilReady(1);
});

test('an API that can not be reached is waited for', async () => {
  const { plane, fleet } = await world();
  await fleet.write('fleet.yaml', [...account(plane.url), service('web')]);
  await plane.stop();
  const manager = fleet.run('--listen', '127.0.0.1:0');
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  await fleet.until('ContainerService/web', 'Ready', 'Unknown', 'ApiUnreachable');
  // In a cluster one tenant's account makes the operator not unready.
  expect((await fetch(`${url}/readyz`)).status).toBe(isInCluster ? 200 : 503);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await plane.start();
  await fleet.untilReady(1);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});

// COVERAGE 79
test('address and key may come from the environment, and without either the message says what to set', async () => {
  const { folder, plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  const bare = await fleetkeeper(['plan', ...fleet.flags]);
  expect([bare.code, bare.stdout]).toEqual([1, expect.stringContaining('FLEETKEEPER_API_URL')]);
  await writeFile(`${folder}/key`, `${apiKey}\n`);
  const environment = { FLEETKEEPER_API_URL: plane.url, FLEETKEEPER_API_KEY_FILE: `${folder}/key` };
  const manager = launch(['run', ...fleet.flags], environment);
  await fleet.untilReady(1);
  expect((await plane.service('web')).state).toBe('running');
  expect((await manager.kill('SIGTERM')).code).toBe(0);
});

// COVERAGE 48
test('capacity that is not there is waited for with growing pauses, never hammered', async () => {
  const { plane, fleet } = await world();
  await fleet.write('fleet.yaml', [...account(plane.url), service('web'), service('other')]);
  await plane.faults([
    { method: 'POST', path: '/api/services$', fault: 'status', status: 409, code: 'capacity_unavailable' },
  ]);
  fleet.run();
  const waiting = await fleet.until('ContainerService/web', 'Reconciling', 'True', 'CapacityUnavailable');
  expect(waiting.message).toContain('capacity_unavailable');
  await fleet.until('ContainerService/other', 'Reconciling', 'True', 'CapacityUnavailable');
  const polls = async () => (await plane.requests()).filter(({ method }) => method === 'GET').length;
  const before = await polls();
  await eventually('three more polls', async () => (await polls()) >= before + 3);
  // The other one asks for the same, so it need not ask itself.
  expect([1, 2]).toContain((await plane.requests()).filter(isMutation).length);
});

// COVERAGE 31, 93
test('what the API refuses for good is held until the document would ask for something else', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [service('web', { resources: { cpu: 600, memoryGb: 1 } })]);
  fleet.run();
  const held = await fleet.until('ContainerService/web', 'Stalled', 'True', 'Refused');
  expect(held.message).toMatch(/400 .*resources\.cpu/);
  const planned = await fleet.plan();
  expect(planned.plan.held[0]).toMatchObject({ reason: 'Refused', actions: ['create'] });
  await fleet.write('web.yaml', [service('web')]);
  await fleet.untilReady(1);
  expect((await plane.requests()).filter(isMutation).map(({ status }) => status)).toEqual([400, 201]);
});

test('below the balance that was set nothing is created', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url, { minimumBalanceMicros: 2_000_000_000 }));
  await fleet.write('web.yaml', [service('web')]);
  fleet.run();
  await fleet.until('ContainerService/web', 'Reconciling', 'True', 'BalanceTooLow');
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

test('sixteen services that together would pass the floor: with a cent above it, none is created, and the message has the sums', async () => {
  const { plane, fleet } = await world();
  const { balanceMicros } = (await plane.call('GET', '/api/account')) as { readonly balanceMicros: number };
  const minimumBalanceMicros = balanceMicros - 10_000;
  const price = { gpuHourMicros: 0, cpuHourMicros: 972_000, memoryGbHourMicros: 0, storageGbHourMicros: 0 };
  const prices = [{ region: 'standard', ...price }];
  await fleet.write('account.yaml', account(plane.url, { minimumBalanceMicros, prices }));
  const names = Array.from({ length: 16 }, (_, index) => `web${index}`);
  await fleet.write(
    'web.yaml',
    names.map((name) => service(name)),
  );
  fleet.run();
  for (const name of names) {
    const { message } = await fleet.until(`ContainerService/${name}`, 'Reconciling', 'True', 'BalanceTooLow');
    for (const amount of [balanceMicros, 972_000, minimumBalanceMicros])
      expect(message).toContain(usd(amount));
  }
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

function usd(micros: number): string {
  return (micros / 1_000_000).toLocaleString('en-US', { style: 'currency', currency: 'USD' });
}

// COVERAGE 113
test('the annotations paused and reconcile-at do what they say', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url, { pollSeconds: 600 }));
  const web = (image: string, annotations: Record<string, string>) => service('web', { image }, annotations);
  await fleet.write('web.yaml', [web('ghcr.io/acme/app:1', {})]);
  fleet.run();
  await fleet.untilReady(1);
  await plane.forgetRequests();
  await fleet.write('web.yaml', [web('ghcr.io/acme/app:2', { 'fleetkeeper.dev/paused': 'true' })]);
  await fleet.until('ContainerService/web', 'Stalled', 'True', 'Paused');
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  const live = await plane.service('web');
  await plane.call('PATCH', `/api/services/${live.id}`, {
    revision: live.revision,
    patch: { image: 'other:1' },
  });
  await fleet.write('web.yaml', [web('ghcr.io/acme/app:1', { 'fleetkeeper.dev/reconcile-at': 'now' })]);
  await eventually(
    'the foreign image replaced',
    async () => (await plane.service('web')).image === 'ghcr.io/acme/app:1',
  );
  expect((await fleet.records()).get('ContainerService/web')?.status).toMatchObject({
    lastHandledReconcileAt: 'now',
  });
});

test('an Account echoes reconcile-at, as every object does', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [service('web', {})]);
  fleet.run();
  await fleet.untilReady(1);
  const [document, ...others] = account(plane.url);
  const metadata = { name: 'default', annotations: { 'fleetkeeper.dev/reconcile-at': 'now' } };
  await fleet.write('account.yaml', [{ ...document, metadata }, ...others]);
  await eventually('the token in the status of the Account', async () => {
    const { status } = (await fleet.records()).get('Account/default') ?? {};
    return status?.lastHandledReconcileAt === 'now';
  });
});

test('an immutable change is held; Recreate replaces the service and keeps its volume', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [
    volume('data'),
    service('web', { storage: { volumeRef: { name: 'data' } } }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  const before = await plane.service('web');
  const renamed = (replacement: string) => [
    volume('data'),
    service('web', { serviceName: 'web-2', replacement, storage: { volumeRef: { name: 'data' } } }),
  ];
  if (isInCluster) {
    // The API server does not even take it.
    await expect(fleet.write('web.yaml', renamed('Never'))).rejects.toThrow(
      "serviceName can't be changed on a service that exists",
    );
  } else {
    await fleet.write('web.yaml', renamed('Never'));
    const held = await fleet.plan();
    expect([held.code, held.plan.held[0]?.reason]).toEqual([2, 'ImmutableFieldChanged']);
    expect((await fleet.apply()).code).toBe(1);
  }
  await fleet.write('web.yaml', renamed('Recreate'));
  const planned = await fleet.plan();
  expect(planned.plan.changes.map(({ action }: { action: string }) => action)).toEqual(['replace']);
  expect((await fleet.apply()).code).toBe(0);
  const after = await plane.service('web-2');
  expect([after.id === before.id, after.volumeId]).toEqual([false, before.volumeId]);
  expect((await plane.account()).services.length).toBe(1);
});

// COVERAGE 30, 42
test('what the API resolved may be written down: nothing is replaced for it', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url));
  const storage = { volumeGb: 10, volumeMode: 'independent' };
  await fleet.write('web.yaml', [service('web', { replacement: 'Recreate', storage })]);
  expect((await fleet.apply()).code).toBe(0);
  const { id, geography, volumeId } = await plane.service('web');
  const pinned = { geography, storage: { volumeId }, replacement: 'Recreate' };
  await fleet.write('web.yaml', [service('web', pinned)]);
  expect((await fleet.plan()).code).toBe(0);
  await fleet.write('web.yaml', [service('web', { ...pinned, replacement: 'Never' })]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('web.yaml', [service('web', { replacement: 'Recreate', storage })]);
  expect((await fleet.apply()).code).toBe(0);
  expect((await plane.service('web')).id).toBe(id);
});

// COVERAGE 34
test('a port that is taken out of the document is told, and goes only with the word of a person', async () => {
  const { plane, fleet } = await world();
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [service('web', { httpPort: 8080 })]);
  expect((await fleet.apply()).code).toBe(0);
  const { id } = await plane.service('web');
  await fleet.write('web.yaml', [service('web')]);
  const planned = await fleet.plan();
  expect([planned.code, planned.plan.held[0]?.reason]).toEqual([2, 'FieldRemoved']);
  expect((await fleet.apply()).code).toBe(1);
  expect(await plane.service('web')).toMatchObject({ id, httpPort: 8080 });
  await fleet.write('web.yaml', [service('web', { replacement: 'Recreate' })]);
  expect((await fleet.plan()).plan.changes).toMatchObject([{ action: 'replace' }]);
  expect((await fleet.apply()).code).toBe(0);
  expect((await plane.service('web')).httpPort).toBeNull();
});

test('a stop signal lets requests finish and leaves everything as it is', async () => {
  const { plane, fleet } = await world();
  await fleet.write('fleet.yaml', [
    ...account(plane.url),
    ...Array.from({ length: 20 }, (_, index) => service(`app-${index}`)),
  ]);
  await plane.faults([{ method: 'POST', fault: 'delay', delayMs: 300 }]);
  const manager = fleet.run();
  await eventually('a request', async () => (await plane.requests()).some(isMutation));
  expect((await manager.kill('SIGTERM')).code).toBe(0);
  const live = (await plane.account()).services.length;
  const recorded = [...(await fleet.records()).values()].filter(
    ({ externalId }) => externalId !== undefined,
  ).length;
  expect(recorded).toBe(live);
  fleet.run();
  await fleet.untilReady(20);
  expect((await plane.account()).services.length).toBe(20);
});

test('commands say what is wrong with their arguments', async () => {
  const { folder } = await world();
  const cases: [string[], RegExp][] = [
    [['plan'], /required option '--source <dir>'/],
    [['plan', '--source', `${folder}/nowhere`], /nowhere.*\n.*--source/],
    [['run', '--source', 'kubernetes'], /no Kubernetes API to talk to.*\n.*--kubeconfig/],
    [['status', '--source', folder], /there is no state file/],
    [['control-plane', '--listen', 'here', '--database', ':memory:', '--accounts', 'a'], /HOST:PORT/],
    [['frobnicate'], /unknown command/],
  ];
  for (const [args, message] of cases) {
    const { code, stderr, stdout } = await launch(args, { HOME: folder }).finished();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(message);
  }
  await rm(folder, { recursive: true });
});
