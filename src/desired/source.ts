/**
 * Where desired state comes from. A source publishes immutable snapshots and decides nothing. There are two:
 * a folder (`file-source.ts`) and a Kubernetes API (`cluster-source.ts`).
 */
import type { VersionedMap } from '../base/index.ts';
import type { SecretData } from './data-documents.ts';
import type { ManagedKind, ObjectKey, OwnerGate, Specs } from '../resources/index.ts';

export interface Location {
  /** For messages. A path relative to the folder, or in a cluster `containerservices/NAMESPACE/NAME`. */
  readonly file: string;
  /** From 1. Undefined in a cluster. */
  readonly line: number | undefined;
}

/**
 * What only a cluster knows of an object. It is live: `resourceVersion` and `status` follow the watch without
 * a new snapshot or a new `DesiredObject`, since the manager itself writes them. Every other change makes new
 * ones.
 */
export interface ClusterFacts {
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  /** Unix milliseconds. */
  readonly createdAt?: number | undefined;
  /** Unix milliseconds at which somebody deleted it. It stays until its finalizers are removed. */
  readonly deletionRequestedAt: number | undefined;
  readonly finalizers: readonly string[];
  readonly status: unknown;
  /** The object of our kinds that owns it, by its controller reference. */
  readonly controller?: Controller | undefined;
}

export interface Controller {
  readonly key: ObjectKey;
  readonly uid: string;
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
  readonly document: DesiredDocument;
  /** In a cluster only. */
  readonly cluster?: ClusterFacts;
  /** Of an object without a document: what it follows from. */
  readonly derived?: Derivation;
}

/** What an object was read from. */
export interface DesiredDocument {
  /** The line of a field, e.g. `['spec', 'env', 1]`. If it is absent, the line of the nearest enclosing field. */
  locate(path: readonly (string | number)[]): Location;
  /** In a folder only: the document has this field of its spec, and it is no default. */
  gives?(field: string): boolean;
  /** In a folder only: the document without defaults. */
  written?(): WrittenDocument;
}

export interface WrittenDocument {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
}

/** Of an object that another one owns (engine/fleet/derived.ts). */
export interface Derivation {
  readonly owner: ObjectKey;
  /** The uid in its marks, if it is not that of the resource: in a cluster, if its owner controls it. */
  readonly markedAs?: string;
  /** Where its spec stands in the owner's document. */
  readonly specPath: readonly string[];
  /** A digest of what reaches it only when its owner allows it. Undefined: all of it reaches it at once. */
  readonly content: string | undefined;
  /** The digest that its owner allows. */
  readonly granted: string | undefined;
  /** It may be interrupted, to correct what others changed in it. */
  readonly mayCorrect: boolean;
  /** It needs no restart if its last one was for this token, and not for that of its spec. */
  readonly restartedFor?: string | undefined;
  /** Values of Secrets or ConfigMaps have changed since, and reach it later. */
  readonly hasOlderValues: boolean;
  /** Why nothing is changed in it; `since`: when it began to drain (Unix milliseconds), or 0. */
  readonly draining: Omit<OwnerGate, 'reason' | 'correction'> | undefined;
  /** Its owner does not want it any more. In a cluster it may stay for a while. */
  readonly isLeaving?: true;
}

/** Something wrong with the source, with the fix. */
export interface Problem {
  readonly file: string;
  readonly line: number | undefined;
  /** E.g. `spec.env[1].name`. Undefined if it concerns the whole file or document. */
  readonly path: string | undefined;
  /** What is wrong. */
  readonly message: string;
  /** How to fix it. */
  readonly remedy: string;
  /** The object that it concerns, if it could be identified. */
  readonly key: ObjectKey | undefined;
}

/** What is known of a file apart from its documents. */
export interface FileContent {
  /** Changes with the content. It is made of the bytes, Secrets included, so it stays in memory. */
  readonly digest: string;
  /** Documents of any kind, including foreign ones. */
  readonly documentCount: number;
}

/** `objects.ts` has the queries by kind, namespace, account and reference. */
export type DesiredObjects = VersionedMap<ObjectKey, DesiredObject>;

/**
 * Its maps are versions of the same maps in an earlier snapshot. So the difference of two snapshots of a
 * source is known without a loop over all objects (`changedKeys`).
 */
export interface DesiredSnapshot {
  /** Grows by one with every snapshot of this process. */
  readonly sequence: number;
  /**
   * In a folder: when the listing began that this snapshot shows, in monotonic milliseconds. Later edits may
   * be missing.
   */
  readonly readAtMs?: number | undefined;
  /** The valid documents of Fleetkeeper's kinds. */
  readonly objects: DesiredObjects;
  /** Documents that could only be identified. Their objects exist, and are left alone. */
  readonly unusable: VersionedMap<ObjectKey, readonly Problem[]>;
  /** By `namespace/name`, then by key. */
  readonly secrets: VersionedMap<string, SecretData>;
  readonly configMaps: VersionedMap<string, SecretData>;
  readonly problems: readonly Problem[];
  /**
   * In a folder: every file was read and every document identified. In a cluster: every kind was listed, and
   * no watch is silent for too long. Only then does absence prove anything.
   */
  readonly complete: boolean;
  /**
   * In a cluster of which several namespaces are watched: those that are not known as a whole (`cluster-scopes.ts`). Absence
   * proves nothing in them. The same set as long as nothing changes.
   */
  readonly unread?: ReadonlySet<string> | undefined;
  /**
   * There is no document of any kind. Such a folder is usually the wrong one. In a cluster it only means that
   * no object exists, which is normal at first. There, an object is deleted by its deletion timestamp.
   */
  readonly empty: boolean;
  /** In a folder: all of it can't be listed now, and why. What was read before is kept. */
  readonly unreadable?: Pick<Problem, 'message' | 'remedy'> | undefined;
  /** In a folder only: the existing files, whether or not they could be read. */
  readonly files?: ReadonlyMap<string, FileContent>;
  /** In a folder only: the existing folders below it, with or without files. */
  readonly folders?: ReadonlySet<string>;
  /** In a cluster only: of all objects, including unusable ones. */
  readonly cluster?: VersionedMap<ObjectKey, ClusterFacts>;
}

export interface DesiredSource {
  /** For messages: the folder or the cluster. */
  readonly description: string;
  /** Reads once, then watches. Resolves with the first snapshot. */
  start(onChange: (snapshot: DesiredSnapshot) => void): Promise<DesiredSnapshot>;
  /** In a folder: when the reading that is under way began, in monotonic milliseconds. Undefined: none is. */
  readonly readingSinceMs?: number | undefined;
  /** In a folder: the snapshot of a reading that begins now or later. Undefined if the source is stopped. */
  readNow?(): Promise<DesiredSnapshot | undefined>;
  stop(): Promise<void>;
}
