/** What the nodes of a cluster have is the bound of what is sold, and follows them. */
import pino from 'pino';
import { expect, test, vi } from 'vitest';
import { parseConfig } from '../../../../src/control-plane/main.ts';
import { placeKey, type ObservedBounds } from '../../../../src/control-plane/domain/capacity.ts';
import { NodeBounds, firstBounds } from '../../../../src/control-plane/runtimes/kubernetes/capacity.ts';
import type { KubernetesObject, ListPage, ResourceType } from '../../../../src/kubernetes/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { ClusterWorld, spec } from './world.ts';

const config = parseConfig(
  `regions:
  - name: standard
    geographies:
      - {name: europe, cluster: {nodeSelector: {zone: eu}}}
      - {name: asia, cpu: 3, cluster: {nodeSelector: {zone: as}}}
`,
  'config.yaml',
);

interface NodeForm {
  readonly zone?: string;
  readonly cpu?: string;
  readonly memory?: string;
  readonly pods?: string;
  readonly ready?: string;
  readonly cordoned?: boolean;
}

function node(name: string, form: NodeForm = {}): KubernetesObject {
  const { zone = 'eu', cpu = '8', memory = '16Gi', pods = '110', ready = 'True', cordoned } = form;
  return {
    metadata: { name, uid: name, resourceVersion: '1', labels: { zone } },
    ...(cordoned && { spec: { unschedulable: true } }),
    status: { allocatable: { cpu, memory, pods }, conditions: [{ type: 'Ready', status: ready }] },
  } as unknown as KubernetesObject;
}

function pod(nodeName: string, cpu: string, phase = 'Running'): KubernetesObject {
  const containers = [{ resources: { requests: { cpu, memory: '1Gi' } } }];
  return {
    metadata: { name: 'other', uid: 'other', resourceVersion: '1' },
    spec: { nodeName, containers },
    status: { phase },
  } as unknown as KubernetesObject;
}

/** A cluster whose parts are changed at will. */
class Cluster {
  readonly clock = new ManualClock();
  readonly log: string[] = [];
  nodes: KubernetesObject[] = [];
  pods: KubernetesObject[] = [];
  isReadable = true;
  reads = 0;
  bounds: ObservedBounds | undefined;
  readonly watch = new NodeBounds({
    api: {
      list: async ({ plural }: ResourceType): Promise<ListPage> => {
        if (!this.isReadable) throw new Error('forbidden');
        if (plural === 'nodes') this.reads += 1;
        return { items: plural === 'nodes' ? this.nodes : this.pods } as unknown as ListPage;
      },
    },
    config,
    nodes: () => this.nodes,
    clock: this.clock,
    logger: pino({}, { write: (line: string) => this.log.push(line) }),
    onBounds: (bounds) => {
      this.bounds = bounds;
    },
  });

  static async start(nodes: KubernetesObject[], pods: KubernetesObject[] = []): Promise<Cluster> {
    const cluster = new Cluster();
    cluster.nodes = nodes;
    cluster.pods = pods;
    await cluster.watch.start();
    return cluster;
  }

  async change(nodes: KubernetesObject[]): Promise<void> {
    this.nodes = nodes;
    this.watch.noticed();
    await this.clock.advance(5000);
  }
}

const europe = placeKey('standard', 'europe');

test('at the start: what ready nodes have for Pods, without what foreign Pods on them have asked for', async () => {
  const { bounds } = await Cluster.start(
    [
      node('a'),
      node('b', { zone: 'as', cpu: '4' }),
      node('c', { ready: 'False' }),
      node('d', { cordoned: true }),
    ],
    [pod('a', '500m'), pod('a', '1', 'Succeeded'), pod('c', '2')],
  );
  expect(bounds?.machine).toEqual({ cpu: 11.5, memoryGb: 31, services: 219 });
  expect(bounds?.places.get(europe)).toEqual({ cpu: 7.5, memoryGb: 15, services: 109 });
});

test('they are known before anything is sold, and nothing fails where they can not be read', async () => {
  const nodes = [node('a')];
  const api = {
    list: async ({ plural }: ResourceType) =>
      ({ items: plural === 'nodes' ? nodes : [] }) as unknown as ListPage,
  };
  expect((await firstBounds(api, config))?.machine).toEqual({ cpu: 8, memoryGb: 16, services: 110 });
  const unreadable = { list: async () => Promise.reject(new Error('forbidden')) };
  expect(await firstBounds(unreadable, config)).toBeUndefined();
});

test('a node that is added, cordoned, lost or removed changes them within seconds', async () => {
  const cluster = await Cluster.start([node('a')]);
  const services = () => cluster.bounds?.machine.services;
  expect(services()).toBe(110);
  await cluster.change([node('a'), node('b', { pods: '20' })]);
  expect(services()).toBe(130);
  await cluster.change([node('a'), node('b', { pods: '20', cordoned: true })]);
  expect(services()).toBe(110);
  await cluster.change([node('a', { ready: 'Unknown' }), node('b', { pods: '20' })]);
  expect(services()).toBe(20);
  await cluster.change([]);
  expect(services()).toBe(0);
});

test('reports of the health of nodes cost no reads, however many there are', async () => {
  const cluster = await Cluster.start([node('a')]);
  for (let report = 0; report < 100; report += 1) {
    cluster.nodes = [node('a')];
    cluster.watch.noticed();
    await cluster.clock.advance(1000);
  }
  expect(cluster.reads).toBe(1);
});

test('what other Pods take is read again every five minutes', async () => {
  const cluster = await Cluster.start([node('a')]);
  cluster.pods = [pod('a', '2')];
  await cluster.clock.advance(5 * 60_000);
  expect(cluster.bounds?.machine).toMatchObject({ cpu: 6, services: 109 });
});

test('what can not be read again stays as it was, and that is logged once', async () => {
  const cluster = await Cluster.start([node('a')]);
  cluster.isReadable = false;
  await cluster.clock.advance(60 * 60_000);
  expect(cluster.bounds?.machine.cpu).toBe(8);
  expect(cluster.log.filter((line) => line.includes('the bounds stay as they were'))).toHaveLength(1);
  cluster.isReadable = true;
  cluster.nodes = [node('a', { cpu: '2' })];
  await cluster.clock.advance(5 * 60_000);
  expect(cluster.bounds?.machine.cpu).toBe(2);
});

test('nothing is bounded where nodes may not be read, and nothing is read after the end', async () => {
  const cluster = new Cluster();
  cluster.isReadable = false;
  await cluster.watch.start();
  expect(cluster.bounds).toBeUndefined();
  expect(cluster.log.join('')).toContain('so nothing is bounded');
  cluster.watch.close();
  cluster.isReadable = true;
  cluster.watch.noticed();
  await cluster.clock.advance(60 * 60_000);
  expect(cluster.reads).toBe(0);
});

test('what no node has is refused from the first request on, and is had when a larger node comes', async () => {
  await using cluster = await ClusterWorld.start();
  const large = { ...spec, resources: { ...spec.resources, cpu: 9 } };
  const create = () => cluster.world.refusal('POST', '/api/services', large);
  expect(await create()).toBe('409 capacity_unavailable');
  cluster.node.resize({ cpu: '16', memory: '32Gi', pods: '110' });
  await vi.waitFor(async () => expect(await create()).toBe('201 undefined'), {
    interval: 200,
    timeout: 30_000,
  });
});
