/** Requests on resources: from a parsed request to an answer. */
import { parse as parseYaml } from 'yaml';
import type { Access, User } from './access.ts';
import type { Write } from './admission.ts';
import {
  ApiError,
  badRequest,
  fieldError,
  methodNotAllowed,
  noSuchPath,
  notFound,
  unsupportedMediaType,
} from './errors.ts';
import { chooseForm, listJson, singleJson } from './forms.ts';
import type { Kind, Kinds } from './kinds.ts';
import { fieldsOf, listOf, type Fields } from './objects.ts';
import { jsonPatch, mergePatch, strategicPatch } from './patches.ts';
import type { PlayedNode } from './node.ts';
import type { ResourceRequest } from './paths.ts';
import { readList, readOne } from './reads.ts';
import { goneStatus, ignoringAbsence, parseDeleteOptions, remove } from './removals.ts';
import { answerReview, answerTokenRequest, isReview } from './reviews.ts';
import { parseSelectors } from './selectors.ts';
import { scaledBy, scaleOf } from './scale.ts';
import { untypedShape } from './shape.ts';
import type { Store } from './store.ts';
import { Writes, type Stamps, type Written } from './writes.ts';

export interface Call {
  readonly request: ResourceRequest;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
  readonly contentType: string;
  readonly userAgent: string;
  readonly user: User;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly json: string;
  /** Texts for Warning headers. */
  readonly warnings: readonly string[];
}

/** What a node serves through the API server, and what there is for its sake. */
function isOfNode({ storage }: Kind, subresource: string, node: PlayedNode): boolean {
  if (subresource === 'resize') return storage === 'pods' && node.resizes !== 'notServed';
  return storage === 'pods'
    ? subresource === 'log' || subresource === 'exec'
    : storage === 'nodes' && subresource === 'proxy';
}

/** Of a Pod, what containers may use, and nothing else. Without the same containers it is not accepted. */
function resized(old: Fields, wanted: Fields): Fields {
  const [spec, others] = [fieldsOf(old['spec']), listOf(fieldsOf(wanted['spec'])['containers'])];
  const containers = listOf(spec['containers']).map((container, index) => {
    const other = fieldsOf(others[index]);
    if (other['name'] !== fieldsOf(container)['name']) throw badRequest('containers may not be changed');
    return Object.assign({}, fieldsOf(container), { resources: other['resources'] });
  });
  return { ...wanted, spec: { ...spec, containers } };
}

export class Resources {
  readonly #node: PlayedNode | undefined;
  readonly #store: Store;
  readonly #kinds: Kinds;
  readonly #access: Access;
  readonly #writes: Writes;
  readonly #stamps: Stamps;

  constructor(store: Store, kinds: Kinds, access: Access, stamps: Stamps, node?: PlayedNode) {
    this.#node = node;
    this.#store = store;
    this.#kinds = kinds;
    this.#access = access;
    this.#writes = new Writes(store, kinds, stamps);
    this.#stamps = stamps;
  }

