/** Fleets of replicas in a cluster: each replica is a resource that belongs to its fleet, whatever others do to it. */
import { expect } from 'vitest';
import type { KubernetesApi, KubernetesObject, ResourceType } from '../../src/kubernetes/index.ts';
import { resourceTypes } from '../../src/resources/index.ts';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, service, task, testInCluster, type Json } from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';

const ofApps = { group: 'apps', version: 'v1', namespaced: true } as const;
const revisionType: ResourceType = { ...ofApps, plural: 'controllerrevisions', kind: 'ControllerRevision' };
const mapType: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};
const eventType: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};

async function world(spec: object = {}) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  if (!(fleet instanceof ClusterFleet)) throw new Error('this test needs a cluster');
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [fleetOf('llm', spec)]);
  const { api } = fleet.cluster;
  const at = (kind: 'ServiceFleet' | 'ContainerService' | 'StorageVolume', name: string) => ({
    type: resourceTypes[kind],
    namespace: fleet.namespace,
    name,
  });
  return { plane, fleet, api, at };
}

async function names(plane: ControlPlane): Promise<string[]> {
  const { services } = await plane.call('GET', '/api/account');
  return services.map(({ name }: Json) => name).sort();
}

async function childrenIn(api: KubernetesApi, namespace: string): Promise<KubernetesObject[]> {
  return [...(await api.list(resourceTypes.ContainerService, { namespace })).items].sort((left, right) =>
    left.metadata.name.localeCompare(right.metadata.name),
  );
}

async function revisionsIn(api: KubernetesApi, namespace: string): Promise<KubernetesObject[]> {
  return [...(await api.list(revisionType, { namespace })).items];
}

testInCluster('a replica is a resource with the labels of its fleet, which controls it', async () => {
  const { fleet, api, at } = await world({ replicas: 2 });
  expect((await fleet.apply()).code).toBe(0);
  const owner = await api.get(at('ServiceFleet', 'llm'));
  const children = await childrenIn(api, fleet.namespace);
  expect(children.map(({ metadata }) => metadata.name)).toEqual(['llm-0', 'llm-1']);
  expect(children[1]).toMatchObject({
    metadata: {
      labels: {
        'fleetkeeper.dev/fleet': 'llm',
        'fleetkeeper.dev/slot': '1',
        'fleetkeeper.dev/revision': 'r1',
      },
      ownerReferences: [{ kind: 'ServiceFleet', name: 'llm', uid: owner?.metadata.uid, controller: true }],
      finalizers: ['fleetkeeper.dev/cleanup'],
    },
    spec: { image: 'ghcr.io/acme/llm:1', region: 'standard' },
  });
  expect(owner?.metadata.finalizers).toEqual(['fleetkeeper.dev/cleanup']);
});

testInCluster('somebody deletes the resource of a replica: it goes, and the fleet adds another', async () => {
  const { plane, fleet, api, at } = await world();
  fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const { id } = await plane.service('llm-1');
  const before = await api.get(at('ContainerService', 'llm-1'));
  await api.remove(at('ContainerService', 'llm-1'));
  await eventually('another one', async () => {
    const { services } = await plane.call('GET', '/api/account');
    return services.length === 3 && services.every((each: Json) => each.id !== id);
  });
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const children = await childrenIn(api, fleet.namespace);
  expect(children).toHaveLength(3);
  expect(children.map(({ metadata }) => metadata.uid)).not.toContain(before?.metadata.uid);
});

