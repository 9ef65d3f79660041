/**
 * A fleet that is declared in a cluster, with the words of `FleetFolder`: what a file held becomes objects, what it holds no
 * more is deleted, and the manager is the operator.
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { KubernetesError, type KubernetesApi, type KubernetesObject } from '../../../src/kubernetes/index.ts';
import {
  annotations,
  managedKinds,
  objectKey,
  resourceTypes,
  type Condition,
  type ManagedKind,
} from '../../../src/resources/index.ts';
import { readBookkeeping } from '../../../src/state/bookkeeping.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { Fleet, type Json } from './fleet.ts';
import { createCluster, endNamespace, namespaceType, type TestCluster } from './kubernetes.ts';
import { eventually, launch, nowMs, type Finished, type Program } from './processes.ts';

interface Document {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const coreTypes = {
  Secret: { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true },
  ConfigMap: { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true },
} as const;

const leaseType = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
} as const;
/** An API that hangs is waited for. */
const restMs = 60_000;

/** In a cluster of its own, or a namespace of its own of a real one. Ends with the test. */
export async function createClusterFleet(folder: string): Promise<ClusterFleet> {
  return new ClusterFleet(await createCluster(folder));
}

export class ClusterFleet extends Fleet {
  readonly cluster: TestCluster;
  readonly #api: KubernetesApi;
  readonly #files = new Map<string, Document[]>();
  readonly #namespaces: Set<string>;
  #manager: Program | undefined;

  constructor(cluster: TestCluster) {
    super();
    this.cluster = cluster;
    this.#api = cluster.api;
    this.#namespaces = new Set([this.namespace]);
  }

  get namespace(): string {
    return this.#api.namespace;
  }

