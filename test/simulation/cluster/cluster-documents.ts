/**
 * People who keep their documents in a cluster, with kubectl. What they delete stays until it has been cleaned up after; what they
 * write meanwhile under its name waits for that, and is created then.
 */
import {
  managedKinds,
  objectKey,
  parseObjectKey,
  resourceTypes,
  type ManagedKind,
  type ObjectKey,
} from '../../../src/resources/index.ts';
import type { KubernetesObject, ResourceType, Target } from '../../../src/kubernetes/index.ts';
import { ApiError } from '../../support/kubernetes/errors.ts';
import type { DocumentStore } from '../place.ts';
import type { Scheduler } from '../scheduler.ts';
import type { Json } from '../watch.ts';
import { typeOf, type ApiServer, type Storing } from './api-server.ts';

export const namespace = 'default';
const secretType = typeOf('Secret', 'secrets');

/** What our definitions do not allow. */
const unprocessable = 422;
/** How soon somebody sees that the old one is gone. */
const againMs = 500;

export class ClusterDocuments implements DocumentStore {
  readonly #server: ApiServer;
  readonly #scheduler: Scheduler;
  readonly #files = new Map<string, Target>();
  /** Manifests that wait for the end of what has their name. */
  readonly #waiting = new Map<string, Json>();

  constructor(server: ApiServer, scheduler: Scheduler) {
    this.#server = server;
    this.#scheduler = scheduler;
  }

  write(file: string, manifest: Json): boolean {
    const target = targetOf(manifest);
    this.#files.set(file, target);
    // An earlier version does not replace it later.
    this.#waiting.delete(file);
    const present = this.#server.get(target);
    // A replica is its fleet's. Who edits it is told so (`ChildEdited`).
    if (present?.metadata.ownerReferences?.some(({ controller }) => controller === true)) return false;
    if (present?.metadata.deletionTimestamp !== undefined) this.#waiting.set(file, manifest);
    else if (present) return this.#change(target.type, present, manifest);
    else this.#server.create(target.type, bodyOf(manifest), 'somebody');
    return true;
  }

  /** At /scale. */
  scale(file: string, manifest: Json): boolean {
    const target = targetOf(manifest);
    const present = this.#server.get(target);
    if (!present || present.metadata.deletionTimestamp !== undefined) return this.write(file, manifest);
    const body = { spec: { replicas: manifest.spec.replicas } };
    try {
      this.#server.patch(target, { kind: 'merge', body, subresource: 'scale' }, 'somebody');
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.refusal.code === unprocessable) return false;
      throw error;
    }
  }

  remove(file: string): void {
    const target = this.#files.get(file);
    this.#files.delete(file);
    if (this.#waiting.delete(file) || !target || !this.#server.get(target)) return;
    this.#server.remove(target, undefined, 'somebody');
  }

  break(): () => void {
    // The API server refuses it.
    return () => {};
  }

  discard(file: string): void {
    const target = this.#files.get(file);
    if (target && this.#server.get(target)) {
      const body = { metadata: { finalizers: null } };
      this.#server.patch(target, { kind: 'merge', body }, 'somebody');
    }
    this.remove(file);
  }

  annotate(key: ObjectKey, annotations: Readonly<Record<string, string>>): void {
    const { kind, name } = parseObjectKey(key);
    const target = { type: resourceTypes[kind], namespace, name };
    if (!this.#server.get(target)) return;
    this.#server.patch(target, { kind: 'merge', body: { metadata: { annotations } } }, 'somebody');
  }

  publish(): void {
    // What is written is shown at once.
  }

  heal(): void {
    // Nothing of it was ever hidden.
  }

  /** To be told of each write. */
  gone({ next, previous }: Storing): void {
    if (next || !previous) return;
    const { name } = previous.object.metadata;
    for (const [file, manifest] of this.#waiting) {
      if (targetOf(manifest).name !== name) continue;
      this.#scheduler.after(againMs, () => {
        if (this.#waiting.get(file) !== manifest) return;
        this.#waiting.delete(file);
        this.write(file, manifest);
      });
    }
  }

  isLeaving(key: ObjectKey): boolean {
    const { kind, name } = parseObjectKey(key);
    const target = { type: resourceTypes[kind], namespace, name };
    return this.#server.get(target)?.metadata.deletionTimestamp !== undefined;
  }

  /** All objects of our kinds that are there. */
  objects(): { readonly key: ObjectKey; readonly target: Target; readonly object: KubernetesObject }[] {
    return managedKinds.flatMap((kind) => {
      const type = resourceTypes[kind];
      return this.#server.list(type, namespace).map((object) => {
        const { name } = object.metadata;
        return { key: objectKey(kind, namespace, name), target: { type, namespace, name }, object };
      });
    });
  }

  /** Whether the API server took it. */
  #change(type: ResourceType, present: KubernetesObject, manifest: Json): boolean {
    const { metadata, ...body } = bodyOf(manifest);
    const { annotations, labels } = metadata;
    const own = { ...present.metadata, annotations, ...(labels ? { labels } : {}) };
    try {
      this.#server.replace(type, { ...present, ...body, metadata: own }, 'somebody');
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.refusal.code === unprocessable) return false;
      throw error;
    }
  }
}

function targetOf({ kind, metadata: { name } }: Json): Target {
  const type = kind === 'Secret' ? secretType : resourceTypes[kind as ManagedKind];
  return { type, namespace, name };
}

/** As JSON. */
function bodyOf(manifest: Json): Json {
  const { metadata, stringData, ...rest }: Json = JSON.parse(JSON.stringify(manifest));
  const texts = Object.entries((stringData ?? {}) as Record<string, string>);
  const data = Object.fromEntries(
    texts.map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
  );
  return { ...rest, ...(stringData ? { data } : {}), metadata: { ...metadata, namespace } };
}
