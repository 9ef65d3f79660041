/**
 * Carries out one step: it records the intent, sends one request, and records the outcome.
 *
 *     (none) ── saveIntent ──> pending ── send ──> applied | refused | not-sent | unknown
 *                                 └── crash: found pending at the next start, and treated as unknown
 *     unknown ── evidence ──> applied | not-applied (and then, for the same request, pending again with the same key)
 *                             | outdated (and then another request, with another revision and key)
 *                             | repeatable (and then pending again with the same key)
 *
 * There is one key per intent. A request that was not sent, was not applied, or is repeatable, is sent again with the same key
 * and bytes. A request with another body gets another key. New keys are random. If the state shares its digest key, those of
 * creations are derived (creation-keys.ts).
 */
import { actionOf, effectOf, isCreation, type ActionEntry } from '../../actions/index.ts';
import { describeOutcome, type ControlApi, type Outcome } from '../../api/index.ts';
import { invariant, type Clock, type Random } from '../../base/index.ts';
import {
  baselineNow,
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
  type CapacityDemand,
  type Intent,
  type IntentEstimate,
  type IntentOutcome,
  type ObjectRecord,
  type StateStore,
  type Why,
} from '../../state/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import { beforeCreation } from './before-creation.ts';
import { confirm, fieldsSent } from './confirmation.ts';
import { creationKey } from './creation-keys.ts';
import { remembered, type Remember } from './remember.ts';
import { bodyDigest, correctionMark, fingerprint, send, type Receipt } from './requests.ts';
import { recordRefused, type SentRequest } from './refused.ts';
import type { IfRefused } from './scarcity.ts';

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
  /** Digests of the desired fields, to be recorded when they are applied. */
  readonly digests: Readonly<Record<string, string>>;
  readonly restartToken: string | undefined;
  /** Of the object's kind, if that has to know of mutations. */
  readonly remember?: Remember | undefined;
  /** `namespace/name`. */
  readonly account?: string | undefined;
  /** A digest of the credential that the request is sent with. */
  readonly keyDigest?: string | undefined;
  /** What the request adds to the hourly cost. */
  readonly estimate?: IntentEstimate | undefined;
  readonly why?: Why | undefined;
  /** What it needs of the provider's stock, and what to record if that is refused. */
  readonly demand?: CapacityDemand | undefined;
  readonly ifRefused?: IfRefused | undefined;
  /** Called before the outcome is recorded, which takes time: others may be about to ask for the same. */
  readonly answered?: (outcome: Outcome<Receipt>) => void;
  /** Digests of the fields as the API showed them before, and as a response shows them. */
  readonly shownBefore?: Readonly<Record<string, string>>;
  readonly shownIn?: (answer: Receipt) => Readonly<Record<string, string>>;
  /** The fields that a response may show in a form of the API's own (engine/plan/differences.ts). */
  readonly formsIn?: (answer: Receipt) => readonly string[];
  /**
   * Of a creation: whether the account showed the thing, without the object's mark, before the request was
   * first sent.
   */
  readonly wasThere?: (id: string) => boolean;
  /** Of a creation: ids of things in the account that show no mark and belong to no object. */
  readonly unmarked?: () => readonly string[];
}

/** After these outcomes, the same request is sent with the same key. */
const repeatedOutcomes: ReadonlySet<IntentOutcome> = new Set(['not-sent', 'not-applied', 'repeatable']);

/** Sends `step` once. Resolves when the outcome is durable. */
export async function execute(
  options: ExecutorOptions,
  api: ControlApi,
  step: Step,
  target: Target,
  /** Called when the limiter lets the request pass, which may be minutes later. */
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
    ...recordedOf(target),
    createdAt: clock.wallMs(),
    finishedAt: undefined,
    outcome: 'pending',
    note: undefined,
  };
  // Up to this request, foreign changes are visible by the revision.
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
  target.answered?.(outcome);
  const finished: Intent = {
    ...intent,
    // A known outcome needs no evidence.
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
  // In a cluster, the object may be gone, and another one may have its name. Then the response is about
  // neither.
  if (now?.uid === learned.uid) await store.saveIntent(finished, withEngineFields(now, learned));
  return outcome;
}

