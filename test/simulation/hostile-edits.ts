/**
 * Somebody who may write Accounts, and read no Secret, wants a key: ours, or the one that the process has in its environment.
 *
 *     as meant ── no Secret, or another address, or both ──> edited ── at once, or later ──> deleted, or not ──> put back by its owner
 *
 * An Account that is put back has another uid in a cluster.
 */
import { SeededRandom } from '../support/seeded-random.ts';
import { annotations } from '../../src/resources/index.ts';
import type { DocumentStore } from './place.ts';
import { ourAddress } from './plane.ts';
import type { Scheduler } from './scheduler.ts';
import type { Users } from './users.ts';

/** Where the key of nobody may be seen. */
const tenantsAddress = 'https://tenant.example';

/** Together they are shorter than activities are fresh: heartbeats have to go on all along, with the key that is known. */
const longestEditMs = 60_000;
const longestAbsenceMs = 60_000;

const edits: readonly object[] = [
  { credentialsSecretRef: undefined },
  { url: tenantsAddress },
  { url: tenantsAddress, credentialsSecretRef: undefined },
];

export class HostileEdits {
  readonly #users: Users;
  readonly #documentStore: DocumentStore;
  readonly #scheduler: Scheduler;
  #isOver = false;
  #isUnderWay = false;

  constructor(users: Users, documentStore: DocumentStore, scheduler: Scheduler) {
    this.#users = users;
    this.#documentStore = documentStore;
    this.#scheduler = scheduler;
  }

  act(seed: number): void {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    const random = new SeededRandom(seed);
    this.#users.editAccount(random.pick(edits));
    const editMs = random.chance(0.3) ? 0 : random.between(0, longestEditMs);
    const isDeleted = random.chance(0.7);
    const absenceMs = random.between(100, longestAbsenceMs);
    this.#later(editMs, () => {
      if (isDeleted) this.#documentStore.discard('account');
      this.#documentStore.publish();
      this.#later(isDeleted ? absenceMs : 0, () => this.#putBack());
    });
  }

  /** The owner of the Account puts it right, whatever it is now. */
  end(): void {
    this.#isOver = true;
  }

  #putBack(): void {
    this.#isUnderWay = false;
    // The key may have been used first with what somebody else had written there.
    this.#users.editAccount({}, { [annotations.acceptOrigin]: ourAddress });
  }

  #later(delayMs: number, then: () => void): void {
    this.#scheduler.after(delayMs, () => {
      if (!this.#isOver) then();
    });
  }
}
