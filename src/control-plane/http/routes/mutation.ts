/**
 * How a request changes anything: its effect and the answer under its Idempotency-Key are committed in one
 * transaction, and answered only then.
 *
 * What happens outside of the database (a command in a container), or must not be kept in it (the address of a
 * browser session), can't be in a transaction. So its key is committed first, with the answer that the outcome is not known, and gets its true answer, in memory, when the
 * work is done. Whatever happens in between and afterwards, the work is not begun twice.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { keyRetentionMs } from '../../domain/config.ts';
import { conflict, errorJson } from '../../domain/errors.ts';
import { pathOf, sendJson } from '../http.ts';
import { requireKey, type Answer, type Idempotency, type KeyedRequest } from '../idempotency.ts';
import { callerOf } from '../public-server.ts';
import type { AccountRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';

/** Answers `status` with the JSON text that `work` returns. */
export type Mutate = (
  request: FastifyRequest,
  reply: FastifyReply,
  status: 200 | 201,
  work: (account: AccountRecord) => string,
) => Promise<FastifyReply>;

/** Answers 200 with the JSON text that the work gives which `admit` returns; it is repeated for `retentionMs`. */
export type MutateOutside = (
  request: FastifyRequest,
  reply: FastifyReply,
  retentionMs: number,
  admit: (account: AccountRecord) => () => Promise<string> | string,
) => Promise<FastifyReply>;

const outcomeUnknown = {
  code: 'outcome_unknown',
  message:
    'this was begun under this Idempotency-Key, and how it ended is not known here (yet, or any more); it is not done twice',
};

export function mutator(store: Store, idempotency: Idempotency): Mutate {
  return async (request, reply, status, work) => {
    const account = callerOf(request);
    const keyed = keyedRequest(request, account);
    const { answer, isReplay } = await store.unit.join(() =>
      idempotency.once(keyed, () => ({ status, body: work(account) })),
    );
    return send(reply, answer, isReplay);
  };
}

export function outsideMutator(
  store: Store,
  idempotency: Idempotency,
  onFailure: (error: unknown) => void,
): MutateOutside {
  return async (request, reply, retentionMs, admit) => {
    const account = callerOf(request);
    const keyed = keyedRequest(request, account);
    let work: (() => Promise<string> | string) | undefined;
    const { answer } = await store.unit.join(() =>
      idempotency.once(keyed, () => {
        work = admit(account);
        return { status: 409, body: errorJson(outcomeUnknown.code, outcomeUnknown.message) };
      }),
    );
    if (!work) return send(reply, answer, true);
    try {
      const done = { status: 200, body: await work() };
      idempotency.finish(keyed, done, retentionMs);
      return send(reply, done, false);
    } catch (error) {
      onFailure(error);
      // Not 503, which would say that nothing happened.
      throw conflict(outcomeUnknown.code, outcomeUnknown.message);
    }
  };
}

function keyedRequest(request: FastifyRequest, account: AccountRecord): KeyedRequest {
  return {
    accountId: account.id,
    key: requireKey(request.headers['idempotency-key']),
    method: request.method,
    path: pathOf(request),
    body: request.body,
    retentionMs: request.routeOptions.config.keyRetentionMs ?? keyRetentionMs,
  };
}

function send(reply: FastifyReply, answer: Answer, isReplay: boolean): FastifyReply {
  if (isReplay) reply.header('idempotency-replayed', 'true');
  return sendJson(reply, answer.status, answer.body);
}
