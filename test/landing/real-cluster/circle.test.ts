/**
 * The whole circle in one cluster: control plane and operator as Pods, installed by one command (examples/one-cluster), and a fleet
 * whose services are Pods beside them. No process of this machine takes part.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Json } from '../../support/processes/fleet.ts';
import { imageTag } from '../../support/processes/image.ts';
import { isWithoutNode, loadImage, system } from '../../support/processes/installed.ts';
import { ClusterNode, loadFixture, whoseNode } from '../../support/processes/node.ts';
import { fixtureImage } from '../../support/processes/podman.ts';
import { eventually, nowMs } from '../../support/processes/processes.ts';

const example = path.resolve(import.meta.dirname, '../../../examples/one-cluster');
const planeSpace = 'fleetkeeper-control-plane';
const planePod = `${planeSpace}-0`;
const namespace = 'shop';
const longMs = 120_000;

/** It installs for the whole cluster, so only in one of its own. */
const isUnasked = isWithoutNode || whoseNode() === 'others';

const asNode = ['/usr/local/bin/node', '-e'];

describe.skipIf(isUnasked)('control plane, operator and fleet in one cluster', () => {
  let node: ClusterNode;
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-circle-'));
  const times: Record<string, string> = {};

  beforeAll(async () => {
    node = await ClusterNode.start();
    await Promise.all([loadImage(node, folder), loadFixture(node)]);
  }, 300_000);
  afterAll(async () => {
    process.stdout.write(`the circle: ${JSON.stringify(times)}\n`);
    await node?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const timed = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const startedMs = nowMs();
    await work();
    times[what] = `${((nowMs() - startedMs) / 1000).toFixed(1)} s`;
  };
  const shop = (...args: string[]) => node.kubectl('-n', namespace, ...args);
  const json = async (...args: string[]): Promise<Json> =>
    JSON.parse(await node.kubectl('get', ...args, '-o', 'json'));
  const apply = async (name: string, documents: readonly object[]) => {
    const file = path.join(folder, `${name}.yaml`);
    writeFileSync(file, documents.map((document) => stringify(document)).join('---\n'));
    await shop('apply', '-f', file);
  };
  const untilReady = (...what: string[]) => shop('wait', '--for=condition=Ready', ...what, '--timeout=120s');
  const runs = async () => {
    const install = ['rollout', 'status', '--timeout=120s'];
    await node.kubectl('-n', planeSpace, ...install, `statefulset/${planeSpace}`);
    await node.kubectl('-n', system, ...install, 'deployment/fleetkeeper');
  };
  const tenantPods = async (): Promise<Json[]> =>
    (await json('pods', '-A', '-l', 'control-plane.fleetkeeper.dev/service')).items;
  const uidOf = async (name: string): Promise<string> => {
    const id = await shop('get', 'containerservice', name, '-o', 'jsonpath={.status.id}');
    const pod = (await tenantPods()).find(({ metadata }) => metadata.name === `fleetkeeper-${id}`);
    return String(pod?.metadata.uid);
  };
  /** What a service answers to a Pod that is no tenant's. */
  const page = async (name: string): Promise<string> => {
    const endpoint = await shop('get', 'containerservice', name, '-o', 'jsonpath={.status.endpoint}');
    const ask = `fetch(${JSON.stringify(endpoint)}).then((answer) => answer.text()).then((text) => process.stdout.write(text))`;
    return node.kubectl('-n', planeSpace, 'exec', planePod, '--', ...asNode, ask);
  };
  /** Between two Pods nobody answers. */
  const untilShows = (end: string) =>
    eventually(
      `a page that ends with ${end}`,
      () =>
        page('web').then(
          (text) => text.endsWith(end),
          () => false as const,
        ),
      longMs,
    );
  const document = (name: string, spec: object) => ({
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'ContainerService',
    metadata: { name },
    spec: {
      region: 'standard',
      image: fixtureImage,
      resources: { cpu: 0.1, memoryGb: 0.0625 },
      httpPort: 8080,
      ...spec,
    },
  });
  const greeting = (text: string) => ({
    env: [{ name: 'GREETING', value: text }],
    storage: { volumeRef: { name: 'data' } },
  });
  const leader = async () => {
    const of = ['-n', system, 'get', 'lease', 'fleetkeeper', '-o', 'jsonpath={.spec.holderIdentity}'];
    const { items } = await json('pods', '-n', system);
    const holder = await node.kubectl(...of);
    const found = items.find(({ metadata }: Json) => holder.startsWith(metadata.name));
    return found?.metadata.deletionTimestamp === undefined ? String(found?.metadata.name) : '';
  };

  test('it is installed by one command, and a fleet that is applied answers', async () => {
    const [newName, newTag] = imageTag.split(/:(?=[^:]*$)/);
    const kustomization = {
      resources: [path.relative(folder, example)],
      images: [{ name: 'fleetkeeper', newName, newTag }],
    };
    writeFileSync(path.join(folder, 'kustomization.yaml'), stringify(kustomization));
    await timed('installed', async () => {
      await node.kubectl('apply', '-k', folder);
      await runs();
    });
    await node.kubectl('create', 'namespace', namespace);
    const fleet = readFileSync(path.join(example, 'fleet.yaml'), 'utf8');
    // The image of the example is in a registry.
    const before = /ContainerService[^]*$/.exec(fleet)?.index ?? 0;
    writeFileSync(path.join(folder, 'fleet.yaml'), fleet.slice(0, fleet.lastIndexOf('---', before)));
    await timed('a fleet Ready', async () => {
      await shop('apply', '-f', path.join(folder, 'fleet.yaml'));
      await apply('web', [document('web', greeting('one')), document('worker', {})]);
      await untilReady('containerservice,storagevolume', '--all');
    });
    expect(await page('web')).toBe('start one\n');
    expect(await tenantPods()).toHaveLength(2);
  });

  test('after the deletion of the leader of the operator another one makes the next change', async () => {
    const before = await leader();
    await timed("a change after the leader's end", async () => {
      await node.kubectl('-n', system, 'delete', 'pod', before, '--wait=false');
      await apply('web', [document('web', greeting('two'))]);
      await untilShows('start two\n');
    });
    await untilReady('containerservice', '--all');
    expect(await page('web')).toBe('start one\nstart two\n');
    expect(await leader()).not.toBe(before);
  });

  test('the deletion of the control plane ends no service, and its next Pod makes the next one', async () => {
    const before = (await tenantPods()).map(({ metadata }) => metadata.uid);
    await timed("a service after the control plane's end", async () => {
      await node.kubectl('-n', planeSpace, 'delete', 'pod', planePod);
      await apply('late', [document('late', {})]);
      await untilReady('containerservice', 'late');
    });
    const after = (await tenantPods()).map(({ metadata }) => metadata.uid);
    expect(after).toEqual(expect.arrayContaining(before));
    expect(after).toHaveLength(before.length + 1);
    expect(await page('web')).toBe('start one\nstart two\n');
  });

  test('a control plane that is scaled to nothing and back makes what was declared meanwhile, and ends no service', async () => {
    const scaled = ['scale', `statefulset/${planeSpace}`];
    const before = await Promise.all(['web', 'worker'].map(uidOf));
    const late = await uidOf('late');
    await node.kubectl('-n', planeSpace, ...scaled, '--replicas=0');
    await node.kubectl('-n', planeSpace, 'wait', '--for=delete', `pod/${planePod}`, '--timeout=120s');
    await apply('late', [document('late', { env: [{ name: 'GREETING', value: 'back' }] })]);
    // The operator has seen that nobody answers.
    const ready = '{.status.conditions[?(@.type=="Ready")].status}';
    await eventually(
      'an Account that is not Ready',
      async () => (await shop('get', 'account', 'default', '-o', `jsonpath=${ready}`)) !== 'True',
      longMs,
    );
    expect(await Promise.all(['web', 'worker', 'late'].map(uidOf))).toEqual([...before, late]);
    await timed('a change after nothing and back', async () => {
      await node.kubectl('-n', planeSpace, ...scaled, '--replicas=1');
      await eventually(
        'the next Pod of the service',
        async () => ![late, 'undefined'].includes(await uidOf('late')),
        longMs,
      );
      await untilReady('containerservice', '--all');
    });
    expect(await Promise.all(['web', 'worker'].map(uidOf))).toEqual(before);
    expect(await tenantPods()).toHaveLength(3);
  });

  test('a service that is resized runs on in its Pod, with the rights that the manifests give', async () => {
    const before = await uidOf('worker');
    const resources = { cpu: 0.15, memoryGb: 0.125 };
    const memory = async () => {
      const pod = (await tenantPods()).find(({ metadata }) => metadata.uid === before);
      return String(pod?.status.containerStatuses[0].resources?.limits.memory);
    };
    await timed('resized', async () => {
      await apply('worker', [document('worker', { resources })]);
      await eventually('128 MB', async () => ['128Mi', String(2 ** 27)].includes(await memory()), longMs);
    });
    await untilReady('containerservice', 'worker');
    expect(await uidOf('worker')).toBe(before);
  });

  test('a service that is idle falls asleep, and wakes when it is never to sleep', async () => {
    const before = await uidOf('late');
    const sleeping = (sleepAfterMinutes: number) => [
      document('late', { env: [{ name: 'GREETING', value: 'back' }], sleepAfterMinutes }),
    ];
    await apply('late', sleeping(1));
    const isAsleep = '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Sleeping';
    await timed('asleep after a minute of idleness', () =>
      shop('wait', isAsleep, 'containerservice/late', '--timeout=240s'),
    );
    expect(await uidOf('late')).toBe('undefined');
    await timed('awake', async () => {
      await apply('late', sleeping(0));
      const isAwake = '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Running';
      await shop('wait', isAwake, 'containerservice/late', '--timeout=120s');
    });
    expect(['undefined', before]).not.toContain(await uidOf('late'));
    expect(await tenantPods()).toHaveLength(3);
  }, 480_000);

  test('a Job protects its service from a change until it ends', async () => {
    const container = {
      name: 'work',
      image: imageTag,
      command: [...asNode, "process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000)"],
    };
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'training', annotations: { 'fleetkeeper.dev/protects': 'web' } },
      spec: { backoffLimit: 0, template: { spec: { restartPolicy: 'Never', containers: [container] } } },
    };
    await apply('job', [job]);
    await shop('wait', '--for=condition=Ready', 'pod', '-l', 'job-name=training', '--timeout=60s');
    await eventually('its task', () =>
      shop('get', 'protectedtask', 'job-training').catch(() => false as const),
    );
    await untilReady('protectedtask', 'job-training');
    const before = await uidOf('web');
    await apply('web', [document('web', greeting('three'))]);
    const isProtected = '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Protected';
    await shop('wait', isProtected, 'containerservice/web', '--timeout=60s');
    expect(await uidOf('web')).toBe(before);
    await timed("a change after the Job's end", async () => {
      // The command may end with the container.
      await shop('exec', 'job/training', '--', ...asNode, "process.kill(1, 'SIGTERM')").catch(
        () => undefined,
      );
      await shop('wait', '--for=condition=Complete', 'job/training', '--timeout=60s');
      await untilShows('start three\n');
    });
    expect(await uidOf('web')).not.toBe(before);
  });

  test('a namespace of a fleet ends by itself: its services are gone, the data stays', async () => {
    const claims = async (): Promise<string[]> => {
      const { items } = await json('pvc', '-A', '-l', 'control-plane.fleetkeeper.dev/volume');
      return items.map(({ metadata }: Json) => metadata.name);
    };
    const before = await claims();
    expect(before).toHaveLength(1);
    await timed('the end of its namespace', () =>
      node.kubectl('delete', 'namespace', namespace, '--timeout=120s'),
    );
    await eventually('the end of its Pods', async () => (await tenantPods()).length === 0, longMs);
    expect(await claims()).toEqual(before);
  });
});
