/** A Kubernetes API in memory, for what is built on `KubernetesApi`: no network, no schemas, and faults to order. */
import {
  KubernetesError,
  type KubernetesApi,
  type KubernetesObject,
  type ListPage,
  type Patch,
  type ResourceType,
  type Scope,
  type Target,
  type WatchEvent,
} from '../../src/kubernetes/index.ts';
import { resourceTypes, type ManagedKind } from '../../src/resources/index.ts';

export interface Manifest {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

type Listener = (event: WatchEvent) => void;

const secrets: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  namespaced: true,
};
const configMaps: ResourceType = { ...secrets, plural: 'configmaps', kind: 'ConfigMap' };
const jobs: ResourceType = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true };
const pods: ResourceType = { ...secrets, plural: 'pods', kind: 'Pod' };

const types: Readonly<Record<string, ResourceType>> = {
  ...resourceTypes,
  Secret: secrets,
  ConfigMap: configMaps,
  Job: jobs,
  Pod: pods,
};

export class MemoryCluster implements KubernetesApi {
  readonly description = 'a cluster in memory';
  readonly namespace = 'fleetkeeper';
  /** `plural/namespace/name` of each, in their order. */
  readonly gets: string[] = [];
  readonly writes: string[] = [];
  /** The most `get` requests that were under way at once. */
  busiest = 0;
  /** What a request is refused with; its name is e.g. `get secrets/default/key` or `list jobs`, `namespace` is that of a list or watch. */
  fault: (request: string, namespace?: string) => KubernetesError | undefined = () => undefined;
  /** Held back until it resolves. */
  delay: (request: string) => Promise<void> | undefined = () => undefined;
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #listeners = new Map<string, Set<Listener>>();
  #version = 0;
  #uids = 0;
  #busy = 0;

