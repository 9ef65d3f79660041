/**
 * What a budget knows of the objects that may be stopped for it, and of those that are. The rules are in plan/shedding.ts; the orders
 * are in the record of the budget, so they survive a restart. A service asks whether one is in force for it (`orderFor`), in each of
 * its passes, so what ends an order ends it at once, whatever the pass of the budget does.
 */
import { stopService } from '../../actions/index.ts';
import { parseRfc3339, type Clock } from '../../base/index.ts';
import {
  annotations,
  parseObjectKey,
  traitsOf,
  type ObjectKey,
  type ShedOrder,
  type StoredShedding,
} from '../../resources/index.ts';
import type { Intent, ObjectRecord, StateStore } from '../../state/index.ts';
import type { Accounts } from '../accounts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Kinds, ShedWay } from '../kind.ts';
import {
  priorityOf,
  protectedReason,
  sheddingLimits,
  type BudgetFigures,
  type SheddingInputs,
  type Claim,
  type ShedMember,
} from '../plan/index.ts';
import type { Budget } from './budget.ts';
import type { Part } from './budget-part.ts';
import { isAbout } from './budget-scope.ts';

export interface SheddingOptions {
  readonly store: StateStore;
  readonly fleet: Fleet;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly kinds: Kinds;
}

/** An order that is in force. */
export interface ShedFor extends ShedOrder {
  /** Its name. */
  readonly budget: string;
}

/** What all budgets have. */
export interface SheddingHost {
  /** Those of a namespace. */
  near(namespace: string): readonly Budget[];
  budgetsOf(record: ObjectRecord): readonly Budget[];
  partOf(key: ObjectKey): Part;
  /** What it would cost. 0: nobody knows. */
  costOf(record: ObjectRecord): bigint;
  wake(key: ObjectKey): void;
}

/** Services of one owner: what those cost that cost something, and how many exist. */
interface Owned {
  readonly burns: bigint[];
  readonly present: number;
}

/** Waits that keep a service from being stopped. */
const refusals: ReadonlySet<string> = new Set([protectedReason, 'OutsideWindow']);

/** Why it can't be stopped, as its own pass has found out. Of what owns replicas: once those drain that the order wants fewer. */
function refusalOf(
  { report }: ObjectRecord,
  { obstacle, staying }: ShedWay,
  order: ShedOrder | undefined,
): string | undefined {
  const reason = report?.pending?.reason;
  if (reason === undefined) return undefined;
  if (staying === undefined) return refusals.has(reason) ? (obstacle ?? reason) : undefined;
  const isBegun = order?.replicas !== undefined && staying <= order.replicas;
  return isBegun && reason === 'ReplicasProtected' ? 'its replicas that drain are protected' : undefined;
}

/** It may wait for a person, and nothing else is sent until then. One that is under way ends soon, and a stop is what is wanted. */
function unsettledText(intent: Intent | undefined): string | undefined {
  const isUnsettled = intent?.outcome === 'unknown' && intent.action !== stopService.name;
  return isUnsettled ? `the outcome of a request about it is not known (${intent.action})` : undefined;
}

/** What began before a longer time without a read begins anew: it may have ended meanwhile. */
function withoutUnobserved(stored: StoredShedding, { observedFrom }: Budget): StoredShedding {
  const seen = (since: number | undefined) =>
    since !== undefined && since >= observedFrom ? since : undefined;
  return { ...stored, exceededSince: seen(stored.exceededSince), roomSince: seen(stored.roomSince) };
}

export class Shedding {
  readonly #options: SheddingOptions;
  readonly #host: SheddingHost;
  /** By a time that was noted: how much of it had passed when it was first asked for, and the monotonic time of that. */
  readonly #ages = new Map<number, { readonly before: number; readonly atMs: number }>();

  constructor(options: SheddingOptions, host: SheddingHost) {
    this.#options = options;
    this.#host = host;
  }

  /** Whether the budget counts the object, or what it owns. */
  counts(budget: Budget, key: ObjectKey): boolean {
    const { store, fleet } = this.#options;
    const record = store.record(key);
    const { kind, namespace } = parseObjectKey(key);
    if (!record || namespace !== parseObjectKey(budget.key).namespace) return false;
    if (traitsOf(kind).asks) return this.#host.budgetsOf(record).includes(budget);
    const spec = fleet.specOf(record);
    const labels = spec && traitsOf(kind).labelsOfOwned?.(spec);
    return labels !== undefined && isAbout(budget.terms.scope, labels, fleet.accountOf(record)?.name);
  }

