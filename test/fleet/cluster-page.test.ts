/** The page of a cluster: a process of its own, that only reads. What it shows, what it does not know, and who sees which namespace. */
import { expect } from 'vitest';
import { resourceTypes } from '../../src/resources/index.ts';
import { allowedBy, describeCall, grantsOf, unusedRights, type Call } from '../support/manifests/access.ts';
import { applyRoles, rolesAmong } from '../support/manifests/apply.ts';
import { plainFiles } from '../support/manifests/render.ts';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import {
  allowReading,
  forbidReading,
  makeNamespace,
  openClusterPage,
  untilRead,
} from '../support/processes/cluster-page.ts';
import { apiKey, ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInCluster, type Json } from '../support/processes/fleet.ts';
import {
  eventually,
  fleetkeeper,
  launch,
  sleep,
  temporaryFolder,
  type Program,
} from '../support/processes/processes.ts';
import { serverOf, testWithServer } from '../support/processes/operator.ts';
import { fleetOf } from '../support/processes/replicas.ts';

interface World {
  readonly plane: ControlPlane;
  readonly fleet: ClusterFleet;
  readonly operator: Program;
  readonly folder: string;
}

const secret = 'literal-value-of-env';
const env = [{ name: 'A', value: secret }];
const place = { region: 'standard', image: 'a/a:1', resources: { cpu: 1, memoryGb: 1 } };

async function createWorld(isWhole = false): Promise<World> {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  if (!(fleet instanceof ClusterFleet)) throw new Error('this test needs a cluster');
  // It is stale after three of the longest intervals.
  await fleet.write('account.yaml', account(plane.url, { quietPollSeconds: 1 }));
  await fleet.write('web.yaml', [service('web', { env })]);
  const template = { spec: { ...place, env, httpPort: 80 } };
  if (isWhole)
    await fleet.write('llm.yaml', [
      fleetOf('llm', { replicas: 2, template, update: { minReadySeconds: 0 } }),
    ]);
  const operator = fleet.run();
  await fleet.untilReady(isWhole ? 4 : 1);
  await untilRead(fleet.cluster.api);
  return { plane, fleet, operator, folder };
}

/** All paths that show objects. */
const listing = [
  '/api/v1/summary',
  '/api/v1/objects',
  '/api/v1/tree',
  '/api/v1/problems',
  '/api/v1/timeline',
  '/api/v1/money?by=namespace',
  '/api/v1/money?by=account',
];

testInCluster('shows what the objects show, and no secret value at any path', async () => {
  const { plane, fleet } = await createWorld(true);
  const { page, get } = await openClusterPage(fleet.flags);
  const { body: summary } = await get('/api/v1/summary');
  expect(summary).toMatchObject({ place: 'cluster', objects: 5, health: { Healthy: 5 } });
  expect(summary.manager).toMatchObject({ state: 'Running', note: null });
  expect(summary.notes).toEqual([expect.stringContaining('brakes that no object shows')]);
  expect(summary.problems.total).toBe(0);
  expect(summary.accounts).toEqual([
    expect.objectContaining({ up: true, isStale: false, failure: null, requests: null }),
  ]);
  expect(summary.oldestReadAt).not.toBeNull();
  const { namespace } = fleet;
  const { body: rollout } = await get(`/api/v1/fleets/${namespace}/llm`);
  expect(rollout.slots.map(({ ready, observedRevision }: Json) => [ready, observedRevision])).toEqual([
    [true, 'r1'],
    [true, 'r1'],
  ]);
  const { body: timeline } = await get('/api/v1/timeline');
  expect(timeline.items.map(({ action, outcome }: Json) => `${action} ${outcome}`)).toContain(
    'create-service applied',
  );
  const { body: money } = await get('/api/v1/money');
  expect(money).toMatchObject({ isComplete: true, unmanaged: { things: 0 } });
  expect(money.total.things).toBe((await plane.account()).services.length);
  expect(money.total.hourlyMicros).toBe(summary.burnMicrosPerHour);
  const objects = [
    'ContainerService/NS/web',
    'ServiceFleet/NS/llm',
    'ContainerService/NS/llm-0',
    'Account/NS/default',
  ];
  const everything = await Promise.all(
    [
      ...listing,
      ...objects.map((key) => `/api/v1/objects/${key.replace('NS', namespace)}`),
      `/api/v1/fleets/${namespace}/llm`,
      '/metrics',
    ].map((target) => get(target)),
  );
  expect(everything.map(({ status }) => status)).toEqual(everything.map(() => 200));
  const texts = everything.map(({ text }) => text).join('\n');
  for (const value of [secret, apiKey]) expect(texts).not.toContain(value);
  expect((await page.kill('SIGTERM')).code).toBe(0);
});

