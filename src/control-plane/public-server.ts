/**
 * The public listener. A request passes, in this order: the journal, authentication, the rate limit (all
 * before its body is read), faults, the Idempotency-Key, validation, and then its route.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { sleep, type Clock } from '../base/clock.ts';
import type { Accounts } from './accounts.ts';
import { ApiError, errorJson } from './errors.ts';
import type { Fault, Faults } from './faults.ts';
import { createApp, pathOf, sendJson, type App } from './http.ts';
import { requireKey, type Idempotency } from './idempotency.ts';
import type { Journal, JournalEntry } from './journal.ts';
import type { RateLimiter } from './rate-limit.ts';
import type { AccountRecord } from './records.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; null only on the routes that need no authentication. */
    account: AccountRecord | null;
    journalEntry: JournalEntry | null;
    fault: Fault | null;
  }
  interface FastifyContextConfig {
    /** Needs no authentication. */
    isPublic?: boolean;
  }
}

export interface PublicServerParts {
  readonly accounts: Accounts;
  readonly idempotency: Idempotency;
  readonly faults: Faults;
  /** Absent when nobody could read it. */
  readonly journal: Journal | undefined;
  readonly rateLimiter: RateLimiter | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborted at shutdown: delayed requests go on at once. */
  readonly closing: AbortSignal;
}

export function createPublicServer(parts: PublicServerParts): App {
  const app = createApp(parts.logger);
  app.decorateRequest('account', null);
  app.decorateRequest('journalEntry', null);
  app.decorateRequest('fault', null);
  app.addHook('onRequest', async (request) => receive(request, parts));
  app.addHook('preValidation', async (request, reply) => {
    const entry = request.journalEntry;
    if (entry && request.body !== undefined) entry.bodyDigest = parts.idempotency.digest(request.body);
    const isAnswered = await applyFault(request, reply, parts);
    if (isAnswered) return reply;
    const isMutation = request.method !== 'GET' && !request.is404;
    // Reading the body and waiting took time; from here on everything is synchronous.
    if (request.account) request.account = parts.accounts.latest(request.account);
    if (isMutation) requireKey(request.headers['idempotency-key']);
    return undefined;
  });
  app.addHook('onSend', async (request, _reply, payload) => {
    // What was decided is committed; the answer goes nowhere.
    if (request.fault?.fault === 'drop-response') request.raw.socket.destroy();
    return payload;
  });
  app.addHook('onResponse', async (request, reply) => {
    const entry = request.journalEntry;
    const isDropped = request.fault?.fault === 'drop-response' || request.fault?.fault === 'drop-request';
    if (entry && !isDropped) entry.status = reply.statusCode;
    if (request.method === 'GET') return;
    parts.logger.info(
      {
        account: request.account?.name,
        method: request.method,
        path: pathOf(request),
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
      },
      'mutation answered',
    );
  });
  return app;
}

/** The caller of a route that needs authentication. */
export function callerOf(request: FastifyRequest): AccountRecord {
  if (request.account) return request.account;
  throw unauthenticated();
}

function receive(request: FastifyRequest, parts: PublicServerParts): void {
  const account = parts.accounts.authenticate(request.headers.authorization);
  request.account = account ?? null;
  if (parts.journal) {
    const key = request.headers['idempotency-key'];
    request.journalEntry = {
      at: new Date(parts.clock.wallMs()).toISOString(),
      account: account?.name ?? null,
      method: request.method,
      path: pathOf(request),
      idempotencyKey: typeof key === 'string' ? key : null,
      bodyDigest: null,
      status: null,
    };
    parts.journal.add(request.journalEntry);
  }
  if (!account && !request.is404 && !request.routeOptions.config.isPublic) throw unauthenticated();
  if (account) parts.rateLimiter?.take(account.id);
}

function unauthenticated(): ApiError {
  return new ApiError(
    401,
    'unauthenticated',
    'the header "Authorization: Bearer API_KEY" is missing, or its key is not known',
  );
}

/** Whether the request needs no further answer. */
async function applyFault(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: PublicServerParts,
): Promise<boolean> {
  const path = pathOf(request);
  const fault = path.startsWith('/api/') ? parts.faults.hit(request.method, path) : undefined;
  if (!fault) return false;
  request.fault = fault;
  if (request.journalEntry) request.journalEntry.fault = fault.fault;
  switch (fault.fault) {
    case 'drop-request':
      reply.hijack();
      request.raw.socket.destroy();
      return true;
    case 'drop-response':
      return false;
    case 'delay':
      await sleep(parts.clock, fault.delayMs, parts.closing);
      return false;
    case 'status':
      if (fault.retryAfter !== undefined) reply.header('retry-after', String(fault.retryAfter));
      if (fault.code === undefined) {
        reply.code(fault.status).header('content-type', 'text/html').send(`<h1>${fault.status}</h1>`);
      } else {
        sendJson(reply, fault.status, errorJson(fault.code, 'a fault that was asked for'));
      }
      return true;
  }
}
