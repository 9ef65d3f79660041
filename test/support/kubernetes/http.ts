/** The HTTP side: reads requests, asks for faults, identity and permission, answers in JSON, keeps the journal. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { sleep, type Clock } from '../../../src/base/index.ts';
import type { Access, User } from './access.ts';
import { discover } from './discovery.ts';
import { ApiError, methodNotAllowed, noSuchPath, tooLarge, unsupportedMediaType } from './errors.ts';
import { refusalOf, type Faults } from './faults.ts';
import { chooseForm } from './forms.ts';
import type { Kinds } from './kinds.ts';
import { openApiV2, openApiV2Protobuf, openApiV3, openApiV3Index } from './openapi.ts';
import { parseResourceRequest, type ResourceRequest } from './paths.ts';
import { isReview } from './reviews.ts';
import type { Call, Resources } from './resources.ts';
import { answerExec, refuseExec } from './exec-server.ts';
import type { PlayedNode } from './node.ts';
import type { Store } from './store.ts';
import type { Watches } from './watches.ts';

/** One request, as the journal has it. */
export interface Request {
  readonly at: Date;
  readonly user: string;
  /** `get` … `deletecollection`; the method for what is no resource. */
  readonly verb: string;
  readonly path: string;
  readonly resource: ResourceRequest | undefined;
  readonly userAgent: string;
  /** Undefined while it is under way, and when the connection broke. */
  status: number | undefined;
}

const bodyLimitBytes = 3 * 1024 * 1024;
/** What comes after is not recorded. */
const journalLimit = 200_000;
/** `@` is not allowed in a media type: what is asked for by this name is answered under another. */
const askedProtobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

export interface Parts {
  readonly kinds: Kinds;
  readonly access: Access;
  readonly resources: Resources;
  readonly watches: Watches;
  readonly faults: Faults;
  readonly clock: Clock;
  /** Serves logs, commands and statistics. */
  readonly node: PlayedNode | undefined;
  readonly store: Store;
}

export class HttpSide {
  readonly #parts: Parts;
  readonly journal: Request[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://server');
    const entry: Request = {
      at: new Date(this.#parts.clock.wallMs()),
      user: '',
      verb: incoming.method ?? '',
      path: incoming.url ?? '/',
      resource: undefined,
      userAgent: incoming.headers['user-agent'] ?? '',
      status: undefined,
    };
    if (this.journal.length < journalLimit) this.journal.push(entry);
    try {
      const user = this.#authenticate(incoming);
      const resource = parseResourceRequest(incoming.method ?? '', url);
      Object.assign(entry, { user: user.name, resource, verb: resource?.verb ?? entry.verb });
      if (resource) await this.#onResource({ incoming, response, url, user, resource, entry });
      else this.#onDocument(incoming, url, response, entry);
    } catch (error) {
      refuse(response, entry, error);
    }
  }

  #authenticate({ headers }: IncomingMessage): User {
    const impersonated = headers['impersonate-user'];
    return this.#parts.access.authenticate(headers.authorization, [impersonated].flat()[0]);
  }

  async #onResource(exchange: Exchange): Promise<void> {
    const { incoming, response, url, user, resource, entry } = exchange;
    const { access, resources, watches, faults, clock } = this.#parts;
    const fault = faults.take(resource, user.name);
    if (fault?.delayMs !== undefined) await sleep(clock, fault.delayMs);
    if (fault?.reset === 'before') return void response.destroy();
    if (fault?.status !== undefined) throw refusalOf(fault.status, fault.retryAfterSeconds);
    const body = await readBody(incoming);
    const { verb, group, plural, subresource, namespace } = resource;
    if (isReview(resource)) access.authorizeReview(user, resource);
    else {
      const kind = resources.kindOf(resource);
      const name = resource.name ?? watchedName(url.searchParams);
      const inResource = subresource === undefined ? plural : `${plural}/${subresource}`;
      const within = kind.storage === 'namespaces' ? name : namespace;
      access.authorize(user, kind, { verb, group, resource: inResource, namespace: within, name });
      if (verb === 'watch') {
        const form = chooseForm(incoming.headers.accept, url.searchParams);
        entry.status = 200;
        return watches.serve({ kind, namespace, query: url.searchParams, form }, response);
      }
    }
    if (this.#answerOfNode(exchange)) return;
    const answer = resources.answer(callOf(exchange, body));
    if (fault?.reset === 'after') return void response.destroy();
    for (const warning of answer.warnings) {
      response.appendHeader('warning', `299 - ${JSON.stringify(warning)}`);
    }
    send(response, entry, answer.status, answer.json);
  }

