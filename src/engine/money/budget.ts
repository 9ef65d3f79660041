/** One budget: its sums, and who waits for it. */
import { sameValue } from '../../base/index.ts';
import {
  parseObjectKey,
  type BudgetTerms,
  type ObjectKey,
  type ShedOrder,
  type StoredLeft,
} from '../../resources/index.ts';
import {
  firstTally,
  microsOf,
  observedMicros,
  passedLimits,
  reached,
  roomOf,
  tallied,
  type BudgetFigures,
  type Claim,
  type Room,
  type Tally,
  type TallyRead,
  type TallyRules,
} from '../plan/index.ts';
import { heldFor, type Part } from './budget-part.ts';
import { Claims } from './claims.ts';

/** More are woken when these have had their turn. */
const mostWoken = 100;
const hourMs = 3_600_000;

export class Budget {
  readonly key: ObjectKey;
  readonly createdAt: number;
  readonly namespace: string;
  /** In messages. */
  readonly noun: string;
  readonly members = new Set<ObjectKey>();
  /** Accounts (`namespace/name`) that members are in, with their numbers. */
  readonly accounts = new Map<string, number>();
  /** By owner: its services that cost something, and what they cost. */
  readonly #owned = new Map<ObjectKey, { readonly count: number; readonly micros: bigint }>();
  readonly waiting = new Claims();
  /** Of members that were not asked for yet. */
  readonly unmade = new Claims();
  /** Of what is stopped for it, or has fewer replicas. It comes before anything new when there is room. */
  readonly shed = new Claims();
  /** Members that it makes wait for nothing, and until when (Unix milliseconds). */
  readonly passing = new Map<ObjectKey, number>();
  #passingChanges = 0;
  /** What is stopped for it, by its record. */
  orders: ReadonlyMap<ObjectKey, ShedOrder> = new Map();
  /** What it has let go last, until that is seen to run. */
  returning: string | undefined;
  /** What members left at the provider, by its record. */
  left: readonly StoredLeft[] = [];
  /** What its record is yet to have of that. */
  unsaved: readonly StoredLeft[] = [];
  /** What counts of that now, by id. */
  #leftParts: ReadonlyMap<string, Part> = new Map();
  terms: BudgetTerms;
  /** Its document can't be used: members wait. */
  isBroken: boolean;
  /** Objects that it does not count, because others are older. */
  readonly #notCounted = new Set<ObjectKey>();
  #tally: Tally | undefined;
  /** Unix milliseconds: since this read, as far as this process knows, none was missing for longer than a gap (plan/tally.ts). */
  observedFrom = Number.NEGATIVE_INFINITY;
  /** Of the month, in whole micro-USD. */
  spentMicros = 0n;
  /** The part of it that somebody observed. */
  observedMicros = 0n;
  burn = 0n;
  /** Beside the burn: what is reserved for members, or kept for them. */
  held = 0n;
  /** The part of that which is only kept. */
  kept = 0n;
  unpriced = 0;
  /** Members that cost something that nobody knows: it is missing in the burn. */
  unknown = 0;
  #unknownBefore = 0;
  /** Members in accounts that were not read yet: nobody knows what they cost. */
  unseen = 0;
  /** Objects that wait for another document of the budget, or for an account to be read. */
  readonly #stuck = new Set<ObjectKey>();
  #room:
    | {
        readonly terms: BudgetTerms;
        readonly figures: BudgetFigures;
        readonly aheadMs: number;
        readonly room: Room | undefined;
      }
    | undefined;
  #refusedAt: bigint | undefined;
  #isNews = false;
  #shown = '';

  constructor(key: ObjectKey, terms: BudgetTerms, isBroken: boolean, createdAt: number) {
    this.key = key;
    const { namespace, name } = parseObjectKey(key);
    this.namespace = namespace;
    this.noun = `Budget ${name}`;
    this.terms = terms;
    this.isBroken = isBroken;
    this.createdAt = createdAt;
  }

  get isCrowded(): boolean {
    return this.#notCounted.size > 0;
  }

  /** Returns whether `isCrowded` has changed. */
  isTooMany(key: ObjectKey, is: boolean): boolean {
    const before = this.isCrowded;
    if (is) this.#notCounted.add(key);
    else this.#notCounted.delete(key);
    return this.isCrowded !== before;
  }

  get tally(): Tally | undefined {
    return this.#tally;
  }

