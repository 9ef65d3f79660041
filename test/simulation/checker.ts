/** Shows everything that happens to every invariant. */
import type { Write } from './disk.ts';
import { referenceInvariants } from './invariants/reference.ts';
import { accountInvariants } from './invariants/account.ts';
import { deletionInvariants } from './invariants/deletion.ts';
import { mutationInvariants } from './invariants/mutations.ts';
import { recordInvariants } from './invariants/records.ts';
import type { Delivery, Exchange, Received, View, Watcher } from './watch.ts';

const invariants = [
  ...mutationInvariants,
  ...deletionInvariants,
  ...accountInvariants,
  ...recordInvariants,
  ...referenceInvariants,
];

export class Checker implements Required<Watcher> {
  readonly #watchers: readonly Watcher[];

  constructor(view: View) {
    this.#watchers = invariants.map((invariant) => invariant(view));
  }

  sent(exchange: Exchange): void {
    for (const watcher of this.#watchers) watcher.sent?.(exchange);
  }

  received(exchange: Exchange, answer: Received): void {
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
