/**
 * The kits for Argo CD and Flux (examples/argo-cd, examples/flux): Lua and kstatus against objects of a fleet at work, and what actions do
 * there. Argo CD itself is not here: Lua gets the object as the API server has it, and what an action returns is written back as a merge patch.
 */
import { expect } from 'vitest';
import { managedKinds, resourceTypes, type ManagedKind } from '../../src/resources/index.ts';
import { kstatusOf, type KStatus } from '../support/kstatus.ts';
import { runLua, whatLuaNeeds } from '../support/lua.ts';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  service,
  task,
  testInCluster,
  volume,
  type Json,
} from '../support/processes/fleet.ts';
import { eventually, sleep, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';
import { actionNames, luaOf, type ActionName } from '../unit/manifests/argo-cd.ts';

const need = whatLuaNeeds();
if (need !== undefined) process.stderr.write(`\n*** SKIPPED: the Lua of examples/argo-cd: ${need} ***\n`);

const testLua = need === undefined ? testInCluster : testInCluster.skip;

const apiVersion = 'fleetkeeper.dev/v1alpha1';
const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };

/** Flux has no pause, and takes what has no conditions as current. */
function expectedKStatus({ status, message }: { status: string; message: string }, seen: Json): KStatus {
  if (seen.status?.conditions === undefined) return 'Current';
  // Until the operator has read the annotation, the status is the one from before.
  if (message.startsWith('paused by')) return kstatusOf(seen);
  if (status === 'Suspended') return message.startsWith('RolloutPaused') ? 'InProgress' : 'Failed';
  return status === 'Degraded' ? 'Failed' : status === 'Healthy' ? 'Current' : 'InProgress';
}

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  if (!(fleet instanceof ClusterFleet)) throw new Error('this test needs a cluster');
  const at = (kind: ManagedKind, name: string) => ({
    type: resourceTypes[kind],
    namespace: fleet.namespace,
    name,
  });
  const object = async (kind: ManagedKind, name: string): Promise<Json> =>
    fleet.cluster.api.get(at(kind, name));
  const health = async (kind: ManagedKind, name: string) => {
    const seen = await object(kind, name);
    const found = runLua(luaOf('health.lua'), seen) as { status: string; message: string };
    expect([found, kstatusOf(seen)]).toEqual([found, expectedKStatus(found, seen)]);
    return found;
  };
  const untilHealth = (kind: ManagedKind, name: string, status: string, message = '') =>
    eventually(`${kind}/${name} ${status}`, async () => {
      const found = await health(kind, name);
      return found.status === status && found.message.includes(message) && found;
    });
  const edit = (kind: ManagedKind, name: string, body: object) =>
    fleet.cluster.api.patch(at(kind, name), { kind: 'merge', body });
  /** On the object as Argo CD saw it. */
  const act = async (seen: Json, action: ActionName) => {
    const { metadata } = runLua(luaOf(`actions/${action}.lua`), seen) as Json;
    await edit('ServiceFleet', seen.metadata.name, { metadata: { annotations: metadata.annotations } });
  };
  return { plane, fleet, object, health, untilHealth, edit, act };
}

/** With three replicas of a first revision, and a manager. */
async function started(made: Awaited<ReturnType<typeof world>>) {
  const { plane, fleet, untilHealth } = made;
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [withImage('ghcr.io/acme/llm:1')]);
  fleet.run();
  await untilHealth('ServiceFleet', 'llm', 'Healthy');
  return made;
}

/** The names of those that can be taken. */
function actionsFor(object: Json): string[] {
  const found = runLua(luaOf('actions/discovery.lua'), object) as Record<string, { disabled: boolean }>;
  return Object.keys(found)
    .filter((name) => !found[name]?.disabled)
    .sort();
}

const names: Readonly<Record<ManagedKind, string>> = {
  Account: 'default',
  Budget: 'all',
  ContainerService: 'web',
  ImageRegistry: 'images',
  Notification: 'on-call',
  ProtectedTask: 'task',
  ServiceFleet: 'llm',
  ServiceTemplate: 'base',
  StorageVolume: 'data',
};