  get flags(): string[] {
    const { kubeconfig, server } = this.cluster;
    // A real cluster has objects of others, too.
    const watched = server ? [] : ['--watch-namespaces', [...this.#namespaces].join(',')];
    return ['--source', 'kubernetes', '--kubeconfig', kubeconfig, ...watched];
  }

  async write(file: string, documents: readonly object[] | string): Promise<void> {
    const list =
      typeof documents === 'string'
        ? parseAllDocuments(documents).map((document) => document.toJS() as Document)
        : (documents as readonly Document[]);
    const before = this.#files.get(file) ?? [];
    this.#files.set(file, [...list]);
    for (const document of list) {
      await this.#apply(document);
      const isNews = !before.some((old) => isDeepStrictEqual(old, document));
      if (isNews && document.kind in coreTypes) await this.#askUsersOf(document);
    }
    for (const document of before) if (!this.#isWritten(document)) await this.#delete(document);
  }

  async remove(file: string): Promise<void> {
    const folder = [...this.#files.keys()].filter((name) => name === file || name.startsWith(`${file}/`));
    const before = folder.flatMap((name) => this.#files.get(name) ?? []);
    for (const name of folder) this.#files.delete(name);
    for (const document of before) if (!this.#isWritten(document)) await this.#delete(document);
  }

  run(...flags: string[]): Program {
    // As a person does who knows that the leader is dead; test/landing/operator/ has those who wait.
    if (this.#manager?.killed) void this.#freeLeaseOf(this.#manager);
    this.#manager = launch(['run', ...this.flags, '--settle', '1s', ...flags]);
    return this.#manager;
  }

  /** Only its own: on a busy machine the next one may have taken the Lease meanwhile. */
  async #freeLeaseOf({ pid }: Program): Promise<void> {
    const target = { type: leaseType, namespace: this.namespace, name: 'fleetkeeper' };
    const lease = await this.#api.get(target);
    const { holderIdentity = '' } = (lease?.spec ?? {}) as { readonly holderIdentity?: string };
    if (!lease || !holderIdentity.includes(`_${pid}_`)) return;
    const { uid, resourceVersion } = lease.metadata;
    await this.#api.remove(target, { uid, resourceVersion }).catch(() => undefined);
  }

  /** What `apply` does with a folder: runs the manager until there is nothing left for it to do. */
  async apply(...flags: string[]): Promise<Finished> {
    if (flags.includes('--allow-mass-change')) await this.#allowMassChange();
    const asked = randomUUID();
    const objects = (await this.#objects()).filter(({ kind }) => kind !== 'Account');
    await Promise.all(objects.map((object) => this.#ask(object, asked)));
    const program = this.run('--log-level', 'info');
    await eventually('a leader', async () => program.stderr.includes('"leading"'));
    const rest = await eventually(
      'the fleet at rest',
      async () => restOf(await this.#objects(), asked),
      restMs,
    );
    await program.kill('SIGTERM');
    return { code: rest.length === 0 ? 0 : 1, stdout: program.stdout, stderr: rest.join('\n') };
  }

  async records(): Promise<Map<string, ObjectRecord>> {
    const objects = await this.#objects();
    return new Map(objects.map((object) => [`${object.kind}/${object.metadata.name}`, recordOf(object)]));
  }

  async #objects(): Promise<KubernetesObject[]> {
    const lists = [...this.#namespaces].flatMap((namespace) =>
      managedKinds.map((kind) => this.#api.list(resourceTypes[kind], { namespace })),
    );
    return (await Promise.all(lists)).flatMap(({ items }) => items);
  }

  #isWritten(document: Document): boolean {
    const name = identity(document);
    return [...this.#files.values()].flat().some((other) => identity(other) === name);
  }

  async #apply(document: Document): Promise<void> {
    await this.#createNamespace(this.#namespaceOf(document));
    const body = { ...document, metadata: { ...document.metadata, namespace: this.#namespaceOf(document) } };
    await this.#api.patch(this.#target(document), { kind: 'apply', body, force: true });
  }

  /** As a person does it where no flag can be given. */
  async #allowMassChange(): Promise<void> {
    const { items } = await this.#api.list(resourceTypes.Account, { namespace: this.namespace });
    const until = new Date(nowMs() + 600_000).toISOString();
    const body = { metadata: { annotations: { [annotations.allowMassChangeUntil]: until } } };
    for (const { metadata } of items) {
      const target = { type: resourceTypes.Account, namespace: this.namespace, name: metadata.name };
      await this.#api.patch(target, { kind: 'merge', body });
    }
  }

  /** As a person does who does not want to wait until data are read again by themselves. */
  async #askUsersOf(data: Document): Promise<void> {
    const naming = `"name":"${data.metadata.name}"`;
    const users = (await this.#objects()).filter(
      ({ metadata, spec }) =>
        metadata.namespace === this.#namespaceOf(data) && JSON.stringify(spec).includes(naming),
    );
    await Promise.all(users.map((user) => this.#ask(user, randomUUID())));
  }

  /** To look at it now. */
  async #ask({ kind, metadata }: KubernetesObject, word: string): Promise<void> {
    const target = {
      type: resourceTypes[kind as ManagedKind],
      namespace: metadata.namespace,
      name: metadata.name,
    };
    const body = { metadata: { annotations: { [annotations.reconcileAt]: word } } };
    await this.#api.patch(target, { kind: 'merge', body });
  }

  async #createNamespace(name: string): Promise<void> {
    if (this.#namespaces.has(name)) return;
    this.#namespaces.add(name);
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    const target = { type: namespaceType, namespace: undefined, name };
    await this.#api.patch(target, { kind: 'apply', body });
    onTestFinished(() => endNamespace(this.#api, name));
  }

  async #delete(document: Document): Promise<void> {
    try {
      await this.#api.remove(this.#target(document));
    } catch (error) {
      if (!(error instanceof KubernetesError && error.status === 404)) throw error;
    }
  }

  #target(document: Document) {
    const { kind, metadata } = document;
    const type = { ...resourceTypes, ...coreTypes }[kind as ManagedKind | 'Secret' | 'ConfigMap'];
    return { type, namespace: this.#namespaceOf(document), name: metadata.name };
  }

  /** A real cluster is shared: every test has namespaces of its own. */
  #namespaceOf({ metadata: { namespace } }: Document): string {
    if (namespace === undefined || namespace === this.namespace) return this.namespace;
    return this.cluster.server ? namespace : `${this.namespace}-${namespace}`;
  }
}

function identity({ kind, metadata: { namespace = '', name } }: Document): string {
  return `${kind}/${namespace}/${name}`;
}

function recordOf({ kind, metadata, spec, status }: KubernetesObject): ObjectRecord {
  const { namespace = 'default', name, uid, generation = 1, labels = {} } = metadata;
  const key = objectKey(kind as ManagedKind, namespace, name);
  // The operator's key is not known here: whatever is signed is believed.
  const { digestKey: id = '', signature = '' } = (status as Json)?.bookkeeping ?? {};
  const { record } = readBookkeeping(key, uid, status, { id, digest: () => '', sign: () => signature });
  const deletionRequestedAt = metadata.deletionTimestamp && Date.parse(metadata.deletionTimestamp);
  const manifest = { annotations: metadata.annotations ?? {}, labels, spec: spec as Json };
  return { ...record, generation, manifest, deletionRequestedAt: deletionRequestedAt || undefined };
}

/**
 * What is said of the objects that need a person, none when all are Ready; undefined while something may still happen by itself,
 * or one that was asked has not been looked at.
 */
function restOf(objects: readonly KubernetesObject[], asked: string): string[] | undefined {
  const all = objects.map((object) => ({ ...object, ...readStatus(object) }));
  const stopped = all.some(({ kind, isStalled }) => kind === 'Account' && isStalled);
  const said: string[] = [];
  for (const { kind, metadata, status, conditions, isStalled } of all) {
    const { observedGeneration, lastHandledReconcileAt } = (status ?? {}) as Json;
    // A replica that came meanwhile was not asked.
    const isAsked = metadata.annotations?.[annotations.reconcileAt] === asked;
    const isSeen = !isAsked || lastHandledReconcileAt === asked;
    if (observedGeneration !== metadata.generation || !isSeen) return undefined;
    const ready = conditions.find(({ type }) => type === 'Ready');
    const isReady = ready?.status === 'True' && metadata.deletionTimestamp === undefined;
    if (isReady && !isStalled) continue;
    // Nothing goes on in an account that can't be used.
    if (!isStalled && !(stopped && ready?.status === 'Unknown')) return undefined;
    const messages = conditions
      .filter(({ type, status: is }) => isBad(type, is))
      .map(({ message }) => message);
    said.push(`${kind}/${metadata.name}: ${messages.join('; ')}`);
  }
  return said;
}

function readStatus({ status }: KubernetesObject): { conditions: readonly Condition[]; isStalled: boolean } {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly Condition[] };
  return {
    conditions,
    isStalled: conditions.some(({ type, status: is }) => type === 'Stalled' && is === 'True'),
  };
}

function isBad(type: string, status: string): boolean {
  return type === 'Stalled' ? status === 'True' : type === 'Ready' && status !== 'True';
}
