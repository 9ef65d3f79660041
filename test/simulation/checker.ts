/** Shows everything that happens to every invariant. */
import { referenceInvariants } from './invariants/reference.ts';
import { accountInvariants, isHeartbeat, s16HeartbeatsOfOthers } from './invariants/account.ts';
import { capacityInvariants } from './invariants/capacity.ts';
import { fleetInvariants } from './invariants/fleets.ts';
import { deletionInvariants } from './invariants/deletion.ts';
import { mutationInvariants } from './invariants/mutations.ts';
import { neighbourInvariants } from './invariants/neighbours.ts';
import { recordInvariants } from './invariants/records.ts';
import { sheddingInvariants } from './invariants/shedding.ts';
import { thingInvariants } from './invariants/things.ts';
import type { Write } from './state.ts';
import type { Delivery, Exchange, Received, View, Watcher } from './watch.ts';

const invariants = [
  ...mutationInvariants,
  ...deletionInvariants,
  ...accountInvariants,
  ...recordInvariants,
  ...thingInvariants,
  ...neighbourInvariants,
  ...capacityInvariants,
  ...fleetInvariants,
  ...referenceInvariants,
  ...sheddingInvariants,
];

export class Checker implements Required<Watcher> {
  readonly #view: View;
  readonly #watchers: readonly Watcher[];
  /** Sees what those have sent, too, that do not lead. */
  readonly #everybody: Watcher;

  constructor(view: View) {
    this.#view = view;
    this.#everybody = s16HeartbeatsOfOthers(view);
    this.#watchers = invariants.map((invariant) => invariant(view));
  }

  /**
   * S9, across replicas: who does not lead changes nothing, but may keep activities fresh; what it reads says nothing of what the leader
   * does.
   */
  sent(exchange: Exchange): void {
    const { life, method, path } = exchange;
    this.#everybody.sent?.(exchange);
    if (method !== 'GET' && !isHeartbeat(exchange) && !this.#view.leads(life))
      this.#view.violated('S9', `${method} ${path} of manager ${life}, which does not lead`);
    if (this.#view.isOusted(life)) return;
    for (const watcher of this.#watchers) watcher.sent?.(exchange);
  }

  received(exchange: Exchange, answer: Received): void {
    this.#everybody.received?.(exchange, answer);
    if (exchange.method === 'GET' && this.#view.isOusted(exchange.life)) return;
    for (const watcher of this.#watchers) watcher.received?.(exchange, answer);
  }

  arriving(request: Omit<Delivery, 'reply'>): void {
    for (const watcher of this.#watchers) watcher.arriving?.(request);
  }

  delivered(delivery: Delivery): void {
    for (const watcher of this.#watchers) watcher.delivered?.(delivery);
  }

  durable(write: Write): void {
    for (const watcher of this.#watchers) watcher.durable?.(write);
  }

  started(life: number): void {
    for (const watcher of this.#watchers) watcher.started?.(life);
  }

  unled(): void {
    for (const watcher of this.#watchers) watcher.unled?.();
  }

  lost(): void {
    for (const watcher of this.#watchers) watcher.lost?.();
  }

  recovered(): void {
    for (const watcher of this.#watchers) watcher.recovered?.();
  }

  meddled(id: string): void {
    for (const watcher of this.#watchers) watcher.meddled?.(id);
  }

  finished(): void {
    for (const watcher of this.#watchers) watcher.finished?.();
  }
}