testInCluster('while no operator is at work, it shows the last status as stale, and since when', async () => {
  const { fleet, operator } = await createWorld();
  const { get } = await openClusterPage(fleet.flags);
  const summary = async () => (await get('/api/v1/summary')).body;
  expect((await summary()).health).toEqual({ Healthy: 2 });
  await operator.kill('SIGTERM');
  await eventually('it was noticed', async () => (await summary()).manager.state === 'Stopped');
  const { health, manager, accounts } = await summary();
  expect(health).toEqual({ Stale: 2 });
  expect(manager.seenAt).not.toBeNull();
  await eventually('the account is stale', async () => (await summary()).accounts[0].isStale, 120_000);
  expect(accounts[0].readAt).not.toBeNull();
  const next = fleet.run();
  await eventually('all is current again', async () => (await summary()).health.Healthy === 2);
  await next.kill('SIGKILL');
  await eventually('its death was noticed', async () => (await summary()).manager.state === 'Lost', 60_000);
  expect((await summary()).health).toEqual({ Stale: 2 });
});

testWithServer(
  'while the leader can not list a kind, nothing is current, and the page shows that after a minute',
  async () => {
    const { fleet, operator } = await createWorld();
    const { get } = await openClusterPage(fleet.flags);
    const summary = async () => (await get('/api/v1/summary')).body;
    const untilState = (state: string) =>
      eventually(
        state,
        async () => {
          const found = await summary();
          return found.manager.state === state && found;
        },
        120_000,
      );
    expect((await summary()).health).toEqual({ Healthy: 2 });
    await operator.kill('SIGTERM');
    await untilState('Stopped');
    const newKind = { resource: 'servicefleets', verbs: ['list'] } as const;
    const mend = serverOf(fleet).faults.add({ match: newKind, status: 403 });
    fleet.run();
    expect((await untilState('Running')).health).toEqual({ Stale: 2 });
    const { manager, health, accounts } = await untilState('Impaired');
    expect(manager.note).toContain('/readyz?verbose');
    expect([health, accounts[0].isStale]).toEqual([{ Stale: 2 }, true]);
    mend();
    await eventually('all is current again', async () => (await summary()).health.Healthy === 2, 60_000);
    expect((await summary()).manager.state).toBe('Running');
  },
  // On real processes it waits for a real minute.
  300_000,
);

testWithServer(
  'what the leader does not read is stale: a namespace that it does not watch, or can not list',
  async () => {
    const { plane, fleet, operator } = await createWorld();
    const { namespace } = fleet;
    const documents: Json[] = [...account(plane.url, { quietPollSeconds: 1 }), service('there', { env })];
    for (const { metadata } of documents) metadata.namespace = 'other';
    await fleet.write('other.yaml', documents);
    await fleet.untilReady(2);
    const { get } = await openClusterPage(fleet.flags);
    const healthOf = async () => {
      const { items } = (await get('/api/v1/objects')).body;
      return Object.fromEntries(items.map(({ key, health }: Json) => [key, health]));
    };
    const current = async (count: number) => {
      const found = await healthOf();
      return Object.values(found).filter((health) => health === 'Healthy').length >= count && found;
    };
    const all = await eventually('all are current', () => current(4));
    const own = new Set([`ContainerService/${namespace}/web`, `Account/${namespace}/default`]);
    const ownOnly = Object.fromEntries(
      Object.keys(all).map((key) => [key, own.has(key) ? 'Healthy' : 'Stale']),
    );
    await operator.kill('SIGTERM');
    await eventually('its end was noticed', async () => !(await current(1)));
    const narrowed = fleet.run('--watch-namespaces', namespace);
    expect(await eventually('some are current', () => current(2))).toEqual(ownOnly);
    await narrowed.kill('SIGTERM');
    await eventually('its end was noticed', async () => !(await current(1)));
    const give = serverOf(fleet).faults.add({ match: { namespace: 'other', verbs: ['list'] }, status: 403 });
    fleet.run('--watch-namespaces', `${namespace},other`);
    expect(await eventually('some are current', () => current(2))).toEqual(ownOnly);
    give();
    await eventually('all are current again', () => current(4), 90_000);
  },
  300_000,
);

