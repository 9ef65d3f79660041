/**
 * What the database needs once a minute. Expired answers go, in steps that are short enough for requests to pass
 * between them. Then SQLite's log is emptied: what was erased from the database, such as a password, is still in it.
 */
import type { Clock } from '../base/clock.ts';
import type { Idempotency } from './http/idempotency.ts';
import { repeat } from './repeat.ts';
import type { Store } from './store/store.ts';

const intervalMs = 60_000;
const stepIntervalMs = 100;

/** Returns how to stop it. */
export function keepHouse(
  store: Store,
  idempotency: Idempotency,
  clock: Clock,
  onFailure: (error: unknown) => void,
): () => void {
  let hasMore = false;
  const wait = (run: () => void) => clock.after(hasMore ? stepIntervalMs : intervalMs, run);
  const work = () => {
    hasMore = false;
    hasMore = idempotency.purge();
    if (!hasMore) store.emptyLog();
  };
  return repeat(wait, work, onFailure);
}
