/**
 * What must survive a crash, per object: who it is, what it became at the provider, what was last known to
 * be applied, and the intent that is under way. In folder mode all of it is in one SQLite file; in a
 * cluster it is in the object's metadata and status. No value of a Secret, a ConfigMap or an environment
 * variable is ever part of it: values are kept as keyed digests only.
 */
import { isCreation } from '../actions/index.ts';
import type { ReasonOf } from '../reasons/index.ts';
import type { Condition, ObjectKey, TemplateValues } from '../resources/index.ts';
import type { IntentEstimate } from './prices.ts';

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
  /** Undefined in a cluster. */
  readonly line: number | undefined;
  /** Unix milliseconds at which it was seen to be gone from the source; undefined while it is wanted. */
  readonly deletionRequestedAt: number | undefined;
  /** The account (`namespace/name`) in which `externalId` lives. */
  readonly account: string | undefined;
  /** The id of the service or volume at the provider. */
  readonly externalId: string | undefined;
  /** Keyed digest of each field as it was last known to be applied. */
  readonly applied: Readonly<Record<string, string>>;
  /** Fields that were sent and accepted, and have not been seen in place since: what they show then is nobody else's doing. */
  readonly unconfirmed: readonly string[];
  /** Fields that the API showed in another form than they were sent in, in the very answer to the request. */
  readonly shownAs: Readonly<Record<string, ShownAs>>;
  /** Fields that the API hides, and that somebody may have changed: its revision moved, and nothing visible did. */
  readonly doubted: readonly string[];
  /** The generation for which doubted fields have been sent again; once for each is enough. */
  readonly resentFor: number | undefined;
  /** The remote object as it was last seen. */
  readonly seen: Seen | undefined;
  /** As it was last seen to be as desired, with no mutation of ours since. */
  readonly baseline: Baseline | undefined;
  /** The last restart token acted upon (or found at the start, when nothing had to be restarted). */
  readonly restartToken: string | undefined;
  /**
   * Found by a mark that this state can't prove to be its own: another fleet may go by the same owner's name. It
   * is observed, and not changed, until a person names the owner.
   */
  readonly unproven: boolean;
  /**
   * In a cluster: what is recorded was not signed by this operator, or with a wrong signature. The id is a claim, until the mark on the remote
   * thing or `adopt` proves it.
   */
  readonly distrusted: 'unsigned' | 'forged' | undefined;
  /** We asked for the deletion of `externalId`: its absence is no surprise, and nobody else's doing. */
  readonly deletedByUs: boolean;
  /**
   * A creation whose outcome was not known, and which no read has shown: it may still take effect. It ends when something
   * carries our mark, when the creation is answered, when the Account's `visibilitySeconds` are over, or when a person resolves it.
   * In a cluster also a creation of which nobody knows whether there was one: the status that would say so was wiped (`lostCreation`).
   */
  readonly creationInDoubt: { readonly idempotencyKey: string } | undefined;
  /** Undefined when no creation is under way or in doubt, and when it was first sent by an earlier version. */
  readonly beforeCreation: BeforeCreation | undefined;
  /** The Idempotency-Key of the last creation that was refused: its answer may be kept, so the next key has to be another one (engine/mutation/creation-keys.ts). */
  readonly refusedKey: string | undefined;
  /** Why we paused it ourselves; whoever sees it paused then must not take it for somebody else's doing. */
  readonly pausedFor: 'VolumeExpansion' | undefined;
  /** The independent volume that was made with the service, and has no object of its own. */
  readonly madeVolumeId: string | undefined;
  /** Restarts by remediation in a row: how many, the last one's time (Unix milliseconds), and of which generation. */
  readonly remediation:
    | { readonly restarts: number; readonly at: number; readonly generation: number }
    | undefined;
  /** What the service took of its template; a later change of that does not reach it by itself. */
  readonly template: { readonly name: string; readonly values: TemplateValues } | undefined;
  /** Of a ProtectedTask: the activity that is, or may be, registered for it. */
  readonly lease: TaskLease | undefined;
  /** Unix milliseconds at which the release of its activity was acknowledged. */
  readonly releasedAt: number | undefined;
  /** The request that the API refused for good; not sent again until it would be another one. */
  readonly refusal: Refusal | undefined;
  /** How often the same correction was applied without the observation following. */
  readonly repeated: { readonly fingerprint: string; readonly count: number } | undefined;
  /** What was sent lately, and how often: it may have to be sent again and again (engine/plan/corrections.ts). */
  readonly corrections: readonly Correction[];
  readonly status: ObjectStatus | undefined;
}

export interface Correction {
  /** Keyed digest of the action without id and revision. */
  readonly mark: string;
  readonly action: string;
  readonly generation: number;
  readonly count: number;
  /** Unix milliseconds at which it was last sent. */
  readonly at: number;
  /** Of the object before it was last sent. */
  readonly revision: number | undefined;
  /** That was the revision before the time before, too. */
  readonly isStill: boolean;
  /** Under which it was last sent. */
  readonly idempotencyKey: string;
}

/** What there was when a creation was first sent. */
export interface BeforeCreation {
  /** Of the creation. */
  readonly idempotencyKey: string;
  /** Ids of things that show no mark, and are no object's. */
  readonly unmarked: readonly string[];
}

