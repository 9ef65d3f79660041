/**
 * How far the rollout of a fleet is, from what the manager has recorded. Pure.
 *
 * | result    | when                                                               | exit code of `rollout status` |
 * |-----------|--------------------------------------------------------------------|-------------------------------|
 * | `Stable`  | all wanted replicas are available at the revision of the document  | 0                             |
 * | `Failed`  | the revision failed, or the fleet is held until somebody changes something | 1                     |
 * | `Paused`  | a person has frozen or paused it, or has to promote it             | 2                             |
 * | `Waiting` | anything else                                                      | it waits                      |
 */
import type { UpdateStep } from '../kinds/service-fleet/schema.ts';
import type { FleetState } from '../kinds/service-fleet/state.ts';
import type { Condition } from '../resources/index.ts';
import type { ObjectRecord, ObjectStatus } from '../state/index.ts';

export type RolloutResult = 'Stable' | 'Failed' | 'Paused' | 'Waiting';

export interface RolloutProgress {
  readonly result: RolloutResult;
  readonly message: string;
}

export function rolloutProgress(record: ObjectRecord<FleetState>): RolloutProgress {
  const { status, generation, kind } = record;
  if (!status || status.observedGeneration < generation)
    return { result: 'Waiting', message: 'the manager has not taken in the document yet' };
  const { rollout } = kind;
  const revision = `r${rollout?.revision ?? kind.update ?? 0}`;
  const cause = rollout?.cause === undefined ? '' : `: ${rollout.cause}`;
  if (rollout?.phase === 'RolledBack')
    return { result: 'Failed', message: `${revision} failed, and was rolled back${cause}` };
  if (rollout?.phase === 'Frozen') {
    const result = outcomeOf(status, revision) === 'Failed' ? 'Failed' : 'Paused';
    return { result, message: `the rollout to ${revision} is frozen${cause}` };
  }
  const awaited = conditionIn(status, 'Reconciling');
  if (awaited && rollout && isForPerson(record, rollout.phase, awaited))
    return { result: 'Paused', message: `${awaited.reason}: ${awaited.message}` };
  const stalled = conditionIn(status, 'Stalled');
  if (stalled?.status === 'True' && rollout?.phase !== 'RollingBack') {
    const result = stalled.reason === 'Paused' ? 'Paused' : 'Failed';
    return { result, message: `${stalled.reason}: ${stalled.message}` };
  }
  if (!rollout && conditionIn(status, 'Ready')?.status === 'True')
    return { result: 'Stable', message: `all replicas are available at ${revision}` };
  return { result: 'Waiting', message: waitingText(record, revision) };
}

/** Of the rollout that is under way, from 1: as the status shows it. */
export function stepUnderWay({ status }: ObjectRecord<FleetState>): number | undefined {
  return (status?.['rollout'] as { readonly step?: number } | undefined)?.step;
}

/** A pause that has an end is waited for, and so is an analysis that has time left. */
function isForPerson(
  { manifest, kind }: ObjectRecord<FleetState>,
  phase: string,
  { reason }: Condition,
): boolean {
  if (phase === 'Analysing') return reason === 'AnalysisInconclusive';
  if (phase !== 'Paused') return false;
  const { update } = manifest.spec as { readonly update?: { readonly steps?: readonly UpdateStep[] } };
  const step = update?.steps?.[kind.rollout?.step ?? 0];
  return reason === 'RolloutPaused' && step?.pause?.seconds === undefined;
}

function conditionIn({ conditions }: ObjectStatus, type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type);
}

function waitingText({ status, kind }: ObjectRecord<FleetState>, revision: string): string {
  const count = (field: string) => Number(status?.[field] ?? 0);
  const what = kind.rollout?.phase === 'RollingBack' ? `rolling back ${revision}` : `rolling out ${revision}`;
  const { stopped } = kind.rollout ?? {};
  const why = stopped ? `; it waits: ${stopped.reason}` : '';
  return (
    `${what}: ${count('updatedReplicas')} of ${count('desiredReplicas')} replicas updated, ` +
    `${count('availableReplicas')} available${why}`
  );
}

function outcomeOf(status: Readonly<Record<string, unknown>>, name: string): string | undefined {
  return revisionsIn(status).find((revision) => revision.name === name)?.outcome;
}

export interface ShownRevision {
  readonly name: string;
  readonly outcome: string;
  readonly at: string;
  readonly image?: string;
  readonly reason?: string;
}

export function revisionsIn(status: Readonly<Record<string, unknown>> | undefined): readonly ShownRevision[] {
  return (status?.['revisions'] ?? []) as readonly ShownRevision[];
}
