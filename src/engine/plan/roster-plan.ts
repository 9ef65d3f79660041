/** What an owner is to make of the objects that it owns, in numbers that can be reviewed before anything is done. */
import type { Sensitive } from '../../base/index.ts';

export interface RosterPlan {
  /** How many it is to have in the end. */
  readonly replicas: number;
  /** What they are to have then. */
  readonly content: RosterContent;
  /** What they may have until then, and again if the new content fails. Undefined: there is nothing to return to. */
  readonly fallback: RosterContent | undefined;
  /** How many are still to be made, to get the content, to be replaced because they stay broken, and to be removed. */
  readonly add: number;
  readonly update: number;
  readonly repair: number;
  readonly drain: number;
  /** They stay at the provider instead of being removed. */
  readonly leaves: boolean;
  /** The operator command that is carried out next. */
  readonly command: string | undefined;
  readonly moves: RosterMoves;
}

export interface RosterContent {
  /** Equal for equal contents, as long as the state lasts. */
  readonly id: string;
  readonly content: Readonly<Record<string, unknown>>;
  /** Of Secrets and ConfigMaps in it. Undefined: they are known by a keyed digest only. */
  readonly values: Sensitive<Readonly<Record<string, string>>> | undefined;
}

/** What one change of the roster does at once. */
export interface RosterMoves {
  /** How many are wanted after it. */
  readonly wanted: number;
  /** The contents of those that are added, and of those that get another one. */
  readonly added: readonly RosterContent[];
  readonly updated: readonly RosterContent[];
  /** The names of those that it lets correct what others changed in them. */
  readonly corrected: readonly string[];
  /** Why each one leaves. `unmade`: nothing of it is at the provider. */
  readonly leaving: readonly {
    readonly cause: 'scale' | 'rollout' | 'repair' | 'retire' | 'placement' | 'left';
    readonly unmade: boolean;
  }[];
}