testWithServer(
  'while the API server does not answer, the page stays with what it has, as stale',
  async () => {
    const { fleet, folder } = await createWorld();
    const server = serverOf(fleet);
    const roles = rolesAmong(plainFiles('components/page'), fleet.namespace);
    await applyRoles(fleet.cluster.api, roles.map(within(fleet.namespace)));
    const token = server.tokenOf(fleet.namespace, 'fleetkeeper-page');
    const kubeconfig = server.kubeconfig(`${folder}/page`, { token, namespace: fleet.namespace });
    const { get } = await openClusterPage(['--kubeconfig', kubeconfig]);
    const summary = async () => (await get('/api/v1/summary')).body;
    expect((await summary()).health).toEqual({ Healthy: 2 });
    const user = `system:serviceaccount:${fleet.namespace}:fleetkeeper-page`;
    const recover = server.faults.add({ match: { user }, reset: 'before' });
    await eventually('it was noticed', async () => (await summary()).manager.state === 'Unknown', 60_000);
    const { manager, health, objects } = await summary();
    expect([objects, health]).toEqual([2, { Stale: 2 }]);
    expect(manager.note).toContain('the Kubernetes API does not answer');
    expect(manager.seenAt).not.toBeNull();
    recover();
    await eventually('all is current again', async () => (await summary()).health.Healthy === 2);
    expect((await summary()).manager.state).toBe('Running');
  },
);

testInCluster('an account that can not be read is failing, and not healthy', async () => {
  const { plane, fleet } = await createWorld();
  const { get } = await openClusterPage(fleet.flags);
  await plane.stop();
  const failing = async () => {
    const [shown] = (await get('/api/v1/summary')).body.accounts;
    return shown.up ? undefined : shown;
  };
  const shown = await eventually('it fails', failing, 60_000);
  expect(shown.failure.reason).toBe('ApiUnreachable');
  await eventually('nothing is healthy', async () => {
    const { body } = await get('/api/v1/objects?health=Healthy');
    return body.total === 0;
  });
});

testWithServer('until everything was listed there is no answer, and the reason is shown', async () => {
  const { fleet } = await createWorld();
  const server = serverOf(fleet);
  const allow = server.faults.add({ match: { resource: 'servicefleets', verbs: ['list'] }, status: 403 });
  const { get } = await openClusterPage(fleet.flags, false);
  await eventually('it was refused', async () => (await get('/readyz')).text.includes('403'));
  const { status, body } = await get('/api/v1/problems');
  expect([status, body.error.code, body.error.message]).toEqual([
    503,
    'unread',
    expect.stringMatching(/servicefleets.*403/),
  ]);
  expect((await get('/healthz')).status).toBe(200);
  allow();
  await eventually('it is listed', async () => (await get('/api/v1/problems')).status === 200);
});

testInCluster('the timeline has what changes, and Events of before', async () => {
  const { fleet } = await createWorld();
  await fleet.write('web.yaml', [service('web', { env, image: 'ghcr.io/acme/app:2' })]);
  await eventually('the new image', async () => {
    const { lastMutation } = (await fleet.records()).get('ContainerService/web')?.status ?? {};
    return lastMutation?.action === 'patch-service' && lastMutation.outcome === 'applied';
  });
  const { get } = await openClusterPage(fleet.flags);
  const actions = async () =>
    (await get(`/api/v1/timeline?object=ContainerService/${fleet.namespace}/web`)).body.items.map(
      ({ action, outcome, at }: Json) => ({ action, outcome, at }),
    );
  expect((await actions()).some(({ outcome }: Json) => outcome === 'event')).toBe(true);
  const updates = async () =>
    (await actions()).filter(({ action }: Json) => action === 'patch-service').length;
  const before = await updates();
  await fleet.write('web.yaml', [service('web', { env, image: 'ghcr.io/acme/app:3' })]);
  await eventually('one more', async () => (await updates()) === before + 1);
  const times = (await actions()).map(({ at }: Json) => at);
  expect(times).toEqual(times.toSorted().toReversed());
});

