/** What the passes of Accounts and ProtectedTasks share: nothing at the provider is changed by a plan of theirs. */
import { invariant } from '../base/index.ts';
import type { Target } from '../execute/index.ts';
import type { Observation } from '../plan/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import { notObserved, type KindOptions } from './kind-pass.ts';

export abstract class LocalPass {
  protected readonly key: ObjectKey;
  protected readonly options: KindOptions;

  constructor(key: ObjectKey, options: KindOptions) {
    this.key = key;
    this.options = options;
  }

  record(): ObjectRecord {
    const record = this.options.store.record(this.key);
    invariant(record, `no record of ${this.key} in its pass`);
    return record;
  }

  isGivenUp(): boolean {
    return false;
  }

  observation(): Observation<never> {
    return notObserved;
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
}
