/**
 * The read API: requests in, responses out, without a server. Nothing here changes anything, whatever the method and the path (GI1): other
 * methods than GET and HEAD are refused before a path is considered; the one exception, `POST /login`, sets a cookie in the reader's browser.
 *
 *     Host ── not of this server ──> 421
 *     method ── neither GET nor HEAD ──> 405
 *     static file ──> its bytes, to anybody: it has no data
 *     access ── no ──> 401, 503;  200 are being checked ──> 503
 *     32 are under way ──> 503;  10 s without an answer ──> 503
 *     path ── unknown ──> 404;  parameters ── unknown, wrong or too many ──> 400;  cursor ── too old ──> 410
 *     else ──> 200 with an ETag, or 304
 *
 * | failure                                          | answer                                                              |
 * |--------------------------------------------------|---------------------------------------------------------------------|
 * | the operator is down, or an account is not read  | the last state: `manager`, `readAt`, and objects that are Stale     |
 * | no namespace of a cluster was listed yet         | 503 with the reason; after that, the last state                     |
 * | an account was never read                        | `readAt: null`; its objects are Stale or Unknown                    |
 * | 10,000 problems at once                          | groups by reason and account, 200 at most per page                  |
 * | the object of a cursor was deleted               | the next page begins behind its position                            |
 * | a proxy cuts a stream                            | Last-Event-ID continues it (live/streams.ts)                        |
 * | 100 streams                                      | 503; lists still answer                                             |
 * | a reader takes nothing                           | closed at 1 MiB; nothing else waits for it                          |
 * | the process restarts                             | cursors are 410; streams begin with `state`                         |
 * | a token is taken out while a stream is open      | closed within a minute                                              |
 * | names and messages of others                     | JSON strings, never HTML                                            |
 * | a clock of the reader that is wrong              | `Date` and `at` have this server's time                             |
 */
import type { z } from 'zod';
import { etagOf, hasETag, nearest, pageHeaders, sleep, type Clock, type Random } from '../base/index.ts';
import { absent, type AnswerContext } from './answers/context.ts';
import { Denied, open as asksNothing, tokenIn, type Access, type Denial } from './access/access.ts';
import { checkHost, isOwnHost, type HostRule } from './access/hosts.ts';
import { Sessions } from './access/sessions.ts';
import { Cursors, queryText } from './cursors.ts';
import { FleetIndex } from './fleet/fleet-index.ts';
import { scopeOf, type Reader } from './fleet/reader.ts';
import type { FleetSource } from './fleet/source.ts';
import { Streams, type ResetReason, type StreamLimits } from './live/streams.ts';
import { openView, streamQueries, viewNames, type ViewName } from './live/views.ts';
import { jsonType, Refused, refusal, type ApiRequest, type ApiResponse } from './message.ts';
import { openApi } from './openapi.ts';
import { positionIn, routes, type Route } from './routes.ts';
import type { StaticFiles } from './static-files.ts';

export interface ReadApiMetrics {
  /** `path`: as a template. */
  request(path: string, code: number): void;
  streams(open: number): void;
  reset(reason: ResetReason): void;
  denied(reason: Denial): void;
}

export interface ReadApiOptions {
  readonly source: FleetSource;
  readonly access: Access;
  readonly hosts: HostRule;
  readonly clock: Clock;
  /** Another text for each process, of letters and digits. */
  readonly process: string;
  readonly random: Random;
  readonly metrics: ReadApiMetrics;
  readonly onDefect: (error: unknown) => void;
  /** Of the page. */
  readonly files?: StaticFiles;
  readonly streamLimits?: StreamLimits;
}

const mostRequests = 32;
/** Who waits for an identity provider takes no place of these, and has others. */
const mostChecks = 200;
const longestMs = 10_000;
const mostParameters = 32;

interface Found {
  readonly route: Route;
  readonly parameters: Readonly<Record<string, string>>;
}

