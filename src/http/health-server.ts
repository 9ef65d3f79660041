/**
 * `/healthz`, `/readyz` and `/metrics` of a running manager, as Kubernetes' own servers have them: `ok`, or with
 * `?verbose`, or when something is wrong (503), a line per check. `/api/v1/fleets/NAMESPACE/NAME/endpoints` shows where
 * replicas can be reached. It shows no secret and does nothing. Where there is a read API, that answers everything else (read-api.ts).
 *
 * Whoever reaches the port may be anybody: connections are few, for each address and in all, and short; requests are small, and each address has
 * a rate of its own, so that nobody keeps the kubelet out. Metrics are made at most once a second, however many ask.
 */
import type { Socket } from 'node:net';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import { pageHeaders, type Clock } from '../base/index.ts';
import { AddressRates, healthLimits, withReadApi, type HealthLimits } from './limits.ts';
import { MalformedRequests } from './malformed.ts';
import { answerWith, errorBody, serveReadApi, streamPath, type RequestHandler } from './read-api.ts';

export interface Check {
  readonly name: string;
  /** Undefined when all is well. */
  readonly problem: string | undefined;
  /** Shown although all is well. */
  readonly note?: string | undefined;
}

export interface ManagerView {
  live(): readonly Check[];
  ready(): readonly Check[];
  /** Prometheus text. */
  metrics(): Promise<string>;
  /** Where the replicas of a ServiceFleet can be reached. */
  endpoints(namespace: string, name: string, format: 'json' | 'prometheus'): object | 'unknown' | 'standby';
}

export interface HealthServerOptions {
  readonly limits?: HealthLimits;
  readonly readApi?: RequestHandler | undefined;
}

export function createHealthServer(
  view: ManagerView,
  clock: Clock,
  { readApi, limits = readApi ? withReadApi : healthLimits }: HealthServerOptions = {},
): FastifyInstance {
  const { headerBytes, bodyBytes, requestMs, idleMs } = limits;
  const malformed = new MalformedRequests(clock);
  const app = Fastify({
    logger: false,
    forceCloseConnections: true,
    bodyLimit: bodyBytes,
    connectionTimeout: idleMs,
    keepAliveTimeout: idleMs,
    requestTimeout: requestMs,
    http: {
      maxHeaderSize: headerBytes,
      headersTimeout: requestMs,
      connectionsCheckingInterval: 1000,
      // Node's own refusal has no body.
      requireHostHeader: false,
    },
    clientErrorHandler: (error, socket) => malformed.failed(error, socket),
    ...(readApi ? { frameworkErrors: unreadable(readApi) } : {}),
  });
  malformed.watch(app.server);
  limitConnections(app, limits);
  refuseBehindStreams(app);
  const rates = new AddressRates(limits, clock);
  const readRates = readApi && new AddressRates(limits.readApi, clock);
  const fileRates = new AddressRates(limits.pageFiles, clock);
  app.addHook('onRequest', async (request, reply) => {
    const [path = ''] = request.url.split('?', 1);
    const asked = readApi?.isFile(path) ? fileRates : ownPaths.has(path) ? rates : (readRates ?? rates);
    if (!asked.takes(request.socket.remoteAddress ?? ''))
      return refuse(
        reply.headers({ ...pageHeaders, 'retry-after': '1' }),
        429,
        'too_many_requests',
        'too many requests come from this address; send fewer a second',
      );
    const { httpVersion, headers } = request.raw;
    if (httpVersion !== '1.0' && headers.host === undefined)
      return refuse(reply.headers(pageHeaders), 400, 'invalid_request', 'the header Host is missing');
    return undefined;
  });
  const metrics = sharedFor(limits.metricsMs, clock, () => view.metrics());
  app.get('/healthz', (request, reply) => answer(request, reply, 'healthz', view.live()));
  app.get('/readyz', (request, reply) => answer(request, reply, 'readyz', view.ready()));
  app.get('/metrics', async ({ headers: { host } }, reply) => {
    if (readApi && !readApi.isHostAllowed(host))
      return refuse(reply, 421, 'wrong_host', 'this server has another name; --page-host names it');
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics());
  });
  if (readApi) serveReadApi(app, readApi, limits);
  else serveEndpoints(app, view);
  return app;
}

