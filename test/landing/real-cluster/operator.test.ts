/** The operator as Pods of our own image, installed as its users do it, on a cluster with a node, controllers and a garbage collector. */
import { describe, expect, test } from 'vitest';
import { isMutation, keysWithTwoBodies, type ControlPlane } from '../../support/processes/control-plane.ts';
import { service, volume, type Json } from '../../support/processes/fleet.ts';
import { imageTag } from '../../support/processes/image.ts';
import { isWithoutNode, system, useInstalled, type Shop } from '../../support/processes/installed.ts';
import { eventually } from '../../support/processes/processes.ts';
import { fleetOf } from '../../support/processes/replicas.ts';

const takeoverMs = 90_000;

async function created(plane: ControlPlane): Promise<string[]> {
  const sent = (await plane.requests()).filter(isMutation);
  expect(keysWithTwoBodies(sent)).toEqual([]);
  return sent
    .filter(({ path, status }) => path === '/api/services' && status === 201)
    .map(({ idempotencyKey }) => idempotencyKey ?? '');
}

async function servicesOf({ plane }: Shop): Promise<string[]> {
  const { services } = await plane.account();
  return services.map(({ name }: Json) => name).sort();
}

/** A Job that works until it is asked to end, in the only image that every such cluster has. */
function job(name: string, annotations: Readonly<Record<string, string>>): object {
  const container = {
    name: 'work',
    image: imageTag,
    command: [
      '/usr/local/bin/node',
      '-e',
      "process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000)",
    ],
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, annotations },
    spec: { backoffLimit: 0, template: { spec: { restartPolicy: 'Never', containers: [container] } } },
  };
}

const asNode = ['/usr/local/bin/node', '-e'];
const endOf = (name: string) => ['exec', `job/${name}`, '--', ...asNode, "process.kill(1, 'SIGTERM')"];