const all = (url: string): object[] => [
  ...account(url),
  {
    apiVersion,
    kind: 'Budget',
    metadata: { name: 'all' },
    spec: { namespace: true, limits: { hourlyMicros: 900_000_000 } },
  },
  service('web'),
  {
    apiVersion,
    kind: 'ImageRegistry',
    metadata: { name: 'images' },
    spec: { repository: 'ghcr.io/acme/private', credentialsSecretRef: { name: 'images' } },
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'images' },
    stringData: { username: 'a', password: 'b' },
  },
  {
    apiVersion,
    kind: 'Notification',
    metadata: { name: 'on-call' },
    spec: {
      sink: { webhook: { urlFrom: { secretKeyRef: { name: 'on-call', key: 'url' } } } },
      // Nobody is there: what is delivered would be Progressing.
      match: { severities: ['critical'] },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'on-call' },
    stringData: { url: 'https://hooks.example.com/fleet' },
  },
  task('task'),
  fleetOf('llm', { replicas: 1 }),
  {
    apiVersion,
    kind: 'ServiceTemplate',
    metadata: { name: 'base' },
    spec: { image: 'ghcr.io/acme/app:1', resources },
  },
  volume('data'),
];

testLua(
  'every kind is Progressing until it is taken in, then Healthy, and Suspended while it is paused',
  async () => {
    const { plane, fleet, health, untilHealth, edit } = await world();
    await fleet.write('all.yaml', all(plane.url));
    for (const kind of managedKinds) {
      expect([kind, await health(kind, names[kind])]).toEqual([
        kind,
        { status: 'Progressing', message: 'Fleetkeeper has not taken in the document yet' },
      ]);
    }
    const run = fleet.run();
    for (const kind of managedKinds) await untilHealth(kind, names[kind], 'Healthy');
    for (const kind of managedKinds) {
      if (kind === 'Account') continue;
      await edit(kind, names[kind], { metadata: { annotations: { 'fleetkeeper.dev/paused': 'true' } } });
      await untilHealth(kind, names[kind], 'Suspended', 'paused');
      await edit(kind, names[kind], { metadata: { annotations: { 'fleetkeeper.dev/paused': null } } });
      await untilHealth(kind, names[kind], 'Healthy');
    }
    // Nobody is there who would take in the next edit.
    await run.kill('SIGTERM');
    const edits: Readonly<Record<ManagedKind, object>> = {
      Account: { pollSeconds: 7 },
      Budget: { limits: { hourlyMicros: 800_000_000 } },
      ContainerService: { image: 'ghcr.io/acme/app:2' },
      ImageRegistry: { driftPolicy: 'Report' },
      Notification: { repeatHours: 12 },
      ProtectedTask: { released: true },
      ServiceFleet: { replicas: 2 },
      ServiceTemplate: { image: 'ghcr.io/acme/app:2' },
      StorageVolume: { sizeGb: 20 },
    };
    for (const kind of managedKinds) {
      await edit(kind, names[kind], { spec: edits[kind] });
      expect([kind, (await health(kind, names[kind])).status]).toEqual([kind, 'Progressing']);
    }
  },
);

const absent = { accountRef: { name: 'absent' } };

testLua(
  'what a person has to change is Degraded, with reason and message; without a result yet it is Progressing',
  async () => {
    const { plane, fleet, untilHealth } = await world();
    const variable = { name: 'A', valueFrom: { secretKeyRef: { name: 'absent', key: 'a' } } };
    await fleet.write('all.yaml', [
      ...account(plane.url),
      {
        apiVersion,
        kind: 'Account',
        metadata: { name: 'other' },
        spec: { url: plane.url, credentialsSecretRef: { name: 'absent', key: 'apiKey' } },
      },
      {
        apiVersion,
        kind: 'Budget',
        metadata: { name: 'all' },
        spec: { ...absent, limits: { hourlyMicros: 1 } },
      },
      service('web', { env: [variable] }),
      {
        apiVersion,
        kind: 'ImageRegistry',
        metadata: { name: 'images' },
        spec: { repository: 'ghcr.io/acme/private', credentialsSecretRef: { name: 'absent' }, ...absent },
      },
      task('task', { serviceRef: { name: 'absent' } }),
      fleetOf('llm', absent),
      {
        apiVersion,
        kind: 'ServiceTemplate',
        metadata: { name: 'base' },
        spec: { image: 'a/a:1', resources, ...absent },
      },
      volume('data', absent),
    ]);
    const run = fleet.run();
    const degraded = [
      ['Account', 'CredentialMissing: there is no API key for the account '],
      ['ContainerService', 'InvalidReference: '],
      ['ImageRegistry', 'AccountNotFound: '],
      ['ProtectedTask', 'ReferenceNotFound: '],
      ['ServiceFleet', 'AccountNotFound: '],
      ['ServiceTemplate', 'AccountNotFound: '],
      ['StorageVolume', 'AccountNotFound: '],
    ] as const;
    for (const [kind, message] of degraded) {
      await untilHealth(kind, kind === 'Account' ? 'other' : names[kind], 'Degraded', message);
    }
    await untilHealth('Budget', 'all', 'Progressing', 'AwaitingObservation: nothing was counted yet');
    await run.kill('SIGTERM');
  },
);

