/**
 * The operator as its users install it: an image of ours in a node, `kubectl apply -k` of the manifests, and fleets of namespaces
 * whose control plane is a process of this machine, so that the times in its journal are true whatever fails in the cluster.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import type { KubernetesApi } from '../../../src/kubernetes/index.ts';
import { world } from '../world.ts';
import { ControlPlaneProcess, type ControlPlaneFlags } from './control-plane.ts';
import { account, type Json } from './fleet.ts';
import { Image, imageTag } from './image.ts';
import { endNamespace } from './kubernetes.ts';
import { ClusterNode, whatNodeNeeds } from './node.ts';
import { eventually, temporaryFolder } from './processes.ts';

/** Whether no Pod of ours can run here. It is reported loudly. */
export const isWithoutNode = await findOut();

async function findOut(): Promise<boolean> {
  const need = await whatNodeNeeds();
  if (need === undefined) return false;
  process.stderr.write(`\n*** SKIPPED: no operator runs as a Pod of a real cluster here: ${need} ***\n`);
  return true;
}

/** Where the manifests install. */
export const system = 'fleetkeeper-system';
const manifests = path.resolve(import.meta.dirname, '../../../manifests');
/** On a cluster of others, only these are the operator's. */
const mostFleets = 12;

export class Installed {
  readonly node: ClusterNode;
  readonly #namespaces: string[];

  constructor(node: ClusterNode, namespaces: readonly string[]) {
    this.node = node;
    this.#namespaces = [...namespaces];
  }

  /** What a namespace has that declares a fleet, and the control plane of its Account. */
  async shop(accountSpec: object = {}, flags: ControlPlaneFlags = {}): Promise<Shop> {
    const namespace = this.#namespaces.pop();
    if (namespace === undefined) throw new Error(`there are only ${mostFleets} namespaces`);
    const folder = await temporaryFolder();
    const host = await this.node.hostAddress();
    const plane = await new ControlPlaneProcess(folder, { timeScale: 60, ...flags, host }).start();
    const api = await world.connectCluster(this.node.kubeconfig);
    onTestFinished(() => api.close());
    await this.node.kubectl('create', 'namespace', namespace);
    onTestFinished(() => endNamespace(api, namespace).catch(() => undefined));
    const shop = new Shop({ node: this.node, api, plane, namespace, folder });
    await shop.apply(account(plane.url, { insecure: true, ...accountSpec }));
    return shop;
  }

  /** The Pod that holds the Lease, once one of those that run does. */
  async leader(timeoutMs = 60_000): Promise<string> {
    return eventually(
      'a leader among the Pods',
      async () => {
        const holder = await this.#system(
          'get',
          'lease',
          'fleetkeeper',
          '-o',
          'jsonpath={.spec.holderIdentity}',
        );
        return (await this.pods()).find((name) => holder.startsWith(name));
      },
      timeoutMs,
    );
  }

  /** Those that nobody has deleted. */
  async pods(): Promise<string[]> {
    const selected = ['pods', '-l', 'app.kubernetes.io/name=fleetkeeper', '-o', 'json'];
    const { items } = JSON.parse(await this.#system('get', ...selected));
    return items
      .filter(({ metadata }: Json) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }: Json) => metadata.name);
  }

  /** Runs kubectl in the operator's namespace. */
  #system(...args: string[]): Promise<string> {
    return this.node.kubectl('-n', system, ...args);
  }
}

interface ShopParts {
  readonly node: ClusterNode;
  readonly api: KubernetesApi;
  readonly plane: ControlPlaneProcess;
  readonly namespace: string;
  /** Of files for kubectl. */
  readonly folder: string;
}

export class Shop {
  readonly node: ClusterNode;
  readonly api: KubernetesApi;
  readonly plane: ControlPlaneProcess;
  readonly namespace: string;
  readonly #folder: string;

  constructor({ node, api, plane, namespace, folder }: ShopParts) {
    this.node = node;
    this.api = api;
    this.plane = plane;
    this.namespace = namespace;
    this.#folder = folder;
  }

  kubectl(...args: string[]): Promise<string> {
    return this.node.kubectl('-n', this.namespace, ...args);
  }

  async apply(documents: readonly object[]): Promise<string> {
    const file = path.join(this.#folder, `${randomUUID()}.yaml`);
    await writeFile(file, documents.map((document) => stringify(document)).join('---\n'));
    return this.kubectl('apply', '-f', file);
  }

  async show(...args: string[]): Promise<Json> {
    return JSON.parse(await this.kubectl('get', ...args, '-o', 'json'));
  }

  untilReady(kind: string, ...more: string[]): Promise<string> {
    const names = more.length === 0 ? ['--all'] : more;
    return this.kubectl('wait', '--for=condition=Ready', kind, ...names, '--timeout=120s');
  }
}

/** One node and one operator for all tests of a `describe`. */
export function useInstalled(): () => Installed {
  let installed: Installed;
  let node: ClusterNode | undefined;
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-installed-'));
  beforeAll(async () => {
    node = await ClusterNode.start();
    await loadImage(node, folder);
    const run = randomUUID().slice(0, 8);
    const namespaces = Array.from({ length: mostFleets }, (_, index) => `fleetkeeper-${run}-${index}`);
    await node.kubectl('apply', '-k', await writeKustomization(folder, node, namespaces));
    await node.kubectl('-n', system, 'rollout', 'status', 'deployment/fleetkeeper', '--timeout=120s');
    installed = new Installed(node, namespaces);
  }, 300_000);
  afterAll(async () => {
    if (node && !node.isOwn) await uninstall(node);
    await node?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  return () => installed;
}

/** The image of this repository. `folder`: for its archive. */
export async function loadImage(node: ClusterNode, folder: string): Promise<void> {
  const archive = path.join(folder, 'image.tar');
  await using image = new Image();
  await image.build();
  await image.save(archive);
  await node.load(archive);
  rmSync(archive);
}

/**
 * As docs/how-to/run-in-a-cluster.md describes it. Returns `folder`, where it is. `namespaces`: those with fleets of this operator. It watches
 * no other ones in a cluster of others.
 */
export async function writeKustomization(
  folder: string,
  node: ClusterNode,
  namespaces: readonly string[],
): Promise<string> {
  const [newName, newTag] = imageTag.split(/:(?=[^:]*$)/);
  const add = (target: object, place: string, value: unknown) => ({
    target,
    patch: stringify([{ op: 'add', path: `${place}/-`, value }]),
  });
  // Control planes of this machine listen at any port.
  const here = { to: [{ ipBlock: { cidr: `${await node.hostAddress()}/32` } }] };
  const args = '/spec/template/spec/containers/0/args';
  const kustomization = {
    resources: [path.relative(folder, manifests)],
    images: [{ name: 'fleetkeeper', newName, newTag }],
    patches: [
      add({ kind: 'NetworkPolicy', name: 'fleetkeeper' }, '/spec/egress', here),
      ...(node.isOwn
        ? []
        : [
            add(
              { kind: 'Deployment', name: 'fleetkeeper' },
              args,
              `--watch-namespaces=${namespaces.join(',')}`,
            ),
          ]),
    ],
  };
  writeFileSync(path.join(folder, 'kustomization.yaml'), stringify(kustomization));
  return folder;
}

/** The definitions stay: other fleets may be declared in this cluster. */
async function uninstall(node: ClusterNode): Promise<void> {
  await node.kubectl('delete', 'namespace', system, '--ignore-not-found');
  const made = ['clusterrole,clusterrolebinding', '-l', 'app.kubernetes.io/part-of=fleetkeeper'];
  await node.kubectl('delete', ...made);
}
