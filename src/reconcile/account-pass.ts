import { invariant } from '../base/index.ts';
import type { Target } from '../execute/index.ts';
import { holdFor, inSync, waitFor, type Observation, type Plan } from '../plan/index.ts';
import { parseObjectKey, type AccountSpec, type ObjectKey } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { StatusInputs } from '../status/index.ts';
import { notObserved, type KindOptions, type KindPass } from './kind-pass.ts';

/** An Account has nothing to be changed at the provider: its pass only tells how it is. */
export class AccountPass implements KindPass {
  readonly kind = 'Account';
  readonly #key: ObjectKey;
  readonly #options: KindOptions;

  constructor(key: ObjectKey, options: KindOptions) {
    this.#key = key;
    this.#options = options;
  }

  record(): ObjectRecord {
    const record = this.#options.store.record(this.#key);
    invariant(record, `no record of ${this.#key} in its pass`);
    return record;
  }

  account() {
    if (this.record().deletionRequestedAt !== undefined) return { handle: undefined, problem: undefined };
    const { namespace, name } = parseObjectKey(this.#key);
    const resolved = this.#options.accounts.resolve(namespace, name);
    if (resolved.kind === 'usable') return { handle: resolved.handle, problem: undefined };
    return { handle: undefined, problem: holdFor(resolved.reason, resolved.message, { path: ['spec'] }) };
  }

  released(): boolean {
    return this.record().deletionRequestedAt !== undefined;
  }

  async observe(): Promise<void> {
    // The informer has what there is to see.
  }

  observation(): Observation<never> {
    return notObserved;
  }

  plan(): Plan {
    const { handle } = this.account();
    if (!handle) return inSync();
    return handle.informer.current
      ? inSync()
      : waitFor('AwaitingObservation', 'the account has not been read yet');
  }

  async refresh(): Promise<undefined> {
    return undefined;
  }

  async readActivities(): Promise<undefined> {
    return undefined;
  }

  target(): Target {
    return {
      record: this.record(),
      revision: undefined,
      state: undefined,
      digests: {},
      restartToken: undefined,
    };
  }

  settledRecord(): Partial<ObjectRecord> {
    return {};
  }

  told(): Pick<StatusInputs, 'health' | 'observed' | 'revision' | 'reconcileAt'> {
    const { handle } = this.account();
    const snapshot = handle?.informer.current;
    const spec = this.record().manifest.spec as Partial<AccountSpec>;
    return {
      health: snapshot
        ? { ready: 'True', reason: 'Connected', message: '' }
        : { ready: 'False', reason: 'AwaitingObservation', message: 'the account has not been read yet' },
      observed: {
        url: spec.url,
        ...(snapshot
          ? { services: snapshot.services.size, volumes: snapshot.volumes.size, currency: snapshot.currency }
          : {}),
      },
      revision: undefined,
      reconcileAt: undefined,
    };
  }
}