testInCluster('with Retain it comes back with the same service, and nothing is left over', async () => {
  const { plane, fleet, api, at } = await world({ deletionPolicy: 'Retain' });
  fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const before = await api.get(at('ContainerService', 'llm-1'));
  await plane.forgetRequests();
  await api.remove(at('ContainerService', 'llm-1'));
  await eventually('it is back', async () => {
    const now = await api.get(at('ContainerService', 'llm-1'));
    return now !== undefined && now.metadata.uid !== before?.metadata.uid;
  });
  await fleet.until('ContainerService/llm-1', 'Ready', 'True');
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2']);
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

testInCluster(
  'somebody edits the resource of a replica: its spec is applied again, with an Event, and foreign annotations stay',
  async () => {
    const { plane, fleet, api, at } = await world({ replicas: 1 });
    const run = fleet.run();
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    await plane.forgetRequests();
    const metadata = { annotations: { 'example.com/note': 'mine' }, labels: { 'fleetkeeper.dev/slot': '7' } };
    const spec = { image: 'ghcr.io/acme/other:1', restartToken: 'again' };
    await api.patch(at('ContainerService', 'llm-0'), { kind: 'merge', body: { metadata, spec } });
    const child = await eventually('the spec of the template', async () => {
      const shown = await api.get(at('ContainerService', 'llm-0'));
      const { image, restartToken } = (shown?.spec ?? {}) as Json;
      const isRestored = image === 'ghcr.io/acme/llm:1' && restartToken === undefined;
      return isRestored && shown?.metadata.labels?.['fleetkeeper.dev/slot'] === '0' && shown;
    });
    expect(child.metadata.annotations).toMatchObject({ 'example.com/note': 'mine' });
    const events = await eventually('an Event', async () => {
      const { items } = await api.list(eventType, { namespace: fleet.namespace });
      const found = items.filter(({ reason }) => reason === 'ChildEdited');
      return found.length > 0 && found;
    });
    expect(events).toMatchObject([{ involvedObject: { name: 'llm-0' }, type: 'Warning' }]);
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    await run.kill('SIGTERM');
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
  },
);

testInCluster(
  'a status that was wiped costs no second replica: resources show which ones there are',
  async () => {
    const { plane, fleet, api, at } = await world({ replicas: 2 });
    // The first number is somebody's when the fleet begins, so its own are others.
    await fleet.write('web.yaml', [service('llm-0')]);
    await fleet.apply();
    await fleet.remove('web.yaml');
    const run = fleet.run();
    await eventually('its own', async () => (await names(plane)).join() === 'llm-1,llm-2');
    await eventually('only its own', async () => (await childrenIn(api, fleet.namespace)).length === 2);
    await run.kill('SIGTERM');
    const before = new Map(
      (await childrenIn(api, fleet.namespace)).map(({ metadata }) => [metadata.name, metadata.uid]),
    );
    await api.patch(at('ServiceFleet', 'llm'), {
      kind: 'merge',
      body: { status: null },
      subresource: 'status',
    });
    await plane.forgetRequests();
    expect((await fleet.apply()).code).toBe(0);
    const after = new Map(
      (await childrenIn(api, fleet.namespace)).map(({ metadata }) => [metadata.name, metadata.uid]),
    );
    expect(after).toEqual(before);
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
  },
);

testInCluster(
  'a revision is a ControllerRevision of its fleet, and only so many earlier ones are kept',
  async () => {
    const { fleet, api, at } = await world({
      replicas: 1,
      update: { minReadySeconds: 0, revisionHistoryLimit: 1, maxUnavailable: 1, maxSurge: 0 },
    });
    for (const image of ['ghcr.io/acme/llm:1', 'ghcr.io/acme/llm:2', 'ghcr.io/acme/llm:3']) {
      const update = { minReadySeconds: 0, revisionHistoryLimit: 1, maxUnavailable: 1, maxSurge: 0 };
      await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 1, update, template: template({ image }) })]);
      expect((await fleet.apply()).code).toBe(0);
    }
    const owner = await api.get(at('ServiceFleet', 'llm'));
    const kept = await revisionsIn(api, fleet.namespace);
    expect(kept.map(({ metadata }) => metadata.name).sort()).toEqual(['llm-r2', 'llm-r3']);
    expect(kept.filter(({ revision }) => revision === 3)).toMatchObject([
      {
        metadata: { name: 'llm-r3', ownerReferences: [{ uid: owner?.metadata.uid, controller: true }] },
        revision: 3,
        data: { content: { image: 'ghcr.io/acme/llm:3' } },
      },
    ]);
    expect(((owner?.status ?? {}) as Json).revisions).toMatchObject([
      { name: 'r2', outcome: 'Healthy' },
      { name: 'r3', outcome: 'Healthy' },
    ]);
  },
);

testInCluster(
  'a fleet that is deleted stays until its replicas are gone; with Retain their services stay',
  async () => {
    const { plane, fleet, api, at } = await world({ replicas: 2, drain: { graceSeconds: 5 } });
    fleet.run();
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    await api.remove(at('ServiceFleet', 'llm'));
    await fleet.until('ServiceFleet/llm', 'Reconciling', 'True');
    expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
    await eventually(
      'the fleet is gone',
      async () => (await api.get(at('ServiceFleet', 'llm'))) === undefined,
    );
    expect([await names(plane), await childrenIn(api, fleet.namespace)]).toEqual([[], []]);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, deletionPolicy: 'Retain' })]);
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    await api.remove(at('ServiceFleet', 'llm'));
    await eventually(
      'the fleet is gone',
      async () => (await api.get(at('ServiceFleet', 'llm'))) === undefined,
    );
    expect([await names(plane), await childrenIn(api, fleet.namespace)]).toEqual([['llm-0', 'llm-1'], []]);
  },
);