  /** Throws 404 for what is not served. */
  kindOf({ group, version, plural, namespace, name, subresource }: ResourceRequest): Kind {
    const kind = this.#kinds.find(group, version, plural);
    const isNowhere =
      kind?.namespaced === false ? namespace !== undefined : namespace === undefined && name !== undefined;
    if (!kind || isNowhere) throw noSuchPath();
    const hasSubresource =
      subresource === undefined ||
      (subresource === 'status' && kind.hasStatus) ||
      (subresource === 'scale' && kind.scale !== undefined) ||
      (subresource === 'finalize' && kind.storage === 'namespaces') ||
      (subresource === 'token' && kind.storage === 'serviceaccounts') ||
      (this.#node && isOfNode(kind, subresource, this.#node));
    if (!hasSubresource) throw noSuchPath();
    return kind;
  }

  /** Everything but watches. */
  answer(call: Call): Answer {
    const { request, user, body } = call;
    if (isReview(request)) return answered(201, answerReview(this.#access, user, request, parseBody(body)));
    const kind = this.kindOf(request);
    const { verb, subresource, namespace, name = '' } = request;
    if (subresource === 'scale') return this.#scale(call, kind, name);
    if (subresource === 'resize') return this.#resize(call, kind, name);
    switch (verb) {
      case 'get':
        return {
          status: 200,
          json: readOne(this.#store, kind, namespace, name, chooseForm(call.accept, call.query)),
          warnings: [],
        };
      case 'list':
      case 'watch':
        return {
          status: 200,
          json: readList(this.#store, kind, namespace, call.query, chooseForm(call.accept, call.query)),
          warnings: [],
        };
      case 'create':
        if (subresource === 'token') return this.#token(kind, namespace ?? '', name, body);
        if (
          subresource !== undefined ||
          request.name !== undefined ||
          (kind.namespaced && namespace === undefined)
        )
          throw methodNotAllowed();
        return this.#write(call, kind, (write) => this.#writes.create(write, parseBody(body)));
      case 'update':
        if (subresource === 'finalize') return this.#finalize(kind, name, parseBody(body));
        return this.#write(call, kind, (write) => this.#writes.replace(write, name, parseBody(body)));
      case 'patch':
        return this.#write(call, kind, (write) => this.#patch(call, write, name));
      case 'delete':
        return this.#delete(call, kind, namespace, name);
      case 'deletecollection':
        return this.#deleteCollection(call, kind, namespace);
    }
  }

  #scale(call: Call, kind: Kind, name: string): Answer {
    const { request, contentType, body } = call;
    const current = (): Fields => {
      const entry = this.#store.get(kind.storage, request.namespace, name);
      if (!entry) throw notFound(kind, name);
      return scaleOf(kind, entry.object);
    };
    if (request.verb === 'get') return answered(200, current());
    if (request.verb !== 'update' && request.verb !== 'patch') throw methodNotAllowed();
    if (request.verb === 'patch' && contentType !== 'application/merge-patch+json')
      throw unsupportedMediaType(['application/merge-patch+json']);
    const sent = parseBody(body);
    const wanted = fieldsOf(request.verb === 'update' ? sent : mergePatch(current(), sent));
    const asObject = { ...call, request: { ...request, subresource: undefined } };
    this.#write(asObject, kind, (write) =>
      this.#writes.patch(write, name, (old) => scaledBy(kind, old, wanted)),
    );
    return answered(200, current());
  }

  #resize(call: Call, kind: Kind, name: string): Answer {
    const { request, contentType, body } = call;
    if (request.verb !== 'patch') throw methodNotAllowed();
    if (contentType !== 'application/merge-patch+json')
      throw unsupportedMediaType(['application/merge-patch+json']);
    const asObject = { ...call, request: { ...request, subresource: undefined } };
    return this.#write(asObject, kind, (write) =>
      this.#writes.patch(write, name, (old) => resized(old, fieldsOf(mergePatch(old, parseBody(body))))),
    );
  }

  #write(call: Call, kind: Kind, action: (write: Write) => Written): Answer {
    const { query, request, userAgent } = call;
    const warnings: string[] = [];
    const dryRun = query.get('dryRun');
    if (dryRun !== null && dryRun !== 'All')
      throw badRequest(`dryRun: Unsupported value: "${dryRun}": supported values: "All"`);
    const { entry, isNew } = action({
      kind,
      namespace: request.namespace,
      subresource: request.subresource,
      fieldManager: query.get('fieldManager') ?? userAgent.split('/')[0] ?? '',
      fieldValidation: query.get('fieldValidation') ?? 'Warn',
      isDryRun: dryRun === 'All',
      ...(request.verb === 'patch' && { patchText: call.body }),
      warnings,
    });
    const json = singleJson(kind, entry, chooseForm(call.accept, query));
    return { status: isNew ? 201 : 200, json, warnings };
  }

