/**
 * What happened to a service, and who asked for it (§6): a bounded log per service, newest first. Where an account has
 * many services, each keeps less.
 */
import type { Clock } from '../../base/clock.ts';
import { eventsKeptPerAccount, eventsKeptPerService, eventsPerRead } from './config.ts';
import type { Store } from '../store/store.ts';

/** The oldest are removed in batches: a deletion costs as much for fifty as for one. */
const trimEvery = 50;
const leastKept = 20;

export class EventLog {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  add(serviceId: string, message: string): void {
    const { database } = this.#store;
    const row = database.get('SELECT max(n) AS n FROM events WHERE service_id = $serviceId', { serviceId });
    const n = Number(row?.['n'] ?? 0) + 1;
    database.run(
      `INSERT INTO events (service_id, n, message, created_at_ms)
       VALUES ($serviceId, $n, $message, $createdAtMs)`,
      { serviceId, n, message, createdAtMs: this.#clock.wallMs() },
    );
    if (n < leastKept) return;
    const kept = this.#keptOf(serviceId);
    if (n % Math.min(trimEvery, kept) !== 0) return;
    database.run('DELETE FROM events WHERE service_id = $serviceId AND n <= $oldest', {
      serviceId,
      oldest: n - kept,
    });
  }

  #keptOf(serviceId: string): number {
    const { services } = this.#store;
    const share = eventsKeptPerAccount / Math.max(1, services.siblings(serviceId));
    return Math.floor(Math.min(eventsKeptPerService, Math.max(leastKept, share)));
  }

  latest(serviceId: string): { message: string; createdAtMs: number } | undefined {
    const row = this.#store.database.get(
      'SELECT message, created_at_ms FROM events WHERE service_id = $serviceId ORDER BY n DESC LIMIT 1',
      { serviceId },
    );
    return row && { message: String(row['message']), createdAtMs: Number(row['created_at_ms']) };
  }

  /** As the API answers them. */
  newest(serviceId: string): { message: string; created_at: number }[] {
    return this.#store.database
      .all(
        `SELECT message, created_at_ms AS created_at FROM events
         WHERE service_id = $serviceId ORDER BY n DESC LIMIT ${eventsPerRead}`,
        { serviceId },
      )
      .map((row) => ({ message: String(row['message']), created_at: Number(row['created_at']) }));
  }
}
