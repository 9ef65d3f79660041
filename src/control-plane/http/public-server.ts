/**
 * The public listener. A request passes, in this order: the journal, authentication, the limits of its account
 * (all before its body is read); when it is its turn the parser, faults, the Idempotency-Key, validation, and then its
 * route, all of that at once.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { sleep, type Clock } from '../../base/clock.ts';
import type { Accounts } from '../identity/accounts.ts';
import { missingCredentials, type Authentication } from '../identity/authentication.ts';
import { ApiError, errorJson } from '../domain/errors.ts';
import type { Fault, Faults } from './faults.ts';
import {
  PieceStream,
  createListener,
  faultOfHead,
  longestParameter,
  notFound,
  pathOf,
  sendJson,
  type App,
  type HttpLimits,
  type InTurn,
  type Listener,
} from './http.ts';
import { requireKey, type Idempotency } from './idempotency.ts';
import type { Journal, JournalEntry } from './journal.ts';
import { measureRequests } from './metrics.ts';
import { networkOf } from './network.ts';
import type { AccountRecord } from '../store/records.ts';
import type { Traffic } from './traffic.ts';
import type { Turns } from './turns.ts';
import type { UnitOfWork } from '../../base/unit-of-work.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; null only on the routes that need no authentication. */
    account: AccountRecord | null;
    journalEntry: JournalEntry | null;
    fault: Fault | null;
    /** Whether its body was parsed in its turn, which lasts until its route is done. */
    hasTurn: boolean;
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
  readonly traffic: Traffic;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborted at shutdown: delayed requests go on at once. */
  readonly closing: AbortSignal;
  readonly limits: HttpLimits;
}

type Done = (refusal?: Error) => void;

export function createPublicServer(parts: PublicServerParts): Listener {
  const { traffic, turns, unit, logger, clock, limits } = parts;
  const inTurn: InTurn = (request, work) =>
    turns.enter(request.account?.id ?? networkOf(request.ip), () => {
      // Nothing is read for who has gone away while waiting.
      if (request.method !== 'GET' || !request.socket.destroyed) work();
    });
  const parseInTurn: InTurn = (request, work) =>
    inTurn(request, () => {
      request.hasTurn = true;
      work();
    });
  const listener = createListener(logger, clock, limits, parseInTurn, longestParameter);
  const { app } = listener;
  if (parts.metrics) measureRequests(app, parts.metrics);
  app.decorateRequest('account', null);
  app.decorateRequest('journalEntry', null);
  app.decorateRequest('fault', null);
  app.decorateRequest('hasTurn', false);
  app.addHook('onRequest', (request, reply, done) =>
    receive(request, reply, parts, (refusal) => {
      if (refusal instanceof ApiError && refusal.status === 429) refuse(refusal, request, reply, done);
      else done(refusal);
    }),
  );
  const refuse = (refusal: ApiError, request: FastifyRequest, reply: FastifyReply, done: Done) => {
    const answer = () => inTurn(request, () => done(refusal));
    if (traffic.refuse(request.account?.id ?? networkOf(request.ip), answer)) return;
    reply.hijack();
    request.raw.socket.destroy();
  };
  app.addHook('preValidation', (request, reply, done) => {
    const entry = request.journalEntry;
    if (entry && request.body !== undefined) entry.bodyDigest = parts.idempotency.digest(request.body);
    const fault = faultOf(request, parts.faults);
    if (!fault) return done(keyProblemOf(request));
    const go = (isAnswered: boolean) => {
      if (!isAnswered) done(keyProblemOf(request));
    };
    applyFault(fault, request, reply, parts).then(go, done);
  });
  app.addHook('preHandler', (request, _reply, done) => {
    const go = () => {
      // Reading the body and waiting took time; from here on everything is synchronous.
      const account = request.account && parts.accounts.latest(request.account);
      request.account = account;
      const isRead = request.method === 'GET' || !account;
      done(isRead ? undefined : problemOf(() => traffic.requireRoom(account.id)));
    };
    let hasWaited = !unit.isDurable;
    const read = () =>
      inTurn(request, () => {
        if (!unit.isDurable && !hasWaited) {
          hasWaited = true;
          return unit.whenDurable(read);
        }
        // Others write in every turn: who has waited for one commit does not wait for the next.
        unit.flush();
        go();
      });
    if (request.method === 'GET') unit.whenDurable(read);
    else if (request.hasTurn) go();
    else inTurn(request, go);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    // The decision is committed; the answer is dropped.
    if (request.fault?.fault === 'drop-response') request.raw.socket.destroy();
    const refusal = problemOf(() => countAnswer(request.account, payload, reply, traffic));
    if (refusal) done(refusal);
    else done(null, payload);
  });
  recordAnswers(app, parts.logger);
  return listener;
}