export interface TaskLease {
  readonly serviceId: string;
  /** The object's uid, until somebody else releases it: then it has to be another one. */
  readonly activityId: string;
  /** The Idempotency-Key of the release. */
  readonly releaseKey: string;
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
    unconfirmed: [],
    shownAs: {},
    doubted: [],
    resentFor: undefined,
    seen: undefined,
    baseline: undefined,
    restartToken: undefined,
    unproven: false,
    distrusted: undefined,
    deletedByUs: false,
    creationInDoubt: undefined,
    beforeCreation: undefined,
    refusedKey: undefined,
    pausedFor: undefined,
    madeVolumeId: undefined,
    remediation: undefined,
    template: undefined,
    lease: undefined,
    releasedAt: undefined,
    refusal: undefined,
    repeated: undefined,
    corrections: [],
    status: undefined,
  };
}

/** Its status was wiped: a creation may have been sent, and nothing says so. No request has the uid as its key. */
export function lostCreation(uid: string): NonNullable<ObjectRecord['creationInDoubt']> {
  return { idempotencyKey: uid };
}

/**
 * A creation of ours may have made what carries the object's mark: it is open, in doubt, or was sent after what is recorded was deleted. The
 * last one counts whatever its answer was: a request that is delivered twice is answered once, maybe with the refusal of the second copy.
 */
export function mayHaveMade(
  { creationInDoubt, deletedByUs, externalId }: ObjectRecord,
  open: Pick<Intent, 'action'> | undefined,
  last: Pick<Intent, 'action'> | undefined,
): boolean {
  const creates = (intent: Pick<Intent, 'action'> | undefined) => isCreation(intent?.action ?? '');
  const isSuccessor = externalId !== undefined && deletedByUs && creates(last);
  return creationInDoubt !== undefined || creates(open) || isSuccessor;
}

export function isCreationLost({
  uid,
  creationInDoubt,
}: Pick<ObjectRecord, 'uid' | 'creationInDoubt'>): boolean {
  return creationInDoubt?.idempotencyKey === uid;
}

/** A record as it was stored: fields that came with a later version have the values of a new one. */
export function readRecord(stored: ObjectRecord): ObjectRecord {
  return { ...newRecord(stored.key, stored.uid), ...stored };
}

/** Keyed digests of the value that was sent, and of what the API made of it. */
export interface ShownAs {
  readonly desired: string;
  readonly observed: string;
}

export interface Seen {
  readonly id: string;
  /** The highest that it has had; a lower one is not believed. */
  readonly revision: number | undefined;
  readonly state: string | undefined;
  /** Unix milliseconds at which it was first seen in that state. */
  readonly since: number;
}

export interface Baseline {
  readonly id: string;
  readonly revision: number;
  readonly state: string | undefined;
  /** Unix milliseconds. */
  readonly at: number;
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
  /** Absent in records of older versions, as is `scarcity`. */
  readonly meaning?: string | undefined;
  /** Keyed digest of the credential that it was sent with; absent in records of older versions. */
  readonly keyDigest?: string | undefined;
  /** The same request had been sent before with the same Idempotency-Key: that the API knows the key is no fault. */
  readonly isRepetition?: true | undefined;
  /** Unix milliseconds. */
  readonly at: number;
  readonly scarcity?: Scarcity | undefined;
}

/** The provider had too little of what was asked for. */
export interface Scarcity {
  /** Keyed digest of what the request needs of the provider's stock. */
  readonly demand: string;
  /** Refusals of it in a row. */
  readonly failures: number;
  /** Unix milliseconds before which it is not asked for again. */
  readonly retryAt: number;
  readonly reason: ReasonOf<'waiting'>;
  readonly message: string;
}

/**
 * Of what was unknown at first: `not-applied` was shown by evidence not to have happened; `outdated` may have, and can't happen any more, since its
 * revision has moved; `repeatable` may have, and the same request is sent again with its key.
 */
export const intentOutcomes = [
  'pending',
  'applied',
  'refused',
  'not-sent',
  'unknown',
  'not-applied',
  'outdated',
  'repeatable',
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
  /**
   * Of the fields that were sent, as far as one may have to know later what they were: values of Secrets change without a new generation.
   * Undefined in an intent of an earlier version.
   */
  readonly digests: Readonly<Record<string, string>> | undefined;
  /** Undefined when it costs nothing more, and in an intent of an earlier version. */
  readonly estimate?: IntentEstimate | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly finishedAt: number | undefined;
  readonly outcome: IntentOutcome;
  /** What the API or the network said, for people. */
  readonly note: string | undefined;
}

export interface DriftEntry {
  readonly path: string;
  /** `RevisionMoved`: its revision did, and nothing visible; a field that the API hides may have been changed. */
  readonly kind: 'Changed' | 'Missing' | 'RevisionMoved';
  readonly desired: unknown;
  readonly observed: unknown;
  /** RFC 3339. */
  readonly since: string;
  /** What the provider's events say of it, in their words. */
  readonly cause?: string;
}

/** `status` of an object, as shown by `fleetkeeper status` and written to a cluster. */
export interface ObjectStatus {
  readonly observedGeneration: number;
  readonly id?: string;
  readonly revision?: number;
  readonly conditions: readonly Condition[];
  readonly lastMutation?: LastMutation;
  readonly drift?: readonly DriftEntry[];
  /** What carries the object's mark beside what is recorded. */
  readonly duplicates?: readonly { readonly id: string }[];
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

/** A person's word on a mutation whose outcome no evidence tells. */
export interface Resolution {
  /** Of the intent that is meant. */
  readonly idempotencyKey: string;
  readonly applied: boolean;
  /** What a creation made. */
  readonly id: string | undefined;
}