testInCluster('the resource of a volume that somebody deletes comes back with the same volume', async () => {
  const perReplica = { sizeGb: 10, retire: 'Keep' };
  const update = { maxSurge: 0, maxUnavailable: 1 };
  const { plane, fleet, api, at } = await world({
    replicas: 2,
    maxReplicas: 3,
    update,
    storage: { perReplica },
  });
  expect((await fleet.apply()).code).toBe(0);
  const { volumes: before } = await plane.call('GET', '/api/account');
  await plane.forgetRequests();
  fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const { uid } = (await api.get(at('StorageVolume', 'llm-data-0')))?.metadata ?? {};
  await api.remove(at('StorageVolume', 'llm-data-0'));
  await eventually('there is another resource for it', async () => {
    const { metadata } = (await api.get(at('StorageVolume', 'llm-data-0'))) ?? {};
    return metadata !== undefined && metadata.uid !== uid;
  });
  await fleet.until('StorageVolume/llm-data-0', 'Ready', 'True');
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  expect((await plane.call('GET', '/api/account')).volumes).toEqual(before);
});

testInCluster('Retain in the same breath as the deletion reaches the replicas first', async () => {
  const { plane, fleet, api, at } = await world({ replicas: 2 });
  expect((await fleet.apply()).code).toBe(0);
  const body = { spec: { deletionPolicy: 'Retain' } };
  await api.patch(at('ServiceFleet', 'llm'), { kind: 'merge', body });
  await api.remove(at('ServiceFleet', 'llm'));
  fleet.run();
  await eventually('the fleet is gone', async () => (await api.get(at('ServiceFleet', 'llm'))) === undefined);
  expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
});

testInCluster('while a fleet can not be used, nothing is changed in its replicas', async () => {
  const { plane, fleet, api, at } = await world({ replicas: 1 });
  expect((await fleet.apply()).code).toBe(0);
  await plane.forgetRequests();
  // A cron expression that the API server accepts, and that never comes true.
  const schedules = [{ name: 'never', cron: '0 0 31 2 *', durationMinutes: 60, replicas: 5 }];
  const spec = { schedules, template: { spec: { image: 'ghcr.io/acme/llm:2' } } };
  await api.patch(at('ServiceFleet', 'llm'), { kind: 'merge', body: { spec } });
  const run = fleet.run();
  await fleet.until('ContainerService/llm-0', 'Reconciling', 'True', 'Draining');
  await api.patch(at('ContainerService', 'llm-0'), {
    kind: 'merge',
    body: { spec: { image: 'ghcr.io/acme/other:1' } },
  });
  await eventually('it was looked at', async () => {
    const { generation } = (await api.get(at('ContainerService', 'llm-0')))?.metadata ?? {};
    const { status } = (await fleet.records()).get('ContainerService/llm-0') ?? {};
    return status?.observedGeneration === generation && generation === 2;
  });
  await run.kill('SIGTERM');
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

testInCluster('kubectl and autoscalers scale it at /scale, and so does the command', async () => {
  const { plane, fleet, api, at } = await world({ replicas: 2 });
  fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  const body = { spec: { replicas: 3 } };
  const scale = await api.patch(at('ServiceFleet', 'llm'), { kind: 'merge', body, subresource: 'scale' });
  expect(scale).toMatchObject({
    spec: { replicas: 3 },
    status: { replicas: 2, selector: 'fleetkeeper.dev/fleet=llm' },
  });
  await eventually('three', async () => (await names(plane)).length === 3);
  const scaled = await fleetkeeper([
    'scale',
    'llm',
    '--replicas',
    '1',
    '-n',
    fleet.namespace,
    ...fleet.flags,
  ]);
  expect(scaled).toMatchObject({ code: 0, stdout: 'llm gets 1 replicas.\n' });
  await eventually('one', async () => (await names(plane)).length === 1);
  const timed = await fleetkeeper([
    'scale',
    'llm',
    '--replicas',
    '2',
    '--for',
    '1h',
    '-n',
    fleet.namespace,
    ...fleet.flags,
  ]);
  expect([timed.code, timed.stderr]).toEqual([1, expect.stringContaining('write a schedule')]);
});

testInCluster('a service of that name that somebody made is left alone, and has precedence', async () => {
  const { plane, fleet, api, at } = await world({ replicas: 1 });
  await fleet.write('web.yaml', [service('llm-0')]);
  await fleet.apply();
  expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
  const taken = await api.get(at('ContainerService', 'llm-0'));
  expect([taken?.metadata.ownerReferences, taken?.metadata.labels]).toEqual([undefined, undefined]);
});

testInCluster('with publishEndpoints a ConfigMap has the addresses, and follows each change', async () => {
  const { fleet, api, at } = await world({ replicas: 2, publishEndpoints: true });
  const target = { type: mapType, namespace: fleet.namespace, name: 'llm-endpoints' };
  const slots = async () => {
    const { data } = ((await api.get(target)) ?? {}) as Json;
    const { endpoints = [] } = data ? JSON.parse(data['endpoints.json']) : {};
    return endpoints.filter(({ ready }: Json) => ready).map(({ slot }: Json) => slot);
  };
  fleet.run();
  await eventually('both', async () => (await slots()).join() === '0,1');
  const owner = await api.get(at('ServiceFleet', 'llm'));
  const before = await api.get(target);
  expect(before?.metadata.ownerReferences).toMatchObject([{ uid: owner?.metadata.uid, controller: true }]);
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 1, publishEndpoints: true })]);
  await eventually('one', async () => (await slots()).join() === '0');
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 1 })]);
  await eventually('none', async () => (await api.get(target)) === undefined);
});

