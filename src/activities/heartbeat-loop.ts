/**
 * Keeps all activity registrations. A pass of an object requests its registration again and again, and is notified
 * when something about it changes. Stopping releases nothing: records become stale, still protect, and the next
 * process takes them over with the same ids.
 */
import type { Clock, Random } from '../base/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { AccountHeartbeats } from './account-heartbeats.ts';
import {
  evidenceIn,
  type Registration,
  type RegistrationRequest,
  type RegistrationState,
} from './registration.ts';

export interface HeartbeatLoopOptions<Key> {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** How long a request with an unknown outcome may still take effect. */
  readonly settleMs: number;
  /** Whether this process may change anything; without it, always. */
  readonly mayAct?: (() => boolean) | undefined;
  /** Whether it may keep fresh what it has registered, although it may change nothing; without it, never. */
  readonly maySendHeartbeats?: (() => boolean) | undefined;
  /** The phase of a registration, or whether it fails, has changed. */
  readonly onChange: (key: Key) => void;
}

export class HeartbeatLoop<Key extends string> {
  readonly #options: HeartbeatLoopOptions<Key>;
  readonly #registrations = new Map<Key, { registration: Registration; heartbeats: AccountHeartbeats }>();
  readonly #accounts = new Map<string, AccountHeartbeats>();
  /** By the id of the service. */
  readonly #keysOf = new Map<string, Set<Key>>();
  /** Those that were to be released. A release that was sent is acknowledged even if nobody waits for it any more. */
  readonly #dropped = new Map<Key, Registration>();

  constructor(options: HeartbeatLoopOptions<Key>) {
    this.#options = options;
  }

  /** Maintains the registration from now on, and returns its state. */
  keep(key: Key, request: RegistrationRequest): RegistrationState {
    const known = this.#registrations.get(key);
    const same =
      known?.registration.request.account === request.account &&
      known.registration.request.serviceId === request.serviceId &&
      known.registration.request.activityId === request.activityId;
    if (!known || !same) {
      this.drop(key);
      const heartbeats = this.#heartbeatsOf(request.account);
      const isReleased = this.#wasReleased(key, request);
      const registration = heartbeats.add(request, () => this.#options.onChange(key), isReleased);
      this.#registrations.set(key, { registration, heartbeats });
      const { serviceId } = request;
      this.#keysOf.set(serviceId, (this.#keysOf.get(serviceId) ?? new Set()).add(key));
      return heartbeats.stateOf(registration);
    }
    known.heartbeats.change(known.registration, request);
    return known.heartbeats.stateOf(known.registration);
  }

  /** Nothing is sent for it any more; what was registered stays registered, and what was released stays released. */
  drop(key: Key): void {
    const known = this.#registrations.get(key);
    if (!known) return;
    this.#registrations.delete(key);
    known.heartbeats.remove(known.registration);
    const { serviceId, wanted } = known.registration.request;
    const keys = this.#keysOf.get(serviceId);
    keys?.delete(key);
    if (keys?.size === 0) this.#keysOf.delete(serviceId);
    if (wanted === 'released') this.#dropped.set(key, known.registration);
  }

  /** As `drop`, and the caller knows by itself what was released. */
  forget(key: Key): void {
    this.drop(key);
    this.#dropped.delete(key);
  }

  /** See `ActivityRegistrations` (engine/). */
  evidenceOf(serviceId: string, sinceMs: number): 'accepted' | 'gone' | 'awaited' | undefined {
    const held = [...(this.#keysOf.get(serviceId) ?? [])]
      .flatMap((key) => this.#registrations.get(key) ?? [])
      .filter(({ registration: { phase } }) => phase === 'held');
    const found = new Set(held.map(({ registration }) => evidenceIn(registration, sinceMs)));
    if (found.has('accepted')) return 'accepted';
    if (found.has('awaited')) {
      for (const { registration, heartbeats } of held) heartbeats.hurry(registration);
      return 'awaited';
    }
    return found.has('gone') ? 'gone' : undefined;
  }

  /** Whether something in that account needs requests: a registration, heartbeats, or its release. */
  needsRequests(account: string): boolean {
    return [...this.#registrations.values()].some(
      ({ registration: { request, phase } }) =>
        request.account === account && phase !== 'released' && phase !== 'spent',
    );
  }

  /** When the newest acknowledged heartbeat of each held registration was sent, in Unix milliseconds; of at most `most`. */
  heartbeatTimes(most: number): Record<string, number> | undefined {
    const { clock } = this.#options;
    const originMs = clock.wallMs() - clock.monotonicMs();
    const found = [...this.#registrations].flatMap(
      ([
        key,
        {
          registration: { phase, heartbeatAtMs },
        },
      ]) =>
        phase === 'held' && heartbeatAtMs !== undefined
          ? [[key, Math.round(originMs + heartbeatAtMs)] as const]
          : [],
    );
    return found.length === 0 ? undefined : Object.fromEntries(found.slice(0, most));
  }

  /** Sets the gauges of registrations. */
  setMetrics(): void {
    const { metrics } = this.#options;
    metrics.registrations.reset();
    metrics.registrationExpirySeconds.reset();
    for (const heartbeats of this.#accounts.values()) heartbeats.setMetrics();
  }

  /** Sends nothing any more; resolves when what was sent has been answered. */
  async stop(): Promise<void> {
    await Promise.all([...this.#accounts.values()].map((heartbeats) => heartbeats.stop()));
    this.#registrations.clear();
    this.#keysOf.clear();
  }

  #wasReleased(key: Key, { serviceId, activityId, wanted }: RegistrationRequest): boolean {
    const dropped = this.#dropped.get(key);
    this.#dropped.delete(key);
    const isSame = dropped?.request.serviceId === serviceId && dropped.request.activityId === activityId;
    if (!isSame) return false;
    return dropped.phase === 'released' || (wanted === 'held' && dropped.release !== 'open');
  }

  #heartbeatsOf(account: string): AccountHeartbeats {
    let heartbeats = this.#accounts.get(account);
    if (!heartbeats) {
      heartbeats = new AccountHeartbeats(account, this.#options);
      this.#accounts.set(account, heartbeats);
    }
    return heartbeats;
  }
}
