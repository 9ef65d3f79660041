/**
 * Carries out one step: the intent is written down first, then one request is sent, then what became of
 * it is written down.
 *
 *     (none) ── saveIntent ──> pending ── send ──> applied | refused | not-sent | unknown
 *                                 └── crash: found pending at the next start, and then as good as unknown
 *     unknown ── evidence ──> applied | not-applied (and then, for the same request, pending again with the same key)
 *
 * One key per intent. A request that was not sent, or was shown not to have been applied, is repeated with the
 * key and the bytes it had; a request with another body gets another key.
 */
import type { ControlApi, Outcome } from '../api/index.ts';
import { describeOutcome } from '../api/index.ts';
import { invariant, type Clock, type Random } from '../base/index.ts';
import type { Step } from '../plan/index.ts';
import { withEngineFields, type Intent, type ObjectRecord, type StateStore } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { bodyDigest, fingerprint, send, type Receipt } from './requests.ts';

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
}

/** The fields that an action brings to the desired value, by their names in `applied`. */
const fieldsOfAction: Readonly<Record<Step['action']['do'], readonly string[] | 'all'>> = {
  'create-service': 'all',
  'patch-service': ['image', 'command', 'httpPort', 'env'],
  'resize-service': ['resources'],
  'start-service': ['desiredState'],
  'stop-service': ['desiredState'],
  'restart-service': [],
  'delete-service': [],
  'set-sleep-policy': ['sleepAfterMinutes'],
  'create-volume': 'all',
  'update-volume': ['volumeName', 'sizeGb'],
  'delete-volume': [],
};

/** Sends `step` once. Resolves when the outcome has been made durable. */
export async function execute(
  options: ExecutorOptions,
  api: ControlApi,
  step: Step,
  target: Target,
): Promise<Outcome<Receipt>> {
  const { store, clock, random, logger, metrics } = options;
  const { action } = step;
  const digest = bodyDigest(action, store.digestKey);
  const { key } = target.record;
  invariant(store.openIntent(key) === undefined, `a mutation of ${key} while another one is open`);
  const previous = store.lastIntent(key);
  const repeats =
    previous !== undefined &&
    (previous.outcome === 'not-sent' || previous.outcome === 'not-applied') &&
    previous.bodyDigest === digest;
  const intent: Intent = {
    idempotencyKey: repeats ? previous.idempotencyKey : random.uuid(),
    object: key,
    action: action.do,
    targetId: 'id' in action ? action.id : undefined,
    bodyDigest: digest,
    baseRevision: target.revision,
    baseState: target.state,
    generation: target.record.generation,
    restartToken: target.restartToken,
    createdAt: clock.wallMs(),
    finishedAt: undefined,
    outcome: 'pending',
    note: undefined,
  };
  const intended = recordIntended(target.record, step);
  await store.saveIntent(intent, intended);
  const outcome = await send(api, action, intent.idempotencyKey);
  const finished: Intent = {
    ...intent,
    outcome: outcome.kind,
    finishedAt: clock.wallMs(),
    note: outcome.kind === 'applied' ? undefined : describeOutcome(outcome),
  };
  const learned = recordOutcome(options, intended, step, target, outcome);
  await store.saveIntent(finished, withEngineFields(store.record(key) ?? learned, learned));
  metrics.mutations.inc({ action: action.do, outcome: outcome.kind });
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
  return outcome;
}

/** What must be known of a mutation even if its outcome never arrives. */
function recordIntended(record: ObjectRecord, step: Step): ObjectRecord {
  const { do: name } = step.action;
  if (name === 'delete-service' || name === 'delete-volume') return { ...record, deletedByUs: true };
  const pauses = name === 'stop-service' && step.reason === 'VolumeExpansion';
  return pauses ? { ...record, pausedFor: 'VolumeExpansion' } : record;
}

/** It is known not to have happened: what was written down for the case that it does is taken back. */
export function withoutIntent(record: ObjectRecord, action: Step['action']['do']): ObjectRecord {
  if (action === 'delete-service' || action === 'delete-volume') return { ...record, deletedByUs: false };
  return action === 'stop-service' ? { ...record, pausedFor: undefined } : record;
}

function recordOutcome(
  { store, clock }: ExecutorOptions,
  record: ObjectRecord,
  step: Step,
  target: Target,
  outcome: Outcome<Receipt>,
): ObjectRecord {
  const { action } = step;
  const mark = fingerprint(action, store.digestKey);
  if (outcome.kind === 'not-sent') return target.record;
  if (outcome.kind === 'refused') {
    const { status, code, message } = outcome;
    // It did not happen: what was written down for the case that it does is taken back.
    return {
      ...target.record,
      refusal: {
        fingerprint: mark,
        generation: record.generation,
        action: action.do,
        status,
        code,
        message,
        at: clock.wallMs(),
      },
    };
  }
  if (outcome.kind !== 'applied') return record;
  const count = record.repeated?.fingerprint === mark ? record.repeated.count + 1 : 1;
  const creates = action.do === 'create-service' || action.do === 'create-volume';
  return {
    ...recordApplied(record, action.do, target),
    refusal: undefined,
    repeated: { fingerprint: mark, count },
    ...(creates
      ? { externalId: outcome.value.id, unproven: false, deletedByUs: false, pausedFor: undefined }
      : {}),
  };
}

/** The record after `action` is known to have been applied, whether the API said so or evidence did. */
export function recordApplied(
  record: ObjectRecord,
  action: Step['action']['do'],
  target: Target,
): ObjectRecord {
  const fields = fieldsOfAction[action];
  const creates = fields === 'all';
  // What is created runs; it is as desired only once it has been seen so.
  const names = creates ? Object.keys(target.digests).filter((name) => name !== 'desiredState') : fields;
  const applied: Record<string, string> = creates ? {} : { ...record.applied };
  for (const name of names) {
    const digest = target.digests[name];
    if (digest !== undefined) applied[name] = digest;
  }
  const restarts = action === 'restart-service' || action === 'start-service' || action === 'create-service';
  return {
    ...record,
    applied,
    ...(restarts ? { restartToken: target.restartToken ?? record.restartToken } : {}),
    ...(action === 'start-service' ? { pausedFor: undefined } : {}),
  };
}
