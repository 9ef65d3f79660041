/** What the output of `plan` has beside changes: problems in the documents, accounts that can't be read, duplicates. */
import type { Problem } from '../desired/index.ts';
import type { DescribedDuplicate } from '../engine/plan/index.ts';
import type { Reason } from '../reasons/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';

/** A thing at the provider that carries the mark of an object but is not the recorded one. */
export interface ShownDuplicate extends DescribedDuplicate {
  readonly kind: string;
  readonly namespace: string;
  /** The name of the object. */
  readonly object: string;
}

/** What is wrong in the documents, with what to do. */
export interface ShownProblem {
  readonly file: string;
  /** Null if it concerns the whole file, and in a cluster. */
  readonly line: number | null;
  readonly path: string | null;
  readonly message: string;
  readonly remedy: string;
  /** `Kind/namespace/name`; null if no object could be identified. */
  readonly object: ObjectKey | null;
}

/** An account that could not be read. Nothing is known of its objects. */
export interface UnreadAccount {
  /** The name of its document; null for the one of the environment. */
  readonly account: string | null;
  /** Where it is declared. */
  readonly file: string | null;
  readonly line: number | null;
  readonly reason: Reason;
  /** What failed, and what to do. */
  readonly message: string;
}

/** A thing with this fleet's mark that no document and no record has: this folder does not manage it, and it is paid. */
export interface Undeclared {
  readonly kind: string;
  /** `namespace/name` of the Account. */
  readonly account: string;
  readonly id: string;
  readonly name: string | null;
  /** Micro-USD. Null where the API shows no price, and of what costs nothing. */
  readonly hourlyMicros: number | null;
  readonly message: string;
}

/** An object that is to be created, and a thing of that name that is there already. */
export interface SameName {
  readonly kind: string;
  readonly namespace: string;
  /** Of the object. */
  readonly name: string;
  readonly account: string;
  /** Of the thing. */
  readonly id: string;
  /** The owner in its mark; null without a mark. */
  readonly owner: string | null;
  /** The mark was made with this fleet's digest key. */
  readonly sameKey: boolean;
  readonly hourlyMicros: number | null;
  readonly message: string;
}

/** A service whose values of variables could not be compared. */
export interface Uncompared {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** An object whose document takes over a thing that this fleet did not have before. */
export interface Adopted {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the thing, and what the API calls it. */
  readonly id: string;
  readonly thing: string | null;
  /** The owner in its mark; null without a mark. */
  readonly owner: string | null;
  readonly message: string;
}

/** What a plan found beside its documents. Each is absent where there is none. */
export interface BesideDocuments {
  readonly undeclared?: readonly Undeclared[];
  readonly sameNames?: readonly SameName[];
  readonly uncompared?: readonly Uncompared[];
  readonly adopted?: readonly Adopted[];
}

export function shownDuplicate(
  key: ObjectKey,
  { message, ...duplicate }: DescribedDuplicate,
): ShownDuplicate {
  const { kind, namespace, name: object } = parseObjectKey(key);
  return { kind, namespace, object, ...duplicate, message };
}

export function shownProblem({ file, line, path, message, remedy, key }: Problem): ShownProblem {
  return { file, line: line ?? null, path: path ?? null, message, remedy, object: key ?? null };
}
