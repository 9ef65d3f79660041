/**
 * Tasks that protect a service (§4 rule 6, §6 rule 2). A record is registered by its first request, kept
 * fresh by each further one, and becomes stale when none comes for 300 s of real time. Stale records still
 * protect and are still listed: only a release ends the protection. A released id stays released, so that a
 * late heartbeat can't protect the service again for ever.
 */
import {
  activitiesPerAccount,
  activitiesPerService,
  activityExpirySeconds,
  heartbeatSeconds,
} from './config.ts';
import type { Clock } from '../../base/clock.ts';
import { conflict } from './errors.ts';
import type { Store } from '../store/store.ts';

const leastActivities = 10;

export interface Task {
  readonly id: string;
  readonly name: string;
  readonly release: boolean;
}

/** As the API answers it. */
interface ListedActivity {
  readonly id: string;
  readonly name: string;
  readonly released: false;
  readonly fresh: boolean;
  readonly registeredAt: number;
  readonly lastHeartbeatAt: number;
  readonly heartbeatSeconds: number;
  readonly expiresInSeconds: number;
}

export class Activities {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Returns what changed: a heartbeat, and a repeated release, change nothing visible. */
  record(serviceId: string, task: Task): 'registered' | 'released' | 'unchanged' {
    const id = task.id.toLowerCase();
    const { database } = this.#store;
    const row = database.get(
      'SELECT released_at_ms FROM activities WHERE service_id = $serviceId AND id = $id',
      { serviceId, id },
    );
    const wasReleased = row !== undefined && row['released_at_ms'] !== null;
    if (wasReleased && !task.release) {
      throw conflict('activity_released', `activity ${id} was released; a new task needs a new id`);
    }
    if (wasReleased) return 'unchanged';
    if (!row) this.#requireRoom(serviceId);
    const nowMs = this.#clock.wallMs();
    database.run(
      `INSERT INTO activities (service_id, id, name, registered_at_ms, last_beat_at_ms, released_at_ms)
       VALUES ($serviceId, $id, $name, $nowMs, $nowMs, $releasedAtMs)
       ON CONFLICT (service_id, id) DO UPDATE SET
         name = excluded.name, last_beat_at_ms = excluded.last_beat_at_ms, released_at_ms = excluded.released_at_ms`,
      { serviceId, id, name: task.name, nowMs, releasedAtMs: task.release ? nowMs : null },
    );
    if (task.release) {
      this.#forgetOldReleases(serviceId);
      return 'released';
    }
    return row ? 'unchanged' : 'registered';
  }

  /** Whether any task, fresh or stale, is unreleased. */
  protect(serviceId: string): boolean {
    return (
      this.#store.database.get(
        'SELECT 1 FROM activities WHERE service_id = $serviceId AND released_at_ms IS NULL LIMIT 1',
        { serviceId },
      ) !== undefined
    );
  }

  /** The unreleased ones, oldest first. */
  list(serviceId: string): ListedActivity[] {
    const staleBeforeMs = this.#clock.wallMs() - activityExpirySeconds * 1000;
    return this.#store.database
      .all(
        `SELECT id, name, registered_at_ms, last_beat_at_ms FROM activities
         WHERE service_id = $serviceId AND released_at_ms IS NULL ORDER BY registered_at_ms, id`,
        { serviceId },
      )
      .map((row) => ({
        id: String(row['id']),
        name: String(row['name']),
        released: false,
        fresh: Number(row['last_beat_at_ms']) > staleBeforeMs,
        registeredAt: Number(row['registered_at_ms']),
        lastHeartbeatAt: Number(row['last_beat_at_ms']),
        heartbeatSeconds,
        expiresInSeconds: activityExpirySeconds,
      }));
  }

  #requireRoom(serviceId: string): void {
    const row = this.#store.database.get(
      'SELECT count(*) AS n FROM activities WHERE service_id = $serviceId AND released_at_ms IS NULL',
      { serviceId },
    );
    const most = this.#mostOf(serviceId);
    if (Number(row?.['n']) < most) return;
    throw conflict(
      'limit_reached',
      `a service of this account has at most ${most} unreleased activities; release some first`,
    );
  }

  /** Fewer where the account has many services. */
  #mostOf(serviceId: string): number {
    const share = activitiesPerAccount / Math.max(1, this.#store.services.siblings(serviceId));
    return Math.floor(Math.min(activitiesPerService, Math.max(leastActivities, share)));
  }

  #forgetOldReleases(serviceId: string): void {
    this.#store.database.run(
      `DELETE FROM activities WHERE service_id = $serviceId AND id IN (
         SELECT id FROM activities WHERE service_id = $serviceId AND released_at_ms IS NOT NULL
         ORDER BY released_at_ms DESC LIMIT -1 OFFSET $most)`,
      { serviceId, most: this.#mostOf(serviceId) },
    );
  }
}
