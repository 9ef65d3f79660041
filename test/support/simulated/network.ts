/**
 * The network of a simulated world: addresses, what answers at each, and a way there and back that takes
 * its time. Servers are Fastify applications that are handed their requests, or functions; nothing opens
 * a socket.
 */
import type { FastifyInstance } from 'fastify';
import {
  defaultTransportLimits,
  sinkTimeoutMs,
  type EndpointProbe,
  type HttpReply,
  type HttpRequest,
  type SinkTransport,
  type Transport,
  type TransportLimits,
} from '../../../src/api/index.ts';
import { SimulatedDispatcher, type ClusterHost, type Way } from './cluster.ts';
import type { Life } from '../../simulation/scheduler.ts';
import type { SimulatedTime } from './time.ts';

export interface HostRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HostReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Undefined: the connection is cut. */
export type Host = (request: HostRequest) => Promise<HostReply | undefined>;

/** One way, in simulated time. */
const wayMs = 1;
const firstPort = 20_000;
/** As its status: a sink that takes a request and never answers. */
const hangs = 0;

export class SimulatedNetwork {
  readonly #time: SimulatedTime;
  readonly #hosts = new Map<string, Host>();
  readonly #clusters = new Map<string, ClusterHost>();
  #nextPort = firstPort;
  #endpoints: Host | undefined;

  constructor(time: SimulatedTime) {
    this.#time = time;
  }

  /** `port` 0 picks a free one. Gives the address. */
  open(host: Host, port = 0): string {
    const chosen = port || this.freePort();
    const url = `http://127.0.0.1:${chosen}`;
    this.#hosts.set(url, host);
    return url;
  }

  freePort(): number {
    this.#nextPort += 1;
    return this.#nextPort;
  }

  openCluster(url: string, host: ClusterHost): void {
    this.#clusters.set(url, host);
  }

  /** To clusters, of one process. */
  dispatcher(after: Way['after']): SimulatedDispatcher {
    const afterAnyway: Way['afterAnyway'] = (delayMs, run) => this.#time.scheduler.after(delayMs, run);
    return new SimulatedDispatcher({ after, afterAnyway, hostAt: (origin) => this.#clusters.get(origin) });
  }

  close(url: string): void {
    this.#hosts.delete(url);
  }

  /** Of something that is in this world itself. Rejects when nothing answers. */
  readonly fetch = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const { origin, pathname, search } = new URL(url);
    const host = this.#hosts.get(origin);
    if (!host) throw new TypeError(`fetch failed: nothing listens at ${origin}`);
    const reply = await this.#time.busy(
      host({
        method: init.method ?? 'GET',
        path: `${pathname}${search}`,
        headers: { ...(init.headers as Record<string, string> | undefined), host: new URL(url).host },
        body: (init.body as string | null | undefined) ?? '',
      }),
    );
    if (!reply) throw new TypeError('fetch failed: other side closed');
    return new Response(reply.status === 204 ? null : reply.body, reply);
  };

  /** Of one process. */
  transport(life: Life, { totalMs, bodyBytes }: TransportLimits = defaultTransportLimits): Transport {
    const underWay = new Set<Promise<HttpReply>>();
    return {
      exchange: (request, signal) => {
        const reply = this.#exchange(life, request, signal, request.totalMs ?? totalMs, bodyBytes);
        underWay.add(reply);
        return reply.finally(() => underWay.delete(reply));
      },
      close: async () => {
        await Promise.all(underWay);
      },
    };
  }

  /** Of one process. Addresses are those of this world, so none of them is checked here. */
  sinks(life: Life): SinkTransport {
    return {
      post: async ({ url, headers, body }, signal) => {
        const request = { method: 'POST', url, headers, body } as const;
        const { bodyBytes } = defaultTransportLimits;
        const reply = await this.#exchange(life, request, signal, sinkTimeoutMs, bodyBytes);
        if (reply.kind === 'reply' && reply.status !== hangs)
          return { kind: 'answered', status: reply.status };
        if (reply.kind === 'reply') {
          await new Promise<void>((resolve) => void life.after(sinkTimeoutMs, resolve));
          return { kind: 'failed', isTimeout: true };
        }
        return { kind: 'failed', isTimeout: reply.reason.startsWith('no complete answer') };
      },
      close: () => Promise.resolve(),
    };
  }

