/**
 * A cluster as it would be after `kubectl apply` of a folder: its objects, with the documents of the folder on top. Nothing is written.
 *
 *     folder ──> for each document: the live object, merged ──> dry run, or the built-in schemas ──> listed in place of the live one
 *
 * | question                                  | answer                                                                      |
 * |-------------------------------------------|-----------------------------------------------------------------------------|
 * | an object that the folder lacks           | stays as it is: it is no deletion                                           |
 * | a field that the document lacks           | is removed if `kubectl apply` set it last; without its annotation, in any case, except for the number of replicas |
 * | defaults, rules and admission             | from a server-side dry run where this user may patch (and create); else from the built-in schemas |
 * | the API server refuses a document         | a problem of that document; its object is held                              |
 * | a Secret or ConfigMap of the folder       | its values are used in place of those of the cluster                        |
 *
 * It needs `get` and `list`. Watches stay silent, because one observation is made.
 */
import { mergePatch } from '../../base/index.ts';
import { KubernetesError, type KubernetesApi, type KubernetesObject } from '../../kubernetes/index.ts';
import {
  apiVersion,
  parseObjectKey,
  resourceTypes,
  traitsOf,
  type ManagedKind,
  type ObjectKey,
} from '../../resources/index.ts';
import { printable } from '../problem.ts';
import type { DesiredObject, DesiredSnapshot, DesiredSource, Problem, WrittenDocument } from '../source.ts';
import { lastApplied } from './kept-object.ts';

/** How many documents were checked by what. */
export interface OverlayCheck {
  readonly documents: number;
  /** By a dry run at the API server. */
  readonly dryRun: number;
  /** By the built-in schemas: this user may not patch them. */
  readonly builtIn: number;
  /** Nothing of these objects changes. */
  readonly unchanged: number;
}

export interface OverlayOptions {
  readonly api: KubernetesApi;
  /** Of a folder. */
  readonly documents: DesiredSnapshot;
  readonly uid: () => string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Under this name the API server would record what it is asked for. */
const fieldManager = 'fleetkeeper-plan';
const atOnce = 8;

const accessReviews = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
} as const;

export class ClusterOverlay {
  readonly #options: OverlayOptions;
  readonly #objects = new Map<ObjectKey, KubernetesObject>();
  readonly #problems = new Map<ObjectKey, Problem>();
  readonly #rights = new Map<string, Promise<boolean>>();
  readonly #checked = { documents: 0, dryRun: 0, builtIn: 0, unchanged: 0 };

  constructor(options: OverlayOptions) {
    this.#options = options;
  }

  get checked(): OverlayCheck {
    return this.#checked;
  }

  /** Asks the API server about each document. Rejects with a `KubernetesError` if it does not answer. */
  async prepare(): Promise<void> {
    const documents = [...this.#options.documents.objects.values()];
    for (let start = 0; start < documents.length; start += atOnce) {
      await Promise.all(documents.slice(start, start + atOnce).map((document) => this.#check(document)));
    }
  }

  /** Lists the merged objects. Everything else is as it was. */
  get api(): KubernetesApi {
    const { api } = this.#options;
    const shown = (object: KubernetesObject) => this.#objects.get(keyOf(object)) ?? object;
    const listed = new Set<ObjectKey>();
    return {
      description: api.description,
      namespace: api.namespace,
      list: async (type, scope, signal) => {
        const page = await api.list(type, scope, signal);
        if (resourceTypes[type.kind as ManagedKind]?.plural !== type.plural) return page;
        for (const item of page.items) listed.add(keyOf(item));
        const isLast = page.continueToken === undefined;
        const added = isLast ? this.#newIn(type.kind, scope.namespace, listed) : [];
        return { ...page, items: [...page.items.map(shown), ...added] };
      },
      watch: (_type, _scope, signal) => silence(signal),
      get: (...asked) => api.get(...asked),
      create: (...asked) => api.create(...asked),
      replace: (...asked) => api.replace(...asked),
      patch: (...asked) => api.patch(...asked),
      remove: (...asked) => api.remove(...asked),
      close: () => api.close(),
    };
  }

  /** The first snapshot of the cluster, with the problems and the Secrets of the folder. */
  source(cluster: DesiredSource): DesiredSource {
    return {
      description: `${cluster.description}, with documents on top`,
      start: async () => this.#shown(await cluster.start(() => undefined)),
      stop: () => cluster.stop(),
    };
  }

  #shown(snapshot: DesiredSnapshot): DesiredSnapshot {
    const { documents } = this.#options;
    const refused = [...this.#problems].map(([key, problem]) => [key, [problem]] as const);
    const unusable = [...documents.unusable, ...refused];
    return {
      ...snapshot,
      objects: snapshot.objects.with(unusable.map(([key]) => [key, undefined] as const)),
      unusable: snapshot.unusable.with(unusable),
      secrets: snapshot.secrets.with([...documents.secrets]),
      configMaps: snapshot.configMaps.with([...documents.configMaps]),
      problems: [...snapshot.problems, ...documents.problems, ...this.#problems.values()],
      empty: snapshot.empty && documents.empty,
    };
  }

  #newIn(kind: string, namespace: string | undefined, listed: ReadonlySet<ObjectKey>): KubernetesObject[] {
    return [...this.#objects]
      .filter(([key, { metadata }]) => {
        const isThere = namespace === undefined || metadata.namespace === namespace;
        return isThere && parseObjectKey(key).kind === kind && !listed.has(key);
      })
      .map(([, object]) => object);
  }

  async #check(document: DesiredObject): Promise<void> {
    const { key, kind, namespace, name } = document;
    const target = { type: resourceTypes[kind], namespace, name };
    const live = await this.#options.api.get(target);
    const wanted = live ? merged(document, live) : this.#created(document);
    const patch = live && mergePatch(patched(live), patched(wanted));
    this.#checked.documents += 1;
    if (live && patch === undefined) {
      this.#checked.unchanged += 1;
      return;
    }
    const mayAsk =
      (await this.#may('patch', document)) && (live !== undefined || (await this.#may('create', document)));
    if (!mayAsk) {
      this.#checked.builtIn += 1;
      this.#objects.set(key, wanted);
      return;
    }
    this.#checked.dryRun += 1;
    try {
      const asked = live
        ? ({ kind: 'merge', body: patch } as const)
        : ({ kind: 'apply', body: applied(document), force: true } as const);
      const answer = await this.#options.api.patch(target, { ...asked, dryRun: true, fieldManager });
      // What does not exist has no version.
      const { resourceVersion = '' } = answer.metadata as { resourceVersion?: string };
      this.#objects.set(key, { ...answer, metadata: { ...answer.metadata, resourceVersion } });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.#problems.set(key, refusedProblem(document, error));
    }
  }

  #created(document: DesiredObject): KubernetesObject {
    const { metadata, ...rest } = applied(document);
    const uid = this.#options.uid();
    return { ...rest, metadata: { ...metadata, uid, resourceVersion: '', generation: 1 } };
  }

  /** Where nobody can be asked what is allowed, nothing is. */
  #may(verb: 'patch' | 'create', { kind, namespace }: DesiredObject): Promise<boolean> {
    const { group, plural } = resourceTypes[kind];
    const id = `${verb} ${plural} ${namespace}`;
    const known = this.#rights.get(id);
    if (known) return known;
    const spec = { resourceAttributes: { verb, group, resource: plural, namespace } };
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: accessReviews.kind, metadata: {}, spec };
    const asked = this.#options.api.create(accessReviews, body).then(
      ({ status }) => (status as { readonly allowed?: boolean } | undefined)?.allowed === true,
      (error: unknown) => {
        if (!isRefusal(error)) throw error;
        return false;
      },
    );
    this.#rights.set(id, asked);
    return asked;
  }
}

