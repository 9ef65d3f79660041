/** What a status shows to a command that waits for it. */
import type { ReasonOf } from '../../reasons/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

export function conditionOf(record: ObjectRecord, type: string): string | undefined {
  return record.status?.conditions.find((condition) => condition.type === type)?.status;
}

/** Nothing more will happen to it by itself. */
export function isSettled(record: ObjectRecord): boolean {
  if (record.status?.observedGeneration !== record.generation) return false;
  return needsPerson(record) || (isReady(record) && !hasCommand(record));
}

/** A command of an operator has just been decided on. What else there is to do is not known before the next pass. */
function hasCommand({ status }: ObjectRecord): boolean {
  const found = status?.conditions.find(({ type }) => type === 'Reconciling');
  return found?.status === 'True' && found.reason === commanded;
}

const commanded: ReasonOf<'doing'> = 'Commanded';

export function isReady(record: ObjectRecord): boolean {
  return record.deletionRequestedAt === undefined && conditionOf(record, 'Ready') === 'True';
}

/** It continues when somebody changes something. */
export function needsPerson(record: ObjectRecord): boolean {
  return conditionOf(record, 'Stalled') === 'True' || isOnlyReported(record);
}

/** It is not there, and with `driftPolicy: Report` nothing is done about that. */
function isOnlyReported(record: ObjectRecord): boolean {
  return (
    record.deletionRequestedAt === undefined &&
    conditionOf(record, 'Ready') === 'False' &&
    conditionOf(record, 'Drifted') === 'True' &&
    conditionOf(record, 'Reconciling') === 'False'
  );
}

/** Why it is Ready or not. */
export function readyReasonOf({ status }: ObjectRecord): string {
  return status?.conditions.find(({ type }) => type === 'Ready')?.reason ?? 'NotLookedAt';
}