const steps = { minReadySeconds: 0, failureLimit: 0, steps: [{ replicas: 1 }, { pause: {} }] };
const withImage = (image: string) => fleetOf('llm', { template: template({ image }), update: steps });

testLua(
  'a pause of a rollout is Suspended; promote continues it; on an outdated step nothing is done',
  async () => {
    const { fleet, object, untilHealth, edit, act } = await world().then(started);
    expect(actionsFor(await object('ServiceFleet', 'llm'))).toEqual([]);
    await fleet.write('llm.yaml', [withImage('ghcr.io/acme/llm:2')]);
    await untilHealth('ServiceFleet', 'llm', 'Progressing');
    await untilHealth('ServiceFleet', 'llm', 'Suspended', 'RolloutPaused: step 2 of 2 is a pause');
    const paused = await object('ServiceFleet', 'llm');
    expect(actionsFor(paused)).toEqual(['abort', 'freeze', 'promote', 'promote-full']);
    await act(paused, 'freeze');
    await untilHealth('ServiceFleet', 'llm', 'Degraded', 'RolloutFrozen');
    const frozen = await object('ServiceFleet', 'llm');
    expect(actionsFor(frozen)).toEqual(['thaw']);
    await act(frozen, 'thaw');
    await untilHealth('ServiceFleet', 'llm', 'Suspended', 'RolloutPaused');
    await act(paused, 'promote');
    await untilHealth('ServiceFleet', 'llm', 'Healthy');
    expect((await object('ServiceFleet', 'llm')).status.lastHandledCommand).toMatchObject({
      command: 'promote@r2#2',
      result: 'Done',
    });
    // Argo CD shows what it saw a moment ago.
    await act(paused, 'abort');
    await untilHealth('ServiceFleet', 'llm', 'Degraded', 'CommandOutdated: ');
    const outdated = await object('ServiceFleet', 'llm');
    expect(outdated.status).toMatchObject({
      currentRevision: 'r2',
      lastHandledCommand: { command: 'abort@r2', result: 'Outdated' },
    });
    await edit('ServiceFleet', 'llm', { metadata: { annotations: { 'fleetkeeper.dev/command': null } } });
    await untilHealth('ServiceFleet', 'llm', 'Healthy');
  },
);

testLua(
  'a revision that was rolled back and is still in Git stays Degraded; each sync sends nothing; retry tries it again',
  async () => {
    const { plane, fleet, object, untilHealth, act } = await world().then(started);
    const broken = fleetOf('llm', {
      template: template({ image: 'registry.invalid/llm:2' }),
      update: { minReadySeconds: 0, failureLimit: 0 },
    });
    await fleet.write('llm.yaml', [broken]);
    await untilHealth('ServiceFleet', 'llm', 'Degraded', 'RolloutFailed: r2 failed');
    await plane.forgetRequests();
    for (let syncs = 0; syncs < 5; syncs += 1) {
      await fleet.write('llm.yaml', [broken]);
      await sleep(2000);
    }
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
    await untilHealth('ServiceFleet', 'llm', 'Degraded', 'RolloutFailed');
    const failed = await object('ServiceFleet', 'llm');
    expect(actionsFor(failed)).toEqual(['retry']);
    await act(failed, 'retry');
    await eventually(
      'a second attempt',
      async () => (await object('ServiceFleet', 'llm')).status.rollout.attempt === 2,
    );
    await untilHealth('ServiceFleet', 'llm', 'Degraded', 'RolloutFailed');
    expect((await plane.requests()).filter(isMutation)).not.toEqual([]);
  },
);

testLua('an action on a fleet without a rollout is an error, and writes nothing', async () => {
  const { object, act } = await world().then(started);
  const stable = await object('ServiceFleet', 'llm');
  for (const action of actionNames)
    await expect(act(stable, action)).rejects.toThrow(/no (step|rollout|revision)/);
});
