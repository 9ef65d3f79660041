/** The Kubernetes API over the network: one method, one request; nothing is repeated here. */
import type { ClusterAccess } from './access.ts';
import {
  Connection,
  defaultLimits,
  type ConnectionOptions,
  type Limits,
  type Question,
} from './connection.ts';
import { KubernetesError } from './errors.ts';
import { brokenOff, statusOfErrorEvent, type Attempt } from './failures.ts';
import {
  apiVersionOf,
  collectionPath,
  describeScope,
  describeTarget,
  objectPath,
  queryOf,
  selectors,
} from './paths.ts';
import type {
  KubernetesApi,
  KubernetesObject,
  ListPage,
  ObjectMeta,
  Patch,
  ResourceType,
  Scope,
  Target,
  WatchEvent,
  WatchScope,
} from './types.ts';

export interface ClientOptions extends Omit<ConnectionOptions, 'limits'> {
  readonly limits?: Partial<Limits>;
}

/** Under this name the API server records which fields Fleetkeeper owns. */
export const fieldManager = 'fleetkeeper';

const plain = 'application/json';
const metadataOnly = {
  list: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
  object: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json',
};
const patchTypes = { merge: 'application/merge-patch+json', apply: 'application/apply-patch+yaml' };

export function createClient({ limits, ...options }: ClientOptions): KubernetesApi {
  const connection = new Connection({ ...options, limits: { ...defaultLimits, ...limits } });
  return new Client(connection, options.access);
}

class Client implements KubernetesApi {
  readonly description: string;
  readonly namespace: string;
  readonly #connection: Connection;
  readonly #server: string;

  constructor(connection: Connection, access: ClusterAccess) {
    this.description = access.description;
    this.namespace = access.namespace;
    this.#server = access.server;
    this.#connection = connection;
  }

  async list(
    type: ResourceType,
    scope: Scope & { readonly limit?: number; readonly continueToken?: string | undefined },
    signal?: AbortSignal,
  ): Promise<ListPage> {
    const query = queryOf({
      ...selectors(scope),
      limit: scope.limit === undefined ? undefined : String(scope.limit),
      continue: scope.continueToken,
    });
    const question: Question = {
      verb: 'list',
      what: describeScope(type, scope.namespace),
      method: 'GET',
      path: `${collectionPath(type, scope.namespace)}${query}`,
      accept: scope.metadataOnly ? metadataOnly.list : plain,
    };
    const answer = this.#parse(question, await this.#connection.exchange(question, signal)) as RawList;
    // An empty list of metadata comes as null.
    const items = answer.items === null ? [] : answer.items;
    if (!Array.isArray(items)) throw this.#senseless(question, 'the answer is no list');
    const { resourceVersion = '', continue: token = '' } = answer.metadata ?? {};
    return {
      items: items.map((item: RawObject) => readObject(item, type)),
      resourceVersion,
      continueToken: token === '' ? undefined : token,
    };
  }