  /** The order that is in force for the object. The strictest of several. */
  orderFor(key: ObjectKey): ShedFor | undefined {
    let strictest: ShedFor | undefined;
    for (const budget of this.#host.near(parseObjectKey(key).namespace)) {
      if (!budget.orders.has(key)) continue;
      const order = this.#orderOf(budget, key);
      // It ends with the next pass of the budget.
      if (!order) this.#host.wake(budget.key);
      if (!order || (strictest && (order.replicas ?? 0) >= (strictest.replicas ?? 0))) continue;
      strictest = order;
    }
    return strictest;
  }

  /** It comes back before anything new has its room. In what order, the budget decides: it gives way to all else that existed before. */
  claim(budget: Budget, record: ObjectRecord): Claim | undefined {
    const { key } = record;
    const order = budget.orders.has(key) ? this.#orderOf(budget, key) : undefined;
    if (!order) return undefined;
    const known = this.#host.costOf(record);
    const each = known > 0n ? known : BigInt(order.micros);
    const missing = this.#missing(record, order);
    if (missing === 0) return undefined;
    const micros = each * BigInt(missing);
    return { key, isRepair: true, priority: -1, sinceMs: Number.NEGATIVE_INFINITY, micros };
  }

  /** How many replicas fewer than are wanted; of a service, itself. */
  #missing(record: ObjectRecord, { replicas }: ShedFor): number {
    if (replicas === undefined) return 1;
    return Math.max(0, (this.#wayOf(record)?.replicas?.wanted ?? 0) - replicas);
  }

  /** What owns replicas is no member of a budget, and has a claim in it all the same. */
  claimOwned(owner: ObjectKey): void {
    const { kind, namespace } = parseObjectKey(owner);
    if (!traitsOf(kind).labelsOfOwned) return;
    const record = this.#options.store.record(owner);
    for (const budget of this.#host.near(namespace)) {
      budget.shed.take(owner);
      const claim = record && this.claim(budget, record);
      if (claim) budget.shed.put(owner, claim);
    }
  }

  /** Of an owner of replicas, which was complete before: no more than its least number are to stay, so each of them is missed. */
  hasLeast(owner: ObjectKey): boolean {
    const { store } = this.#options;
    const record = store.record(owner);
    const { replicas, staying = 0 } = (record && this.#wayOf(record)) ?? {};
    const wasComplete = store.revisions(owner).some(({ outcome }) => outcome === 'Healthy');
    return replicas !== undefined && wasComplete && staying <= replicas.least;
  }

  /** If it may last. */
  #orderOf(budget: Budget, key: ObjectKey): ShedFor | undefined {
    const order = budget.orders.get(key);
    const record = order && this.#options.store.record(key);
    if (!record || budget.terms.mode !== 'Shed' || record.uid !== order.uid) return undefined;
    const way = this.counts(budget, key) ? this.#wayOf(record) : undefined;
    if (!way?.isWanted || this.#isFree(way)) return undefined;
    return { ...order, budget: parseObjectKey(budget.key).name };
  }

  /** `figures` undefined: nobody knows them now. */
  inputs(
    budget: Budget,
    figures: BudgetFigures | undefined,
    stored: StoredShedding | undefined,
  ): SheddingInputs {
    const { terms } = budget;
    const before = stored && withoutUnobserved(stored, budget);
    const isNeeded =
      (before?.orders.length ?? 0) > 0 ||
      before?.returning !== undefined ||
      (figures !== undefined && sheddingLimits(terms, figures).length > 0);
    return {
      terms,
      figures,
      before,
      members: isNeeded ? this.#members(budget, before) : new Map(),
      nowMs: this.#options.clock.wallMs(),
      elapsedMs: (since) => this.#elapsedMs(since),
    };
  }

  #members(budget: Budget, before: StoredShedding | undefined): ReadonlyMap<string, ShedMember> {
    const { store } = this.#options;
    const members = new Map<string, ShedMember>();
    const owned = new Map<ObjectKey, Owned>();
    const orders = new Map((before?.orders ?? []).map((order) => [order.object, order]));
    const asked = [...(before?.orders ?? []), ...(before?.returning ? [before.returning] : [])];
    for (const { object } of asked) {
      const key = object as ObjectKey;
      if (this.counts(budget, key) && !budget.members.has(key)) owned.set(key, { burns: [], present: 0 });
    }
    for (const key of budget.members) {
      const record = store.record(key);
      if (!record || !this.#kindOf(key).shed) continue;
      const { burn } = this.#host.partOf(key);
      const { owner } = record.derived ?? {};
      if (owner === undefined) {
        const member = this.#member(budget, record, orders.get(key), undefined);
        if (member) members.set(key, member);
      } else {
        const { burns, present } = owned.get(owner) ?? { burns: [], present: 0 };
        const isPresent = record.externalId !== undefined || burn > 0n;
        if (burn > 0n) burns.push(burn);
        owned.set(owner, { burns, present: present + Number(isPresent) });
      }
    }
    for (const [key, all] of owned) {
      const record = store.record(key);
      const member = record && this.#member(budget, record, orders.get(key), all);
      if (member) members.set(key, member);
    }
    return members;
  }

  #member(
    budget: Budget,
    record: ObjectRecord,
    order: ShedOrder | undefined,
    owned: Owned | undefined,
  ): ShedMember | undefined {
    const { key, uid, deletionRequestedAt } = record;
    const way =
      deletionRequestedAt === undefined && this.counts(budget, key) ? this.#wayOf(record) : undefined;
    if (!way || (owned !== undefined) !== (way.replicas !== undefined)) return undefined;
    const { burns, present } = owned ?? { burns: undefined, present: 0 };
    const { kind, name } = parseObjectKey(key);
    const intent = this.#options.store.openIntent(key);
    const now = burns?.length ?? 0;
    const total = (burns ?? []).reduce((sum, burn) => sum + burn, 0n);
    const replicas = way.replicas && { ...way.replicas, present, now };
    return {
      object: key,
      uid,
      text: `${kind} ${name}`,
      priority: priorityOf(way.annotations),
      savesMicros: burns ? (now === 0 ? 0n : total / BigInt(now)) : way.savesMicros,
      replicas,
      obstacle: way.obstacle ?? unsettledText(intent),
      isFree: !way.isWanted || this.#isFree(way),
      isDown: way.isDown,
      isStopping: way.isStopping,
      isAwaited: replicas ? now < Math.min(replicas.wanted, order?.replicas ?? replicas.wanted) : !way.isUp,
      isUnderWay: intent?.action === stopService.name,
      refusal: refusalOf(record, way, order),
      costMicros: order && !burns ? this.#host.costOf(record) : 0n,
    };
  }

  #kindOf(key: ObjectKey) {
    return this.#options.kinds[parseObjectKey(key).kind];
  }

