/**
 * What must survive a crash, per object: who it is, what it became at the provider, what was last known to
 * be applied, and the intent that is under way. In folder mode all of it is in one SQLite file; in a
 * cluster it is in the object's metadata and status. No value of a Secret, a ConfigMap or an environment
 * variable is ever part of it: values are kept as keyed digests only.
 */
import type { DigestKey } from '../base/index.ts';
import type { Condition, ObjectKey } from '../resources/index.ts';

/** The document as last read, without the values of its environment. */
export interface StoredManifest {
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface ObjectRecord {
  readonly key: ObjectKey;
  /** Derived from owner and key in folder mode, so that a lost state file is rebuilt as it was. */
  readonly uid: string;
  /** Grows by one with every change of the spec. */
  readonly generation: number;
  /** Keyed digest of the spec of that generation. */
  readonly specDigest: string;
  readonly manifest: StoredManifest;
  readonly file: string;
  readonly line: number;
  /** Unix milliseconds at which it was seen to be gone from the source; undefined while it is wanted. */
  readonly deletionRequestedAt: number | undefined;
  /** The account (`namespace/name`) in which `externalId` lives. */
  readonly account: string | undefined;
  /** The id of the service or volume at the provider. */
  readonly externalId: string | undefined;
  /** Keyed digest of each field as it was last known to be applied. */
  readonly applied: Readonly<Record<string, string>>;
  /** The last restart token acted upon (or found at the start, when nothing had to be restarted). */
  readonly restartToken: string | undefined;
  /**
   * Found by a mark that this state can't prove to be its own: another fleet may go by the same owner's name. It
   * is observed, and not changed, until a person names the owner.
   */
  readonly unproven: boolean;
  /** We asked for the deletion of `externalId`: its absence is no surprise, and nobody else's doing. */
  readonly deletedByUs: boolean;
  /** Why we paused it ourselves; whoever sees it paused then must not take it for somebody else's doing. */
  readonly pausedFor: 'VolumeExpansion' | undefined;
  /** The request that the API refused for good; not sent again until it would be another one. */
  readonly refusal: Refusal | undefined;
  /** How often the same correction was applied without the observation following. */
  readonly repeated: { readonly fingerprint: string; readonly count: number } | undefined;
  readonly status: ObjectStatus | undefined;
}

/** Of an object that has just been seen. */
export function newRecord(key: ObjectKey, uid: string): ObjectRecord {
  return {
    key,
    uid,
    generation: 1,
    specDigest: '',
    manifest: { annotations: {}, labels: {}, spec: {} },
    file: '',
    line: 0,
    deletionRequestedAt: undefined,
    account: undefined,
    externalId: undefined,
    applied: {},
    restartToken: undefined,
    unproven: false,
    deletedByUs: false,
    pausedFor: undefined,
    refusal: undefined,
    repeated: undefined,
    status: undefined,
  };
}

/**
 * What the engine has learned, on top of what admission has written meanwhile: a document may be edited or taken away
 * while a request of its object is under way.
 */
export function withEngineFields(current: ObjectRecord, learned: ObjectRecord): ObjectRecord {
  const { generation, specDigest, manifest, file, line, deletionRequestedAt } = current;
  return { ...learned, generation, specDigest, manifest, file, line, deletionRequestedAt };
}

export interface Refusal {
  /** Digest of the action without revision. */
  readonly fingerprint: string;
  /** Of the object, when it was refused. */
  readonly generation: number;
  readonly action: string;
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** `not-applied`: unknown at first, and then shown by evidence not to have happened. */
export const intentOutcomes = [
  'pending',
  'applied',
  'refused',
  'not-sent',
  'unknown',
  'not-applied',
] as const;
export type IntentOutcome = (typeof intentOutcomes)[number];

/** One mutation, written down before it is sent. */
export interface Intent {
  readonly idempotencyKey: string;
  readonly object: ObjectKey;
  readonly action: string;
  readonly targetId: string | undefined;
  /** Keyed digest of method, path and body: the same key is only ever sent with the same one. */
  readonly bodyDigest: string;
  /** The revision and state of the target before, as evidence for settling. */
  readonly baseRevision: number | undefined;
  readonly baseState: string | undefined;
  /** Of the object, and the token that a restart answers, when it was written down. */
  readonly generation: number;
  readonly restartToken: string | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly finishedAt: number | undefined;
  readonly outcome: IntentOutcome;
  /** What the API or the network said, for people. */
  readonly note: string | undefined;
}

export interface DriftEntry {
  readonly path: string;
  readonly kind: 'Changed' | 'Missing' | 'Foreign';
  readonly desired: unknown;
  readonly observed: unknown;
  /** RFC 3339. */
  readonly since: string;
}

/** `status` of an object, as shown by `fleetkeeper status` and written to a cluster. */
export interface ObjectStatus {
  readonly observedGeneration: number;
  readonly id?: string;
  readonly revision?: number;
  readonly conditions: readonly Condition[];
  readonly lastMutation?: LastMutation;
  readonly drift?: readonly DriftEntry[];
  readonly lastHandledReconcileAt?: string;
  /** What the API tells: state, endpoint, geography, prices, … */
  readonly [observed: string]: unknown;
}

export interface LastMutation {
  readonly action: string;
  readonly idempotencyKey: string;
  /** RFC 3339. */
  readonly at: string;
  readonly outcome: IntentOutcome;
}

/**
 * Where records and intents are kept. Reads are answered from memory; a write has been made durable when
 * its promise resolves.
 */
export interface StateStore {
  /** The name under which this state marks what it owns. */
  readonly ownerName: string;
  /** A person has named the owner: what carries its mark is ours. */
  readonly ownerConfirmed: boolean;
  /** Digests made with this key are comparable with those stored here. */
  readonly digestKey: DigestKey;
  records(): Iterable<ObjectRecord>;
  record(key: ObjectKey): ObjectRecord | undefined;
  /** The object that stands for a service or volume with this id. */
  recordOf(externalId: string): ObjectRecord | undefined;
  /** The intent of this object that is pending or unknown: at most one. */
  openIntent(key: ObjectKey): Intent | undefined;
  /** The newest intent of this object, whatever became of it. */
  lastIntent(key: ObjectKey): Intent | undefined;
  save(record: ObjectRecord): Promise<void>;
  saveAll(records: readonly ObjectRecord[]): Promise<void>;
  /** Writes the intent and the record in one step. */
  saveIntent(intent: Intent, record: ObjectRecord): Promise<void>;
  /** Forgets the object and its intents. */
  remove(key: ObjectKey): Promise<void>;
}
