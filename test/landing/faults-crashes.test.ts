/**
 * F63: the manager is killed with -9 at every point of its work that has a number (docs/internals/fault-matrix.md), once as its request arrives and
 * nothing has happened yet, once when it has happened and before the answer. What is there in the end is as in a life without a kill:
 * one service, one volume, the same fields and revisions, the same events, nothing left behind.
 */
import { expect, test } from 'vitest';
import { ControlPlane, keysWithTwoBodies } from '../support/processes/control-plane.ts';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { Crashes, Gate, type CrashPoint, type Moment } from '../support/processes/crash-points.ts';
import {
  account,
  FleetFolder,
  service,
  task,
  volume,
  type Fleet,
  type Json,
} from '../support/processes/fleet.ts';
import { createOwn } from '../support/processes/kubernetes.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';

const quick = ['--settle', '300ms', '--log-level', 'warn'];

interface Step {
  readonly documents: readonly object[];
  /** Whether the provider is as this step wants it; the objects have to be Ready, too. */
  readonly isDone: (live: Json) => boolean;
}

const web = (spec: object = {}) =>
  service('web', {
    storage: { volumeRef: { name: 'data' } },
    env: [{ name: 'MODE', value: 'one' }],
    ...spec,
  });
const data = (sizeGb: number) =>
  volume('data', { sizeGb, expansion: 'PauseService', deletionPolicy: 'Delete' });
const epoch = (spec: object = {}) => task('epoch', { taskName: 'epoch', ...spec });
const changed = web({ image: 'ghcr.io/acme/app:2', sleepAfterMinutes: 1440 });

const isRunning = ({ services }: Json) => services[0]?.state === 'running';
const isEmpty = ({ services, volumes }: Json) => services.length === 0 && volumes.length === 0;

const create: Step = { documents: [web(), data(10)], isDone: isRunning };
const change: Step = {
  documents: [changed, data(10)],
  isDone: (live) => isRunning(live) && live.services[0].sleepAfterMinutes === 1440,
};
const grow: Step = {
  documents: [changed, data(20)],
  isDone: (live) => isRunning(live) && live.volumes[0].sizeGb === 20,
};
const hold: Step = {
  documents: [changed, data(20), epoch()],
  isDone: ({ activities }) => activities.length === 1,
};
const release: Step = {
  documents: [changed, data(20), epoch({ released: true })],
  isDone: ({ activities }) => activities.length === 0,
};
const remove: Step = { documents: [], isDone: isEmpty };

const action = (name: string) => ({
  method: 'POST',
  path: /\/actions$/,
  body: new RegExp(`"action":"${name}"`),
});

const toActivity = { method: 'POST', path: /\/activity$/ };
const created = { name: 'CP3 create a service', method: 'POST', path: /^\/api\/services$/ };
const removed = { name: 'CP13 delete the service', ...action('delete') };
const register = { name: 'CP10 register', ...toActivity };
const released = { name: 'CP11, CP12 release', ...toActivity, body: /"release":true/ };

const objectPath = /^\/apis\/fleetkeeper\.dev\/v1alpha1\/namespaces\/default\/containerservices\/web(\?|$)/;
const statusPath = /\/containerservices\/web\/status/;
const patched = (path: RegExp, body: RegExp) => ({ method: 'PATCH', path, body });

interface Life {
  readonly name: string;
  readonly world: () => Promise<World>;
  readonly steps: readonly Step[];
  readonly points: readonly CrashPoint[];
}

const alone = (spec: object = {}) => service('web', spec);

