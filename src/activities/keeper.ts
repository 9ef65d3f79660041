/**
 * Keeps all activity registrations. A pass of an object requests its registration again and again, and is notified
 * when something about it changes. Stopping releases nothing: records become stale, still protect, and the next
 * process takes them over with the same ids.
 */
import type { Clock, Random } from '../base/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { AccountBeats, type Lease } from './beats.ts';
import type { LeaseRequest, LeaseState } from './lease.ts';

export interface KeeperOptions<Key> {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Whether this process may change anything; without it, always. */
  readonly mayAct?: (() => boolean) | undefined;
  /** Whether it may keep fresh what it has registered, although it may change nothing; without it, never. */
  readonly mayBeat?: (() => boolean) | undefined;
  /** The phase of a lease, or whether it fails, has changed. */
  readonly onChange: (key: Key) => void;
}

export class Keeper<Key extends string> {
  readonly #options: KeeperOptions<Key>;
  readonly #leases = new Map<Key, { lease: Lease; beats: AccountBeats }>();
  readonly #accounts = new Map<string, AccountBeats>();

  constructor(options: KeeperOptions<Key>) {
    this.#options = options;
  }

  /** Maintains the registration from now on, and returns its state. */
  keep(key: Key, request: LeaseRequest): LeaseState {
    const known = this.#leases.get(key);
    const same =
      known?.lease.request.account === request.account &&
      known.lease.request.serviceId === request.serviceId &&
      known.lease.request.activityId === request.activityId;
    if (!known || !same) {
      this.drop(key);
      const beats = this.#beatsOf(request.account);
      const lease = beats.add(request, () => this.#options.onChange(key));
      this.#leases.set(key, { lease, beats });
      return beats.stateOf(lease);
    }
    known.beats.change(known.lease, request);
    return known.beats.stateOf(known.lease);
  }

  /** Nothing is sent for it any more; what was registered stays registered. */
  drop(key: Key): void {
    const known = this.#leases.get(key);
    if (!known) return;
    this.#leases.delete(key);
    known.beats.remove(known.lease);
  }

  /** Whether there is a lease in that account. */
  holds(account: string): boolean {
    return [...this.#leases.values()].some(({ lease }) => lease.request.account === account);
  }

  /** Sets the gauges of leases. */
  tell(): void {
    const { metrics } = this.#options;
    metrics.leases.reset();
    metrics.leaseExpirySeconds.reset();
    for (const beats of this.#accounts.values()) beats.tell();
  }

  /** Sends nothing any more; resolves when what was sent has been answered. */
  async stop(): Promise<void> {
    await Promise.all([...this.#accounts.values()].map((beats) => beats.stop()));
    this.#leases.clear();
  }

  #beatsOf(account: string): AccountBeats {
    let beats = this.#accounts.get(account);
    if (!beats) {
      beats = new AccountBeats(account, this.#options);
      this.#accounts.set(account, beats);
    }
    return beats;
  }
}
