import type { BudgetTerms, ObjectKey } from '../../resources/index.ts';
import type { BudgetFigures, Course, Tally } from '../plan/index.ts';
import type { ObjectCosts } from './budget-objects.ts';

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
