/**
 * Carries out one step: the intent is written down first, then one request is sent, then what became of
 * it is written down.
 *
 *     (none) ── saveIntent ──> pending ── send ──> applied | refused | not-sent | unknown
 *                                 └── crash: found pending at the next start, and then as good as unknown
 *     unknown ── evidence ──> applied | not-applied (and then, for the same request, pending again with the same key)
 *                             | outdated (and then another request, with another revision and key)
 *                             | repeatable (and then pending again with the same key)
 *
 * One key per intent. A request that was not sent, was shown not to have been applied, or is repeatable, is sent again with the
 * key and the bytes it had; a request with another body gets another key. New keys are random; those of creations of a state
 * that shares its digest key are derived (creation-keys.ts).
 */
import {
  actionOf,
  effectOf,
  isCreation,
  startService,
  stopService,
  type ActionEntry,
} from '../../actions/index.ts';
import { describeOutcome, type ControlApi, type Outcome, type RefusalMeaning } from '../../api/index.ts';
import { invariant, type Clock, type Random } from '../../base/index.ts';
import {
  baselineNow,
  nextRemediation,
  parseBeacon,
  remediationReason,
  seenInAnswer,
  withCorrection,
  withoutCorrection,
  type Action,
  type Step,
} from '../plan/index.ts';
import {
  withEngineFields,
  type Intent,
  type IntentEstimate,
  type IntentOutcome,
  type ObjectRecord,
  type StateStore,
} from '../../state/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import { beforeCreation } from './before-creation.ts';
import { confirm, fieldsSent } from './confirmation.ts';
import { creationKey, hasDerivedKey } from './creation-keys.ts';
import { bodyDigest, correctionMark, fingerprint, send, type Receipt } from './requests.ts';
import { nextScarcity } from './scarcity.ts';

export interface ExecutorOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Target {
  readonly record: ObjectRecord;
  readonly revision: number | undefined;
  readonly state: string | undefined;
  /** What is to be remembered of the desired fields once they are applied. */
  readonly digests: Readonly<Record<string, string>>;
  readonly restartToken: string | undefined;
  /** `namespace/name`. */
  readonly account?: string | undefined;
  /** Of the credential that the request is sent with. */
  readonly keyDigest?: string | undefined;
  /** What the request adds to the cost of an hour. */
  readonly estimate?: IntentEstimate | undefined;
  /** The fields as the API showed them before, and as an answer of it shows them, as digests. */
  readonly shownBefore?: Readonly<Record<string, string>>;
  readonly shownIn?: (answer: Receipt) => Readonly<Record<string, string>>;
  /** The fields that an answer shows in what may be a form of the API's own for what was sent (engine/plan/differences.ts). */
  readonly formsIn?: (answer: Receipt) => readonly string[];
  /** Of a creation: whether the account showed the thing, without our mark, before the request was first sent. */
  readonly wasThere?: (id: string) => boolean;
  /** Of a creation: ids of what the account has, shows no mark, and is no object's. */
  readonly unmarked?: () => readonly string[];
}

/** After these the same request has the key that it had. */
const repeatedOutcomes: ReadonlySet<IntentOutcome> = new Set(['not-sent', 'not-applied', 'repeatable']);

/** Sends `step` once. Resolves when the outcome has been made durable. */
export async function execute(
  options: ExecutorOptions,
  api: ControlApi,
  step: Step,
  target: Target,
  /** Asked when its turn has come, which may be an hour later (`Retry-After`). */
  isStillPlanned: () => boolean,
): Promise<Outcome<Receipt>> {
  const { store, clock, logger, metrics } = options;
  const { action } = step;
  const digest = bodyDigest(action, store.digestKey);
  const { key } = target.record;
  invariant(store.openIntent(key) === undefined, `a mutation of ${key} while another one is open`);
  const previous = store.lastIntent(key);
  const repeats =
    previous !== undefined && repeatedOutcomes.has(previous.outcome) && previous.bodyDigest === digest;
  const intent: Intent = {
    idempotencyKey: repeats ? previous.idempotencyKey : newKey(options, action, target),
    object: key,
    action: action.do,
    targetId: 'id' in action ? action.id : undefined,
    bodyDigest: digest,
    baseRevision: target.revision,
    baseState: target.state,
    generation: target.record.generation,
    restartToken: target.restartToken,
    digests: target.digests,
    estimate: target.estimate,
    createdAt: clock.wallMs(),
    finishedAt: undefined,
    outcome: 'pending',
    note: undefined,
  };
  // The revision shows foreign changes up to here.
  const intended = { ...recordIntended(store, target, step, intent), baseline: undefined };
  await store.saveIntent(intent, intended);
  if (step.overrides !== undefined) {
    logger.warn(
      { object: key, action: action.do, interrupts: step.overrides },
      'disruption: Always overrides a running activity',
    );
  }
  const meant = api.providedThat(() => isMeant(store.record(key), target.record) && isStillPlanned());
  const outcome = ofThisOne(store, target, action, await send(meant, action, intent.idempotencyKey));
  const finished: Intent = {
    ...intent,
    // Evidence for an outcome that is known already is not needed.
    digests: outcome.kind === 'unknown' ? intent.digests : undefined,
    outcome: outcome.kind,
    finishedAt: clock.wallMs(),
    note: noteOf(outcome),
  };
  const sent = { idempotencyKey: intent.idempotencyKey, isRepetition: repeats };
  const learned = recordOutcome(options, intended, step, target, outcome, sent);
  countMutation(metrics, intended, intent, outcome);
  logger[outcome.kind === 'applied' ? 'info' : 'warn'](
    {
      object: key,
      action: action.do,
      reason: step.reason,
      id: intent.targetId,
      idempotencyKey: intent.idempotencyKey,
      outcome: outcome.kind,
      note: finished.note,
    },
    'mutation',
  );
  const now = store.record(key);
  // In a cluster the object may have gone meanwhile, and another one have its name: the answer is about neither.
  if (now?.uid === learned.uid) await store.saveIntent(finished, withEngineFields(now, learned));
  return outcome;
}

