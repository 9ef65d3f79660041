/**
 * `status` of each kind: conditions, drift, the last mutation, and what the API shows. It never contains a
 * secret value.
 */
import { rfc3339 } from '../../base/index.ts';
import { askedByText, type DescribedDuplicate, type Plan } from '../plan/index.ts';
import type { HandledCommand, Intent, ObjectRecord, ObjectStatus, ShownCommand } from '../../state/index.ts';
import { buildConditions, type ConditionInputs, type Health } from './conditions.ts';
import { driftEntries } from './drift.ts';
import { overdue } from './progress.ts';

export interface StatusInputs {
  readonly record: ObjectRecord;
  readonly plan: Plan;
  readonly health: Health;
  readonly lastIntent: Intent | undefined;
  /** What the API shows of the object. */
  readonly observed: Readonly<Record<string, unknown>>;
  /** Nothing was read of the thing for this status: what the status before shows of it stays. */
  readonly isUnseen?: boolean;
  readonly revision: number | undefined;
  readonly reconcileAt: string | undefined;
  /** Conditions that only some kinds have. */
  readonly more?: ConditionInputs['more'];
  /** Other things that carry the object's mark. */
  readonly duplicates?: readonly DescribedDuplicate[];
  /** Unix milliseconds since when it has been waiting for a read. */
  readonly readSince?: number | undefined;
  readonly wallMs: number;
}

export function buildStatus(inputs: StatusInputs): ObjectStatus {
  const { record, plan, lastIntent, reconcileAt, wallMs } = inputs;
  const kept = inputs.isUnseen ? lastObserved(record) : { revision: undefined, observed: {} };
  const revision = inputs.revision ?? kept.revision;
  const now = rfc3339(wallMs);
  const { duplicates = [] } = inputs;
  const outcomeUnknown =
    lastIntent?.outcome === 'unknown' || lastIntent?.outcome === 'pending'
      ? `${lastIntent.action} (${lastIntent.idempotencyKey}): ${lastIntent.note ?? 'no response yet'}`
      : record.creationInDoubt
        ? `${lastIntent ? `${lastIntent.action} (${record.creationInDoubt.idempotencyKey})` : 'a creation from before the status was wiped'}: it may still take effect`
        : undefined;
  const drift = driftEntries(plan, record.status?.drift ?? [], now);
  const unknownSince = outcomeUnknown === undefined ? undefined : lastIntent?.createdAt;
  return {
    observedGeneration: record.generation,
    ...(record.externalId === undefined ? {} : { id: record.externalId }),
    ...(revision === undefined ? {} : { revision }),
    ...kept.observed,
    ...inputs.observed,
    conditions: buildConditions({
      plan,
      health: inputs.health,
      outcomeUnknown,
      overdue: overdue(plan, record, { unknownSince, readSince: inputs.readSince }, wallMs),
      drift,
      generation: record.generation,
      previous: record.status?.conditions ?? [],
      ...(inputs.more ? { more: inputs.more } : {}),
      duplicates: duplicates.map(({ message }) => message),
      now,
    }),
    ...(drift.length > 0 ? { drift } : {}),
    ...(duplicates.length > 0
      ? { duplicates: duplicates.map(({ message: _message, ...each }) => each) }
      : {}),
    ...(lastIntent
      ? {
          lastMutation: {
            action: lastIntent.action,
            idempotencyKey: lastIntent.idempotencyKey,
            at: rfc3339(lastIntent.createdAt),
            outcome: lastIntent.outcome,
            ...(lastIntent.why
              ? {
                  reason: lastIntent.why.reason,
                  askedBy: askedByText({ ...lastIntent, why: lastIntent.why }),
                }
              : {}),
          },
        }
      : {}),
    ...(reconcileAt === undefined ? {} : { lastHandledReconcileAt: reconcileAt }),
    ...(record.lastCommand ? { lastHandledCommand: shownCommand(record.lastCommand) } : {}),
  };
}

function shownCommand({ command, at, result, message }: HandledCommand): ShownCommand {
  return { command, at: rfc3339(at), result, message };
}

/** What the status before shows of the same thing. */
function lastObserved({ status, externalId }: ObjectRecord) {
  if (status === undefined || externalId === undefined || status.id !== externalId) {
    return { revision: undefined, observed: {} };
  }
  const {
    observedGeneration: _generation,
    id: _id,
    revision,
    conditions: _conditions,
    lastMutation: _mutation,
    drift: _drift,
    duplicates: _duplicates,
    lastHandledReconcileAt: _handled,
    lastHandledCommand: _command,
    ...observed
  } = status;
  return { revision, observed };
}
