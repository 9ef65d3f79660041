/**
 * What the operator sees of all accounts: answers are made from the records in memory, for one window of a list at a time. Nothing here changes
 * anything. What a tenant has written is cut to a length that a page can show. Lists begin with what needs attention:
 *
 * | list     | order                                                                             |
 * |----------|-----------------------------------------------------------------------------------|
 * | accounts | suspended, without funds, then the most expensive first                           |
 * | services | failed, under way, running, sleeping, paused; within these, the newest first      |
 * | volumes  | failed, under way, ready; within these, the newest first                          |
 * | ledger   | the newest first                                                                  |
 * | faults   | as they were set: the first that matches hits                                     |
 */
import type { Clock } from '../../../base/clock.ts';
import type { Platform } from '../../domain/platform.ts';
import {
  serviceCharge,
  volumeCharge,
  type AccountRecord,
  type ServiceRecord,
  type VolumeRecord,
} from '../../store/records.ts';
import type { Fault as SetFault, Faults } from '../faults.ts';
import type {
  Account,
  AccountDetail,
  Fault,
  LedgerEntry,
  Service,
  ServiceDetail,
  Summary,
  Volume,
  Window,
} from './answers.ts';

export interface Range {
  readonly offset: number;
  readonly limit: number;
}

export interface ListQuery extends Range {
  /** Name of an account. */
  readonly account?: string | undefined;
  /** Of services their state, of volumes their status. */
  readonly state?: string | undefined;
  /** In lower case, in the name, the image or the id. */
  readonly searched?: string | undefined;
}

export interface OverviewParts {
  readonly platform: Platform;
  readonly faults: Faults;
  /** Another text for other files of the page. */
  readonly page: string | null;
}

/** So long one summary serves for all readers: it counts every record. */
const summaryMs = 1000;
const mostBounded = 200;
const mostActivities = 100;
/** Of each list of one account. */
const detailItems = 20;

export class Overview {
  readonly #platform: Platform;
  readonly #clock: Clock;
  readonly #faults: Faults;
  readonly #page: string | null;
  #summary: { readonly atMs: number; readonly summary: Summary } | undefined;

  constructor({ platform, faults, page }: OverviewParts) {
    this.#platform = platform;
    this.#clock = platform.clock;
    this.#faults = faults;
    this.#page = page;
  }

  summary(): Summary {
    const nowMs = this.#clock.monotonicMs();
    if (!this.#summary || nowMs - this.#summary.atMs >= summaryMs)
      this.#summary = { atMs: nowMs, summary: this.#count() };
    return this.#summary.summary;
  }

  #count(): Summary {
    const { store, ledger, capacity, time } = this.#platform;
    const accounts = [...store.accounts.all()];
    const bounded = capacity.bounded();
    const faults = this.#faults.list();
    return {
      page: this.#page,
      timeScale: time.during(1),
      accounts: {
        total: accounts.length,
        suspended: store.suspended.size,
        withoutFunds: accounts.filter((account) => ledger.balanceMicros(account) <= 0).length,
      },
      services: countedBy(store.services.all(), ({ state }) => state),
      volumes: countedBy(store.volumes.all(), ({ status }) => status),
      hourlyMicros: accounts.reduce((sum, { hourlyMicros }) => sum + hourlyMicros, 0),
      faults: { total: faults.length, hits: faults.reduce((sum, { hits }) => sum + hits, 0) },
      capacity: bounded.slice(0, mostBounded),
      capacityOmitted: Math.max(0, bounded.length - mostBounded),
    };
  }

