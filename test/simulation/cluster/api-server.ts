/**
 * A Kubernetes API server and its etcd, without a socket: the objects, definitions, preconditions and finalizers of
 * `test/support/kubernetes`, on simulated time. Everything here happens at once; what takes time on the way is in `replica-api.ts`.
 */
import { servedKinds } from './definitions.ts';
import type { Write as ApiWrite } from '../../support/kubernetes/admission.ts';
import { noSuchPath, notFound } from '../../support/kubernetes/errors.ts';
import type { Kind, Kinds } from '../../support/kubernetes/kinds.ts';
import type { Fields, StoredObject } from '../../support/kubernetes/objects.ts';
import { mergePatch } from '../../support/kubernetes/patches.ts';
import { remove } from '../../support/kubernetes/removals.ts';
import { Store, type Entry } from '../../support/kubernetes/store.ts';
import { Writes } from '../../support/kubernetes/writes.ts';
import { rfc3339 } from '../../../src/base/index.ts';
import type { KubernetesObject, Patch, ResourceType, Target } from '../../../src/kubernetes/index.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';

/** Who writes: a process of the operator, by its life, or somebody else. */
export type Author = { readonly life: number } | 'somebody';

/** One write, just before it is made. */
export interface Storing {
  readonly author: Author;
  readonly storage: string;
  /** As it will be; undefined when it goes. */
  readonly next: StoredObject | undefined;
  readonly previous: Entry | undefined;
  /** As it was sent. */
  readonly body: unknown;
}

export interface ApiServerOptions {
  readonly random: SeededRandom;
  readonly wallMs: () => number;
}

const historyLength = 2000;
const namespaces = ['default', 'kube-system', 'fleetkeeper'];
const nobody = { author: 'somebody', body: undefined } as const;

export class ApiServer {
  readonly store: Store;
  readonly #kinds: Kinds = servedKinds();
  readonly #writes: Writes;
  readonly #time: () => string;
  #writing: { readonly author: Author; readonly body: unknown } = nobody;
  onStoring: (storing: Storing) => void = () => {};

  constructor({ random, wallMs }: ApiServerOptions) {
    this.#time = () => rfc3339(wallMs());
    this.store = new ObservedStore((storing) => this.onStoring({ ...this.#writing, ...storing }));
    this.#writes = new Writes(this.store, this.#kinds, { uid: () => random.uuid(), time: this.#time });
    for (const name of namespaces)
      this.create(typeOf('Namespace', 'namespaces', false), { metadata: { name } }, 'somebody');
  }

  kindOf({ group, version, plural }: ResourceType): Kind {
    const kind = this.#kinds.find(group, version, plural);
    if (!kind) throw new Error(`${plural} are not served`);
    return kind;
  }

  get({ type, namespace, name }: Target): KubernetesObject | undefined {
    const entry = this.store.get(this.kindOf(type).storage, namespace, name);
    return entry && shown(this.kindOf(type), entry);
  }

  /** As of now, or, from a server that lags behind, as of `revision`. */
  list(type: ResourceType, namespace: string | undefined, revision?: number): readonly KubernetesObject[] {
    const kind = this.kindOf(type);
    const entries =
      revision === undefined ? this.store.list(kind.storage) : this.store.listAt(kind.storage, revision);
    return entries
      .filter(({ object }) => namespace === undefined || object.metadata.namespace === namespace)
      .map((entry) => shown(kind, entry));
  }

  create(type: ResourceType, body: object, author: Author): KubernetesObject {
    const { namespace } = (body as { metadata: { namespace?: string } }).metadata;
    const write = this.#write(type, namespace, undefined);
    const typed = { ...typeFields(write.kind), ...body };
    return this.#as(author, body, () => shown(write.kind, this.#writes.create(write, typed).entry));
  }

  replace(type: ResourceType, object: KubernetesObject, author: Author): KubernetesObject {
    const { namespace, name } = object.metadata;
    const write = this.#write(type, namespace, undefined);
    return this.#as(author, object, () => shown(write.kind, this.#writes.replace(write, name, object).entry));
  }

  patch({ type, namespace, name }: Target, patch: Patch, author: Author): KubernetesObject {
    const { kind, body, subresource, force = false } = patch;
    if (subresource === 'resize') throw noSuchPath();
    // A fleet's `scale` has `spec.replicas` where the object has it.
    const write = this.#write(type, namespace, subresource === 'scale' ? undefined : subresource);
    return this.#as(author, body, () => {
      const { entry } =
        kind === 'apply'
          ? this.#writes.apply(write, name, body as Fields, force)
          : this.#writes.patch(write, name, (old) => mergePatch(old, body) as Fields);
      return shown(write.kind, entry);
    });
  }

  remove({ type, namespace, name }: Target, uid: string | undefined, author: Author): void {
    const kind = this.kindOf(type);
    if (!this.store.get(kind.storage, namespace, name)) throw notFound(kind, name);
    const options = { propagationPolicy: 'Background', isDryRun: false, resourceVersion: undefined };
    const time = this.#time();
    this.#as(author, undefined, () => remove(this.store, kind, namespace, name, { ...options, uid, time }));
  }

  #write(type: ResourceType, namespace: string | undefined, subresource: 'status' | undefined): ApiWrite {
    const kind = this.kindOf(type);
    const plain = { fieldManager: 'fleetkeeper', fieldValidation: 'Ignore', isDryRun: false, warnings: [] };
    return { ...plain, kind, namespace, subresource };
  }

  #as<Result>(author: Author, body: unknown, work: () => Result): Result {
    this.#writing = { author, body };
    try {
      return work();
    } finally {
      this.#writing = nobody;
    }
  }
}

/** Tells of each write before it is made. */
class ObservedStore extends Store {
  readonly #onStoring: (storing: Omit<Storing, 'author' | 'body'>) => void;

  constructor(onStoring: (storing: Omit<Storing, 'author' | 'body'>) => void) {
    super(historyLength);
    this.#onStoring = onStoring;
  }

  override put(storage: string, object: StoredObject): Entry {
    const { namespace, name } = object.metadata;
    this.#onStoring({ storage, next: object, previous: this.get(storage, namespace, name) });
    return super.put(storage, object);
  }

  override remove(storage: string, previous: Entry): Entry {
    this.#onStoring({ storage, next: undefined, previous });
    return super.remove(storage, previous);
  }
}

export function shown(kind: Kind, { object }: Entry): KubernetesObject {
  const { managedFields: _unread, ...metadata } = object.metadata;
  return { ...object, ...typeFields(kind), metadata };
}

export function typeOf(kind: string, plural: string, namespaced = true): ResourceType {
  return { group: '', version: 'v1', plural, kind, namespaced };
}

function typeFields({ group, version, kind }: Kind): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: group ? `${group}/${version}` : version, kind };
}