  #wayOf(record: ObjectRecord): ShedWay | undefined {
    const { fleet, accounts, clock } = this.#options;
    const kind = this.#kindOf(record.key);
    if (!kind.shed) return undefined;
    const place = fleet.accountOf(record);
    const resolved = place && accounts.resolve(place.namespace, place.name);
    const snapshot = resolved?.kind === 'usable' ? resolved.handle.informer.current : undefined;
    const object = fleet.planned(record);
    return kind.shed({ fleet, record, object, snapshot, nowMs: clock.wallMs() });
  }

  #isFree({ annotations: given }: ShedWay): boolean {
    const time = given[annotations.exemptFromSheddingUntil];
    const untilMs = time === undefined ? undefined : parseRfc3339(time);
    const isExempt = untilMs !== undefined && untilMs > this.#options.clock.wallMs();
    return isExempt || !Number.isFinite(priorityOf(given));
  }

  /** The smaller of two: by the clock, and by the time of this process. What was before the process, only the clock shows. */
  #elapsedMs(since: number): number {
    const { clock } = this.#options;
    const byClock = Math.max(0, clock.wallMs() - since);
    const nowMs = clock.monotonicMs();
    const known = this.#ages.get(since) ?? { before: byClock, atMs: nowMs };
    this.#ages.delete(since);
    this.#ages.set(since, known);
    for (const [oldest] of this.#ages) {
      if (this.#ages.size <= mostAges) break;
      this.#ages.delete(oldest);
    }
    return Math.min(byClock, known.before + nowMs - known.atMs);
  }
}

const mostAges = 5000;
