/** Why an object has to wait for a budget with what it is to cost. The rules are in plan/budget.ts. */
import { dayAt, rfc3339, type Clock } from '../../base/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { Fleet } from '../fleet/fleet.ts';
import {
  byRank,
  costsLessFrom,
  givesWayTo,
  increaseMicros,
  limitText,
  unknownPrices,
  priorityOf,
  usdOf,
  type BudgetFigures,
  type Claim,
  type Cost,
  type Course,
  type Gate,
} from '../plan/index.ts';
import type { Budget } from './budget.ts';
import { askedOf, moreFor, overspendUntil, type Part } from './budget-part.ts';

export interface BudgetGateOptions {
  readonly budgets: {
    gatingOf(key: ObjectKey): readonly Budget[];
    partOf(key: ObjectKey): Part;
    figures(budget: Budget, wallMs: number): BudgetFigures;
    coursesOf(budget: Budget): readonly Course[];
    hasLeast(owner: ObjectKey): boolean;
  };
  readonly about: {
    unreadOf(budget: Budget): readonly string[];
    pricesMissingIn(budget: Budget): { readonly unknown: number };
  };
  readonly fleet: Fleet;
  readonly clock: Clock;
}

/** Unless something wakes it before. After so long, room is kept for what is too large (plan/budget.ts). */
const recheckAfterMs = 600_000;

/** `cost`: of a step that costs more. `replaces`: what exists is given up before. */
export function budgetGate(
  options: BudgetGateOptions,
  key: ObjectKey,
  cost: Cost,
  replaces: boolean,
): Gate | undefined {
  const { budgets, fleet, clock } = options;
  const gating = budgets.gatingOf(key);
  if (gating.length === 0) return undefined;
  const record = fleet.store.record(key);
  const given = record ? fleet.planned(record).annotations : {};
  const wallMs = clock.wallMs();
  if ((overspendUntil(given) ?? 0) > wallMs) return undefined;
  const part = budgets.partOf(key);
  const increase = increaseOf(cost, part, replaces);
  if (increase === 0n && cost.basis !== 'unknown') return undefined;
  const more = moreFor(part, increase);
  const owner = record?.derived?.owner;
  // Of what existed before and costs nothing now, or takes the place of that.
  const isMissed = owner !== undefined && part.burn === 0n && budgets.hasLeast(owner);
  const isRepair = isMissed || part.spare > 0n || (record?.externalId !== undefined && part.burn === 0n);
  const base = { key, isRepair, priority: priorityOf(given), micros: more, owner };
  const nowMs = clock.monotonicMs();
  for (const budget of gating) {
    const claim = { ...base, sinceMs: budget.waitsSince(key) ?? nowMs };
    const gate = gateOf(options, budget, claim, part, cost, wallMs);
    if (!gate) continue;
    // One that allows it keeps nothing for it meanwhile. What all allow keeps its place until the end of the pass (`concluded`).
    for (const other of gating) if (other !== budget) other.leaves(key);
    return gate;
  }
  return undefined;
}

/** An unknown price may be any, so it needs some room. */
function increaseOf(cost: Cost, part: Part, replaces: boolean): bigint {
  const known = replaces
    ? cost.afterMicros > part.burn
      ? cost.afterMicros - part.burn
      : 0n
    : increaseMicros(cost);
  return cost.unknown.length > 0 ? known + 1n : known;
}

function gateOf(
  { budgets, about, clock }: BudgetGateOptions,
  budget: Budget,
  claim: Claim,
  part: Part,
  cost: Cost,
  wallMs: number,
): Gate | undefined {
  const { terms } = budget;
  const key = claim.key as ObjectKey;
  budget.wasAsked(key);
  const figures = budgets.figures(budget, wallMs);
  const stuck = stuckFor(about, budget, claim, cost, figures);
  if (stuck) {
    budget.isStuck(key);
    return stuck;
  }
  const refused = (message: string) => refusal(budget, message);
  const room = budget.room(figures);
  if (!room || claim.micros <= 0n) return undefined;
  const free = room.micros + askedOf(part);
  const would = () => `this would add ${usdOf(claim.micros)}/h (${cost.basis})`;
  if (claim.micros > free) {
    budget.waits(claim, room.micros);
    const month =
      room.limit === 'monthly'
        ? `${unknownPart(budget)}; the month ends at ${rfc3339(wallMs + figures.monthLeftMs)}`
        : '';
    const schedule = schedulePart(budgets.coursesOf(budget), wallMs);
    return refused(
      `${limitText(room.limit, terms, figures)}${leftPart(budget)}; ${would()}${month}${schedule}`,
    );
  }
  // What was let through keeps its turn until its request is sent.
  if (part.asked > 0n) return undefined;
  const isKnown = budget.unmade.unpriced === 0;
  if (isKnown && budget.wantedMicros + claim.micros <= free) return undefined;
  // What was let go has had its turn: it does not wait for what is still stopped.
  const isLetGo = budget.returning !== undefined && [key, claim.owner].includes(budget.returning);
  const shed = isLetGo ? [].values() : budget.shed.ranked();
  const others = merged(
    merged(budget.waiting.ranked(), shed, claim.micros),
    budget.unmade.ranked(),
    claim.micros,
  );
  const first = givesWayTo(claim, others, free, clock.monotonicMs());
  if (!first) return undefined;
  budget.waits(claim, room.micros);
  const { kind, name: other } = parseObjectKey(first.key as ObjectKey);
  return refused(
    `${limitText(room.limit, terms, figures)}; ${would()}, and ${kind} ${other}, which comes first, needs ${usdOf(first.micros)}/h of that`,
  );
}

