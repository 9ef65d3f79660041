import { monthEnd } from '../../base/index.ts';
import type { BudgetTerms, ObjectKey, StoredLeft } from '../../resources/index.ts';
import type { BudgetFigures, Course, Tally } from '../plan/index.ts';
import type { Budget } from './budget.ts';
import type { BudgetAccounts } from './budget-accounts.ts';
import type { ObjectCosts } from './budget-objects.ts';
import type { LeftThings } from './left-things.ts';

/** What a budget shows. */
export interface BudgetView {
  readonly terms: BudgetTerms;
  readonly members: number;
  readonly burnMicros: bigint;
  readonly reservedMicros: bigint;
  /** What costs something and shows no price, and what of that has no estimate either. */
  readonly unpriced: number;
  readonly unknown: number;
  readonly tally: Tally | undefined;
  readonly waiting: number;
  /** Accounts (`namespace/name`) of members that can't be read now. */
  readonly unreadable: readonly string[];
  readonly balanceMicros: bigint | undefined;
  /** Unix milliseconds. */
  readonly monthEndsAt: number;
  /** Of fleets whose number changes with time, at least until then. */
  readonly courses: () => readonly Course[];
  /** Members that it makes wait for nothing, and until when (Unix milliseconds). */
  readonly passing: ReadonlyMap<ObjectKey, number>;
  /** Ids of what members left at the provider, and what counts. */
  readonly left: readonly string[];
  /** What was left without notice. Its record does not have it yet. */
  readonly unsavedLeft: readonly StoredLeft[];
  /** Ids that were remembered for that, and need not be any more. */
  readonly leftOver: ReadonlySet<string>;
  /** Since when reads lack what was left (Unix milliseconds). */
  readonly leftMissing: ReadonlyMap<string, number>;
  /** It is one too many for an object. */
  readonly isCrowded: boolean;
  /** It is one too many for the process. */
  readonly isBeyond: boolean;
}

/** What it allows, and what is used of that. */
export interface BudgetNow {
  readonly key: ObjectKey;
  readonly terms: BudgetTerms;
  readonly figures: BudgetFigures;
  /** Whether it counts the object, or what that owns. */
  readonly counts: (key: ObjectKey) => boolean;
  /** What each object costs; undefined without a ceiling for each. */
  readonly objects: ObjectCosts | undefined;
  /** Whether the object waits for it, and not for another budget. */
  readonly isAwaitedBy: (key: ObjectKey) => boolean;
}

interface Around extends Pick<BudgetView, 'courses' | 'isBeyond'> {
  readonly figures: BudgetFigures;
  readonly about: BudgetAccounts;
  readonly left: LeftThings;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

export function viewOf(budget: Budget, { figures, about, left, nowMs, ...rest }: Around): BudgetView {
  const { members, tally, waitingCount, isCrowded, passing, terms } = budget;
  return {
    ...rest,
    terms,
    members: terms.scope.of === 'account' ? about.countIn(budget) : members.size,
    burnMicros: figures.burnMicros,
    reservedMicros: figures.reservedMicros,
    balanceMicros: figures.balanceMicros,
    ...about.pricesMissingIn(budget),
    tally,
    waiting: waitingCount,
    unreadable: about.unreadableOf(budget),
    monthEndsAt: monthEnd(nowMs, terms.timeZone),
    isCrowded,
    passing,
    left: budget.leftIds,
    unsavedLeft: budget.unsaved,
    leftOver: left.overIn(budget),
    leftMissing: left.missingIn(budget),
  };
}
