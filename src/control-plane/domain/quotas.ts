/**
 * What one account may have. Quotas come from the configuration (`quota`), and for an account from the accounts file.
 * What exists beyond a quota stays; only what would add to it is refused with 409 `limit_reached`.
 *
 * CPU and memory are counted while they are held, storage as it was asked for. Stored bytes are those of all records and
 * environments, which mirror what the server holds in memory and on the disk.
 */
import type { ServiceResources } from '../../api/wire.ts';
import { conflict } from './errors.ts';
import { takesCompute, takesTheSame, type AccountRecord, type ServiceRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';

export interface Quota {
  readonly services: number;
  readonly gpus: number;
  readonly cpu: number;
  readonly memoryGb: number;
  readonly storageGb: number;
  readonly storedBytes: number;
  /** Answers that are kept for replay, and the bytes of their bodies. */
  readonly keptAnswers: number;
  readonly keptAnswerBytes: number;
}

interface Held {
  gpus: number;
  cpu: number;
  memoryGb: number;
}

const nothing: Readonly<Held> = { gpus: 0, cpu: 0, memoryGb: 0 };

export class Quotas {
  readonly #store: Store;
  readonly #quotaOf: (accountName: string) => Quota;
  readonly #held = new Map<string, Held>();

  constructor(store: Store, quotaOf: (accountName: string) => Quota) {
    this.#store = store;
    this.#quotaOf = quotaOf;
    for (const service of store.services.all()) this.#count(service, 1);
    store.services.observe((before, after) => {
      this.#move(before, after);
      store.unit.onRollback(() => this.#move(after, before));
    });
  }

  of(accountId: string): Quota {
    return this.#quotaOf(this.#store.accounts.get(accountId)?.name ?? '');
  }

  /** What the account has of what it may have. */
  usage(accountId: string): { resource: keyof Quota; used: number; limit: number }[] {
    const quota = this.of(accountId);
    const held = this.#held.get(accountId) ?? nothing;
    let storageGb = 0;
    for (const { requestedSizeGb } of this.#store.volumes.of(accountId)) storageGb += requestedSizeGb;
    const used = {
      services: this.#store.services.count(accountId),
      ...held,
      storageGb,
      storedBytes: this.#store.bytes.of(accountId),
    };
    return (['services', 'gpus', 'cpu', 'memoryGb', 'storageGb', 'storedBytes'] as const).map((resource) => ({
      resource,
      used: used[resource],
      limit: quota[resource],
    }));
  }

  requireService({ id }: AccountRecord): void {
    const { services } = this.of(id);
    if (this.#store.services.count(id) >= services) throw exceeded('services', services);
  }

  /** For a launch with these resources; what `instead` holds now is given back by it. */
  requireCompute(accountId: string, resources: ServiceResources, instead?: ServiceRecord): void {
    const quota = this.of(accountId);
    const held = this.#held.get(accountId) ?? nothing;
    const back = instead && takesCompute(instead) ? instead.resources : undefined;
    const wanted = {
      gpus: held.gpus + resources.gpuCount - (back?.gpuCount ?? 0),
      cpu: held.cpu + resources.cpu - (back?.cpu ?? 0),
      memoryGb: held.memoryGb + resources.memoryGb - (back?.memoryGb ?? 0),
    };
    for (const field of ['gpus', 'cpu', 'memoryGb'] as const) {
      // Sums of fractions are not exact.
      const isMore = wanted[field] > held[field];
      if (isMore && wanted[field] > quota[field] + 1e-6) throw exceeded(unitOf[field], quota[field]);
    }
  }

  requireStorage({ id }: AccountRecord, moreGb: number): void {
    const { storageGb } = this.of(id);
    let sumGb = moreGb;
    for (const { requestedSizeGb } of this.#store.volumes.of(id)) sumGb += requestedSizeGb;
    if (sumGb > storageGb) throw exceeded('GB of storage', storageGb);
  }

  /** Does `work` in the running transaction, and throws when the account then has more stored than it may. */
  within<Result>({ id }: AccountRecord, work: () => Result): Result {
    const before = this.#store.bytes.of(id);
    const result = work();
    const after = this.#store.bytes.of(id);
    const { storedBytes } = this.of(id);
    if (after > before && after > storedBytes) throw exceeded('bytes of records', storedBytes);
    return result;
  }

  #move(before: ServiceRecord | undefined, after: ServiceRecord | undefined): void {
    if (before && after && takesTheSame(before, after)) return;
    if (before) this.#count(before, -1);
    if (after) this.#count(after, 1);
  }

  #count(service: ServiceRecord, sign: 1 | -1): void {
    if (!takesCompute(service)) return;
    let held = this.#held.get(service.accountId);
    if (!held) this.#held.set(service.accountId, (held = { ...nothing }));
    held.gpus += sign * service.resources.gpuCount;
    held.cpu += sign * service.resources.cpu;
    held.memoryGb += sign * service.resources.memoryGb;
  }
}

const unitOf = { gpus: 'GPUs', cpu: 'CPUs', memoryGb: 'GB of memory' } as const;

function exceeded(what: string, most: number): Error {
  return conflict(
    'limit_reached',
    `this account may have at most ${most} ${what}; give something back first, or ask for a larger quota`,
  );
}
