/**
 * What must survive a crash, per object. A record has three parts, and the status that the last pass reported:
 *
 * | part           | content                                                                              | whose         |
 * |----------------|--------------------------------------------------------------------------------------|---------------|
 * | RecordIdentity | key, uid, generation, document, account, id at the provider, how far it is proven     | the engine's  |
 * | EngineState    | digests of what was applied, what was seen, refusals, corrections, last report         | the engine's  |
 * | `kind`         | what the kind declares (kinds/KIND/state.ts); opaque here                             | the kind's    |
 * | `status`       | output: `status`, `page` and tests read it, passes and planners do not                | of nobody     |
 *
 * Beside it, the newest intent is stored. In a folder, one SQLite file holds all of it. In a cluster, it is in the
 * object's metadata and status. It never contains a value of a Secret, a ConfigMap or an environment variable, but only
 * keyed digests of them. How stored records are read that an earlier version wrote: record-versions.ts.
 */
import { isCreation } from '../actions/index.ts';
import type { ReasonOf } from '../reasons/index.ts';
import { newKindState, type Condition, type ObjectKey } from '../resources/index.ts';
import type { CapacityDemand } from './capacity.ts';
import type { HandledCommand, ShownCommand } from './handled-command.ts';
import type { LastReport } from './last-report.ts';
import type { IntentEstimate } from './prices.ts';
import type { LastMutation } from './last-mutation.ts';
import type { Why } from './why.ts';