/** Of paths that the router can not read. */
function unreadable(readApi: RequestHandler): NonNullable<FastifyServerOptions['frameworkErrors']> {
  return (_error, request, reply) => void answerWith(readApi, request, reply);
}

/** Without a read API. */
function serveEndpoints(app: FastifyInstance, view: ManagerView): void {
  app.get<{ Params: FleetPath; Querystring: { format?: unknown } }>(
    '/api/v1/fleets/:namespace/:name/endpoints',
    ({ params: { namespace, name }, query: { format = 'json' } }, reply) => {
      if (format !== 'json' && format !== 'prometheus')
        return refuse(reply, 400, 'invalid_parameter', 'format is json or prometheus');
      const shown = view.endpoints(namespace, name, format);
      if (shown === 'unknown') return refuse(reply, 404, 'not_found', 'there is no such ServiceFleet');
      if (shown === 'standby')
        return refuse(reply, 503, 'unavailable', 'another replica of the manager is the leader');
      return reply
        .header('cache-control', 'no-store')
        .type('application/json; charset=utf-8')
        .send(JSON.stringify(shown));
    },
  );
}

const ownPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

interface FleetPath {
  readonly namespace: string;
  readonly name: string;
}

function refuse(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  return reply.code(status).type('application/json; charset=utf-8').send(errorBody(code, message));
}

/** More than these are closed at once. */
function limitConnections(
  { server }: FastifyInstance,
  { connections, connectionsPerAddress, crowdedFrom, connectionsWhenCrowded }: HealthLimits,
): void {
  server.maxConnections = connections;
  const open = new Map<string, number>();
  let all = 0;
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const count = (open.get(address) ?? 0) + 1;
    open.set(address, count);
    all += 1;
    socket.once('close', () => {
      all -= 1;
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
    const most = all > crowdedFrom ? connectionsWhenCrowded : connectionsPerAddress;
    if (count > most) socket.destroy();
  });
}

/**
 * Answers are sent in the order of their requests, and a stream does not end: what is answered behind one would be kept in memory. So whoever
 * sends a request behind one, or a stream behind another request, loses the connection.
 */
function refuseBehindStreams(app: FastifyInstance): void {
  const withStream = new WeakSet<Socket>();
  app.addHook('onRequest', async ({ url, socket }, reply) => {
    const isStream = url.split('?', 1)[0] === streamPath;
    const isBehind = reply.raw.socket === null;
    if (isBehind && (isStream || withStream.has(socket))) {
      socket.destroy();
      return reply.hijack();
    }
    if (isStream) withStream.add(socket);
    else withStream.delete(socket);
    return undefined;
  });
}

/** What was made within the last `ms` is made once, for all who ask. */
function sharedFor<Value>(ms: number, clock: Clock, make: () => Promise<Value>): () => Promise<Value> {
  let latest: { readonly atMs: number; readonly value: Promise<Value> } | undefined;
  return () => {
    const nowMs = clock.monotonicMs();
    if (!latest || nowMs - latest.atMs >= ms) latest = { atMs: nowMs, value: make() };
    return latest.value;
  };
}

function answer(
  { query }: FastifyRequest,
  reply: FastifyReply,
  name: string,
  checks: readonly Check[],
): FastifyReply {
  const isWell = checks.every(({ problem }) => problem === undefined);
  const isVerbose = (query as Record<string, unknown>)['verbose'] !== undefined;
  const lines =
    isWell && !isVerbose ? ['ok'] : [...checks.map(line), `${name} check ${isWell ? 'passed' : 'failed'}`];
  return reply
    .code(isWell ? 200 : 503)
    .header('cache-control', 'no-store')
    .type('text/plain; charset=utf-8')
    .send(`${lines.join('\n')}\n`);
}

function line({ name, problem, note }: Check): string {
  if (problem !== undefined) return `[-]${name} failed: ${problem}`;
  return `[+]${name} ok${note === undefined ? '' : `: ${note}`}`;
}