export class ReadApi {
  readonly #options: ReadApiOptions;
  readonly #index: FleetIndex;
  readonly #cursors: Cursors;
  readonly #streams: Streams;
  readonly #sessions: Sessions;
  #underWay = 0;
  #checks = 0;
  /** Streams are opened one after the other. */
  #lastTurn: Promise<void> = Promise.resolve();
  #document: string | undefined;

  constructor(options: ReadApiOptions) {
    this.#options = options;
    const { source, clock, process, random, metrics, streamLimits: limits } = options;
    this.#index = new FleetIndex(source, clock);
    this.#cursors = new Cursors(clock, process, random);
    this.#sessions = new Sessions(clock, random);
    this.#streams = new Streams({
      index: this.#index,
      clock,
      process,
      random,
      ...(limits ? { limits } : {}),
      onCount: (open) => metrics.streams(open),
      onReset: (reason) => metrics.reset(reason),
      onDefect: options.onDefect,
    });
  }

  /** Closes all streams. */
  stop(): void {
    this.#streams.stop();
  }

  /** Where nothing is asked, a name that somebody gave to this address reads nothing, not even metrics. */
  isHostAllowed(host: string | undefined): boolean {
    const { access, hosts } = this.#options;
    return access !== asksNothing || isOwnHost(hosts, host);
  }

  isFile(path: string): boolean {
    return this.#options.files?.has(path) === true;
  }

  /** Never rejects. */
  async handle(request: ApiRequest): Promise<ApiResponse> {
    const { metrics, onDefect } = this.#options;
    const answered = await this.#answer(request).catch((error: unknown) => {
      if (error instanceof Denied) metrics.denied(error.reason);
      if (error instanceof Refused) return this.#refusal(error);
      onDefect(error);
      return refusal(new Refused(500, 'internal', 'a defect; the log of the process has more'));
    });
    metrics.request(templateOf(request.path), answered.status);
    if (request.method !== 'HEAD') return { ...answered, headers: { ...pageHeaders, ...answered.headers } };
    const length = { 'content-length': String(Buffer.byteLength(answered.body)) };
    return { ...answered, headers: { ...pageHeaders, ...answered.headers, ...length }, body: '' };
  }

  /** Who sent no token that is accepted learns which ones are. */
  #refusal(error: Refused): ApiResponse {
    const answer = refusal(error);
    const { kinds = [] } = this.#options.access;
    if (answer.status !== 401 || kinds.length === 0) return answer;
    return { ...answer, headers: { ...answer.headers, 'fleetkeeper-access': kinds.join(' ') } };
  }

  async #answer(request: ApiRequest): Promise<ApiResponse> {
    const { access, hosts, files } = this.#options;
    const { method, path } = request;
    checkHost(hosts, request.headers['host']);
    if (method === 'POST' && path === '/login' && access.accepts)
      return this.#checked(() => this.#sessions.login(request, access));
    if (method !== 'GET' && method !== 'HEAD')
      throw new Refused(405, 'method_not_allowed', 'this API is read-only: GET and HEAD', {
        allow: 'GET, HEAD',
      });
    const file = files?.get(path);
    if (file) return withETag(request, file.type, file.content, file.etag);
    const reader = await this.#checked(() => this.#readerOf(request));
    // They have a bound of their own, and all of them come back at once when a proxy was restarted.
    if (path === '/api/v1/stream') return this.#stream(request, reader);
    return this.#limited(() => this.#read(request, reader));
  }

  async #read(request: ApiRequest, reader: Reader): Promise<ApiResponse> {
    const { path } = request;
    if (path === '/api/v1/openapi.json') return this.#openApi(request);
    const found = routeOf(path);
    if (!found) throw notFound();
    return this.#list(request, reader, found);
  }

  /** Of the token that was sent, or else of a session: its token is checked as if it had been sent. */
  async #readerOf(request: ApiRequest): Promise<Reader> {
    const { access } = this.#options;
    const tokens = tokenIn(request) === undefined ? this.#sessions.tokensOf(request) : [];
    let denied: unknown;
    for (const token of tokens) {
      const headers = { ...request.headers, authorization: `Bearer ${token}` };
      try {
        // oxlint-disable-next-line no-await-in-loop -- the first one that is valid decides
        return await access.reader({ ...request, headers });
      } catch (error) {
        denied = error;
      }
    }
    if (denied !== undefined) throw denied;
    return access.reader(request);
  }

  async #checked<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (this.#checks >= mostChecks) throw busy('too many tokens are being checked');
    this.#checks += 1;
    try {
      return await this.#inTime(work);
    } finally {
      this.#checks -= 1;
    }
  }

  async #limited(work: () => Promise<ApiResponse>): Promise<ApiResponse> {
    if (this.#underWay >= mostRequests) throw busy('too many requests are under way');
    this.#underWay += 1;
    try {
      return await this.#inTime(work);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #inTime<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const ended = new AbortController();
    try {
      const late = sleep(this.#options.clock, longestMs, ended.signal).then(() => {
        throw busy('the answer took longer than 10 s');
      });
      // A late end of what lost is nobody's failure.
      late.catch(() => undefined);
      return await Promise.race([work(), late]);
    } finally {
      ended.abort();
    }
  }

  async #list(request: ApiRequest, reader: Reader, { route, parameters }: Found): Promise<ApiResponse> {
    checkCount(request.query);
    const query = parsed(route.query, request.query);
    const text = `${route.id}?${queryText(request.query)}`;
    const cursor = request.query.get('cursor');
    const position = cursor === null ? undefined : this.#cursors.read(cursor, text);
    await this.#refreshed();
    const paging = {
      position,
      cursor: (next: readonly (string | number)[]) => this.#cursors.make(text, next),
    };
    const answer = route.respond(this.#context(reader), parameters, query as never, paging);
    if (answer === absent) throw notFound();
    return withETag(request, jsonType, JSON.stringify(answer));
  }

  async #stream(request: ApiRequest, reader: Reader): Promise<ApiResponse> {
    checkCount(request.query);
    const query = new URLSearchParams(request.query);
    const name = viewNames.find((each) => each === query.get('view'));
    if (!name) throw invalidParameter('view', `expected one of ${viewNames.join(', ')}`);
    query.delete('view');
    const text = `${name}?${queryText(query)}&limit=${query.get('limit') ?? ''}`;
    const cursor = query.get('cursor');
    const position = cursor === null ? undefined : this.#cursors.read(cursor, `objects?${queryText(query)}`);
    const parameters = parsed(streamQueries[name], query);
    if (request.method === 'HEAD') return { status: 200, headers: streamHeaders, body: '' };
    if (!this.#streams.hasRoom) throw busy('100 streams are open');
    await this.#refreshed();
    // What a view needs at first is computed at once, so others have their turn between two of them.
    await this.#turn();
    if (!this.#streams.hasRoom) throw busy('100 streams are open');
    const view = `${scopeOf(reader)} ${text} ${cursor ?? ''}`;
    const open = () =>
      openView<ViewName>(name, () => this.#context(reader), parameters as never, positionIn(position));
    const lastEventId = request.headers['last-event-id'];
    const isStillAllowed = async () => {
      const now = await this.#readerOf(request);
      return scopeOf(now) === scopeOf(reader);
    };
    return {
      status: 200,
      headers: streamHeaders,
      body: '',
      stream: (sink) => this.#streams.open({ view, open, lastEventId, isStillAllowed }, sink),
    };
  }

  /** What was not read yet is not there as far as anybody could tell: an empty list would be taken as "nothing needs you". */
  #refreshed(): Promise<void> {
    const { unread } = this.#options.source;
    if (unread !== undefined)
      throw new Refused(503, 'unread', `${unread}; try again`, { 'retry-after': '1' });
    return this.#index.refresh();
  }

  #turn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => sleep(this.#options.clock, 0));
    return this.#lastTurn;
  }

  #openApi(request: ApiRequest): ApiResponse {
    parsedNone(request.query);
    this.#document ??= JSON.stringify(openApi(this.#options.source.version));
    return withETag(request, jsonType, this.#document);
  }

  #context(reader: Reader): AnswerContext {
    const { source, clock } = this.#options;
    return { index: this.#index, source, reader, nowMs: clock.wallMs() };
  }
}

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Of nginx: an event is not held back.
  'x-accel-buffering': 'no',
};

