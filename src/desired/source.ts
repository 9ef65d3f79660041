/**
 * Where desired state comes from. A source keeps one immutable snapshot and tells when there is a new one;
 * it never decides anything. Two sources exist by design: a folder (here) and a Kubernetes API.
 */
import type { Sensitive } from '../base/sensitive.ts';
import type { ManagedKind, ObjectKey, Specs } from '../resources/index.ts';

export interface Location {
  /** Path relative to the source's root, for people. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

export interface DesiredObject<Kind extends ManagedKind = ManagedKind> {
  readonly key: ObjectKey;
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: Specs[Kind];
  readonly location: Location;
  /** The line of a field, e.g. `['spec', 'env', 1]`; the nearest enclosing one when it is not written. */
  locate(path: readonly (string | number)[]): Location;
}

/** One thing wrong with the source, told so that a person can mend it. */
export interface Problem {
  readonly file: string;
  readonly line: number | undefined;
  /** E.g. `spec.env[1].name`; undefined when the whole file or document is meant. */
  readonly path: string | undefined;
  /** What is wrong. */
  readonly message: string;
  /** What to do. */
  readonly remedy: string;
  /** The object that it concerns, when that much could be read. */
  readonly key: ObjectKey | undefined;
}

export interface DesiredSnapshot {
  /** Grows by one with every snapshot of this process. */
  readonly sequence: number;
  /** The valid documents of our kinds. */
  readonly objects: ReadonlyMap<ObjectKey, DesiredObject>;
  /** Documents whose identity could be read and nothing more: they exist, and must be left alone. */
  readonly unusable: ReadonlyMap<ObjectKey, readonly Problem[]>;
  /** By `namespace/name`, then by key. */
  readonly secrets: ReadonlyMap<string, ReadonlyMap<string, Sensitive<string>>>;
  readonly configMaps: ReadonlyMap<string, ReadonlyMap<string, Sensitive<string>>>;
  readonly problems: readonly Problem[];
  /** Every file was read and every document identified. Only then does absence mean anything. */
  readonly complete: boolean;
  /** There is not one document of any kind: far more often a wrong folder than a wish. */
  readonly empty: boolean;
}

export interface DesiredSource {
  /** For people: the folder, or the cluster. */
  readonly description: string;
  /** Reads once, then keeps watching; resolves with the first snapshot. */
  start(onChange: (snapshot: DesiredSnapshot) => void): Promise<DesiredSnapshot>;
  stop(): Promise<void>;
}