function countMutation(
  metrics: Metrics,
  { corrections }: ObjectRecord,
  { action, idempotencyKey }: Intent,
  { kind: outcome }: Outcome<Receipt>,
): void {
  metrics.mutations.inc({ action, outcome });
  const sent = corrections.find((each) => each.idempotencyKey === idempotencyKey);
  if (outcome === 'applied' && sent && sent.count > 1) metrics.repeatedCorrections.inc({ action });
}

function newKey({ store, random }: ExecutorOptions, action: Action, target: Target): string {
  const { record, account, keyDigest } = target;
  const pin = account === undefined ? undefined : store.identityPin(account);
  const identity = pin?.id ?? pin?.emailDigest ?? keyDigest;
  return creationKey(store, record, action, identity) ?? random.uuid();
}

/** While a request waits for its turn the document may be edited, taken out, or put back, and be another object's. */
function isMeant(now: ObjectRecord | undefined, planned: ObjectRecord): boolean {
  return (
    now?.uid === planned.uid && now.generation === planned.generation && isLeaving(now) === isLeaving(planned)
  );
}

function isLeaving({ deletionRequestedAt }: ObjectRecord): boolean {
  return deletionRequestedAt !== undefined;
}

/**
 * A creation makes something new, with our mark: what another object stands for, what was there before the request, and what
 * carries the mark of another object, is not what it made. An API may answer with what has the same name already.
 */
function ofThisOne(
  store: StateStore,
  { record: { key }, wasThere }: Target,
  action: Action,
  outcome: Outcome<Receipt>,
): Outcome<Receipt> {
  if (outcome.kind !== 'applied' || !isCreation(action.do)) return outcome;
  const { id, environmentNames } = outcome.value;
  const owner = store.recordOf(id)?.key;
  if (owner !== undefined && owner !== key) {
    return { kind: 'unknown', reason: `a ${outcome.status} that is about ${id}, which is ${owner}` };
  }
  if (wasThere?.(id) === true) {
    const reason = `a ${outcome.status} that is about ${id}, which the account showed before the request; use \`adopt: {id: ${id}}\` to take it over`;
    return { kind: 'unknown', reason };
  }
  const sent = beaconIn(Object.keys(environmentOf(action)?.reveal() ?? {}));
  const shown = beaconIn(environmentNames ?? []);
  if (!sent || !shown || (sent.uid === shown.uid && sent.ownerId === shown.ownerId)) return outcome;
  return { kind: 'unknown', reason: `a ${outcome.status} that is about ${id}, which carries another mark` };
}

/** All that is set of it. */
function environmentOf(action: Action) {
  return 'environment' in action ? action.environment : undefined;
}

function beaconIn(names: readonly string[]) {
  return names.map((name) => parseBeacon(name)).find((beacon) => beacon !== undefined);
}

/** What a person may want to ask the provider for. */
function noteOf(outcome: Outcome<Receipt>): string | undefined {
  if (outcome.kind !== 'applied') return describeOutcome(outcome);
  const { operationId } = outcome.value;
  return operationId === undefined ? undefined : `operation ${operationId}`;
}

/**
 * What must be known of a mutation even if its outcome never arrives. A first creation undoes nothing, and restarts by remediation have a count of
 * their own.
 */
function recordIntended(store: StateStore, target: Target, step: Step, intent: Intent): ObjectRecord {
  const { do: name } = step.action;
  if (step.reason === remediationReason) {
    return { ...target.record, remediation: nextRemediation(target.record, intent.createdAt) };
  }
  const isFirst = step.reason === 'Create';
  const corrected = isFirst
    ? target.record
    : { ...target.record, corrections: correctionsWith(store, step, target, intent) };
  const record = { ...corrected, beforeCreation: beforeCreation(store, target, intent) };
  if (effectOf(name) === 'delete') return { ...record, deletedByUs: true };
  const pauses = name === stopService.name && step.reason === 'VolumeExpansion';
  return pauses ? { ...record, pausedFor: 'VolumeExpansion' } : record;
}