function notFound(): Refused {
  return new Refused(
    404,
    'not_found',
    'there is nothing here, or not for you; /api/v1/openapi.json lists what there is',
  );
}

function busy(message: string): Refused {
  return new Refused(503, 'busy', `${message}; try again`, { 'retry-after': '1' });
}

function invalidParameter(name: string, message: string): Refused {
  return new Refused(400, 'invalid_parameter', `${name}: ${message}`);
}

/** Throws a `Refused`. */
function checkCount({ size }: URLSearchParams): void {
  if (size > mostParameters)
    throw invalidParameter('query', `it has ${size} parameters; give at most ${mostParameters}`);
}

/** Throws a `Refused`. */
function parsed(schema: z.ZodType, query: URLSearchParams): unknown {
  const names = new Set<string>();
  const repeated = [...query.keys()].find((name) => names.size === names.add(name).size);
  if (repeated !== undefined) throw invalidParameter(repeated, 'it is given twice');
  const read = schema.safeParse(Object.fromEntries(query));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  if (issue?.code !== 'unrecognized_keys')
    throw invalidParameter(issue?.path.join('.') || 'query', issue?.message ?? 'it is not valid');
  const [unknown = ''] = issue.keys;
  const meant = nearest(unknown, Object.keys((schema as z.ZodObject).shape ?? {}));
  const advice =
    meant === undefined ? '/api/v1/openapi.json has those that are there' : `did you mean ${meant}?`;
  throw new Refused(400, 'unknown_parameter', `there is no parameter ${unknown.slice(0, 64)}; ${advice}`);
}