  /** What answers at all endpoints of services. Without it, they are not in this world. */
  openEndpoints(host: Host): void {
    this.#endpoints = host;
  }

  probe(life: Life): EndpointProbe {
    return {
      probe: ({ url, expects = { from: 200, to: 399 } }) =>
        new Promise((resolve) => {
          life.after(wayMs, () => {
            void this.#atEndpoint(url).then((reply) => {
              const isThere = reply && reply.status >= expects.from && reply.status <= expects.to;
              if (isThere && reply.body.includes(expects.contains ?? '')) return resolve({ ready: true });
              const answer = reply ? ` answers ${reply.status}` : ': there is no such host';
              return resolve({ ready: false, message: `${url}${answer}` });
            });
          });
        }),
      close: () => Promise.resolve(),
    };
  }

  #atEndpoint(url: string): Promise<HostReply | undefined> {
    const { pathname, search, host } = new URL(url);
    const request = { method: 'GET', path: `${pathname}${search}`, headers: { host }, body: '' };
    return this.#endpoints?.(request) ?? Promise.resolve(undefined);
  }

  #exchange(
    life: Life,
    request: HttpRequest,
    signal: AbortSignal | undefined,
    totalMs: number,
    bodyBytes: number,
  ): Promise<HttpReply> {
    const { promise, resolve } = Promise.withResolvers<HttpReply>();
    const answer = (reply: HttpReply) => {
      deadline.cancel();
      forget();
      resolve(reply);
    };
    const deadline = life.after(totalMs, () =>
      answer({ kind: 'unknown', reason: `no complete answer within ${totalMs / 1000} s` }),
    );
    const abort = () => answer({ kind: 'unknown', reason: 'This operation was aborted' });
    const forget = this.#time.scheduler.onAbort(signal, abort);
    if (signal?.aborted) abort();
    else {
      life.after(wayMs, () => {
        if (signal?.aborted) return;
        void this.#arrive(request, bodyBytes).then((reply) => life.after(wayMs, () => answer(reply)));
      });
    }
    return promise;
  }

  async #arrive({ url, method, headers, body, mayLeave }: HttpRequest, limit: number): Promise<HttpReply> {
    const { origin, host: name, pathname, search } = new URL(url);
    const host = this.#hosts.get(origin);
    if (!host) {
      const advice = 'nothing listens there; check the address, and that the API runs';
      return { kind: 'not-sent', reason: `connect ECONNREFUSED ${name}: ${advice}` };
    }
    if (mayLeave?.() === false) {
      return { kind: 'not-sent', reason: 'it was no longer wanted when its turn came' };
    }
    const lower = Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]);
    const asked = { method, path: `${pathname}${search}`, body: body ?? '' };
    const reply = await this.#time.busy(
      host({ ...asked, headers: { ...Object.fromEntries(lower), host: name } }),
    );
    if (!reply) return { kind: 'unknown', reason: 'other side closed (UND_ERR_SOCKET)' };
    if (Buffer.byteLength(reply.body) > limit)
      return { kind: 'unknown', reason: 'Response content exceeded max size' };
    const { status, body: text } = reply;
    const date = new Date(this.#time.wallMs).toUTCString();
    return { kind: 'reply', status, retryAfter: reply.headers['retry-after'], date, body: text };
  }
}

/** Requests whose connection the application has cut. */
const cut = new WeakSet<object>();

/**
 * An application that destroys the socket of a request cuts its connection: here that is no socket.
 * Before it is ready.
 */
export function cutByDestroying(app: Pick<FastifyInstance, 'addHook'>): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const destroy = () => {
      cut.add(raw);
      reply.raw.destroy();
    };
    Object.assign(raw.socket, { destroy });
    done();
  });
}

/** `gone` resolves when the process of the application is killed. */
export function hostOf(app: Pick<FastifyInstance, 'inject'>, gone: Promise<undefined>): Host {
  return async ({ method, path, headers, body }) => {
    const answered = app
      .inject({ method: method as 'GET', url: path, headers, ...(body === '' ? {} : { payload: body }) })
      // Its response was destroyed before it was complete.
      .catch(() => undefined);
    const reply = await Promise.race([answered, gone]);
    if (!reply || cut.has(reply.raw.req)) return undefined;
    const shown = Object.entries(reply.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    );
    return { status: reply.statusCode, headers: Object.fromEntries(shown), body: reply.body };
  };
}