  accounts({ searched, offset, limit }: ListQuery): Window<Account> {
    const { store, ledger } = this.#platform;
    const rank = (account: AccountRecord) =>
      store.suspended.has(account.id) ? 0 : ledger.balanceMicros(account) <= 0 ? 1 : 2;
    const ranked = Array.from(store.accounts.all(), (account) => ({ account, rank: rank(account) })).filter(
      ({ account }) => has(searched, account.name),
    );
    ranked.sort(
      (left, right) =>
        left.rank - right.rank ||
        right.account.hourlyMicros - left.account.hourlyMicros ||
        (left.account.name < right.account.name ? -1 : 1),
    );
    const items = ranked.slice(offset, offset + limit).map(({ account }) => this.#account(account));
    return { total: ranked.length, offset, items };
  }

  /** Undefined: there is none of that name. */
  account(name: string): AccountDetail | undefined {
    const record = this.#named(name);
    if (!record) return undefined;
    const query = { account: name, offset: 0, limit: detailItems };
    return {
      account: this.#account(record),
      quotas: this.#platform.quotas.usage(record.id),
      services: this.services(query),
      volumes: this.volumes(query),
      ledger: this.#ledgerOf(record, query),
    };
  }

  services({ account, state, searched, offset, limit }: ListQuery): Window<Service> {
    const { store } = this.#platform;
    const found = ordered(
      this.#recordsOf(store.services, account),
      ({ state: is }) => serviceRanks[is] ?? 0,
      [
        (each) => state === undefined || each.state === state,
        (each) => has(searched, each.name, each.image, each.id),
      ],
    );
    const items = found.slice(offset, offset + limit).map((each) => this.#service(each));
    return { total: found.length, offset, items };
  }

  /** Undefined: there is none with that id. */
  service(id: string): ServiceDetail | undefined {
    const { store, events, activities } = this.#platform;
    const record = store.services.get(id);
    if (!record) return undefined;
    return {
      service: this.#service(record),
      events: events.newest(id).map(({ message, created_at }) => ({
        at: timeOf(created_at),
        message: cut(message, lengths.message),
      })),
      activities: activities
        .list(id)
        .slice(0, mostActivities)
        .map(({ name, fresh, registeredAt, lastHeartbeatAt }) => ({
          name: cut(name, lengths.name),
          fresh,
          registeredAt: timeOf(registeredAt),
          lastHeartbeatAt: timeOf(lastHeartbeatAt),
        })),
    };
  }

  volumes({ account, state, searched, offset, limit }: ListQuery): Window<Volume> {
    const { store } = this.#platform;
    const found = ordered(this.#recordsOf(store.volumes, account), ({ status }) => volumeRanks[status] ?? 0, [
      (each) => state === undefined || each.status === state,
      (each) => has(searched, each.name, each.id),
    ]);
    const items = found.slice(offset, offset + limit).map((each) => this.#volume(each));
    return { total: found.length, offset, items };
  }

  /** Undefined: there is no account of that name. */
  ledger(name: string, range: Range): Window<LedgerEntry> | undefined {
    const record = this.#named(name);
    return record && this.#ledgerOf(record, range);
  }

  faults({ offset, limit }: Range): Window<Fault> {
    const all = this.#faults.list();
    return { total: all.length, offset, items: all.slice(offset, offset + limit).map(faultOf) };
  }

  #ledgerOf(record: AccountRecord, { offset, limit }: Range): Window<LedgerEntry> {
    const { total, entries } = this.#platform.ledger.page(record, offset, limit);
    const items = entries.map(({ number, createdAtMs, amountMicros, description }) => ({
      number,
      at: timeOf(createdAtMs),
      amountMicros,
      description: cut(description, lengths.message),
    }));
    return { total, offset, items };
  }

  #account(record: AccountRecord): Account {
    const { store, ledger, time } = this.#platform;
    const { id, name, hourlyMicros } = record;
    const balanceMicros = ledger.balanceMicros(record);
    const hours = Math.max(0, balanceMicros) / hourlyMicros / time.during(1);
    return {
      name,
      balanceMicros,
      hourlyMicros,
      runwaySeconds: hourlyMicros === 0 ? null : Math.floor(3600 * hours),
      services: store.services.count(id),
      volumes: store.volumes.count(id),
      storedBytes: store.bytes.of(id),
      suspended: store.suspended.has(id),
    };
  }