  /** Creates or replaces; a change of the spec, or the wish to delete it, is a new generation. */
  put(kind: ManagedKind | 'Secret' | 'ConfigMap' | 'Job' | 'Pod', manifest: Manifest): KubernetesObject {
    const type = typeOf(kind);
    const { namespace = 'default', name } = manifest.metadata;
    const key = keyOf(type, namespace, name);
    const before = this.#objects.get(key);
    const wanted = ({ spec, metadata: { deletionTimestamp } }: Manifest | KubernetesObject) =>
      JSON.stringify([spec, deletionTimestamp]);
    const isOther = before && wanted(before) !== wanted(manifest);
    const metadata = {
      ...manifest.metadata,
      namespace,
      uid: before?.metadata.uid ?? `uid-${(this.#uids += 1)}`,
      resourceVersion: String((this.#version += 1)),
      generation: (before?.metadata.generation ?? 0) + (isOther || !before ? 1 : 0),
    };
    const version = type.group === '' ? type.version : `${type.group}/${type.version}`;
    const object: KubernetesObject = { apiVersion: version, kind, ...manifest, metadata };
    this.#objects.set(key, object);
    this.#tell(type, { type: before ? 'MODIFIED' : 'ADDED', object });
    return object;
  }

  /** Gone at once, finalizers or not. */
  drop(kind: string, name: string, namespace = 'default'): void {
    const type = typeOf(kind);
    const key = keyOf(type, namespace, name);
    const object = this.#objects.get(key);
    if (!object) throw new Error(`there is no ${key}`);
    this.#objects.delete(key);
    const metadata = { ...object.metadata, resourceVersion: String((this.#version += 1)) };
    this.#tell(type, { type: 'DELETED', object: { ...object, metadata } });
  }

  read(kind: string, name: string, namespace = 'default'): KubernetesObject | undefined {
    return this.#objects.get(keyOf(typeOf(kind), namespace, name));
  }

  async list(type: ResourceType, scope: Scope): Promise<ListPage> {
    await this.#request(`list ${type.plural}`, scope.namespace);
    const items = [...this.#objects.entries()]
      .filter(([key]) =>
        key.startsWith(`${type.plural}/${scope.namespace === undefined ? '' : `${scope.namespace}/`}`),
      )
      .map(([, object]) => shown(object, scope));
    return { items, resourceVersion: String(this.#version), continueToken: undefined };
  }

  async *watch(
    type: ResourceType,
    scope: Scope & { readonly resourceVersion: string; readonly silenceMs: number },
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent> {
    const events: WatchEvent[] = [];
    let wake = Promise.withResolvers<void>();
    const listener: Listener = (event) => {
      events.push(event);
      wake.resolve();
    };
    const listeners = this.#listeners.get(type.plural) ?? new Set();
    this.#listeners.set(type.plural, listeners.add(listener));
    signal.addEventListener('abort', () => wake.resolve());
    try {
      // What changed between the list and now.
      for (const [key, object] of this.#objects) {
        const isNewer = Number(object.metadata.resourceVersion) > Number(scope.resourceVersion);
        if (key.startsWith(`${type.plural}/`) && isNewer) listener({ type: 'MODIFIED', object });
      }
      await this.#request(`watch ${type.plural}`, scope.namespace);
      while (!signal.aborted) {
        for (const event of events.splice(0)) {
          const isOurs =
            'object' in event && (!scope.namespace || event.object.metadata.namespace === scope.namespace);
          if (isOurs) yield { ...event, object: shown(event.object, scope) };
        }
        await wake.promise;
        wake = Promise.withResolvers();
      }
    } finally {
      listeners.delete(listener);
    }
  }

  async get({ type, namespace = '', name }: Target): Promise<KubernetesObject | undefined> {
    const key = keyOf(type, namespace, name);
    this.gets.push(key);
    this.#busy += 1;
    this.busiest = Math.max(this.busiest, this.#busy);
    try {
      await this.#request(`get ${key}`);
      return this.#objects.get(key);
    } finally {
      this.#busy -= 1;
    }
  }

  async create(): Promise<KubernetesObject> {
    throw new Error('nothing is created but by apply');
  }

  async replace(): Promise<KubernetesObject> {
    throw new Error('nothing is replaced');
  }

  /** Server-side apply only, by one manager: what it leaves out of the spec is gone. */
  async patch({ type, namespace = '', name }: Target, { body }: Patch): Promise<KubernetesObject> {
    const key = keyOf(type, namespace, name);
    this.writes.push(`apply ${key}`);
    await this.#request(`apply ${key}`);
    const before = this.#objects.get(key);
    const { metadata, spec } = body as Manifest;
    if (before && JSON.stringify(before.spec) === JSON.stringify(spec)) return before;
    return this.put(type.kind as ManagedKind, { metadata: { ...before?.metadata, ...metadata }, spec });
  }

  /** With finalizers, an object is only marked. */
  async remove({ type, namespace = '', name }: Target, { uid }: { uid?: string } = {}): Promise<void> {
    const key = keyOf(type, namespace, name);
    this.writes.push(`remove ${key}`);
    await this.#request(`remove ${key}`);
    const object = this.#objects.get(key);
    if (!object) throw new KubernetesError('not found', { status: 404, reason: 'NotFound' });
    if (uid !== undefined && uid !== object.metadata.uid) {
      throw new KubernetesError('another uid', { status: 409, reason: 'Conflict' });
    }
    if ((object.metadata.finalizers ?? []).length === 0) this.drop(type.kind, name, namespace);
    else {
      const metadata = { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
      this.put(type.kind as ManagedKind, { ...object, metadata });
    }
  }

  async close(): Promise<void> {}

  async #request(name: string, namespace?: string): Promise<void> {
    await this.delay(name);
    const fault = this.fault(name, namespace);
    if (fault) throw fault;
  }

  #tell(type: ResourceType, event: WatchEvent): void {
    for (const listener of this.#listeners.get(type.plural) ?? []) listener(event);
  }
}

function typeOf(kind: string): ResourceType {
  const type = types[kind];
  if (!type) throw new Error(`${kind} is not known here`);
  return type;
}

function keyOf({ plural }: ResourceType, namespace: string, name: string): string {
  return `${plural}/${namespace}/${name}`;
}

function shown(object: KubernetesObject, { metadataOnly = false }: Scope): KubernetesObject {
  const { apiVersion: version, kind, metadata } = object;
  return metadataOnly ? { apiVersion: version, kind, metadata } : object;
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** A spec that the schema takes. */
export function serviceSpec(more: object = {}): object {
  const resources = { gpuCount: 1, cpu: 8, memoryGb: 32 };
  return { region: 'standard', image: 'ghcr.io/acme/web:1', resources, ...more };
}
