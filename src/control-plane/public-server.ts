/**
 * The public listener. A request passes, in this order: the journal, authentication, the rate limit of its account
 * (all before its body is read), faults, the Idempotency-Key, validation, and then its route.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { sleep, type Clock } from '../base/clock.ts';
import type { Accounts } from './accounts.ts';
import { missingCredentials, type Authentication } from './authentication.ts';
import { errorJson } from './errors.ts';
import type { Fault, Faults } from './faults.ts';
import { createListener, pathOf, sendJson, type HttpLimits, type Listener } from './http.ts';
import { requireKey, type Idempotency } from './idempotency.ts';
import type { Journal, JournalEntry } from './journal.ts';
import { measureRequests } from './metrics.ts';
import type { RateLimiter } from './rate-limit.ts';
import type { AccountRecord } from './records.ts';
import type { UnitOfWork } from '../base/unit-of-work.ts';

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
    /** How long answers of a mutation are kept for replay; absent: a day. */
    keyRetentionMs?: number;
  }
}

export interface PublicServerParts {
  readonly accounts: Accounts;
  readonly authentication: Authentication;
  readonly idempotency: Idempotency;
  readonly unit: UnitOfWork;
  readonly faults: Faults;
  /** Absent when nobody could read it. */
  readonly journal: Journal | undefined;
  /** Absent when nobody could read it. */
  readonly metrics: Registry | undefined;
  readonly rateLimiter: RateLimiter | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborted at shutdown: delayed requests go on at once. */
  readonly closing: AbortSignal;
  readonly limits: HttpLimits;
}

export function createPublicServer(parts: PublicServerParts): Listener {
  const listener = createListener(parts.logger, parts.clock, parts.limits);
  const { app } = listener;
  if (parts.metrics) measureRequests(app, parts.metrics);
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
    if (isMutation) requireKey(request.headers['idempotency-key']);
    return undefined;
  });
  app.addHook('preHandler', (request, _reply, done) => {
    const go = () => {
      // Reading the body and waiting took time; from here on everything is synchronous.
      if (request.account) request.account = parts.accounts.latest(request.account);
      done();
    };
    if (request.method === 'GET') parts.unit.whenDurable(go);
    else go();
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
  return listener;
}

/** The caller of a route that needs authentication. */
export function callerOf(request: FastifyRequest): AccountRecord {
  if (request.account) return request.account;
  throw missingCredentials();
}

async function receive(request: FastifyRequest, parts: PublicServerParts): Promise<void> {
  if (parts.journal) {
    request.journalEntry = parts.journal.add(journalEntryOf(request, parts.clock));
  }
  const { headers } = request;
  const needsCaller = !request.is404 && !request.routeOptions.config.isPublic;
  const account = needsCaller
    ? await parts.authentication.caller(headers)
    : parts.authentication.holderOfKey(headers);
  if (!account) return;
  request.account = account;
  if (request.journalEntry) request.journalEntry.account = account.name;
  parts.rateLimiter?.take(account.id);
}

function journalEntryOf(request: FastifyRequest, clock: Clock): JournalEntry {
  const key = request.headers['idempotency-key'];
  return {
    at: new Date(clock.wallMs()).toISOString(),
    account: null,
    method: request.method,
    path: pathOf(request),
    idempotencyKey: typeof key === 'string' ? key : null,
    bodyDigest: null,
    status: null,
  };
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