/** In the journal, and mutations in the log. */
function recordAnswers(app: App, logger: Logger): void {
  app.addHook('onResponse', async (request, reply) => {
    const entry = request.journalEntry;
    const isDropped = request.fault?.fault === 'drop-response' || request.fault?.fault === 'drop-request';
    if (entry && !isDropped) entry.status = reply.statusCode;
    if (request.method === 'GET') return;
    logger.info(
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
}

/** The caller of a route that needs authentication. */
export function callerOf(request: FastifyRequest): AccountRecord {
  if (request.account) return request.account;
  throw missingCredentials();
}

/** Calls `done` at once, unless an ID token has to be verified. */
function receive(request: FastifyRequest, reply: FastifyReply, parts: PublicServerParts, done: Done): void {
  const { accounts, authentication, journal, traffic } = parts;
  if (journal) request.journalEntry = journal.add(journalEntryOf(request, parts.clock));
  const admit = (account: AccountRecord) => {
    request.account = account;
    if (request.journalEntry) request.journalEntry.account = account.name;
    done(
      problemOf(() => {
        accounts.requireActive(account);
        traffic.admit(account.id, request.method !== 'GET', reply.raw);
      }),
    );
  };
  const known = authentication.holderOfKey(request.headers);
  if (known) return admit(known);
  const tooMany = problemOf(() => traffic.requireAnonymous(request.ip));
  if (tooMany) return done(tooMany);
  const fault = faultOfHead(request);
  if (fault) {
    traffic.countAnonymous(request.ip);
    return done(fault);
  }
  if (request.is404 || request.routeOptions.config.isPublic) {
    traffic.countAnonymous(request.ip);
    // At once: no body is read without credentials.
    return done(request.is404 ? notFound(request) : undefined);
  }
  void authenticate();

  async function authenticate() {
    let account: AccountRecord;
    try {
      account = await authentication.caller(request.headers);
    } catch (error) {
      traffic.countAnonymous(request.ip);
      return done(asError(error));
    }
    admit(account);
  }
}

/** Throws when the account has too much that was not read. A mutation that has happened is answered all the same. */
function countAnswer(
  account: AccountRecord | null,
  payload: unknown,
  reply: FastifyReply,
  traffic: Traffic,
): void {
  const { request, raw, statusCode } = reply;
  const hasHappened = request.method !== 'GET' && statusCode < 400;
  traffic.answer(account?.id ?? networkOf(request.ip), bytesOf(payload), raw, hasHappened);
}

function bytesOf(payload: unknown): number {
  if (payload instanceof PieceStream) return payload.bytes;
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
}

function keyProblemOf(request: FastifyRequest): Error | undefined {
  const isMutation = request.method !== 'GET' && !request.is404;
  return isMutation ? problemOf(() => requireKey(request.headers['idempotency-key'])) : undefined;
}

function problemOf(work: () => void): Error | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return asError(error);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
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

function faultOf(request: FastifyRequest, faults: Faults): Fault | undefined {
  const path = pathOf(request);
  return path.startsWith('/api/') ? faults.hit(request.method, path) : undefined;
}

/** Whether the request needs no further answer. */
async function applyFault(
  fault: Fault,
  request: FastifyRequest,
  reply: FastifyReply,
  parts: PublicServerParts,
): Promise<boolean> {
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