  set tally(tally: Tally | undefined) {
    this.#tally = tally;
    this.spentMicros = microsOf(tally?.spent ?? 0n);
    this.observedMicros = tally ? observedMicros(tally) : 0n;
  }

  /** What members cost in an account that was not read yet is missing in the burn. */
  get lacksBurn(): boolean {
    return this.unseen > 0 && this.terms.scope.of !== 'account';
  }

  /** An account that it is about was read, with what its members cost. `isPartial`: a part of that is only estimated. */
  reads(found: TallyRead, rules: TallyRules, isPartial: boolean): void {
    const before = this.#tally;
    const { at, burnMicros } = found;
    const isAnew = !before || at - before.at > rules.gapMs;
    this.observedFrom = isAnew ? at : Math.min(this.observedFrom, at);
    // What is missing costs what it cost when it was read last.
    const isLess = before && this.lacksBurn && burnMicros < before.burnMicros;
    const read = isLess ? { ...found, burnMicros: before.burnMicros } : found;
    const counted = isPartial ? { ...rules, gapMs: 0 } : rules;
    this.tally = before ? tallied(before, read, counted) : firstTally(read, rules.timeZone);
  }

  get waitingCount(): number {
    return this.waiting.size + this.#stuck.size;
  }

  /** Something waits for it. */
  get gates(): boolean {
    return this.terms.mode !== 'Report';
  }

  /** What everybody who waits, or was not asked for yet, would take together. */
  get wantedMicros(): bigint {
    return this.unmade.micros + this.waiting.micros + this.shed.micros;
  }

  become(terms: BudgetTerms, isBroken: boolean): void {
    if (isBroken !== this.isBroken || !sameValue(terms, this.terms)) this.#isNews = true;
    this.terms = terms;
    this.isBroken = isBroken;
  }

  /** Returns the objects for which the orders have changed. */
  takes(orders: readonly ShedOrder[]): readonly ObjectKey[] {
    const before = this.orders;
    this.orders = new Map(orders.map((order) => [order.object as ObjectKey, order]));
    const keys = new Set([...before.keys(), ...this.orders.keys()]);
    return [...keys].filter((key) => !sameValue(before.get(key), this.orders.get(key)));
  }

  add(
    key: ObjectKey,
    part: Part,
    { unmade, shed }: Readonly<Record<'unmade' | 'shed', Claim | undefined>>,
  ): void {
    this.members.add(key);
    this.#count(part, 1);
    if (unmade) this.unmade.put(key, unmade);
    if (shed) this.shed.put(key, shed);
    if (part.passesUntil !== undefined) this.passing.set(key, part.passesUntil);
  }

  subtract(key: ObjectKey, part: Part): void {
    this.members.delete(key);
    this.#count(part, -1);
    this.unmade.take(key);
    this.shed.take(key);
    this.passing.delete(key);
  }

  /** Ids of what members left at the provider, and what still counts. */
  get leftIds(): readonly string[] {
    return [...this.#leftParts.keys()];
  }

  /** What counts now of what members left at the provider. */
  countLeft(parts: ReadonlyMap<string, Part>): void {
    const before = this.#leftParts;
    if (sameValue([...before], [...parts])) return;
    this.#leftParts = parts;
    for (const part of parts.values()) this.#count(part, 1);
    for (const part of before.values()) this.#count(part, -1);
  }

  #count(part: Part, sign: 1 | -1): void {
    const times = BigInt(sign);
    this.burn += times * part.burn;
    this.held += times * heldFor(part);
    this.kept += times * (part.spare > part.reserved ? part.spare - part.reserved : 0n);
    if (part.owner !== undefined && part.burn > 0n) {
      const { count, micros } = this.ownedBy(part.owner);
      if (count + sign === 0) this.#owned.delete(part.owner);
      else this.#owned.set(part.owner, { count: count + sign, micros: micros + times * part.burn });
    }
    if (part.isUnpriced) this.unpriced += sign;
    if (part.isUnknown) this.unknown += sign;
    if (part.isUnseen) this.unseen += sign;
    if (part.isUnseen && this.unseen === 0) this.#isNews = true;
    if (part.account === undefined) return;
    const count = (this.accounts.get(part.account) ?? 0) + sign;
    if (count > 0) this.accounts.set(part.account, count);
    else this.accounts.delete(part.account);
  }

