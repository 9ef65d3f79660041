/**
 * The operator with the rights of its ServiceAccount, as `manifests/` give them: what it asks for is allowed, and what it is
 * allowed it asks for.
 */
import { expect, test } from 'vitest';
import {
  grantsOf,
  unusedRights,
  allowedBy,
  describeCall,
  type Call,
} from '../../support/manifests/access.ts';
import { applyRoles, rolesAmong } from '../../support/manifests/apply.ts';
import { plainFiles } from '../../support/manifests/render.ts';
import { service, volume, type Json } from '../../support/processes/fleet.ts';
import {
  annotate,
  createNamespace,
  createWorld,
  eventsOf,
  jobs,
  objectOf,
  remove,
  replica,
  serverOf,
  withoutFaults,
  type World,
} from '../../support/processes/operator.ts';
import { eventually, type Program } from '../../support/processes/processes.ts';
import { fleetOf } from '../../support/processes/replicas.ts';

const operator = { namespace: 'fleetkeeper-system', name: 'fleetkeeper' };

/** Rights for what this run does not bring about, and why they are there all the same. */
const rare: readonly (readonly [right: RegExp, reason: string])[] = [
  [/^get \w+\.fleetkeeper\.dev /, 'an object is read again after a conflict'],
  [/^patch (imageregistries|servicetemplates)(\/status)?\.fleetkeeper\.dev /, 'there is none in this fleet'],
  [
    /^patch (budgets|notifications)\.fleetkeeper\.dev /,
    'one that was copied together with our finalizer loses it when it is deleted',
  ],
  [
    /^create (protectedtasks\.fleetkeeper\.dev|containerservices\.fleetkeeper\.dev|storagevolumes\.fleetkeeper\.dev|configmaps) /,
    'to apply one for the first time counts as its creation, too',
  ],
  [/^list controllerrevisions\.apps /, 'the next process reads the revisions of its fleets'],
  [/^get controllerrevisions\.apps /, 'one that is there already is compared'],
  [/^get pods /, 'a Pod is read when it is annotated'],
];

/** An Event that happens again soon is counted up. Whether one does depends on the machine. */
const sometimes = /^patch events /;

function startWithRights({ fleet, folder }: World): Program {
  const server = serverOf(fleet);
  const token = server.tokenOf(operator.namespace, operator.name);
  const kubeconfig = server.kubeconfig(`${folder}/operator`, { token, namespace: operator.namespace });
  const flags = ['--source', 'kubernetes', '--kubeconfig', kubeconfig];
  return replica({ flags }, ['--log-level', 'warn']);
}

/** A rollout, addresses, a scale-in with its volume, and the end. */
async function liveAsFleet({ fleet }: World): Promise<void> {
  const llm = (replicas: number, restartToken: string, more: object = {}) =>
    fleetOf('llm', {
      replicas,
      maxReplicas: 3,
      publishEndpoints: true,
      drain: { graceSeconds: 0 },
      storage: { perReplica: { sizeGb: 10, retire: 'Delete' } },
      update: { minReadySeconds: 0, maxSurge: 0, maxUnavailable: 1, revisionHistoryLimit: 1 },
      template: {
        spec: { region: 'standard', image: 'a/a:1', resources: { cpu: 1, memoryGb: 1 }, restartToken },
      },
      ...more,
    });
  const counts = async () => {
    const status: Json = (await objectOf(fleet, 'ServiceFleet/llm'))?.status ?? {};
    return `${status.replicas} ${status.updatedReplicas} ${status.currentRevision}`;
  };
  await fleet.write('llm.yaml', [llm(2, '1')]);
  await eventually('two replicas', async () => (await counts()) === '2 2 r1', 60_000);
  for (const [token, revision] of [
    ['2', 'r2'],
    ['3', 'r3'],
  ] as const) {
    await fleet.write('llm.yaml', [llm(2, token)]);
    await eventually(`revision ${revision}`, async () => (await counts()) === `2 2 ${revision}`, 60_000);
  }
  await fleet.write('llm.yaml', [llm(1, '3', { publishEndpoints: false })]);
  await eventually('one replica', async () => !(await objectOf(fleet, 'ContainerService/llm-1')), 60_000);
  await remove(fleet, 'ServiceFleet/llm');
  await eventually('no fleet', async () => !(await objectOf(fleet, 'ServiceFleet/llm')), 60_000);
}