/** Two namespaces with a fleet, and the rights of the page. */
async function createNeighbours() {
  const { plane, fleet, folder, operator } = await createWorld();
  const server = serverOf(fleet);
  const { api } = fleet.cluster;
  const inOther = (documents: readonly object[]) =>
    documents.map((document: Json) => ({
      ...document,
      metadata: { ...document.metadata, namespace: 'other' },
    }));
  await fleet.write('other.yaml', inOther([...account(plane.url), service('hidden-service', { env })]));
  await fleet.untilReady(2);
  const failing = { ...place, resources: { cpu: 100_000, memoryGb: 1 } };
  await fleet.write('failing.yaml', inOther([service('hidden-failure', failing)]));
  await fleet.until('ContainerService/hidden-failure', 'Ready', 'False');
  await makeNamespace(api, 'fleetkeeper-system');
  const files = [...plainFiles('components/page'), ...plainFiles('components/page-kubernetes-auth')];
  const roles = rolesAmong(files, 'fleetkeeper-system');
  await applyRoles(api, roles);
  const token = server.tokenOf('fleetkeeper-system', 'fleetkeeper-page');
  const kubeconfig = server.kubeconfig(`${folder}/page`, { token, namespace: 'fleetkeeper-system' });
  return { fleet, server, operator, roles, flags: ['--kubeconfig', kubeconfig, '--page-kubernetes-auth'] };
}

/** Its Lease is where the operator of the manifests has it. */
async function moveOperator({
  fleet,
  server,
  operator,
}: Pick<Awaited<ReturnType<typeof createNeighbours>>, 'fleet' | 'server' | 'operator'>): Promise<void> {
  await operator.kill('SIGTERM');
  const [, , , kubeconfig = ''] = fleet.flags;
  const own = server.kubeconfig(`${kubeconfig}-of-the-system`, { namespace: 'fleetkeeper-system' });
  launch(['run', '--source', 'kubernetes', '--kubeconfig', own]);
}

testWithServer(
  'a reader sees the namespaces that he may list with kubectl, and no trace of others (GI2)',
  async () => {
    const { fleet, server, flags } = await createNeighbours();
    const { api } = fleet.cluster;
    const { namespace } = fleet;
    await allowReading(api, { namespace, reader: 'own' });
    await allowReading(api, { namespace, reader: 'partly', resources: ['containerservices'] });
    const tokens = Object.fromEntries(
      ['own', 'partly', 'nobody'].map((reader) => [reader, server.tokenOf(namespace, reader)]),
    );
    const admin = server.tokenOf('fleetkeeper-system', 'fleetkeeper-page');
    const { get } = await openClusterPage(flags);
    expect((await get('/api/v1/summary')).status).toBe(401);
    expect((await get('/api/v1/summary', 'not-a-token')).status).toBe(401);
    // The page itself may list all, so its own token shows everything.
    const all = (await get('/api/v1/summary', admin)).body;
    expect(all.objects).toBe(5);
    const seen = await Promise.all(listing.map((target) => get(target, admin)));
    expect(seen.filter(({ text }) => !/hidden|other/.test(text))).toEqual([]);
    const own = (await get('/api/v1/summary', tokens['own'])).body;
    expect([own.objects, own.accounts.length, own.problems.total]).toEqual([2, 1, 0]);
    for (const target of [...listing, '/api/v1/objects?q=hidden', '/api/v1/timeline?account=other/default']) {
      const { status, text } = await get(target, tokens['own']);
      expect([target, status, text.includes('hidden'), text.includes('other/')]).toEqual([
        target,
        200,
        false,
        false,
      ]);
    }
    for (const key of [
      'objects/ContainerService/other/hidden-service',
      'fleets/other/llm',
      'tree?account=other/default',
    ])
      expect([key, (await get(`/api/v1/${key}`, tokens['own'])).status]).toEqual([key, 404]);
    // Events are asked for by themselves, and this role does not have them.
    const { body: timeline } = await get('/api/v1/timeline', tokens['own']);
    expect(timeline.items.some(({ outcome }: Json) => outcome === 'event')).toBe(false);
    for (const reader of ['partly', 'nobody']) {
      const { body } = await get('/api/v1/summary', tokens[reader]);
      expect([reader, body.objects, body.accounts, body.burnMicrosPerHour]).toEqual([reader, 0, [], null]);
    }
  },
);