function keyOf({ kind, metadata }: KubernetesObject): ObjectKey {
  return `${kind as ManagedKind}/${metadata.namespace ?? 'default'}/${metadata.name}`;
}

/** Ends when it is aborted, without an event. */
function silence(signal: AbortSignal): AsyncIterable<never> {
  const ended = new Promise<{ readonly done: true; readonly value: undefined }>((resolve) => {
    const end = () => resolve({ done: true, value: undefined });
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
  return { [Symbol.asyncIterator]: () => ({ next: () => ended }) };
}

/** An answer, and not the lack of one. */
function isRefusal(error: unknown): error is KubernetesError {
  return (
    error instanceof KubernetesError &&
    error.status !== undefined &&
    error.status < 500 &&
    error.status !== 429
  );
}

function refusedProblem(document: DesiredObject, { message }: KubernetesError): Problem {
  return {
    ...document.location,
    path: undefined,
    message: `the API server refuses it in a dry run: ${printable(message, 500)}`,
    remedy: 'correct the document',
    key: document.key,
  };
}

function writtenOf(object: DesiredObject): WrittenDocument {
  return object.document.written?.() ?? { metadata: object, spec: object.spec };
}

function applied(document: DesiredObject) {
  const { kind, namespace, name } = document;
  const { metadata, spec } = writtenOf(document);
  const { labels = {}, annotations = {} } = metadata;
  return { apiVersion, kind, metadata: { name, namespace, labels, annotations }, spec };
}

/** The parts that a document may change. */
function patched({ metadata, spec }: KubernetesObject): object {
  const { labels = {}, annotations = {} } = metadata;
  return { metadata: { labels, annotations }, spec };
}

/** Pure. */
export function merged(document: DesiredObject, live: KubernetesObject): KubernetesObject {
  const { metadata, spec } = writtenOf(document);
  const { labels, annotations, generation = 0 } = live.metadata;
  const before = lastAppliedSpec(live) ?? withoutReplicas(document.kind, live.spec);
  const wanted = threeWay(before, spec, live.spec);
  const isEdited = mergePatch(live.spec, wanted) !== undefined;
  return {
    ...live,
    metadata: {
      ...live.metadata,
      generation: isEdited ? generation + 1 : generation,
      labels: { ...labels, ...metadata.labels },
      annotations: { ...annotations, ...metadata.annotations },
    },
    spec: wanted,
  };
}

/** As `kubectl apply` merges: what was applied before and is not any more is removed; what others have set stays. */
function threeWay(before: unknown, wanted: unknown, live: unknown): unknown {
  if (!isMap(wanted) || !isMap(live)) return wanted;
  const removed = isMap(before) ? Object.keys(before).filter((name) => wanted[name] === undefined) : [];
  const kept = Object.entries(live).filter(([name]) => !removed.includes(name));
  const set = Object.entries(wanted).map(
    ([name, value]) => [name, threeWay(isMap(before) ? before[name] : undefined, value, live[name])] as const,
  );
  return Object.fromEntries([...kept, ...set]);
}

function lastAppliedSpec({ metadata }: KubernetesObject): unknown {
  const text = metadata.annotations?.[lastApplied];
  if (text === undefined) return undefined;
  try {
    const document: unknown = JSON.parse(text);
    return isMap(document) ? document['spec'] : undefined;
  } catch {
    return undefined;
  }
}

/** An autoscaler may have set it. */
function withoutReplicas(kind: ManagedKind, spec: unknown): unknown {
  const field = traitsOf(kind).scale?.specReplicasPath.split('.').at(-1);
  if (field === undefined || !isMap(spec)) return spec;
  return Object.fromEntries(Object.entries(spec).filter(([name]) => name !== field));
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