function refusal({ noun }: Budget, message: string): Gate {
  return { kind: 'wait', reason: 'BudgetExceeded', message: `${noun}: ${message}`, recheckAfterMs };
}

/** Why more room in the budget would not help. */
function stuckFor(
  about: BudgetGateOptions['about'],
  budget: Budget,
  claim: Claim,
  cost: Cost,
  figures: BudgetFigures,
): Gate | undefined {
  const { terms, noun } = budget;
  if (budget.isBroken) {
    const message = `the document of ${noun} can't be used, so what would cost more waits; correct it, or delete the budget`;
    return { kind: 'wait', reason: 'BudgetInvalid', message, recheckAfterMs };
  }
  if (budget.unseen > 0 && claim.micros > 0n) {
    const unread = about.unreadOf(budget);
    // The account may have been read, and its lists not.
    const where =
      unread.length > 0
        ? `are in accounts that were not read yet: ${unread.join(', ')}`
        : 'are missing in what their accounts show';
    const message = `${noun}: nobody knows what is left of it, because ${budget.unseen} of its objects ${where}`;
    return { kind: 'wait', reason: 'AwaitingObservation', message };
  }
  const isBlocking = terms.unpriced === 'Block';
  if (isBlocking && cost.basis === 'unknown') {
    return refusal(
      budget,
      'it allows nothing without a known price (`unpriced: Block`), and the price of this is not known; state it in `prices` of the Account',
    );
  }
  const unknown = isBlocking && claim.micros > 0n ? about.pricesMissingIn(budget).unknown : 0;
  if (unknown > 0) {
    return refusal(
      budget,
      `nobody knows what is left of it (\`unpriced: Block\`): ${unknownPrices(unknown)}; state it in \`prices\` of the Account`,
    );
  }
  const { perObjectHourlyMicros: most } = terms.limits;
  if (most === undefined || cost.afterMicros <= BigInt(most) || claim.micros <= 0n) return undefined;
  return refusal(
    budget,
    `${limitText('perObject', terms, figures)}, and this would cost ${usdOf(cost.afterMicros)}/h (${cost.basis})`,
  );
}

/** Nothing else shows what has the room. */
function leftPart({ leftIds: { length } }: Budget): string {
  if (length === 0) return '';
  return ` with ${length} ${length === 1 ? 'thing that was' : 'things that were'} left at the provider`;
}

/** If a schedule is known to make room. */
function schedulePart(courses: readonly Course[], wallMs: number): string {
  const from = costsLessFrom(courses, wallMs);
  return from === undefined ? '' : `; by a schedule, it costs less from ${rfc3339(from)} on`;
}

/** If the month is not known from its first day. */
function unknownPart({ tally, terms }: Budget): string {
  if (!tally) return '; what this month has cost is not known';
  const isWhole = dayAt(tally.since, terms.timeZone).date === `${tally.month}-01`;
  return isWhole ? '' : `; what this month cost before ${rfc3339(tally.since)} is not known`;
}

/** In one order. `unpriced`: what one takes whose price is not known yet. No more of them than necessary are compared. */
function* merged(one: Iterator<Claim>, other: Iterator<Claim>, unpriced: bigint): Generator<Claim> {
  let [left, right] = [one.next(), other.next()];
  for (let count = 0; count < mostCompared && !(left.done && right.done); count += 1) {
    if (right.done || (!left.done && byRank(left.value, right.value) < 0)) {
      yield left.value;
      left = one.next();
    } else {
      yield right.value.micros === 0n ? { ...right.value, micros: unpriced } : right.value;
      right = other.next();
    }
  }
}

const mostCompared = 1000;