function correctionsWith(
  { digestKey }: StateStore,
  { action }: Step,
  { record, revision }: Target,
  { idempotencyKey, createdAt }: Intent,
): ObjectRecord['corrections'] {
  const sent = { mark: correctionMark(action, digestKey), action: action.do, revision, idempotencyKey };
  return withCorrection(record, sent, createdAt);
}

/** It is known not to have happened: what was written down for the case that it does is taken back. */
export function withoutIntent(
  before: ObjectRecord,
  { action, idempotencyKey }: Pick<Intent, 'action' | 'idempotencyKey'>,
): ObjectRecord {
  const record = { ...before, corrections: withoutCorrection(before, idempotencyKey) };
  if (effectOf(action) === 'delete') return { ...record, deletedByUs: false };
  return action === stopService.name ? { ...record, pausedFor: undefined } : record;
}

function recordOutcome(
  { store, clock, random }: ExecutorOptions,
  record: ObjectRecord,
  step: Step,
  target: Target,
  outcome: Outcome<Receipt>,
  { idempotencyKey, isRepetition }: { readonly idempotencyKey: string; readonly isRepetition: boolean },
): ObjectRecord {
  const { action } = step;
  const mark = fingerprint(action, store.digestKey);
  if (outcome.kind === 'not-sent') return target.record;
  if (outcome.kind === 'refused') {
    const { status, code, message, meaning } = outcome;
    // It did not happen: what was written down for the case that it does is taken back.
    return {
      ...target.record,
      ...(hasDerivedKey(store, action.do) ? afterRefusal(idempotencyKey, meaning) : {}),
      refusal: {
        fingerprint: mark,
        generation: record.generation,
        action: action.do,
        status,
        code,
        message,
        meaning,
        keyDigest: target.keyDigest,
        ...(isRepetition ? { isRepetition } : {}),
        at: clock.wallMs(),
        scarcity: nextScarcity(record, action, outcome, {
          digestKey: store.digestKey,
          random,
          wallMs: clock.wallMs(),
        }),
      },
    };
  }
  if (outcome.kind !== 'applied') return record;
  const count = record.repeated?.fingerprint === mark ? record.repeated.count + 1 : 1;
  const creates = isCreation(action.do);
  const confirmation = confirm(
    record,
    fieldsSent(action, appliedNames(action.do, target)),
    target,
    outcome.value,
  );
  return {
    ...recordApplied(record, action.do, target),
    ...confirmation,
    baseline: isWholeEnvironment(action, confirmation)
      ? baselineNow(undefined, outcome.value, clock.wallMs())
      : undefined,
    refusal: undefined,
    seen: seenInAnswer(record.seen, outcome.value),
    repeated: { fingerprint: mark, count },
    ...(creates
      ? {
          externalId: outcome.value.id,
          unproven: false,
          distrusted: undefined,
          deletedByUs: false,
          creationInDoubt: undefined,
          beforeCreation: undefined,
          pausedFor: undefined,
        }
      : {}),
  };
}

/**
 * The environment was sent as a whole, and is in place at the revision of the answer. Additional variables at that
 * revision are the provider's own. Of other fields, the answer shows nothing that a read would not show better.
 */
function isWholeEnvironment(action: Action, { unconfirmed }: Pick<ObjectRecord, 'unconfirmed'>): boolean {
  return environmentOf(action) !== undefined && !unconfirmed.includes('env');
}

/** A key that the API has seen may be that of another process, whose creation may still appear. */
function afterRefusal(idempotencyKey: string, meaning: RefusalMeaning): Partial<ObjectRecord> {
  const isSeen = meaning === 'KeyConflict';
  return { refusedKey: idempotencyKey, ...(isSeen ? { creationInDoubt: { idempotencyKey } } : {}) };
}

/** Recorded by a later version: which fields it brings about is not known here. */
const unknownAction: Pick<ActionEntry, 'fields' | 'answersRestart'> = { fields: [] };

/** The record after `action` was applied, according to the API, to evidence or to an operator. */
export function recordApplied(record: ObjectRecord, action: string, target: Target): ObjectRecord {
  const names = appliedNames(action, target);
  const { fields, answersRestart } = actionOf(action) ?? unknownAction;
  const doubted = record.doubted.filter((name) => !names.includes(name));
  const isDoubtMet = record.doubted.length > 0 && doubted.length === 0;
  const applied: Record<string, string> = fields === 'all' ? {} : { ...record.applied };
  for (const name of names) {
    const digest = target.digests[name];
    if (digest !== undefined) applied[name] = digest;
  }
  return {
    ...record,
    applied,
    doubted,
    resentFor: isDoubtMet ? record.generation : record.resentFor,
    unconfirmed: record.unconfirmed.filter((name) => !names.includes(name)),
    ...(answersRestart ? { restartToken: target.restartToken ?? record.restartToken } : {}),
    ...(action === startService.name ? { pausedFor: undefined } : {}),
  };
}

/** What is created runs; it is as desired only once it has been seen so. */
function appliedNames(action: string, { digests }: Target): readonly string[] {
  const { fields } = actionOf(action) ?? unknownAction;
  return fields === 'all' ? Object.keys(digests).filter((name) => name !== 'desiredState') : fields;
}