  async *watch(type: ResourceType, scope: WatchScope, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const query = queryOf({
      ...selectors(scope),
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: scope.endMs === undefined ? undefined : String(Math.round(scope.endMs / 1000)),
      resourceVersion: scope.resourceVersion,
    });
    const question: Question = {
      verb: 'watch',
      what: describeScope(type, scope.namespace),
      method: 'GET',
      path: `${collectionPath(type, scope.namespace)}${query}`,
      accept: scope.metadataOnly ? metadataOnly.object : plain,
    };
    for await (const line of this.#connection.lines(question, scope.silenceMs, signal)) {
      const event = readEvent(this.#parse(question, line), type);
      if (event) yield event;
    }
  }

  async get(target: Target, signal?: AbortSignal): Promise<KubernetesObject | undefined> {
    const attempt: Attempt = { verb: 'get', what: describeTarget(target) };
    const question: Question = { ...attempt, method: 'GET', path: objectPath(target), accept: plain };
    try {
      return await this.#object(question, target.type, signal);
    } catch (error) {
      if (error instanceof KubernetesError && error.status === 404) return undefined;
      throw error;
    }
  }

  create(type: ResourceType, object: object, signal?: AbortSignal): Promise<KubernetesObject> {
    const { name, generateName, namespace } = metadataOf(object);
    const target: Target = { type, namespace, name: name ?? `${generateName ?? ''}…` };
    const question: Question = {
      verb: 'create',
      what: describeTarget(target),
      method: 'POST',
      path: `${collectionPath(type, namespace)}${queryOf({ fieldManager })}`,
      accept: plain,
      body: { type: plain, text: JSON.stringify(object) },
    };
    return this.#object(question, type, signal);
  }

  replace(type: ResourceType, object: KubernetesObject, signal?: AbortSignal): Promise<KubernetesObject> {
    const target: Target = { type, namespace: object.metadata.namespace, name: object.metadata.name };
    const question: Question = {
      verb: 'update',
      what: describeTarget(target),
      method: 'PUT',
      path: `${objectPath(target)}${queryOf({ fieldManager })}`,
      accept: plain,
      body: { type: plain, text: JSON.stringify(object) },
    };
    return this.#object(question, type, signal);
  }

  patch(target: Target, patch: Patch, signal?: AbortSignal): Promise<KubernetesObject> {
    const query = queryOf({
      fieldManager: patch.fieldManager ?? fieldManager,
      force: patch.kind === 'apply' && patch.force ? 'true' : undefined,
      dryRun: patch.dryRun ? 'All' : undefined,
    });
    const subresource = patch.subresource === undefined ? '' : ` (its ${patch.subresource})`;
    const question: Question = {
      verb: 'patch',
      what: `${describeTarget(target)}${subresource}`,
      method: 'PATCH',
      path: `${objectPath(target, patch.subresource)}${query}`,
      accept: plain,
      body: { type: patchTypes[patch.kind], text: JSON.stringify(patch.body) },
    };
    return this.#object(question, target.type, signal);
  }

  async remove(
    target: Target,
    preconditions?: { readonly uid?: string; readonly resourceVersion?: string },
  ): Promise<void> {
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', ...(preconditions && { preconditions }) };
    const question: Question = {
      verb: 'delete',
      what: describeTarget(target),
      method: 'DELETE',
      path: objectPath(target),
      accept: plain,
      body: { type: plain, text: JSON.stringify(options) },
    };
    try {
      await this.#connection.exchange(question);
    } catch (error) {
      if (!(error instanceof KubernetesError && error.status === 404)) throw error;
    }
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #object(question: Question, type: ResourceType, signal?: AbortSignal): Promise<KubernetesObject> {
    const answer = this.#parse(question, await this.#connection.exchange(question, signal)) as RawObject;
    if (typeof answer.metadata !== 'object') throw this.#senseless(question, 'the answer is no object');
    return readObject(answer, type);
  }

  #parse(attempt: Attempt, text: string): object {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw brokenOff(attempt, this.#server, error, 'the answer is no JSON');
    }
    if (typeof value !== 'object' || value === null)
      throw this.#senseless(attempt, 'the answer is no object');
    return value;
  }

  #senseless(attempt: Attempt, because: string): KubernetesError {
    return brokenOff(attempt, this.#server, undefined, because);
  }
}

interface RawObject {
  readonly metadata: ObjectMeta & { readonly managedFields?: unknown };
}

interface RawList {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly RawObject[] | null;
}

/** Items of a list lack their type, and PartialObjectMetadata has another one. */
function readObject(raw: RawObject, type: ResourceType): KubernetesObject {
  const { managedFields: _unread, ...metadata } = raw.metadata;
  return { ...raw, apiVersion: apiVersionOf(type), kind: type.kind, metadata };
}

/** Undefined for a type of event that is not known. */
function readEvent(raw: object, type: ResourceType): WatchEvent | undefined {
  const { type: word, object } = raw as { readonly type?: unknown; readonly object?: RawObject };
  if (word === 'ERROR') return { type: 'ERROR', ...statusOfErrorEvent(object) };
  if (typeof object?.metadata !== 'object') return undefined;
  if (word === 'BOOKMARK') return { type: 'BOOKMARK', resourceVersion: object.metadata.resourceVersion };
  if (word !== 'ADDED' && word !== 'MODIFIED' && word !== 'DELETED') return undefined;
  return { type: word, object: readObject(object, type) };
}

function metadataOf(object: object): {
  name?: string;
  generateName?: string;
  namespace?: string | undefined;
} {
  return (object as { metadata?: object }).metadata ?? {};
}
