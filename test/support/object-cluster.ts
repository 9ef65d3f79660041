/** The part of a Kubernetes API that keeps objects: get and merge patches with their preconditions, in memory. */
import {
  KubernetesError,
  type KubernetesObject,
  type ListPage,
  type Patch,
  type ResourceType,
  type Scope,
  type Target,
} from '../../src/kubernetes/index.ts';
import { parseObjectKey, type ObjectKey } from '../../src/resources/index.ts';
import type { StoredObject } from '../../src/state/index.ts';

type Body = Record<string, unknown>;

interface Stored {
  readonly kind: string;
  metadata: Body & { uid: string; resourceVersion: string; finalizers: string[]; deletionTimestamp?: string };
  status: Body;
}

export class ObjectCluster {
  readonly #objects = new Map<ObjectKey, Stored>();
  readonly patches: { readonly key: ObjectKey; readonly patch: Patch }[] = [];
  /** ControllerRevisions by name. */
  readonly revisions = new Map<string, KubernetesObject>();
  #version = 0;
  /** Called before a patch is looked at, e.g. to be faster than it; or throws, as an API that can't be reached. */
  beforePatch: (key: ObjectKey) => void = () => undefined;

  /** Called when a patch or a read is done, while its answer is under way. */
  beforeAnswer: () => Promise<void> | void = () => undefined;

  /** Patches are made, and the connection breaks before it is said so. */
  losesAnswers = false;

  add(key: ObjectKey, uid: string, status: Body = {}): StoredObject {
    const { kind, namespace, name } = parseObjectKey(key);
    const metadata = { namespace, name, uid, resourceVersion: this.#next(), finalizers: [] };
    this.#objects.set(key, { kind, metadata, status });
    return this.shown(key);
  }

  /** As somebody else. */
  edit(key: ObjectKey, change: (object: Stored) => void): void {
    const object = this.#at(key);
    change(object);
    object.metadata.resourceVersion = this.#next();
    this.#collect(key);
  }

  /** As a source shows it. */
  shown(key: ObjectKey): StoredObject {
    const { metadata, status } = this.#at(key);
    const { uid, resourceVersion, finalizers, deletionTimestamp } = metadata;
    const deletionRequestedAt = deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp);
    return { key, uid, resourceVersion, finalizers: [...finalizers], deletionRequestedAt, status };
  }

  has(key: ObjectKey): boolean {
    return this.#objects.has(key);
  }

  drop(key: ObjectKey): void {
    this.#objects.delete(key);
  }

  async get({ type, namespace, name }: Target): Promise<KubernetesObject | undefined> {
    if (type.kind === 'ControllerRevision') return this.revisions.get(name);
    const key = `${type.kind}/${namespace}/${name}` as ObjectKey;
    const object = this.#objects.get(key);
    const answer = object && this.#answer(object);
    await this.beforeAnswer();
    return answer;
  }

  async patch({ type, namespace, name }: Target, patch: Patch): Promise<KubernetesObject> {
    const key = `${type.kind}/${namespace}/${name}` as ObjectKey;
    this.beforePatch(key);
    const object = this.#objects.get(key);
    if (!object) throw new KubernetesError('not found', { status: 404, reason: 'NotFound' });
    const { metadata = {}, status } = patch.body as { metadata?: Body; status?: Body };
    const { uid, resourceVersion, ...rest } = metadata;
    const isCurrent = uid === object.metadata.uid && resourceVersion === object.metadata.resourceVersion;
    if (!isCurrent) throw new KubernetesError('somebody was faster', { status: 409, reason: 'Conflict' });
    this.patches.push({ key, patch });
    if (patch.subresource === 'status') object.status = merged(object.status, status) as Body;
    else Object.assign(object.metadata, rest);
    object.metadata.resourceVersion = this.#next();
    const answer = this.#answer(object);
    this.#collect(key);
    await this.beforeAnswer();
    if (this.losesAnswers) throw new KubernetesError('connection reset', {});
    return answer;
  }

  async list(_type: ResourceType, { labelSelector = '' }: Scope): Promise<ListPage> {
    const [label = '', value] = labelSelector.split('=');
    const items = [...this.revisions.values()].filter(({ metadata }) => metadata.labels?.[label] === value);
    return { items, resourceVersion: String(this.#version), continueToken: undefined };
  }

  async create(_type: ResourceType, object: object): Promise<KubernetesObject> {
    const given = object as KubernetesObject;
    const { name } = given.metadata;
    if (this.revisions.has(name))
      throw new KubernetesError('there is one', { status: 409, reason: 'AlreadyExists' });
    const version = this.#next();
    const metadata = { ...given.metadata, uid: `revision-${version}`, resourceVersion: version };
    const made = JSON.parse(JSON.stringify({ ...given, metadata })) as KubernetesObject;
    this.revisions.set(name, made);
    return made;
  }

  async remove({ name }: Target, { uid }: { readonly uid?: string } = {}): Promise<void> {
    const there = this.revisions.get(name);
    if (there && uid !== undefined && there.metadata.uid !== uid)
      throw new KubernetesError('another uid', { status: 409, reason: 'Conflict' });
    this.revisions.delete(name);
  }

  #at(key: ObjectKey): Stored {
    const object = this.#objects.get(key);
    if (!object) throw new Error(`there is no ${key}`);
    return object;
  }

  #collect(key: ObjectKey): void {
    const { deletionTimestamp, finalizers } = this.#at(key).metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.#objects.delete(key);
  }

  #answer({ kind, metadata, status }: Stored): KubernetesObject {
    const text = JSON.stringify({ apiVersion: 'fleetkeeper.dev/v1alpha1', kind, metadata, status });
    return JSON.parse(text) as KubernetesObject;
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }
}

function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const isMap = typeof target === 'object' && target !== null && !Array.isArray(target);
  const result: Body = isMap ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}
