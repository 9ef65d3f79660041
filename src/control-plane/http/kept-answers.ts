/**
 * The answers that are kept for replay, within the quota of each account. Beyond its bytes the oldest answers shrink to
 * the id of what they are about: a repetition has no second effect all the same, and gets `{id}`. Beyond its number the
 * oldest go, when they are an hour old, or expire within the day because they are of activities; when all are younger,
 * mutations of the account are refused for a while.
 */
import type { Clock } from '../../base/clock.ts';
import { keyRetentionMs } from '../domain/config.ts';
import { ApiError } from '../domain/errors.ts';
import type { Answer } from './idempotency.ts';
import type { Quota } from '../domain/quotas.ts';
import type { Store } from '../store/store.ts';

export interface KeptAnswer extends Answer {
  readonly accountId: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly expiresAtMs: number;
}

interface Kept {
  count: number;
  bytes: number;
  /** Answers that expire before this have shrunk. */
  shrunkUntilMs: number;
}

const youngestMs = 60 * 60 * 1000;
const purgedAtOnce = 5000;
const shrunkAtOnce = 2000;
/** An answer of so few bytes does not shrink. */
const smallBytes = 200;

export class KeptAnswers {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #quotaOf: (accountId: string) => Quota;
  readonly #kept = new Map<string, Kept>();

  constructor(store: Store, clock: Clock, quotaOf: (accountId: string) => Quota) {
    this.#store = store;
    this.#clock = clock;
    this.#quotaOf = quotaOf;
    const sums = store.database.each(
      'SELECT account_id, count(*) AS n, sum(octet_length(body)) AS bytes FROM answers GROUP BY account_id',
    );
    for (const row of sums) {
      const kept = { count: Number(row['n']), bytes: Number(row['bytes']), shrunkUntilMs: 0 };
      this.#kept.set(String(row['account_id']), kept);
    }
  }

  /** Call it in the transaction: an expired one is deleted. */
  find(accountId: string, key: string): (Answer & { readonly fingerprint: string }) | undefined {
    const row = this.#store.database.get(
      `SELECT fingerprint, status, body, expires_at_ms, octet_length(body) AS bytes FROM answers
       WHERE account_id = $accountId AND key = $key`,
      { accountId, key },
    );
    if (!row) return undefined;
    if (Number(row['expires_at_ms']) > this.#clock.wallMs()) {
      return {
        fingerprint: String(row['fingerprint']),
        status: Number(row['status']),
        body: String(row['body']),
      };
    }
    this.#store.database.run('DELETE FROM answers WHERE account_id = $accountId AND key = $key', {
      accountId,
      key,
    });
    this.#change(accountId, -1, -Number(row['bytes']));
    return undefined;
  }

  /** Before anything is done whose answer is to be kept. Call it in the transaction. Refuses with 429. */
  requireRoom(accountId: string): void {
    const { keptAnswers } = this.#quotaOf(accountId);
    if (this.#of(accountId).count < keptAnswers) return;
    const rows = this.#store.database.all(
      `DELETE FROM answers WHERE rowid IN (
         SELECT rowid FROM answers WHERE account_id = $accountId AND expires_at_ms <= $oldMs
         ORDER BY expires_at_ms LIMIT ${shrunkAtOnce})
       RETURNING octet_length(body) AS bytes`,
      { accountId, oldMs: this.#clock.wallMs() + keyRetentionMs - youngestMs },
    );
    for (const row of rows) this.#change(accountId, -1, -Number(row['bytes']));
    if (rows.length > 0) return;
    throw new ApiError(
      429,
      'rate_limited',
      `the answers to the latest ${keptAnswers} mutations of this account are kept for an hour at least; wait`,
      60,
    );
  }

  /** Of a key that `find` did not find, in the same transaction. */
  keep(answer: KeptAnswer): void {
    const { accountId } = answer;
    this.#store.database.run(
      `INSERT INTO answers (account_id, key, fingerprint, status, body, expires_at_ms)
       VALUES ($accountId, $key, $fingerprint, $status, $body, $expiresAtMs)`,
      { ...answer },
    );
    this.#change(accountId, 1, Buffer.byteLength(answer.body));
    if (this.#of(accountId).bytes > this.#quotaOf(accountId).keptAnswerBytes) this.#shrink(accountId);
  }

  /** Forgets what has expired, a bounded number of answers at once; returns whether there may be more. */
  purge(): boolean {
    const rows = this.#store.unit.run(() => {
      const purged = this.#store.database.all(
        `DELETE FROM answers WHERE rowid IN (
           SELECT rowid FROM answers WHERE expires_at_ms <= $nowMs ORDER BY expires_at_ms LIMIT ${purgedAtOnce})
         RETURNING account_id, octet_length(body) AS bytes`,
        { nowMs: this.#clock.wallMs() },
      );
      for (const row of purged) this.#change(String(row['account_id']), -1, -Number(row['bytes']));
      return purged;
    });
    return rows.length === purgedAtOnce;
  }

  #shrink(accountId: string): void {
    const { database, unit } = this.#store;
    const kept = this.#of(accountId);
    const { shrunkUntilMs } = kept;
    const rows = database.all(
      `SELECT rowid, octet_length(body) AS bytes, expires_at_ms FROM answers
       WHERE account_id = $accountId AND expires_at_ms >= $shrunkUntilMs
       ORDER BY expires_at_ms LIMIT ${shrunkAtOnce}`,
      { accountId, shrunkUntilMs },
    );
    for (const row of rows) {
      if (Number(row['bytes']) <= smallBytes) continue;
      const shrunk = database.get(
        `UPDATE answers SET body = CASE WHEN json_extract(body, '$.id') IS NULL THEN '{}'
           ELSE json_object('id', json_extract(body, '$.id')) END
         WHERE rowid = $rowid RETURNING octet_length(body) AS bytes`,
        { rowid: Number(row['rowid']) },
      );
      this.#change(accountId, 0, Number(shrunk?.['bytes']) - Number(row['bytes']));
    }
    // If more expire in the same millisecond than are read, the next ones follow the next time.
    const lastMs = Number(rows.at(-1)?.['expires_at_ms'] ?? shrunkUntilMs);
    kept.shrunkUntilMs = lastMs === shrunkUntilMs ? lastMs + 1 : lastMs;
    unit.onRollback(() => {
      kept.shrunkUntilMs = shrunkUntilMs;
    });
  }

  #change(accountId: string, count: number, bytes: number): void {
    const kept = this.#of(accountId);
    kept.count += count;
    kept.bytes += bytes;
    this.#store.unit.onRollback(() => {
      kept.count -= count;
      kept.bytes -= bytes;
    });
  }

  #of(accountId: string): Kept {
    let kept = this.#kept.get(accountId);
    if (!kept) this.#kept.set(accountId, (kept = { count: 0, bytes: 0, shrunkUntilMs: 0 }));
    return kept;
  }
}
