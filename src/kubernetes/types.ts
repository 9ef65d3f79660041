/**
 * What the rest of the program knows of a Kubernetes API: requests on typed paths, pages, watches. The only
 * implementation over the network is in `client.ts`; what is built on it (reflector, recorder, election) takes it as a parameter.
 */

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  /** RFC 3339: deletion was asked for, and waits for the finalizers. */
  readonly deletionTimestamp?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** As it came, but for `metadata.managedFields`, which nobody reads. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly [field: string]: unknown;
}

/** E.g. `{group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true}`; the core group is ''. */
export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** One object; `namespace` is undefined for those that have none. */
export interface Target {
  readonly type: ResourceType;
  readonly namespace: string | undefined;
  readonly name: string;
}

export interface Scope {
  /** Undefined: all namespaces. */
  readonly namespace?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** Only `metadata` is asked for (PartialObjectMetadata). */
  readonly metadataOnly?: boolean | undefined;
}

export interface WatchScope extends Scope {
  readonly resourceVersion: string;
  /** So long without a byte, and the connection is taken as broken. */
  readonly silenceMs: number;
  /** When the server is asked to end the watch, in whole seconds; it ends it at some time anyway. */
  readonly endMs?: number | undefined;
}

export interface ListPage {
  readonly items: readonly KubernetesObject[];
  readonly resourceVersion: string;
  /** Of the next page; undefined on the last one. */
  readonly continueToken: string | undefined;
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  /** A `Status` instead of an object, e.g. 410. */
  | { readonly type: 'ERROR'; readonly status: number; readonly message: string };

export interface Patch {
  /** JSON merge patch (RFC 7386) or server-side apply. */
  readonly kind: 'merge' | 'apply';
  /** With `metadata.resourceVersion` in it, it is refused (409) when somebody was faster. */
  readonly body: unknown;
  readonly subresource?: 'status' | 'scale' | 'resize';
  /** Server-side apply: takes fields over from other managers. */
  readonly force?: boolean;
  readonly dryRun?: boolean;
  /** Default: Fleetkeeper's own. */
  readonly fieldManager?: string;
}

/** Every method rejects with a `KubernetesError`; requests end after a time-out of their own. */
export interface KubernetesApi {
  /** For people: where it is, and as whom. */
  readonly description: string;
  /** Of the pod that this process runs in, or of the context: where Leases and our own Secret live. */
  readonly namespace: string;
  list(
    type: ResourceType,
    scope: Scope & { readonly limit?: number; readonly continueToken?: string | undefined },
    signal?: AbortSignal,
  ): Promise<ListPage>;
  /** Ends when the server ends it, rejects when the connection breaks or `silenceMs` pass without an event. */
  watch(type: ResourceType, scope: WatchScope, signal: AbortSignal): AsyncIterable<WatchEvent>;
  /** Undefined when there is none (404). */
  get(target: Target, signal?: AbortSignal): Promise<KubernetesObject | undefined>;
  create(type: ResourceType, object: object, signal?: AbortSignal): Promise<KubernetesObject>;
  /** The whole object, `metadata.resourceVersion` included: refused (409) when somebody was faster. */
  replace(type: ResourceType, object: KubernetesObject, signal?: AbortSignal): Promise<KubernetesObject>;
  patch(target: Target, patch: Patch, signal?: AbortSignal): Promise<KubernetesObject>;
  /** What is not there (404) is removed already. */
  remove(
    target: Target,
    preconditions?: { readonly uid?: string; readonly resourceVersion?: string },
  ): Promise<void>;
  close(): Promise<void>;
}

/** What a command has written. */
export interface ExecPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Buffer;
}

/** How a command in a container ended. */
export type ExecEnd =
  | { readonly kind: 'exited'; readonly exitCode: number }
  /** It was not started; with the cluster's message. */
  | { readonly kind: 'failed'; readonly message: string }
  /** The connection ended before that was known. */
  | { readonly kind: 'unknown' };

/** What the API serves beside objects: what Pods write, commands in them, what is measured. Rejects as `KubernetesApi` does. */
export interface PodApi {
  /** What a container has written so far; `follow`: and what it writes until it ends. */
  logs(pod: Target, container: string, follow: boolean, signal: AbortSignal): AsyncIterable<Buffer>;
  /** Each piece is handed over as it comes. When `signal` is aborted, the connection ends; the command may continue. */
  exec(
    pod: Target,
    container: string,
    command: readonly string[],
    onPiece: (piece: ExecPiece) => void,
    signal: AbortSignal,
  ): Promise<ExecEnd>;
  /** What the kubelet of a node measures of its Pods. */
  nodeSummary(node: string): Promise<object>;
  /** Removes whatever the selector selects. */
  removeAll(type: ResourceType, namespace: string, labelSelector: string): Promise<void>;
  close(): Promise<void>;
}