function recordedOf({ restartToken, digests, estimate, demand, why }: Target) {
  return { restartToken, digests, estimate, demand, why };
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

/**
 * While a request waits in the limiter, the document may be edited, removed, or replaced by that of another
 * object.
 */
function isMeant(now: ObjectRecord | undefined, planned: ObjectRecord): boolean {
  return (
    now?.uid === planned.uid && now.generation === planned.generation && isLeaving(now) === isLeaving(planned)
  );
}

function isLeaving({ deletionRequestedAt }: ObjectRecord): boolean {
  return deletionRequestedAt !== undefined;
}

/**
 * A creation makes a new thing with the object's mark. So it did not make a thing that belongs to another
 * object, existed before the request, or carries another mark. An API may answer with an existing thing of
 * the same name.
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
    return { kind: 'unknown', reason: `a ${outcome.status} with the id ${id}, which belongs to ${owner}` };
  }
  if (wasThere?.(id) === true) {
    const reason = `a ${outcome.status} with the id ${id}, which the account showed before the request; use \`adopt: {id: ${id}}\` to take it over`;
    return { kind: 'unknown', reason };
  }
  const sent = beaconIn(Object.keys(environmentOf(action)?.reveal() ?? {}));
  const shown = beaconIn(environmentNames ?? []);
  if (!sent || !shown || (sent.uid === shown.uid && sent.ownerId === shown.ownerId)) return outcome;
  return { kind: 'unknown', reason: `a ${outcome.status} with the id ${id}, which carries another mark` };
}

/** The whole environment that the action sets. */
function environmentOf(action: Action) {
  return 'environment' in action ? action.environment : undefined;
}

function beaconIn(names: readonly string[]) {
  return names.map((name) => parseBeacon(name)).find((beacon) => beacon !== undefined);
}

/** What an operator may want to ask the provider about. */
function noteOf(outcome: Outcome<Receipt>): string | undefined {
  if (outcome.kind !== 'applied') return describeOutcome(outcome);
  const { operationId } = outcome.value;
  return operationId === undefined ? undefined : `operation ${operationId}`;
}

/**
 * What must be recorded of a mutation even if its outcome is never known. A first creation corrects nothing,
 * and restarts by remediation have a count of their own.
 */
function recordIntended(store: StateStore, target: Target, step: Step, intent: Intent): ObjectRecord {
  const { do: name } = step.action;
  const { generation } = target.record;
  const intended = remembered(target.record, target.remember, {
    is: 'intended',
    action: name,
    reason: step.reason,
    generation,
    at: intent.createdAt,
  });
  if (step.reason === remediationReason) {
    return intended;
  }
  const isFirst = step.reason === 'Create';
  const corrected = isFirst
    ? intended
    : { ...intended, corrections: correctionsWith(store, step, target, intent) };
  const record = { ...corrected, beforeCreation: beforeCreation(store, target, intent) };
  return effectOf(name) === 'delete' ? { ...record, deletedByUs: true } : record;
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

/** Reverts what was recorded for a request that is known not to have happened. */
export function withoutIntent(
  before: ObjectRecord,
  { action, idempotencyKey }: Pick<Intent, 'action' | 'idempotencyKey'>,
  remember: Remember | undefined,
): ObjectRecord {
  const corrections = withoutCorrection(before, idempotencyKey);
  const record = remembered({ ...before, corrections }, remember, { is: 'withdrawn', action });
  return effectOf(action) === 'delete' ? { ...record, deletedByUs: false } : record;
}

function recordOutcome(
  options: ExecutorOptions,
  record: ObjectRecord,
  step: Step,
  target: Target,
  outcome: Outcome<Receipt>,
  sent: SentRequest,
): ObjectRecord {
  const { store, clock } = options;
  const { action } = step;
  const mark = fingerprint(action, store.digestKey);
  if (outcome.kind === 'not-sent') return target.record;
  if (outcome.kind === 'refused') return recordRefused(options, record, step, target, outcome, sent);
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
        }
      : {}),
  };
}

/**
 * The environment was sent as a whole, and is in place at the revision of the response. Additional variables
 * at that revision are the provider's own. For other fields, a read shows at least as much as the response.
 */
function isWholeEnvironment(action: Action, { unconfirmed }: Pick<ObjectRecord, 'unconfirmed'>): boolean {
  return environmentOf(action) !== undefined && !unconfirmed.includes('env');
}

/** Recorded by a later version: this version does not know which fields it sets. */
const unknownAction: Pick<ActionEntry, 'fields' | 'answersRestart'> = { fields: [] };

/** The record after `action` was applied, according to the API, evidence or an operator. */
export function recordApplied(record: ObjectRecord, action: string, target: Target): ObjectRecord {
  const names = appliedNames(action, target);
  const { fields, answersRestart } = actionOf(action) ?? unknownAction;
  const doubted = record.doubted.filter((name) => !names.includes(name));
  const isResent = record.doubted.length > 0 && doubted.length === 0;
  const applied: Record<string, string> = fields === 'all' ? {} : { ...record.applied };
  for (const name of names) {
    const digest = target.digests[name];
    if (digest !== undefined) applied[name] = digest;
  }
  return {
    ...remembered(record, target.remember, { is: 'applied', action }),
    applied,
    doubted,
    resentFor: isResent ? record.generation : record.resentFor,
    unconfirmed: record.unconfirmed.filter((name) => !names.includes(name)),
    ...(answersRestart ? { restartToken: target.restartToken ?? record.restartToken } : {}),
  };
}

/** A created service runs. Until a read confirms that, it does not count as matching its spec. */
function appliedNames(action: string, { digests }: Target): readonly string[] {
  const { fields } = actionOf(action) ?? unknownAction;
  return fields === 'all' ? Object.keys(digests).filter((name) => name !== 'desiredState') : fields;
}