describe.skipIf(isWithoutNode)('the operator in a real cluster', () => {
  const installed = useInstalled();

  test('runs as two replicas in a restricted namespace, one of which leads', async () => {
    const { node } = installed();
    expect(await installed().pods()).toHaveLength(2);
    await installed().leader();
    const enforced = '{.metadata.labels.pod-security\\.kubernetes\\.io/enforce}';
    expect(await node.kubectl('get', 'namespace', system, '-o', `jsonpath=${enforced}`)).toBe('restricted');
    const restarts = '{.items[*].status.containerStatuses[*].restartCount}';
    expect(await node.kubectl('-n', system, 'get', 'pods', '-o', `jsonpath=${restarts}`)).toBe('0 0');
  });

  test('makes what is applied, and after the deletion of its leader another one makes the rest, nothing twice', async () => {
    const shop = await installed().shop();
    await shop.apply([service('web'), volume('data')]);
    await shop.untilReady('containerservice,storagevolume');
    expect(await servicesOf(shop)).toEqual(['web']);
    const before = await installed().leader();
    await shop.apply(['a', 'b', 'c'].map((name) => service(name)));
    await shop.node.kubectl('-n', system, 'delete', 'pod', before, '--wait=false');
    await shop.untilReady('containerservice');
    const after = await installed().leader(takeoverMs);
    expect(after).not.toBe(before);
    expect(await servicesOf(shop)).toEqual(['a', 'b', 'c', 'web']);
    expect(new Set(await created(shop.plane)).size).toBe(4);
  });

  test('is led by another replica after its leader was killed without a farewell', async () => {
    const shop = await installed().shop();
    await shop.apply([service('web')]);
    await shop.untilReady('containerservice');
    const before = await installed().leader();
    await shop.node.kubectl('-n', system, 'delete', 'pod', before, '--grace-period=0', '--force');
    await shop.apply([service('web', { image: 'ghcr.io/acme/app:2' })]);
    await eventually(
      'the change, by another one',
      async () => (await shop.plane.service('web')).image === 'ghcr.io/acme/app:2',
      takeoverMs,
    );
    expect(await installed().leader(takeoverMs)).not.toBe(before);
    expect(await created(shop.plane)).toHaveLength(1);
  });

  test('protects a service with heartbeats while a real Job works, and changes it when the Job has ended', async () => {
    const shop = await installed().shop();
    await shop.apply([service('web')]);
    await shop.untilReady('containerservice');
    await shop.apply([job('training', { 'fleetkeeper.dev/protects': 'web' })]);
    await shop.kubectl('wait', '--for=condition=Ready', 'pod', '-l', 'job-name=training', '--timeout=60s');
    await eventually('its task', () =>
      shop.kubectl('get', 'protectedtask', 'job-training').catch(() => false as const),
    );
    await shop.untilReady('protectedtask', 'job-training');
    const { id } = await shop.plane.service('web');
    const activities = async (): Promise<Json[]> =>
      (await shop.plane.call('GET', `/api/services/${id}/activity`)).activities;
    const [first] = await activities();
    expect(first).toMatchObject({ name: 'job-training', fresh: true });
    await shop.apply([service('web', { image: 'ghcr.io/acme/app:2' })]);
    const protectedBy = ['--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Protected'];
    await shop.kubectl('wait', ...protectedBy, 'containerservice/web', '--timeout=60s');
    await eventually('a later heartbeat', async () => {
      const [now] = await activities();
      return now.fresh && now.lastHeartbeatAt !== first.lastHeartbeatAt;
    });
    expect((await shop.plane.service('web')).image).toBe('ghcr.io/acme/app:1');

    // The command may end with the container. The wait fails if the Job does not end.
    await shop.kubectl(...endOf('training')).catch(() => undefined);
    await shop.kubectl('wait', '--for=condition=Complete', 'job/training', '--timeout=60s');
    await eventually('no activity', async () => (await activities()).length === 0);
    await eventually(
      'the change',
      async () => (await shop.plane.service('web')).image === 'ghcr.io/acme/app:2',
    );
    await shop.kubectl('delete', 'job', 'training', '--timeout=60s');
    await shop.kubectl('wait', '--for=delete', 'protectedtask/job-training', '--timeout=60s');
  });

  test('lets a namespace end by itself: its services are deleted at the provider, its volumes stay', async () => {
    const shop = await installed().shop();
    await shop.apply([service('web'), service('worker'), volume('data')]);
    await shop.untilReady('containerservice,storagevolume');
    await shop.node.kubectl('delete', 'namespace', shop.namespace, '--timeout=120s');
    const { services, volumes } = await shop.plane.account();
    expect([services, volumes.map(({ name }: Json) => name)]).toEqual([[], [expect.stringMatching(/^data/)]]);
  });

  test('leaves nothing of a deleted fleet: replicas, revisions and endpoints are collected with their owner', async () => {
    const shop = await installed().shop();
    await shop.apply([fleetOf('llm', { replicas: 3, publishEndpoints: true })]);
    await shop.untilReady('servicefleet', 'llm');
    const owned = async (): Promise<string[]> => {
      const { items } = await shop.show('containerservices,controllerrevisions,configmaps');
      return items
        .filter(({ metadata }: Json) => metadata.ownerReferences?.some((owner: Json) => owner.name === 'llm'))
        .map(({ kind }: Json) => kind)
        .sort();
    };
    const replicas = Array.from({ length: 3 }, () => 'ContainerService');
    await eventually('all that it owns', async () => (await owned()).length === 5);
    expect(await owned()).toEqual(['ConfigMap', ...replicas, 'ControllerRevision']);
    // The operator deletes the replicas; the garbage collector has the rest.
    await shop.kubectl('delete', 'servicefleet', 'llm', '--cascade=background', '--timeout=120s');
    await eventually('the end of all of it', async () => (await owned()).length === 0, 60_000);
    expect(await servicesOf(shop)).toEqual([]);
  });
});