testWithServer(
  'a right that was taken is gone within a minute, and a review that fails lets nobody in',
  async () => {
    const { fleet, server, flags } = await createNeighbours();
    const { api } = fleet.cluster;
    const reading = { namespace: fleet.namespace, reader: 'own' };
    await allowReading(api, reading);
    const token = server.tokenOf(reading.namespace, reading.reader);
    const { get } = await openClusterPage(flags);
    const objects = async () => (await get('/api/v1/summary', token)).body.objects;
    expect(await objects()).toBe(2);
    const asked = server.requests().length;
    expect(await objects()).toBe(2);
    const reviews = () =>
      server
        .requests()
        .slice(asked)
        .filter(({ path }) => path.includes('review'));
    expect(reviews()).toEqual([]);
    await forbidReading(api, reading);
    await sleep(61_000);
    expect(await objects()).toBe(0);
    await allowReading(api, reading);
    server.faults.add({ match: { resource: 'subjectaccessreviews' }, status: 500 });
    await sleep(61_000);
    const { status, body } = await get('/api/v1/summary', token);
    expect([status, body.error.code]).toEqual([503, 'unavailable']);
    server.faults.clear();
    await sleep(6000);
    expect(await objects()).toBe(2);
  },
  // On real processes it waits for real minutes.
  300_000,
);

testWithServer(
  'it asks the API server for what its manifests allow, all of it, and for nothing else',
  async () => {
    const { fleet, server, operator, flags, roles } = await createNeighbours();
    await moveOperator({ fleet, server, operator });
    const { get } = await openClusterPage(flags);
    const token = server.tokenOf(fleet.namespace, 'somebody');
    const page = { namespace: 'fleetkeeper-system', name: 'fleetkeeper-page' };
    const admin = server.tokenOf(page.namespace, page.name);
    await eventually(
      'the operator is seen',
      async () => (await get('/api/v1/summary', admin)).body.manager.state === 'Running',
    );
    await get('/api/v1/summary', token);
    const requests = server
      .requests()
      .filter(({ user }) => user === `system:serviceaccount:${page.namespace}:${page.name}`);
    expect(requests.filter(({ status }) => status === 403)).toEqual([]);
    const calls = requests.flatMap(({ resource }) => (resource ? [resource as Call] : []));
    const grants = grantsOf(roles, page);
    expect(calls.filter((call) => !allowedBy(grants, call)).map(describeCall)).toEqual([]);
    expect(unusedRights(grants, calls)).toEqual([]);
  },
);

