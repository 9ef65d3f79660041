/** What a killed server has left in its database file, read from a copy: the file itself stays as it is. */
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { requireThat } from './requests.ts';

/** R5, over all entries: an account read shows only the newest. */
export function checkBalances(file: string): void {
  const copy = `${file}.copy`;
  for (const suffix of ['', '-wal']) {
    if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix);
  }
  const database = new DatabaseSync(copy);
  try {
    const accounts = database
      .prepare(
        `SELECT json_extract(document, '$.name') AS name, json_extract(document, '$.balanceMicros') AS balance,
           (SELECT sum(amount_micros) FROM ledger WHERE account_id = id) AS total FROM accounts`,
      )
      .all();
    for (const { name, balance, total } of accounts) {
      requireThat(
        balance === total,
        () => `R5: the entries of ${String(name)} sum to ${String(total)}, and not to ${String(balance)}`,
      );
    }
  } finally {
    database.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(copy + suffix, { force: true });
  }
}
