/**
 * One effect per Idempotency-Key. The answer to an accepted mutation is kept in the transaction of its effect;
 * a repetition with the same method, path and body gets that answer again and has no effect of its own. A
 * refusal is not kept: it had no effect, and the same request may pass once its cause is mended. Work is
 * synchronous, so a key is never "in progress".
 */
import { createHmac } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { stableJson } from '../base/stable.ts';
import { keyRetentionMs } from './config.ts';
import { ApiError, conflict } from './errors.ts';
import type { Store } from './store.ts';

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface KeyedRequest {
  readonly accountId: string;
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

export class Idempotency {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #secret: Buffer;

  constructor(store: Store, clock: Clock, random: Random) {
    this.#store = store;
    this.#clock = clock;
    this.#secret = store.secret('request digests', random);
  }

  /** Runs `work` unless the key has an answer. Call it inside the transaction of the effect. */
  once(request: KeyedRequest, work: () => Answer): { answer: Answer; isReplay: boolean } {
    const fingerprint = this.digest([request.method, request.path, request.body]);
    const { accountId, key } = request;
    const nowMs = this.#clock.wallMs();
    const row = this.#store.database.get(
      `SELECT fingerprint, status, body FROM answers
       WHERE account_id = $accountId AND key = $key AND created_at_ms > $expiredMs`,
      { accountId, key, expiredMs: nowMs - keyRetentionMs },
    );
    if (row) {
      if (row['fingerprint'] !== fingerprint) {
        throw conflict(
          'idempotency_key_reused',
          'this Idempotency-Key was used for another request; a new intent needs a new key',
        );
      }
      return { answer: { status: Number(row['status']), body: String(row['body']) }, isReplay: true };
    }
    const answer = work();
    this.#store.database.run(
      `INSERT INTO answers (account_id, key, fingerprint, status, body, created_at_ms)
       VALUES ($accountId, $key, $fingerprint, $status, $body, $nowMs)
       ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = excluded.fingerprint,
         status = excluded.status, body = excluded.body, created_at_ms = excluded.created_at_ms`,
      { accountId, key, fingerprint, status: answer.status, body: answer.body, nowMs },
    );
    return { answer, isReplay: false };
  }

  /** Replaces the answer of a key, once what happens outside the transaction is done. */
  finish({ accountId, key }: KeyedRequest, answer: Answer): void {
    this.#store.database.run(
      'UPDATE answers SET status = $status, body = $body WHERE account_id = $accountId AND key = $key',
      { accountId, key, status: answer.status, body: answer.body },
    );
  }

  /** Keyed, because a body may hold environment values: without the secret a guess can't be checked. */
  digest(value: unknown): string {
    return createHmac('sha256', this.#secret)
      .update(stableJson(value) ?? 'null')
      .digest('hex');
  }

  purge(): void {
    this.#store.database.run('DELETE FROM answers WHERE created_at_ms <= $expiredMs', {
      expiredMs: this.#clock.wallMs() - keyRetentionMs,
    });
  }
}

/** 1 to 255 visible ASCII characters: the contract shows no format (§4 "Gaps"). */
export function requireKey(header: string | string[] | undefined): string {
  if (header === undefined || header === '') {
    throw new ApiError(
      400,
      'idempotency_key_missing',
      'a mutation needs the header Idempotency-Key: one new value (a UUID, say) per intent',
    );
  }
  if (typeof header !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(header)) {
    throw new ApiError(
      400,
      'idempotency_key_invalid',
      'Idempotency-Key must be 1 to 255 visible ASCII characters',
    );
  }
  return header;
}
