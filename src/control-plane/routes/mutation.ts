/**
 * The one way in which a request changes anything: its effect and the answer under its Idempotency-Key are
 * committed in one transaction, and answered only then.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathOf, sendJson } from '../http.ts';
import { requireKey, type Idempotency } from '../idempotency.ts';
import { callerOf } from '../public-server.ts';
import type { AccountRecord } from '../records.ts';
import type { Store } from '../store.ts';

/** Answers `status` with the JSON text that `work` returns. */
export type Mutate = (
  request: FastifyRequest,
  reply: FastifyReply,
  status: 200 | 201,
  work: (account: AccountRecord) => string,
) => FastifyReply;

export function mutator(store: Store, idempotency: Idempotency): Mutate {
  return (request, reply, status, work) => {
    const account = callerOf(request);
    const keyed = {
      accountId: account.id,
      key: requireKey(request.headers['idempotency-key']),
      method: request.method,
      path: pathOf(request),
      body: request.body,
    };
    const { answer, isReplay } = store.unit.run(() =>
      idempotency.once(keyed, () => ({ status, body: work(account) })),
    );
    if (isReplay) reply.header('idempotency-replayed', 'true');
    return sendJson(reply, answer.status, answer.body);
  };
}
