/**
 * Money. Every account has a running meter: the hourly cost of all its charged things, and what has accrued since the
 * last entry, exact to the 3,600,000th of a micro-USD. Whenever a price is added or removed, the meter is updated
 * first, in the same transaction. Once per charge interval the accrued whole micro-USD become a ledger entry and
 * leave the balance; entries are never changed.
 *
 * A reader sees the exact balance: what has accrued since is shown as one more entry at the top, the next one to be
 * written, so that the entries always sum to the balance. A charge names the most expensive thing in it.
 */
import type { Clock } from '../../base/clock.ts';
import { invariant } from '../../base/invariant.ts';
import { limits } from '../../api/wire.ts';
import type { PlatformClock } from './platform-clock.ts';
import { serviceCharge, volumeCharge, type AccountRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { TextCache } from './text-cache.ts';

const msPerHour = 3_600_000n;
const namesShown = 3;
const nameLength = 40;

interface Named {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
}

interface Costly {
  readonly kind: 'compute' | 'storage';
  readonly name: string;
  readonly hourlyMicros: number;
}

export interface LedgerEntry {
  readonly number: number | null;
  readonly amountMicros: number;
  readonly description: string;
  readonly createdAtMs: number;
}

export class Ledger {
  readonly #store: Store;
  readonly #platform: PlatformClock;
  readonly #clock: Clock;
  readonly #texts = new TextCache();
  readonly #descriptions = new Map<string, { readonly version: string; readonly text: string }>();
  /** What has cost anything since the last charge, by account and id. */
  readonly #costly = new Map<string, Map<string, Costly>>();

  constructor(store: Store, platform: PlatformClock, clock: Clock) {
    this.#store = store;
    this.#platform = platform;
    this.#clock = clock;
    store.services.observe((before, after) => {
      const hourlyMicros = Math.max(serviceCharge(before), serviceCharge(after));
      this.#note('compute', after ?? before, hourlyMicros);
      this.#reprice((after ?? before)?.accountId, serviceCharge(after) - serviceCharge(before));
    });
    store.volumes.observe((before, after) => {
      const hourlyMicros = Math.max(volumeCharge(before), volumeCharge(after));
      this.#note('storage', after ?? before, hourlyMicros);
      this.#reprice((after ?? before)?.accountId, volumeCharge(after) - volumeCharge(before));
    });
  }

  /** The balance at this moment. */
  balanceMicros(account: AccountRecord): number {
    return account.balanceMicros - this.#accrued(account).accruedMicros;
  }

  /** Books `amountMicros` (positive: to the account's credit). */
  book(account: AccountRecord, amountMicros: number, description: string): AccountRecord {
    const n = account.ledgerCount + 1;
    this.#store.database.run(
      `INSERT INTO ledger (account_id, n, amount_micros, description, created_at_ms)
       VALUES ($accountId, $n, $amountMicros, $description, $createdAtMs)`,
      { accountId: account.id, n, amountMicros, description, createdAtMs: this.#clock.wallMs() },
    );
    return this.#store.accounts.put({
      ...account,
      ledgerCount: n,
      balanceMicros: account.balanceMicros + amountMicros,
    });
  }

  /** Turns what has accrued into an entry. */
  charge(account: AccountRecord): AccountRecord {
    if (account.hourlyMicros === 0 && account.accruedMicros === 0) return account;
    const accrued = { ...account, ...this.#accrued(account) };
    if (accrued.accruedMicros === 0) return this.#store.accounts.put(accrued);
    const description = this.#descriptionOf(account);
    this.#costly.delete(account.id);
    return this.book({ ...accrued, accruedMicros: 0 }, -accrued.accruedMicros, description);
  }

  /**
   * Balance and newest entries (at most 100, newest first) of one moment; the first entry is the open one if
   * anything has accrued. The entries are JSON, with commas between them, in parts that are to be copied at once.
   */
  read(account: AccountRecord): { balanceMicros: number; entries: Buffer[] } {
    const openMicros = this.#accrued(account).accruedMicros;
    const balanceMicros = account.balanceMicros - openMicros;
    if (openMicros === 0) {
      return { balanceMicros, entries: [this.#newest(account, limits.ledgerEntries).subarray(1)] };
    }
    const n = account.ledgerCount + 1;
    const open = entryJson(n, -openMicros, this.#descriptionOf(account), this.#clock.wallMs());
    return { balanceMicros, entries: [Buffer.from(open), this.#newest(account, limits.ledgerEntries - 1)] };
  }

  /**
   * At most `limit` entries behind the `offset` newest, newest first. What has accrued is the newest of all, without a number: it is not
   * written yet.
   */
  page(account: AccountRecord, offset: number, limit: number): { total: number; entries: LedgerEntry[] } {
    const { accruedMicros } = this.#accrued(account);
    const open: LedgerEntry[] =
      accruedMicros === 0
        ? []
        : [
            {
              number: null,
              amountMicros: -accruedMicros,
              description: this.#descriptionOf(account),
              createdAtMs: this.#clock.wallMs(),
            },
          ];
    const ahead = open.slice(offset, offset + limit);
    const written = this.#store.database
      .all(
        `SELECT n, amount_micros, description, created_at_ms FROM ledger
         WHERE account_id = $id AND n <= $newest ORDER BY n DESC LIMIT $count`,
        {
          id: account.id,
          newest: account.ledgerCount - Math.max(0, offset - open.length),
          count: limit - ahead.length,
        },
      )
      .map((row) => ({
        number: Number(row['n']),
        amountMicros: Number(row['amount_micros']),
        description: String(row['description']),
        createdAtMs: Number(row['created_at_ms']),
      }));
    return { total: account.ledgerCount + open.length, entries: [...ahead, ...written] };
  }

  /** Found out once for each state of the account: every read asks for it. */
  #descriptionOf({ id, ledgerCount }: AccountRecord): string {
    const { services, volumes } = this.#store;
    const version = `${services.version(id)}/${volumes.version(id)}/${ledgerCount}`;
    const kept = this.#descriptions.get(id);
    if (kept?.version === version) return kept.text;
    const text = this.#describe(id);
    this.#descriptions.set(id, { version, text });
    return text;
  }

  /** The dearest by name, and how many others. */
  #describe(accountId: string): string {
    const costly = [...this.#costlyOf(accountId).values()].sort(
      (left, right) => right.hourlyMicros - left.hourlyMicros,
    );
    const parts = (['compute', 'storage'] as const).flatMap((kind) => {
      const names = costly.filter((one) => one.kind === kind).map(({ name }) => name);
      if (names.length === 0) return [];
      const more = names.length > namesShown ? ` and ${names.length - namesShown} more` : '';
      return [`${kind} of ${names.slice(0, namesShown).join(', ')}${more}`];
    });
    return parts.join('; ') || 'compute and storage';
  }

  /** Made from the records when it is first asked for, and kept up to date from then on until the next charge. */
  #costlyOf(accountId: string): Map<string, Costly> {
    let costly = this.#costly.get(accountId);
    if (costly) return costly;
    this.#costly.set(accountId, (costly = new Map()));
    for (const one of this.#store.services.of(accountId)) this.#note('compute', one, serviceCharge(one));
    for (const one of this.#store.volumes.of(accountId)) this.#note('storage', one, volumeCharge(one));
    return costly;
  }

  #note(kind: Costly['kind'], record: Named | undefined, hourlyMicros: number): void {
    if (!record || hourlyMicros === 0) return;
    const { id, accountId } = record;
    const name =
      record.name.length > nameLength ? `${record.name.slice(0, nameLength)}…`.toWellFormed() : record.name;
    this.#costlyOf(accountId).set(id, { kind, name, hourlyMicros });
  }

  /** Written entries, newest first, each with a comma before it. */
  #newest({ id, ledgerCount }: AccountRecord, count: number): Buffer {
    const version = ledgerCount * limits.ledgerEntries + count;
    return this.#texts.bytesOf(id, version, () =>
      this.#store.database
        .all(
          `SELECT n, amount_micros, description, created_at_ms FROM ledger
           WHERE account_id = $id ORDER BY n DESC LIMIT $count`,
          { id, count },
        )
        .map(
          (row) => `,${entryJson(row['n'], row['amount_micros'], row['description'], row['created_at_ms'])}`,
        )
        .join(''),
    );
  }

  #reprice(accountId: string | undefined, differenceMicros: number): void {
    if (differenceMicros === 0 || accountId === undefined) return;
    const account = this.#store.accounts.get(accountId);
    invariant(account, `there is no account ${accountId} to charge`);
    this.#store.accounts.put({
      ...account,
      ...this.#accrued(account),
      hourlyMicros: account.hourlyMicros + differenceMicros,
    });
  }

  #accrued(account: AccountRecord) {
    const nowMs = Math.max(this.#platform.nowMs(), account.accruedAtMs);
    const total =
      BigInt(account.hourlyMicros) * BigInt(nowMs - account.accruedAtMs) + BigInt(account.accruedRemainder);
    return {
      accruedMicros: account.accruedMicros + Number(total / msPerHour),
      accruedRemainder: Number(total % msPerHour),
      accruedAtMs: nowMs,
    };
  }
}

function entryJson(n: unknown, amountMicros: unknown, description: unknown, createdAt: unknown): string {
  return JSON.stringify({ id: String(n), amountMicros: Number(amountMicros), description, createdAt });
}