testWithServer(
  'the page of one namespace asks for what its Roles allow, all of it, and shows nothing of another one',
  async () => {
    const { fleet, server } = await createNeighbours();
    const { namespace } = fleet;
    const files = [...plainFiles('components/page'), ...plainFiles('components/page-single-namespace')];
    // Its component takes these out.
    const own = files.filter(({ kind }) => !kind.startsWith('Cluster'));
    const roles = rolesAmong(own, namespace).map(within(namespace));
    await applyRoles(fleet.cluster.api, roles);
    const page = { namespace, name: 'fleetkeeper-page' };
    const token = server.tokenOf(page.namespace, page.name);
    const kubeconfig = server.kubeconfig(`${await temporaryFolder()}/own`, { token, namespace });
    const { get } = await openClusterPage(['--kubeconfig', kubeconfig, '--watch-namespaces', namespace]);
    await eventually(
      'the operator is seen',
      async () => (await get('/api/v1/summary')).body.manager.state === 'Running',
    );
    for (const target of listing) {
      const { status, text } = await get(target);
      expect([target, status, /hidden|other\//.test(text)]).toEqual([target, 200, false]);
    }
    expect((await get('/api/v1/summary')).body.objects).toBe(2);
    const requests = server
      .requests()
      .filter(({ user }) => user === `system:serviceaccount:${page.namespace}:${page.name}`);
    expect(requests.filter(({ status }) => status === 403)).toEqual([]);
    const calls = requests.flatMap(({ resource }) => (resource ? [resource as Call] : []));
    const grants = grantsOf(roles, page);
    expect(calls.filter((call) => !allowedBy(grants, call)).map(describeCall)).toEqual([]);
    expect(unusedRights(grants, calls)).toEqual([]);
  },
);

testWithServer(
  'of several namespaces, the one that can not be read is named to who may see it, and the others are shown as ever',
  async () => {
    const { fleet, server, operator, flags } = await createNeighbours();
    const { namespace } = fleet;
    await moveOperator({ fleet, server, operator });
    await allowReading(fleet.cluster.api, { namespace, reader: 'own' });
    const own = server.tokenOf(namespace, 'own');
    const admin = server.tokenOf('fleetkeeper-system', 'fleetkeeper-page');
    const user = 'system:serviceaccount:fleetkeeper-system:fleetkeeper-page';
    const allow = server.faults.add({ match: { user, namespace: 'other' }, status: 403 });
    const { get } = await openClusterPage([...flags, '--watch-namespaces', `${namespace},other`]);
    const summary = async (token: string) => (await get('/api/v1/summary', token)).body;
    await eventually('its failure is known', async () =>
      (await summary(admin)).notes.some((note: string) => /^other can't be read now.*403/.test(note)),
    );
    await eventually('the others are current', async () => (await summary(admin)).health.Healthy === 2);
    const all = await summary(admin);
    expect([all.objects, all.isComplete]).toEqual([2, false]);
    const seen = await get('/api/v1/summary', own);
    expect([seen.body.objects, seen.body.isComplete, seen.text.includes('other')]).toEqual([2, true, false]);
    allow();
    await eventually('it joins', async () => (await summary(admin)).objects === 5);
    await eventually('it is complete', async () => (await summary(admin)).isComplete);
  },
);

testInCluster('a status that somebody has forged hides nothing else', async () => {
  const { fleet } = await createWorld();
  const { get } = await openClusterPage(fleet.flags);
  await fleet.write('forged.yaml', [service('forged', { accountRef: { name: 'none' } })]);
  const forged = { type: resourceTypes.ContainerService, namespace: fleet.namespace, name: 'forged' };
  const { uid } = (await fleet.cluster.api.get(forged))?.metadata ?? {};
  const wrong = { retryAt: 'soon', failures: 'many' };
  const bookkeeping = {
    uid,
    digestKey: 'none',
    sequence: 1,
    record: { derived: { owner: 7 }, refusal: { scarcity: wrong }, report: { pending: { since: 1e300 } } },
    intent: { idempotencyKey: 5, createdAt: 'never', outcome: 'applied' },
    revisions: 'none',
  };
  const body = { status: { bookkeeping } };
  await fleet.cluster.api.patch(forged, { kind: 'merge', body, subresource: 'status' });
  await eventually('both are shown', async () => (await get('/api/v1/objects')).body.total === 3);
  expect((await get(`/api/v1/objects/ContainerService/${fleet.namespace}/forged`)).status).toBe(200);
});

testInCluster('flags: a folder, an open address and a taken one are refused with what to do', async () => {
  const fleet = await createFleet(await temporaryFolder());
  const refused = async (...flags: string[]) => {
    const { code, stderr } = await fleetkeeper(['page', ...flags]);
    return [code, stderr];
  };
  const flags = ['--listen', '127.0.0.1:0'];
  expect(await refused('--source', 'fleet', ...flags)).toEqual([
    1,
    expect.stringContaining('fleetkeeper run --listen'),
  ]);
  expect(await refused(...fleet.flags, '--listen', '0.0.0.0:0')).toEqual([
    1,
    expect.stringContaining('--page-kubernetes-auth'),
  ]);
  expect(await refused(...fleet.flags)).toEqual([1, expect.stringContaining('--listen')]);
  expect(await refused(...fleet.flags, ...flags, '--page-oidc-audience', 'a')).toEqual([
    1,
    expect.stringContaining('belong together'),
  ]);
  expect(await refused('--kubeconfig', '/nothing', ...flags)).toEqual([
    1,
    expect.stringContaining('/nothing'),
  ]);
});

/** Bindings of the manifests, for a ServiceAccount of another namespace. */
function within(namespace: string) {
  return (manifest: Json): Json =>
    manifest.subjects
      ? { ...manifest, subjects: manifest.subjects.map((subject: Json) => ({ ...subject, namespace })) }
      : manifest;
}
