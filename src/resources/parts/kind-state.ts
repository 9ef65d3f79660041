/**
 * The kind's part of a record: what must survive a crash beside what all kinds have. The kind declares it
 * (kinds/KIND/state.ts). All other code stores it, and does not look into it. From the declaration follow its defaults,
 * how it is stored, and how it is read from records of version 1 (state/record-versions.ts).
 */
import { z } from 'zod';

export interface KindStateDeclaration<State extends object> {
  /** Every field is optional or has a default. A new object has what follows from `{}`. */
  readonly schema: z.ZodType<State> & { readonly shape: object };
  /**
   * Fields with amounts that were counted. One that can't be read is left out, and is counted anew (`readKindState`): all else of the record
   * must not be lost for it.
   */
  readonly counted?: readonly string[];
  /** Names of fields in records of version 1, if they had other ones. */
  readonly earlierNames?: Readonly<Record<string, string>>;
  /** Fields with digests. With another digest key they are useless, and not read. */
  readonly madeWithKey?: readonly string[];
  /** With each id at the provider in its canonical form. */
  withIds?(state: State, canonical: (id: string) => string): State;
  /** It names something at the provider that only a signature proves to be the object's. */
  hasClaims?(state: State): boolean;
  /** Without these claims. What belongs to the object has been proven, and shows the rest. */
  withoutClaims?(state: State): State;
  /** The part that is used if nobody has signed it. `uid`: of the object. */
  unsigned?(state: State, uid: string): State;
  /** It has objects of its own that have to leave before it. */
  owns?(state: State): boolean;
  /** The activity that is or may be registered for the object. */
  registered?(state: State): RegisteredActivity | undefined;
}

export interface RegisteredActivity {
  readonly serviceId: string;
  /** The API has confirmed its release. */
  readonly isReleased: boolean;
}

/** Of a kind that has nothing to remember. */
export const noState: KindStateDeclaration<object> = { schema: z.object({}) };
