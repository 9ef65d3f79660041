/** One way to speak the contract: what is done where it is silent. */
import type { Conduct, Json } from './provider/conduct.ts';
import type { SilenceName } from './silences.ts';

/** In which kind of answer a record is shown: a list, a read of one (`{service}`), the answer to a mutation. */
export type Where = 'list' | 'read' | 'answer';

/** Pure. The record is a copy that may be changed and returned. */
export type Form = (record: Json, where: Where) => Json;

export type RecordKind =
  | 'service'
  | 'volume'
  | 'template'
  | 'registry'
  | 'activity'
  | 'activityAnswer'
  | 'event'
  | 'ledgerEntry'
  | 'identity'
  | 'region'
  | 'catalog'
  | 'account'
  | 'volumeDeletion'
  | 'deletion'
  /** The whole body of a refusal, `{error}`. */
  | 'refusal';

export interface Asked {
  readonly method: string;
  readonly path: string;
}

/** What an object of the fleet says instead of being Ready, by `Kind/name`. */
export type Held = Readonly<Record<string, string>>;

export interface Dialect {
  readonly name: string;
  /** The row of docs/internals/dialects.md that it plays. */
  readonly silence: SilenceName;
  /** What it does, for the table. */
  readonly plays: string;
  readonly forms?: Partial<Record<RecordKind, Form>>;
  /** Another status for an answer: only one that the contract does not name. */
  readonly status?: (status: number, asked: Asked) => number;
  /** What the provider does; not played in the simulation, whose control plane is ours. */
  readonly conduct?: Partial<Conduct>;
  /** What can't come to be Ready with it, and why it says so. Without an entry everything comes to be Ready. */
  readonly held?: Held;
  /** What is still at the provider in the end, `service NAME`. */
  readonly stays?: readonly string[];
  /** Changes that it costs beyond those that the plain dialect needs, in any phase: `METHOD route` and why. */
  readonly costs?: Readonly<Record<string, string>>;
  /** It hides a field that requests set: what became of one that was never answered, only a person can tell. */
  readonly hides?: true;
  /**
   * It hides of some creations what they made: where a repetition does not tell, only a person can. Faults are simulated all the same, and there is a
   * person (test/simulation/person.ts).
   */
  readonly asksPeople?: true;
  /** Marks can't be read: what an object has let go (`Retain`) is not found again. */
  readonly hidesMarks?: true;
  /** Why a service is in `error` can't be told. */
  readonly hidesErrors?: true;
  /** Why the simulation does not draw it, although it only changes answers. */
  readonly notSimulated?: string;
}

export const plain: Dialect = {
  name: 'plain',
  silence: 'extra fields',
  plays: 'what the reference control plane shows',
};