  #service(record: ServiceRecord): Service {
    const { events, activities } = this.#platform;
    const { id, state, region, geography, gpuModel, resources, hourlyMicros } = record;
    const latest = events.latest(id);
    return {
      id,
      account: this.#accountName(record.accountId),
      name: cut(record.name, lengths.name),
      state,
      doing: record.operation?.kind ?? null,
      region,
      geography,
      gpuModel,
      resources,
      image: cut(record.image, lengths.image),
      hourlyMicros,
      isCharged: serviceCharge(record) > 0,
      endpoint: record.endpoint === null ? null : cut(record.endpoint, lengths.image),
      error: record.error === null ? null : cut(record.error, lengths.message),
      isProtected: activities.protect(id),
      createdAt: timeOf(record.createdAtMs),
      latest: latest
        ? { at: timeOf(latest.createdAtMs), message: cut(latest.message, lengths.message) }
        : null,
    };
  }

  #volume(record: VolumeRecord): Volume {
    const { id, mode, status, sizeGb, requestedSizeGb, region, geography, serviceId } = record;
    const service = serviceId === null ? undefined : this.#platform.store.services.get(serviceId);
    return {
      id,
      account: this.#accountName(record.accountId),
      name: cut(record.name, lengths.name),
      mode,
      status,
      sizeGb,
      requestedSizeGb,
      region,
      geography,
      service: service ? cut(service.name, lengths.name) : null,
      hourlyMicros: volumeCharge(record),
      error: record.error === null ? null : cut(record.error, lengths.message),
      createdAt: timeOf(record.createdAtMs),
    };
  }

  #recordsOf<Item>(records: Records<Item>, account: string | undefined): Iterable<Item> {
    if (account === undefined) return records.all();
    const record = this.#named(account);
    return record ? records.of(record.id) : [];
  }

  #accountName(id: string): string {
    return this.#platform.store.accounts.get(id)?.name ?? '';
  }

  #named(name: string): AccountRecord | undefined {
    for (const account of this.#platform.store.accounts.all()) if (account.name === name) return account;
    return undefined;
  }
}

interface Records<Item> {
  all(): Iterable<Item>;
  of(accountId: string): Iterable<Item>;
}

const serviceRanks: Readonly<Record<ServiceRecord['state'], number>> = {
  error: 0,
  provisioning: 1,
  deleting: 2,
  running: 3,
  sleeping: 4,
  paused: 5,
};
const volumeRanks: Readonly<Record<VolumeRecord['status'], number>> = {
  error: 0,
  provisioning: 1,
  expanding: 2,
  deleting: 3,
  ready: 4,
};

/** By rank; within one, what came last first. It takes as long as there are records, and sorts none of them. */
function ordered<Item>(
  records: Iterable<Item>,
  rank: (record: Item) => number,
  filters: readonly ((record: Item) => boolean)[],
): Item[] {
  const byRank: Item[][] = [];
  for (const record of records) {
    if (!filters.every((filter) => filter(record))) continue;
    (byRank[rank(record)] ??= []).push(record);
  }
  return byRank.flatMap((group) => group.toReversed());
}

function has(searched: string | undefined, ...texts: readonly string[]): boolean {
  return searched === undefined || texts.some((text) => text.toLowerCase().includes(searched));
}

function countedBy<Item>(records: Iterable<Item>, of: (record: Item) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const record of records) counts[of(record)] = (counts[of(record)] ?? 0) + 1;
  return counts;
}

function faultOf(fault: SetFault & { readonly hits: number }): Fault {
  const answer = fault.fault === 'status' ? fault : undefined;
  return {
    fault: fault.fault,
    method: short(fault.method),
    path: short(fault.path),
    status: answer?.status ?? null,
    code: short(answer?.code),
    retryAfter: short(answer?.retryAfter),
    delayMs: fault.fault === 'delay' ? fault.delayMs : null,
    times: fault.times ?? null,
    every: fault.every ?? null,
    hits: fault.hits,
  };
}

const lengths = { name: 200, image: 300, message: 500 };

const short = (text: number | string | undefined) =>
  text === undefined ? null : cut(String(text), lengths.name);

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`.toWellFormed();
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