  ownedBy(owner: ObjectKey): { readonly count: number; readonly micros: bigint } {
    return this.#owned.get(owner) ?? { count: 0, micros: 0n };
  }

  /** As `roomOf`, which is not computed anew for the same figures. */
  room(figures: BudgetFigures): Room | undefined {
    const known = this.#room;
    const aheadMs = Math.min(figures.monthLeftMs, this.terms.horizonHours * hourMs);
    const isSame =
      known?.terms === this.terms &&
      known.aheadMs === aheadMs &&
      known.figures.burnMicros === figures.burnMicros &&
      known.figures.reservedMicros === figures.reservedMicros &&
      known.figures.spentMicros === figures.spentMicros &&
      known.figures.balanceMicros === figures.balanceMicros;
    if (isSame) return known.room;
    const room = roomOf(this.terms, figures);
    this.#room = { terms: this.terms, figures, aheadMs, room };
    return room;
  }

  /** `room`: of the budget when the claim was refused. */
  waits(claim: Claim, room: bigint | undefined): void {
    const key = claim.key as ObjectKey;
    this.#stuck.delete(key);
    this.waiting.put(key, claim);
    this.#refusedAt = room;
  }

  /** More room is not what it waits for. */
  isStuck(key: ObjectKey): void {
    this.leaves(key);
    this.#stuck.add(key);
  }

  /** Since when it has waited (monotonic). */
  waitsSince(key: ObjectKey): number | undefined {
    return (this.waiting.get(key) ?? this.unmade.get(key) ?? this.shed.get(key))?.sinceMs;
  }

  isAwaitedBy(key: ObjectKey): boolean {
    return this.waiting.get(key) !== undefined || this.#stuck.has(key);
  }

  /** It does not wait for this budget any more. Returns whether it did. */
  leaves(key: ObjectKey): boolean {
    const wasStuck = this.#stuck.delete(key);
    const claim = this.waiting.take(key);
    if (claim) this.#isNews = true;
    return claim !== undefined || wasStuck;
  }

  /** Its pass has shown what it needs. Returns whether that was unknown. */
  wasAsked(key: ObjectKey): boolean {
    if (!this.unmade.take(key)) return false;
    this.#isNews = true;
    return true;
  }

  /** All that wait for it. */
  everyone(): Iterable<ObjectKey> {
    return [...this.waiting.keys(), ...this.#stuck];
  }

  /** Those that wait and find more room than before, or a document that can't be used any more. */
  toWake(figures: BudgetFigures): readonly ObjectKey[] {
    const room = this.gates ? this.room(figures)?.micros : undefined;
    const isMore = this.#refusedAt !== undefined && (room === undefined || room > this.#refusedAt);
    // Each of them has another reason to wait.
    const isForAll = this.gates && this.isBroken && this.waiting.size > 0;
    const isNews = isMore || this.#isNews;
    if (!isNews && !isForAll) return [];
    this.#refusedAt = room;
    this.#isNews = false;
    const woken = this.waiting.fitting(isForAll ? undefined : room, mostWoken);
    return isNews ? [...woken, ...this.#stuck] : woken;
  }

  /** So many things that it counts cost something that nobody knows. */
  isMissing(unknown: number): void {
    if (unknown === 0 && this.#unknownBefore > 0) this.#isNews = true;
    this.#unknownBefore = unknown;
  }

  /** A member passes until another time than before. */
  passes(): void {
    this.#passingChanges += 1;
  }

  /** Whether it shows something else than before, but for what grows with time. */
  hasMoved(figures: BudgetFigures): boolean {
    const { limits, warnAt } = this.terms;
    const { hourlyMicros, monthlyMicros } = limits;
    const thresholds = [
      hourlyMicros && reached(warnAt, figures.burnMicros, BigInt(hourlyMicros)),
      monthlyMicros && reached(warnAt, figures.spentMicros, BigInt(monthlyMicros)),
    ];
    const shown = JSON.stringify([
      passedLimits(this.terms, figures),
      thresholds,
      this.waitingCount,
      this.tally?.month,
      String(figures.burnMicros),
      this.members.size,
      this.#leftParts.size,
      this.passing.size,
      this.#passingChanges,
      this.#unknownBefore,
    ]);
    const moved = shown !== this.#shown;
    this.#shown = shown;
    return moved;
  }
}
