/**
 * Where desired state comes from. A source keeps one immutable snapshot and tells when there is a new one;
 * it never decides anything. There are two: a folder (`file-source.ts`) and a Kubernetes API (`cluster-source.ts`).
 */
import type { VersionedMap } from '../base/index.ts';
import type { SecretData } from './data-documents.ts';
import type { ManagedKind, ObjectKey, Specs } from '../resources/index.ts';

export interface Location {
  /** For people: a path relative to the folder; in a cluster `containerservices/NAMESPACE/NAME`. */
  readonly file: string;
  /** From 1; undefined in a cluster, which knows of no lines. */
  readonly line: number | undefined;
}

/**
 * What only a cluster tells of an object. It is live: `resourceVersion` and `status` move, as the watch shows them, without a
 * new snapshot and without another `DesiredObject`, since it is the manager itself that writes them. Whatever else changes
 * comes with both.
 */
export interface ClusterFacts {
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  /** Unix milliseconds: somebody deleted it, and it stays until its finalizers are gone. */
  readonly deletionRequestedAt: number | undefined;
  readonly finalizers: readonly string[];
  readonly status: unknown;
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
  /** In a cluster only. */
  readonly cluster?: ClusterFacts;
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

/** What is said of a file beside its documents. */
export interface FileContent {
  /** Differs when the file says something else. Made of its bytes, Secrets included: it stays in memory. */
  readonly digest: string;
  /** Of any kind, those that are not ours included. */
  readonly documentCount: number;
}

/** Asked by kind, namespace, account and reference with the functions of `objects.ts`. */
export type DesiredObjects = VersionedMap<ObjectKey, DesiredObject>;

/** Its maps are versions: what differs from an earlier snapshot of the same source is known without a walk over them (`changedKeys`). */
export interface DesiredSnapshot {
  /** Grows by one with every snapshot of this process. */
  readonly sequence: number;
  /** In a folder: when the reading began that shows it so, in monotonic milliseconds. What came later may not be in it. */
  readonly readAtMs?: number | undefined;
  /** The valid documents of our kinds. */
  readonly objects: DesiredObjects;
  /** Documents whose identity could be read and nothing more: they exist, and must be left alone. */
  readonly unusable: VersionedMap<ObjectKey, readonly Problem[]>;
  /** By `namespace/name`, then by key. */
  readonly secrets: VersionedMap<string, SecretData>;
  readonly configMaps: VersionedMap<string, SecretData>;
  readonly problems: readonly Problem[];
  /**
   * Every file was read and every document identified; in a cluster: every kind was listed, and no watch of one has been
   * silent for too long. Only then does absence mean anything.
   */
  readonly complete: boolean;
  /**
   * There is not one document of any kind: for a folder far more often a wrong one than a wish. In a cluster it only says that
   * there is no object of our kinds, which is how every one begins; there an object is deleted by its deletion timestamp.
   */
  readonly empty: boolean;
  /** In a folder only: the files that are there, whether or not they could be read. */
  readonly files?: ReadonlyMap<string, FileContent>;
  /** In a cluster only: of all objects, unusable ones, too. */
  readonly cluster?: VersionedMap<ObjectKey, ClusterFacts>;
}

export interface DesiredSource {
  /** For people: the folder, or the cluster. */
  readonly description: string;
  /** Reads once, then keeps watching; resolves with the first snapshot. */
  start(onChange: (snapshot: DesiredSnapshot) => void): Promise<DesiredSnapshot>;
  /** In a folder: as it is shown by a reading that begins now, or later; undefined once it is stopped. */
  readNow?(): Promise<DesiredSnapshot | undefined>;
  stop(): Promise<void>;
}