const onCall = [
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'on-call' },
    stringData: { url: 'https://hooks.example.com/fleet' },
  },
  {
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'Notification',
    metadata: { name: 'on-call' },
    spec: { sink: { webhook: { urlFrom: { secretKeyRef: { name: 'on-call', key: 'url' } } } } },
  },
];

/** A bit of everything: creation, change, drift of a status, a Job, deletion. */
async function liveThrough(world: World): Promise<void> {
  const { fleet } = world;
  const { api } = fleet.cluster;
  const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 'compute', key: 'apiKey' } } }];
  const budget = {
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'Budget',
    metadata: { name: 'all' },
    spec: { namespace: true, limits: { hourlyMicros: 100_000_000 } },
  };
  await fleet.write('fleet.yaml', [service('web', { env }), volume('data'), budget]);
  await fleet.untilReady(3);
  await fleet.write('on-call.yaml', onCall);
  await fleet.until('Notification/on-call', 'Ready', 'True');
  const template = { spec: { containers: [{ name: 'main', image: 'busybox' }], restartPolicy: 'Never' } };
  const metadata = {
    name: 'evaluation',
    namespace: fleet.namespace,
    annotations: { 'fleetkeeper.dev/protects': 'web' },
  };
  await api.create(jobs, { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { template } });
  await fleet.until('ProtectedTask/job-evaluation', 'Ready', 'True', 'Held');
  const job = { type: jobs, namespace: fleet.namespace, name: 'evaluation' };
  const withoutTask = { metadata: { annotations: { 'fleetkeeper.dev/protects': null } } };
  await api.patch(job, { kind: 'merge', body: withoutTask });
  await eventually('the task gone', async () => !(await objectOf(fleet, 'ProtectedTask/job-evaluation')));
  await annotate(fleet, 'ContainerService/web', { 'fleetkeeper.dev/reconcile-at': 'now' });
  await eventually('its Event', async () => (await eventsOf(fleet, 'ContainerService/web')).length > 0);
  await liveAsFleet(world);
  await remove(fleet, 'ContainerService/web');
  await remove(fleet, 'StorageVolume/data');
  await remove(fleet, 'Budget/all');
  await remove(fleet, 'Notification/on-call');
  await remove(fleet, 'Account/default');
  await eventually('an empty fleet', async () => (await fleet.records()).size === 0);
}

test.skipIf(withoutFaults)(
  'the rights of the manifests are what a life of a fleet needs, and no more',
  async () => {
    const world = await createWorld();
    const { fleet } = world;
    const manifests = rolesAmong(plainFiles(), operator.namespace);
    await createNamespace(fleet, operator.namespace);
    await applyRoles(fleet.cluster.api, manifests);
    const program = startWithRights(world);
    await liveThrough(world);
    expect((await program.kill('SIGTERM')).code).toBe(0);
    const own = serverOf(fleet)
      .requests()
      .filter(({ user }) => user === `system:serviceaccount:${operator.namespace}:${operator.name}`);
    expect(own.filter(({ status }) => status === 403).map(({ verb, path }) => `${verb} ${path}`)).toEqual([]);
    const calls = own.flatMap(({ resource }) => (resource ? [resource as Json as Call] : []));
    const grants = grantsOf(manifests, operator);
    expect(calls.filter((call) => !allowedBy(grants, call)).map(describeCall)).toEqual([]);
    const unused = unusedRights(grants, calls).filter((right) => !sometimes.test(right));
    expect(unused.filter((right) => !rare.some(([pattern]) => pattern.test(right)))).toEqual([]);
    expect(rare.filter(([pattern]) => !unused.some((right) => pattern.test(right)))).toEqual([]);
  },
);
