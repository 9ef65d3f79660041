/**
 * The listener of browser sessions: `/s/TOKEN/` shows what a service answers at its endpoint, or a page about a simulated one. It has
 * an origin of its own, because what tenants serve must not be on that of the API. The address is the only credential; it is
 * in no log and no journal.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Clock } from '../../../base/clock.ts';
import type { Accounts } from '../../identity/accounts.ts';
import type { BrowserSessions } from '../../domain/browser-sessions.ts';
import type { Platform } from '../../domain/platform.ts';
import { ApiError } from '../../domain/errors.ts';
import { Slots } from '../../domain/slots.ts';
import type { ServiceRecord } from '../../store/records.ts';
import { createListener, type HttpLimits, type Listener } from '../http.ts';
import { networkOf } from '../network.ts';
import { RateLimiter } from '../rate-limit.ts';
import { messagePage, pageHeaders, servicePage } from './page.ts';
import { passOn, passOnUpgrade, readableByAll, type Target } from './proxy.ts';

export interface BrowserServerParts {
  readonly platform: Platform;
  readonly accounts: Accounts;
  readonly sessions: BrowserSessions;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly limits: HttpLimits;
}

/** Of an account. */
const requestsPerSecond = 200;
const requestsAtOnce = 64;
/** Of an address, with tokens that are none. */
const guessesPerSecond = 20;

/** A service that may be shown; else the status and the text of a page that explains why not. */
type Found =
  | {
      readonly kind: 'service';
      readonly service: ServiceRecord;
      readonly accountId: string;
      readonly endsInMs: number;
    }
  | { readonly kind: 'refused'; readonly status: number; readonly title: string; readonly text: string };

export function createBrowserServer(parts: BrowserServerParts): Listener {
  const listener = createListener(parts.logger, parts.clock, parts.limits);
  const { app } = listener;
  const requests = new SessionRequests(parts);
  // Bodies are passed on as they come.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.all('/s/:token', (request, reply) => reply.redirect(`${pathOf(request.raw)}/`, 308));
  app.all('/s/:token/*', (request, reply) => requests.answer(request, reply));
  app.server.on('upgrade', (request, socket, head) => requests.upgrade(request, socket as Socket, head));
  return listener;
}

class SessionRequests {
  readonly #parts: BrowserServerParts;
  readonly #atOnce = new Slots(requestsAtOnce, 'requests of browser sessions');
  readonly #requests: RateLimiter;
  readonly #guesses: RateLimiter;

  constructor(parts: BrowserServerParts) {
    this.#parts = parts;
    this.#requests = new RateLimiter(requestsPerSecond, parts.clock);
    this.#guesses = new RateLimiter(guessesPerSecond, parts.clock);
  }

  async answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    try {
      return await this.#answer(request, reply);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      // The listener's own message would have the path, which is private.
      this.#parts.logger.error({ err: error }, 'browser session failed');
      return sendPage(reply, 503, messagePage('Not now', 'Something went wrong here. Try again later.'));
    }
  }

  async #answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const found = await this.#find(request.raw);
    if (found.kind === 'refused') return sendPage(reply, found.status, messagePage(found.title, found.text));
    const { service, accountId } = found;
    if (this.#parts.platform.runtime.browser !== 'endpoint') {
      if (request.method === 'GET' || request.method === 'HEAD')
        return sendPage(reply, 200, servicePage(service));
      return sendPage(
        reply,
        405,
        messagePage('Nothing to change here', 'A simulated service has a page to read, and no more.'),
      );
    }
    const target = targetOf(service, request.raw);
    if (!target) return sendPage(reply, 409, messagePage('Nothing to show', nothingToShow));
    const isQuestion = request.headers['access-control-request-method'] !== undefined;
    if (request.method === 'OPTIONS' && isQuestion) return reply.code(204).headers(readableByAll).send();
    const isAnswered = await this.#atOnce.with(accountId, () =>
      passOn(request.raw, reply.raw, target, () => void reply.hijack()),
    );
    if (isAnswered) return undefined;
    return sendPage(
      reply,
      502,
      messagePage('No answer', 'The service does not answer at its port. It may still be starting.'),
    );
  }

  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    void this.#upgrade(request, socket, head).catch(() => socket.destroy());
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const found = await this.#find(request);
    const isWanted = request.headers.upgrade?.toLowerCase() === 'websocket';
    const isPassedOn = this.#parts.platform.runtime.browser === 'endpoint';
    const target = found.kind === 'service' && isWanted && isPassedOn && targetOf(found.service, request);
    if (found.kind !== 'service' || !target) {
      socket.write('HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      // Whoever does not close it must not keep it.
      socket.destroySoon();
      return;
    }
    const { accountId, endsInMs } = found;
    await this.#atOnce.with(accountId, async () => {
      const timer = this.#parts.clock.after(endsInMs, () => socket.destroy());
      const ended = new Promise((resolve) => {
        socket.once('close', resolve);
      });
      socket.setTimeout(0);
      passOnUpgrade(request, socket, head, target);
      await ended;
      timer.cancel();
    });
  }

  /** Throws an `ApiError` with 429. */
  async #find(request: IncomingMessage): Promise<Found> {
    const { sessions, platform, clock } = this.#parts;
    const session = sessions.find(tokenOf(request));
    if (session === undefined) {
      this.#guesses.take(networkOf(request.socket.remoteAddress));
      return refused(404, 'No such session', `There is no browser session at this address. ${another}`);
    }
    if (session === 'ended')
      return refused(410, 'The session has ended', `It was open for an hour. ${another}`);
    this.#requests.take(session.accountId);
    await new Promise<void>((resolve) => {
      platform.store.unit.whenDurable(resolve);
    });
    const service = platform.store.services.get(session.serviceId);
    if (service?.accountId !== session.accountId) {
      return refused(410, 'The session has ended', 'Its service was deleted.');
    }
    const { accountId, endsAtMs } = session;
    return { kind: 'service', service, accountId, endsInMs: endsAtMs - clock.monotonicMs() };
  }
}

const another = 'Open another one: fleetkeeper open NAME --browser';
const nothingToShow = 'The service has no address now: it does not run, or has no httpPort.';

function refused(status: number, title: string, text: string): Found {
  return { kind: 'refused', status, title, text };
}

function sendPage(reply: FastifyReply, status: number, html: string): FastifyReply {
  return reply.code(status).headers(pageHeaders).send(html);
}

/** Without its query. */
function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '/';
}

function tokenOf(request: IncomingMessage): string {
  return pathOf(request).split('/')[2] ?? '';
}

/** Only where the runtime has reported that this service answers. */
function targetOf({ state, endpoint }: ServiceRecord, request: IncomingMessage): Target | undefined {
  if (state !== 'running' || endpoint === null || !URL.canParse(endpoint)) return undefined;
  const { protocol, hostname, port } = new URL(endpoint);
  if (protocol !== 'http:') return undefined;
  const prefix = `/s/${tokenOf(request)}`;
  const path = (request.url ?? '').slice(prefix.length);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(port) || 80, prefix, path: path.startsWith('/') ? path : `/${path}` };
}
