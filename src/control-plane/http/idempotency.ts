/**
 * One effect per Idempotency-Key. The answer to an accepted mutation is kept in the transaction of its effect;
 * a repetition with the same method, path and body gets that answer again and has no effect of its own. A
 * refusal is not kept: it had no effect, and the same request may pass once its cause is mended. Work is
 * synchronous, so a key is never "in progress".
 *
 * Answers are kept for a day; those to activity requests only until the activity would be stale. They are by far
 * the most (a heartbeat per task and half minute), and repeating one later changes no more than the next one does.
 *
 * What a command in a container answered, and the address of a browser session, are kept in memory only, and for less
 * long: an output may hold anything that was in the container, and who has the address needs no key. Without them, the
 * key is answered as on the disk: the outcome is not known.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { stableJson } from '../../base/stable.ts';
import { outputBytesKept, outputsKept } from '../domain/config.ts';
import { ApiError, conflict } from '../domain/errors.ts';
import { KeptAnswers } from './kept-answers.ts';
import type { Quota } from '../domain/quotas.ts';
import type { Store } from '../store/store.ts';

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
  /** How long its answer is kept. */
  readonly retentionMs: number;
}

interface Output {
  readonly answer: Answer;
  readonly expiresAtMs: number;
}

export class Idempotency {
  readonly #kept: KeptAnswers;
  readonly #clock: Clock;
  readonly #secret: KeyObject;
  /** By account and key; those of an account oldest first. */
  readonly #outputs = new Map<string, Map<string, Output>>();

  constructor(store: Store, clock: Clock, random: Random, quotaOf: (accountId: string) => Quota) {
    this.#kept = new KeptAnswers(store, clock, quotaOf);
    this.#clock = clock;
    this.#secret = createSecretKey(store.secret('request digests', random));
  }

  /** Runs `work` unless the key has an answer. Call it inside the transaction of the effect. */
  once(request: KeyedRequest, work: () => Answer): { answer: Answer; isReplay: boolean } {
    const fingerprint = this.digest([request.method, request.path, request.body]);
    const { accountId, key, retentionMs } = request;
    const kept = this.#kept.find(accountId, key);
    if (kept) {
      if (kept.fingerprint !== fingerprint) {
        throw conflict(
          'idempotency_key_reused',
          'this Idempotency-Key was used for another request; a new intent needs a new key',
        );
      }
      const { status, body } = kept;
      return { answer: this.#outputOf(request) ?? { status, body }, isReplay: true };
    }
    this.#kept.requireRoom(accountId);
    const answer = work();
    const expiresAtMs = this.#clock.wallMs() + retentionMs;
    this.#kept.keep({ accountId, key, fingerprint, ...answer, expiresAtMs });
    return { answer, isReplay: false };
  }

  /** The answer of a key, once what happens outside the transaction is done. */
  finish({ accountId, key }: KeyedRequest, answer: Answer, retentionMs: number): void {
    let outputs = this.#outputs.get(accountId);
    if (!outputs) this.#outputs.set(accountId, (outputs = new Map()));
    outputs.set(key, { answer, expiresAtMs: this.#clock.wallMs() + retentionMs });
    let bytes = Array.from(outputs.values(), (output) => output.answer.body.length).reduce(
      (sum, length) => sum + length,
    );
    for (const [oldest, output] of outputs) {
      if (oldest === key || (outputs.size <= outputsKept && bytes <= outputBytesKept)) break;
      outputs.delete(oldest);
      bytes -= output.answer.body.length;
    }
  }

  /** Keyed, because a body may hold environment values: without the secret a guess can't be checked. */
  digest(value: unknown): string {
    return createHmac('sha256', this.#secret)
      .update(stableJson(value) ?? 'null')
      .digest('hex');
  }

  /** Forgets what has expired, a bounded number of answers at once; returns whether there may be more. */
  purge(): boolean {
    const nowMs = this.#clock.wallMs();
    for (const [accountId, outputs] of this.#outputs) {
      for (const [key, { expiresAtMs }] of outputs) if (expiresAtMs <= nowMs) outputs.delete(key);
      if (outputs.size === 0) this.#outputs.delete(accountId);
    }
    return this.#kept.purge();
  }

  #outputOf({ accountId, key }: KeyedRequest): Answer | undefined {
    const output = this.#outputs.get(accountId)?.get(key);
    return output && output.expiresAtMs > this.#clock.wallMs() ? output.answer : undefined;
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