testInCluster('a ConfigMap of somebody else is left as it is, and an Event names it', async () => {
  const { fleet, api } = await world({ replicas: 1, publishEndpoints: true });
  const target = { type: mapType, namespace: fleet.namespace, name: 'llm-endpoints' };
  const metadata = { name: target.name, namespace: fleet.namespace };
  await api.create(mapType, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata,
    data: { 'endpoints.json': 'mine' },
  });
  fleet.run();
  await fleet.until('ServiceFleet/llm', 'Ready', 'True');
  await eventually('an Event', async () => {
    const { items } = await api.list(eventType, { namespace: fleet.namespace });
    return items.some(({ reason }) => reason === 'NameTaken');
  });
  expect((await api.get(target))?.['data']).toEqual({ 'endpoints.json': 'mine' });
});

testInCluster(
  'a process that ends between the roster and its replicas leaves them to the next one',
  async () => {
    const { plane, fleet, api, at } = await world({ replicas: 2 });
    const { server } = fleet.cluster;
    if (!server) return;
    const heal = server.faults.add({
      match: { verbs: ['patch'], resource: 'containerservices' },
      status: 503,
    });
    const run = fleet.run();
    await eventually('the roster is durable', async () => {
      const status = ((await api.get(at('ServiceFleet', 'llm')))?.status ?? {}) as Json;
      return status.bookkeeping?.kind?.roster?.length === 2;
    });
    await run.kill('SIGKILL');
    expect(await childrenIn(api, fleet.namespace)).toEqual([]);
    heal();
    fleet.run();
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
  },
);

testInCluster(
  'the brake counts replicas that somebody deletes, and none that their fleet removes',
  async () => {
    const { plane, fleet, api, at } = await world({ replicas: 12 });
    fleet.run();
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 10 })]);
    await eventually('scaled in', async () => (await names(plane)).length === 10);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
    await eventually('eight at once', async () => (await names(plane)).length === 2);
    await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 12 })]);
    await eventually('twelve', async () => (await names(plane)).length === 12);
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    await plane.forgetRequests();
    const slots = Array.from({ length: 12 }, (_, slot) => slot);
    await Promise.all(slots.map((slot) => api.remove(at('ContainerService', `llm-${slot}`))));
    await fleet.until('ContainerService/llm-3', 'Stalled', 'True', 'MassChangeBrake');
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
    const { status } = (await fleet.records()).get('ServiceFleet/llm') ?? {};
    expect(status?.['replicas']).toBe(12);
  },
);

testInCluster(
  'a replica that somebody deletes and a task protects is replaced at once, and goes when it may',
  async () => {
    const { plane, fleet, api, at } = await world();
    fleet.run();
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    await fleet.write('task.yaml', [task('work', { serviceRef: { name: 'llm-1' } })]);
    await fleet.until('ProtectedTask/work', 'Ready', 'True');
    await api.remove(at('ContainerService', 'llm-1'));
    await eventually('another one', async () => (await names(plane)).includes('llm-3'));
    expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2', 'llm-3']);
    await fleet.remove('task.yaml');
    await eventually('it is gone', async () => !(await names(plane)).includes('llm-1'));
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    expect(await names(plane)).toEqual(['llm-0', 'llm-2', 'llm-3']);
  },
);

testInCluster(
  'a scale-in takes the replica that a person has annotated, and not the highest number',
  async () => {
    const { plane, fleet, api, at } = await world({ replicas: 3 });
    fleet.run();
    await fleet.until('ServiceFleet/llm', 'Ready', 'True');
    const metadata = { annotations: { 'fleetkeeper.dev/retire-first': 'true' } };
    await api.patch(at('ContainerService', 'llm-0'), { kind: 'merge', body: { metadata } });
    await api.patch(at('ServiceFleet', 'llm'), { kind: 'merge', body: { spec: { replicas: 2 } } });
    await eventually('one is gone', async () => (await names(plane)).length === 2);
    expect(await names(plane)).toEqual(['llm-1', 'llm-2']);
  },
);