function parsedNone(query: URLSearchParams): void {
  const [name] = [...query.keys()];
  if (name !== undefined)
    throw new Refused(400, 'unknown_parameter', `there is no parameter ${name.slice(0, 64)}`);
}

function withETag({ headers }: ApiRequest, type: string, body: string | Buffer, known?: string): ApiResponse {
  const etag = known ?? etagOf(body);
  const own = { 'content-type': type, 'cache-control': 'private, no-cache', etag };
  const isKnown = hasETag(headers['if-none-match'], etag);
  return isKnown ? { status: 304, headers: own, body: '' } : { status: 200, headers: own, body };
}

const patterns = routes.map((route) => ({
  route,
  segments: route.path.split('/'),
}));

function routeOf(path: string): Found | undefined {
  const given = path.split('/');
  for (const { route, segments } of patterns) {
    if (segments.length !== given.length) continue;
    const parameters: Record<string, string> = {};
    const isMet = segments.every((segment, at) => {
      const part = given[at] ?? '';
      if (!segment.startsWith('{')) return segment === part;
      const value = decodedSegment(part);
      if (value === undefined || value === '' || value.includes('/')) return false;
      parameters[segment.slice(1, -1)] = value;
      return true;
    });
    if (isMet) return { route, parameters };
  }
  return undefined;
}

function decodedSegment(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** For metrics: no name of an object, and nothing that a reader makes up. */
function templateOf(path: string): string {
  if (path === '/' || path === '/login' || path === '/api/v1/stream' || path === '/api/v1/openapi.json')
    return path;
  return routeOf(path)?.route.path ?? 'other';
}