  #patch({ contentType, body, query }: Call, write: Write, name: string): Written {
    const { kind } = write;
    switch (contentType) {
      case 'application/apply-patch+yaml':
        requireManager(query);
        return this.#writes.apply(write, name, fieldsOf(parseApplied(body)), query.get('force') === 'true');
      case 'application/merge-patch+json':
        return this.#writes.patch(write, name, (old) => fieldsOf(mergePatch(old, parseBody(body))));
      case 'application/json-patch+json':
        return this.#writes.patch(write, name, (old) => fieldsOf(jsonPatch(old, parseBody(body))));
      case 'application/strategic-merge-patch+json':
        if (kind.schema) break;
        return this.#writes.patch(write, name, (old) =>
          fieldsOf(strategicPatch(old, parseBody(body), untypedShape())),
        );
    }
    const accepted = [
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/apply-patch+yaml',
    ];
    throw unsupportedMediaType(accepted);
  }

  #delete({ query, body }: Call, kind: Kind, namespace: string | undefined, name: string): Answer {
    const options = parseDeleteOptions(query, parseOptional(body));
    const { entry, isGone } = remove(this.#store, kind, namespace, name, {
      ...options,
      time: this.#stamps.time(),
    });
    if (isGone) return answered(200, goneStatus(kind, entry));
    return {
      status: 200,
      json: singleJson(kind, entry, { as: 'Object', version: 'v1', include: 'Object' }),
      warnings: [],
    };
  }

  #deleteCollection({ query, body }: Call, kind: Kind, namespace: string | undefined): Answer {
    const options = { ...parseDeleteOptions(query, parseOptional(body)), time: this.#stamps.time() };
    const selects = parseSelectors(kind, query);
    const entries = this.#store
      .list(kind.storage)
      .filter(({ object }) => namespace === undefined || object.metadata.namespace === namespace)
      .filter(({ object }) => selects?.(object) ?? true);
    for (const { object } of entries) {
      ignoringAbsence(() =>
        remove(this.#store, kind, object.metadata.namespace, object.metadata.name, options),
      );
    }
    const form = { as: 'Object', version: 'v1', include: 'Object' } as const;
    return {
      status: 200,
      json: listJson(kind, entries, form, { resourceVersion: String(this.#store.revision) }),
      warnings: [],
    };
  }

  #token(kind: Kind, namespace: string, name: string, body: string): Answer {
    if (!this.#store.get(kind.storage, namespace, name)) throw notFound(kind, name);
    return answered(201, answerTokenRequest(this.#access, namespace, name, parseBody(body)));
  }

  /** How a namespace controller lets a namespace go. */
  #finalize(kind: Kind, name: string, body: unknown): Answer {
    const entry = this.#store.get(kind.storage, undefined, name);
    if (!entry) throw notFound(kind, name);
    const finalizers = listOf(fieldsOf(fieldsOf(body)['spec'])['finalizers']);
    const isDone = entry.object.metadata.deletionTimestamp !== undefined && finalizers.length === 0;
    if (isDone) this.#store.remove(kind.storage, entry);
    return {
      status: 200,
      json: singleJson(kind, entry, { as: 'Object', version: 'v1', include: 'Object' }),
      warnings: [],
    };
  }
}

function answered(status: number, object: object): Answer {
  return { status, json: JSON.stringify(object), warnings: [] };
}

function requireManager(query: URLSearchParams): void {
  if (query.get('fieldManager')) return;
  const problem = fieldError('FieldValueRequired', 'fieldManager', 'is required for apply patch');
  throw new ApiError({
    code: 422,
    reason: 'Invalid',
    message: `PatchOptions.meta.k8s.io "" is invalid: fieldManager: ${problem.message}`,
    details: { group: 'meta.k8s.io', kind: 'PatchOptions', causes: [problem] },
  });
}

function parseBody(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch (error) {
    if (!body.trimStart().startsWith('{')) return parseYamlBody(body);
    throw badRequest(
      `the object provided is unrecognized (must be of type JSON): ${(error as Error).message}`,
    );
  }
}

function parseOptional(body: string): Fields {
  return body === '' ? {} : fieldsOf(parseBody(body));
}

/** YAML, and so JSON, too, which is most of what is sent, and read many times faster as such. */
function parseApplied(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return parseYamlBody(body);
  }
}

function parseYamlBody(body: string): unknown {
  try {
    return parseYaml(body) as unknown;
  } catch (error) {
    throw badRequest(`error decoding YAML: ${(error as Error).message}`);
  }
}