/** The document as last read, without the values of its environment. */
export interface StoredManifest {
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The object, its document, and its id at the provider. */
export interface RecordIdentity {
  readonly key: ObjectKey;
  /** In a folder it is derived from owner and key, so a lost state file can be rebuilt. */
  readonly uid: string;
  /**
   * The uid in its marks, if that is another one (`markedUid`). In a cluster, that of an owned object is derived from owner and
   * key: another resource of its name finds what the last one left.
   */
  readonly markedAs?: string | undefined;
  /** Grows by one with every change of the spec. */
  readonly generation: number;
  /** A keyed digest of the spec in that generation. */
  readonly specDigest: string;
  readonly manifest: StoredManifest;
  readonly file: string;
  /** Undefined in a cluster. */
  readonly line: number | undefined;
  /**
   * Unix milliseconds at which its document was first taken in. Undefined in a cluster, which has a time of its own, and in
   * records of 0.1.0.
   */
  readonly createdAt: number | undefined;
  /** Unix milliseconds at which it was removed from the source. Undefined while it is desired. */
  readonly deletionRequestedAt: number | undefined;
  /** The account (`namespace/name`) that contains `externalId`. */
  readonly account: string | undefined;
  /** Of an object that another one owns, and that has no document. */
  readonly derived?: DerivedMark | undefined;
  /** The id of the service or volume at the provider. */
  readonly externalId: string | undefined;
  /**
   * It was found by a mark that this state can't prove to be its own: another fleet may have the same owner
   * name. It is observed but not changed until an operator confirms the owner.
   */
  readonly unproven: boolean;
  /**
   * In a cluster: the bookkeeping had no valid signature. The id is a claim until the mark on the remote
   * thing or `adopt` proves it.
   */
  readonly distrusted: 'unsigned' | 'forged' | undefined;
}

export interface DerivedMark {
  readonly owner: ObjectKey;
  /** The digest of the content with which it was last in sync. */
  readonly settled?: string | undefined;
}

/** What the engine knows of any object: what was applied and observed, and how its mutations went. */
export interface EngineState {
  /** A keyed digest of each field, as last applied. */
  readonly applied: Readonly<Record<string, string>>;
  /** Fields that a request changed and no read has confirmed yet. Whatever they show is not drift. */
  readonly unconfirmed: readonly string[];
  /**
   * Fields that the API normalizes: the response to the request showed another form than the one that was
   * sent.
   */
  readonly shownAs: Readonly<Record<string, ShownAs>>;
  /** Hidden fields that somebody may have changed: the revision moved, but no visible field did. */
  readonly doubted: readonly string[];
  /** The generation in which such hidden fields were sent again. Once for each generation is enough. */
  readonly resentFor: number | undefined;
  /** The remote thing, as last seen. */
  readonly seen: Seen | undefined;
  /** As it was when it last matched the spec, if nothing was sent since. */
  readonly baseline: Baseline | undefined;
  /** The last restart token that was handled, or the first one seen if no restart was due. */
  readonly restartToken: string | undefined;
  /** Fleetkeeper requested the deletion of `externalId`. Its absence is not drift. */
  readonly deletedByUs: boolean;
  /**
   * A creation whose outcome is unknown and which no read has shown. It may still take effect. It ends when:
   * - something carries the object's mark,
   * - the creation gets a response,
   * - the Account's `visibilitySeconds` are over,
   * - an operator resolves it.
   *
   * In a cluster, it may also be a creation that was perhaps never sent: the status that would show it was wiped (`lostCreation`).
   */
  readonly creationInDoubt: { readonly idempotencyKey: string } | undefined;
  /** Undefined when no creation is open or has an unknown outcome, and for a creation that 0.1.0 sent. */
  readonly beforeCreation: BeforeCreation | undefined;
  /**
   * The Idempotency-Key of the last refused creation. The API may have stored that response, so the next
   * creation needs another key (engine/mutation/creation-keys.ts).
   */
  readonly refusedKey: string | undefined;
  /** The request that the API refused permanently. It is not sent again until it changes. */
  readonly refusal: Refusal | undefined;
  /** How often the same correction was applied without effect on the observation. */
  readonly repeated: { readonly fingerprint: string; readonly count: number } | undefined;
  /** Recently sent corrections and their number, to detect a loop (engine/plan/corrections.ts). */
  readonly corrections: readonly Correction[];
  /** What the last pass reported. Undefined before the first one. */
  readonly report: LastReport | undefined;
  /** Absent while no operator command has been decided on. */
  readonly lastCommand?: HandledCommand;
}

export interface ObjectRecord<Kind extends object = object> extends RecordIdentity, EngineState {
  /** The kind's part (kinds/KIND/state.ts). The engine stores it, and does not look into it. */
  readonly kind: Kind;
  /** Output only: `report` has what later passes depend on. */
  readonly status: ObjectStatus | undefined;
}

export interface Correction {
  /** A keyed digest of the action without id and revision. */
  readonly mark: string;
  readonly action: string;
  readonly generation: number;
  readonly count: number;
  /** Unix milliseconds at which it was last sent. */
  readonly at: number;
  /** The revision of the object before it was last sent. */
  readonly revision: number | undefined;
  /** Whether the revision was the same the time before. */
  readonly isStill: boolean;
  /** The key of its last request. */
  readonly idempotencyKey: string;
  /** How many of them were refused as a conflict, and whether the last one was. Absent: none. */
  readonly refusals?: number | undefined;
  readonly isRefused?: true | undefined;
}

/** What existed when a creation was first sent. */
export interface BeforeCreation {
  /** Of the creation. */
  readonly idempotencyKey: string;
  /** Ids of things that have no mark and belong to no object. */
  readonly unmarked: readonly string[];
}

/** The record of a new object. */
export function newRecord(key: ObjectKey, uid: string): ObjectRecord {
  return {
    key,
    uid,
    generation: 1,
    specDigest: '',
    manifest: { annotations: {}, labels: {}, spec: {} },
    file: '',
    line: 0,
    createdAt: undefined,
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
    refusal: undefined,
    repeated: undefined,
    corrections: [],
    report: undefined,
    kind: newKindState(key),
    status: undefined,
  };
}

/**
 * The status was wiped, so it is unknown whether a creation was sent. The uid stands in for its key; no
 * request has the uid as its key.
 */
export function lostCreation(uid: string): NonNullable<ObjectRecord['creationInDoubt']> {
  return { idempotencyKey: uid };
}

/**
 * Whether a creation may have made what carries the object's mark: it is open, has an unknown outcome, or was
 * sent after the recorded thing was deleted. The last creation counts whatever its response was. If the
 * network delivers it twice, the response may be the refusal of the second copy.
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

/** Keyed digests of the value that was sent, and of the form in which the API shows it. */
export interface ShownAs {
  readonly desired: string;
  readonly observed: string;
}

export interface Seen {
  readonly id: string;
  /** The highest revision so far. A read that shows a lower one is stale. */
  readonly revision: number | undefined;
  readonly state: string | undefined;
  /** Unix milliseconds at which this state was first seen. */
  readonly since: number;
  /** The wall clock was set back since then: the state began before `since`, and nobody knows when. */
  readonly mayBeOlder?: true;
}

export interface Baseline {
  readonly id: string;
  readonly revision: number;
  readonly state: string | undefined;
  /** Unix milliseconds. */
  readonly at: number;
}

/**
 * Merges what the engine learned into the record that admission may have changed meanwhile: a document may be
 * edited or removed during a request.
 */
export function withEngineFields(current: ObjectRecord, learned: ObjectRecord): ObjectRecord {
  const { generation, specDigest, manifest, file, line, deletionRequestedAt, markedAs } = current;
  // What was settled is learned, and the owner is not.
  const isOfOwner = current.derived?.owner === learned.derived?.owner;
  const derived = isOfOwner ? learned.derived : current.derived;
  const taken = { generation, specDigest, manifest, file, line, deletionRequestedAt, derived };
  return { ...learned, ...taken, ...(markedAs === undefined ? {} : { markedAs }) };
}

export interface Refusal {
  /** Digest of the action without revision. */
  readonly fingerprint: string;
  /** Of the object, when the request was refused. */
  readonly generation: number;
  readonly action: string;
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Absent in records of 0.1.0, as is `scarcity`. */
  readonly meaning?: string | undefined;
  /** Keyed digest of the credential that it was sent with. Absent in records of 0.1.0. */
  readonly keyDigest?: string | undefined;
  /**
   * The request had been sent before with the same Idempotency-Key. So it is no error that the API knows the
   * key.
   */
  readonly isRepetition?: true | undefined;
  /** The last request of the generation that sent hidden fields again that somebody may have changed: its revision, and what refused it. */
  readonly resent?: { readonly revision: number | undefined; readonly answer: string } | undefined;
  /** Unix milliseconds. */
  readonly at: number;
  readonly scarcity?: Scarcity | undefined;
}

/** The provider had too little stock for a request. */
export interface Scarcity {
  /** Keyed digest of what the request needs of the provider's stock. */
  readonly demand: string;
  /** Consecutive refusals. */
  readonly failures: number;
  /** Unix milliseconds before which it is not requested again. */
  readonly retryAt: number;
  readonly reason: ReasonOf<'waiting'>;
  readonly message: string;
}

/**
 * Outcomes that follow an unknown one:
 *
 * | outcome | |
 * |---|---|
 * | `not-applied` | evidence shows that the request took no effect |
 * | `outdated` | it may have taken effect; it no longer can, since its revision has moved |
 * | `repeatable` | it may have taken effect; the same request is sent again with its key |
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

/** One mutation. It is durable before the request is sent. */
export interface Intent {
  readonly idempotencyKey: string;
  readonly object: ObjectKey;
  readonly action: string;
  readonly targetId: string | undefined;
  /** Keyed digest of method, path and body. A key is only ever sent with one of them. */
  readonly bodyDigest: string;
  /** The revision and state of the target before the request, as evidence for settlement. */
  readonly baseRevision: number | undefined;
  readonly baseState: string | undefined;
  /** The object's generation when the intent was made, and the token that a restart handles. */
  readonly generation: number;
  readonly restartToken: string | undefined;
  /**
   * Of the fields that were sent, if they may be needed later: values of Secrets change without a new
   * generation. Undefined in an intent of 0.1.0.
   */
  readonly digests: Readonly<Record<string, string>> | undefined;
  /** Undefined if the request costs nothing more, and in an intent of 0.1.0. */
  readonly estimate?: IntentEstimate | undefined;
  /** What it needs of the provider's stock. Undefined for what needs nothing more, and in an intent of 0.1.0. */
  readonly demand?: CapacityDemand | undefined;
  /** Undefined in an intent of an earlier version. */
  readonly why?: Why | undefined;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly finishedAt: number | undefined;
  readonly outcome: IntentOutcome;
  /** A message from the API or the network. */
  readonly note: string | undefined;
}

export interface DriftEntry {
  readonly path: string;
  /** `RevisionMoved`: its revision moved, but no visible field did. One that the API hides may have changed. */
  readonly kind: 'Changed' | 'Missing' | 'RevisionMoved';
  readonly desired: unknown;
  readonly observed: unknown;
  /** RFC 3339. */
  readonly since: string;
  /** What the provider's events report about it, in the provider's text. */
  readonly cause?: string;
}

/** The `status` of an object, as `fleetkeeper status` shows it and a cluster stores it. */
export interface ObjectStatus {
  readonly observedGeneration: number;
  readonly id?: string;
  readonly revision?: number;
  readonly conditions: readonly Condition[];
  readonly lastMutation?: LastMutation;
  readonly drift?: readonly DriftEntry[];
  /** Other things that carry the object's mark. */
  readonly duplicates?: readonly { readonly id: string }[];
  readonly lastHandledReconcileAt?: string;
  readonly lastHandledCommand?: ShownCommand;
  /** What the API reports: state, endpoint, geography, prices, … */
  readonly [observed: string]: unknown;
}

/** An operator's decision on a mutation with an unknown outcome (`fleetkeeper resolve`). */
export interface Resolution {
  /** Of the intent that is meant. */
  readonly idempotencyKey: string;
  readonly applied: boolean;
  /** The id of what a creation made. */
  readonly id: string | undefined;
}