/** What a cluster has beside are the writes of its objects, which are what a folder has its state file for. */
const lives: readonly Life[] = [
  {
    name: 'a service with a volume, in a folder',
    world: inFolder,
    steps: [create, change, remove],
    points: [
      { name: 'CP1 the read before the first intent', method: 'GET', path: /^\/api\/account$/ },
      { name: 'CP3 create a volume', method: 'POST', path: /^\/api\/volumes$/ },
      created,
      { name: 'CP3 patch', method: 'PATCH', path: /^\/api\/services\/[^/]+$/ },
      { name: 'CP6 the sleep policy of the same generation', method: 'PATCH', path: /\/sleep$/ },
      removed,
      { name: 'CP13 delete the volume', method: 'DELETE', path: /^\/api\/volumes\// },
    ],
  },
  {
    name: 'the growth of a volume, in a folder',
    world: inFolder,
    steps: [change, grow],
    points: [
      { name: 'CP7 stop, to expand', ...action('stop') },
      { name: 'CP8 expand', method: 'PATCH', path: /^\/api\/volumes\// },
      { name: 'CP9 start, once expanded', ...action('start') },
    ],
  },
  {
    name: 'a task, in a folder',
    world: inFolder,
    steps: [hold, release],
    points: [register, released],
  },
  {
    name: 'a service, in a cluster',
    world: inCluster,
    steps: [{ documents: [alone()], isDone: isRunning }, remove],
    points: [
      { name: 'CP1 put the finalizer on', ...patched(objectPath, /"finalizers":\["/) },
      { name: 'CP2 write the intent', ...patched(statusPath, /"outcome":"pending"/) },
      created,
      { name: 'CP4, CP5 write the id and the outcome', ...patched(statusPath, /"externalId":"/) },
      removed,
      { name: 'CP13, CP14 take the finalizer off', ...patched(objectPath, /"finalizers":\[\]/) },
    ],
  },
  {
    name: 'a task, in a cluster',
    world: inCluster,
    steps: [
      { documents: [alone(), epoch()], isDone: hold.isDone },
      { documents: [alone(), epoch({ released: true })], isDone: release.isDone },
    ],
    points: [
      {
        name: 'CP10 write the id of the activity',
        ...patched(/\/protectedtasks\/epoch\/status/, /"lease":/),
      },
      register,
      released,
      { name: 'CP12 forget the task', ...patched(/\/protectedtasks\/epoch\/status/, /"releasedAt":/) },
    ],
  },
];

const fleeting = new Set(['createdAt', 'endpoint', 'at', 'lastHeartbeatAt', 'registeredAt', 'freshUntil']);

/** What differs from one life to the next is left out: times, ids, and what is made with the key of the state. */
function lasting(value: Json): Json {
  const text = JSON.stringify(value, (key, member: unknown) => (fleeting.has(key) ? undefined : member));
  const marks = /FLEETKEEPER_\w+|-fk[\da-f]+/g;
  return JSON.parse(text.replaceAll(marks, 'MARK').replaceAll(/[\da-f]{8}(-[\da-f]{4,12}){4}/g, 'ID'));
}

/** All that there is at the provider. */
async function liveAt(plane: ControlPlane): Promise<Json> {
  const { services, volumes } = await plane.account();
  const [first] = services;
  if (!first) return { services, volumes, activities: [], events: [] };
  const { activities } = await plane.call('GET', `/api/services/${first.id}/activity`);
  const { events } = await plane.call('GET', `/api/services/${first.id}/events`);
  // When a launch is done is the control plane's business: its event may come before or after those of the manager.
  const messages: string[] = events.map(({ message }: Json) => message);
  return { services, volumes, activities, events: messages.sort() };
}

async function isSettled(fleet: Fleet, { documents }: Step): Promise<boolean> {
  const records = [...(await fleet.records())].filter(([name]) => !name.startsWith('Account/'));
  if (records.length !== documents.length) return false;
  return records.every(([, { status, generation }]) => {
    const isReady = status?.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');
    return isReady === true && status?.observedGeneration === generation;
  });
}

interface World {
  readonly plane: ControlPlane;
  readonly gates: readonly Gate[];
  readonly fleet: Fleet;
}

async function inFolder(): Promise<World> {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 600 }).start();
  const gate = await new Gate(plane.url).start();
  const fleet = new FleetFolder(folder);
  await fleet.write('account.yaml', account(gate.url, { pollSeconds: 0.3 }));
  return { plane, gates: [gate], fleet };
}

async function inCluster(): Promise<World> {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 600 }).start();
  const provider = await new Gate(plane.url).start();
  const cluster = await createOwn(folder);
  const gate = await new Gate(cluster.server?.url ?? '').start();
  const fleet = new ClusterFleet({ ...cluster, kubeconfig: await gate.kubeconfig(cluster.kubeconfig) });
  await fleet.write('account.yaml', account(provider.url, { pollSeconds: 0.3 }));
  return { plane, gates: [provider, gate], fleet };
}

/** What is there after each step. */
async function liveThrough({ name, world, steps, points }: Life, moment?: Moment): Promise<Json[]> {
  const { plane, gates, fleet } = await world();
  const states: Json[] = [];
  await fleet.write('fleet.yaml', steps[0]?.documents ?? []);
  const crashes = new Crashes(moment ? points : [], moment ?? 'before', () => fleet.run(...quick));
  for (const gate of gates) gate.guard(crashes);
  for (const [index, step] of steps.entries()) {
    await fleet.write('fleet.yaml', step.documents);
    const isThere = async () => {
      // A service may go between two reads.
      const there = await liveAt(plane).catch(() => undefined);
      return there !== undefined && step.isDone(there) && (await isSettled(fleet, step)) && there;
    };
    const state: Json = await eventually(`step ${index}`, isThere, 90_000).catch(async (error: Error) => {
      const reported = [...(await fleet.records()).values()].map(({ key, status }) => [
        key,
        status?.conditions,
      ]);
      const met = crashes.met.join(', ');
      throw new Error(`${name}, killed ${moment} ${met}: ${error.message}\n${JSON.stringify(reported)}`);
    });
    states.push(lasting(state));
  }
  expect(keysWithTwoBodies(await plane.requests())).toEqual([]);
  expect(crashes.left, `${name}, ${moment}`).toEqual([]);
  return states;
}

test.each(lives)('F63 $name: the same as without a kill, whenever its manager is killed', async (life) => {
  const moments = [undefined, 'before', 'after'] as const;
  const [undisturbed, before, after] = await Promise.all(moments.map((moment) => liveThrough(life, moment)));
  expect(before, 'killed as a request arrives').toEqual(undisturbed);
  expect(after, 'killed before an answer').toEqual(undisturbed);
});