  /** A command in a container: a request that becomes a connection. */
  upgrade(incoming: IncomingMessage, socket: Duplex): void {
    const { access, resources, node, store } = this.#parts;
    const url = new URL(incoming.url ?? '/', 'http://server');
    try {
      const user = this.#authenticate(incoming);
      const resource = parseResourceRequest(incoming.method ?? '', url);
      if (!resource || resource.subresource !== 'exec' || !node) throw noSuchPath();
      const { group, namespace, name = '' } = resource;
      const kind = resources.kindOf(resource);
      access.authorize(user, kind, { verb: 'get', group, resource: 'pods/exec', namespace, name });
      if (!store.get('pods', namespace, name)) throw noSuchPath();
      answerExec(incoming, socket, node.run(url.searchParams.getAll('command')));
    } catch (error) {
      refuseExec(socket, error instanceof ApiError ? error.refusal.code : 500);
    }
  }

  #answerOfNode({ response, resource, entry }: Exchange): boolean {
    const { node, store } = this.#parts;
    const { plural, subresource, namespace, name = '' } = resource;
    if (!node || (subresource !== 'log' && subresource !== 'proxy')) return false;
    if (plural === 'nodes') {
      send(response, entry, 200, JSON.stringify(node.summary()));
      return true;
    }
    const pod = store.get('pods', namespace, name);
    if (!pod) throw noSuchPath();
    entry.status = 200;
    const isFollowed = entry.path.includes('follow=true');
    const write = () => response.end(node.logs.get(name) ?? '');
    response.writeHead(200, { 'content-type': 'text/plain' });
    if (!isFollowed) return !!write();
    response.flushHeaders();
    const end = store.subscribe('pods', ({ type, entry: { object } }) => {
      if (type === 'DELETED' && object.metadata.uid === pod.object.metadata.uid) write();
    });
    response.on('close', end);
    return true;
  }

  #onDocument(incoming: IncomingMessage, url: URL, response: ServerResponse, entry: Request): void {
    if (incoming.method !== 'GET') throw methodNotAllowed();
    const path = url.pathname.replace(/\/$/, '');
    if (['/healthz', '/readyz', '/livez'].includes(path)) {
      entry.status = 200;
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
      return;
    }
    if (path === '/openapi/v2' && incoming.headers.accept?.includes(askedProtobuf)) {
      entry.status = 200;
      response.writeHead(200, { 'content-type': protobuf }).end(openApiV2Protobuf(this.#parts.kinds));
      return;
    }
    const document = this.#document(path);
    if (!document) throw noSuchPath();
    send(response, entry, 200, JSON.stringify(document));
  }

  #document(path: string): object | undefined {
    const { kinds } = this.#parts;
    if (path === '/openapi/v2') return openApiV2(kinds);
    if (path === '/openapi/v3') return openApiV3Index(kinds);
    if (path.startsWith('/openapi/v3/')) return openApiV3(kinds, path.slice('/openapi/v3/'.length));
    return discover(kinds, path);
  }
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly user: User;
  readonly resource: ResourceRequest;
  readonly entry: Request;
}

function callOf({ incoming, url, user, resource }: Exchange, body: string): Call {
  const contentType = (incoming.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
  if (contentType.includes('protobuf')) throw unsupportedMediaType(['application/json', 'application/yaml']);
  return {
    request: resource,
    query: url.searchParams,
    accept: incoming.headers.accept,
    contentType,
    userAgent: incoming.headers['user-agent'] ?? '',
    user,
    body,
  };
}

/** A list or watch of one object by its name is, for RBAC, a request on that name. */
function watchedName(query: URLSearchParams): string | undefined {
  return /(?:^|,)metadata\.name==?([^,]+)/.exec(query.get('fieldSelector') ?? '')?.[1];
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > bodyLimitBytes) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function send(response: ServerResponse, entry: Request, status: number, json: string): void {
  entry.status = status;
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-cache, private',
    'content-length': Buffer.byteLength(json),
  };
  response.writeHead(status, headers).end(json);
}

function refuse(response: ServerResponse, entry: Request, error: unknown): void {
  const refused =
    error instanceof ApiError
      ? error
      : new ApiError({
          code: 500,
          reason: 'InternalError',
          message: `Internal error occurred: ${(error as Error).stack}`,
        });
  const { code, details } = refused.refusal;
  if (response.headersSent) return void response.destroy();
  if (details?.retryAfterSeconds !== undefined) response.setHeader('retry-after', details.retryAfterSeconds);
  send(response, entry, code, JSON.stringify(refused.status()));
}
