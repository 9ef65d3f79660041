/** `status` of each kind: conditions, drift, the last mutation, and what the API tells. Never a secret value. */
import type { wire } from '../api/index.ts';
import { rfc3339 } from '../base/index.ts';
import type { Observation, Plan } from '../plan/index.ts';
import type { ContainerServiceSpec } from '../resources/index.ts';
import type { DriftEntry, Intent, ObjectRecord, ObjectStatus } from '../state/index.ts';
import { buildConditions, type Health } from './conditions.ts';

export interface StatusInputs {
  readonly record: ObjectRecord;
  readonly plan: Plan;
  readonly health: Health;
  readonly lastIntent: Intent | undefined;
  /** What the API tells of the object. */
  readonly observed: Readonly<Record<string, unknown>>;
  readonly revision: number | undefined;
  readonly reconcileAt: string | undefined;
  readonly wallMs: number;
}

export function buildStatus(inputs: StatusInputs): ObjectStatus {
  const { record, plan, lastIntent, revision, reconcileAt, wallMs } = inputs;
  const now = rfc3339(wallMs);
  const outcomeUnknown =
    lastIntent?.outcome === 'unknown' || lastIntent?.outcome === 'pending'
      ? `${lastIntent.action} (${lastIntent.idempotencyKey}): ${lastIntent.note ?? 'no answer yet'}`
      : undefined;
  const drift = driftEntries(plan, record.status?.drift ?? [], now);
  return {
    observedGeneration: record.generation,
    ...(record.externalId === undefined ? {} : { id: record.externalId }),
    ...(revision === undefined ? {} : { revision }),
    ...inputs.observed,
    conditions: buildConditions({
      plan,
      health: inputs.health,
      outcomeUnknown,
      generation: record.generation,
      previous: record.status?.conditions ?? [],
      now,
    }),
    ...(drift.length > 0 ? { drift } : {}),
    ...(lastIntent
      ? {
          lastMutation: {
            action: lastIntent.action,
            idempotencyKey: lastIntent.idempotencyKey,
            at: rfc3339(lastIntent.createdAt),
            outcome: lastIntent.outcome,
          },
        }
      : {}),
    ...(reconcileAt === undefined ? {} : { lastHandledReconcileAt: reconcileAt }),
  };
}

function driftEntries(plan: Plan, previous: readonly DriftEntry[], now: string): DriftEntry[] {
  return plan.differences
    .filter((difference) => difference.drift)
    .map(({ path, desired, observed }) => ({
      path,
      kind: path === 'service' || path === 'volume' ? 'Missing' : 'Changed',
      desired,
      observed,
      since: previous.find((entry) => entry.path === path)?.since ?? now,
    }));
}

// ---- services ----------------------------------------------------------------------------------------

/** What a service is good for by itself: Ready is running with an endpoint, stopped as wished, or asleep. */
export function serviceHealth(spec: ContainerServiceSpec, observation: Observation<wire.Service>): Health {
  if (observation.kind === 'pending') return notReady('AwaitingObservation', observation.message);
  if (observation.kind !== 'present') return notReady('NotThere', 'the service does not exist');
  const { state, endpoint, error } = observation.value;
  switch (state) {
    case 'running':
      if (spec.desiredState === 'Stopped') return notReady('NotStopped', 'the service runs, and should not');
      return spec.httpPort !== undefined && !endpoint
        ? notReady('NoEndpoint', 'the service runs, but has no endpoint yet')
        : { ready: 'True', reason: 'Running', message: '' };
    case 'paused':
      return spec.desiredState === 'Stopped'
        ? { ready: 'True', reason: 'Stopped', message: '' }
        : notReady('Paused', 'the service is paused');
    case 'sleeping':
      return { ready: 'True', reason: 'Sleeping', message: 'asleep under its sleep policy' };
    case 'error':
      return notReady('ServiceError', error ?? 'the service is in error');
    case undefined:
    default:
      return notReady('NotRunning', `the service is ${state ?? 'in no known state'}`);
  }
}

export function observedService(observation: Observation<wire.Service>): Record<string, unknown> {
  if (observation.kind !== 'present') return {};
  const { state, endpoint, geography, hourlyMicros, volumeId } = observation.value;
  return present({ state, endpoint, geography, hourlyMicros, volumeId });
}

// ---- volumes -----------------------------------------------------------------------------------------

export function volumeHealth(observation: Observation<wire.Volume>): Health {
  if (observation.kind === 'pending') return notReady('AwaitingObservation', observation.message);
  if (observation.kind !== 'present') return notReady('NotThere', 'the volume does not exist');
  const { status, error } = observation.value;
  if (status === 'ready') return { ready: 'True', reason: 'Provisioned', message: '' };
  return notReady(
    status === 'error' ? 'VolumeError' : 'NotReady',
    error ?? `the volume is ${status ?? 'in no status'}`,
  );
}

export function observedVolume(observation: Observation<wire.Volume>): Record<string, unknown> {
  if (observation.kind !== 'present') return {};
  const { status, sizeGb, requestedSizeGb, provisioned, serviceId, hourlyMicros } = observation.value;
  return present({ state: status, sizeGb, requestedSizeGb, provisioned, serviceId, hourlyMicros });
}

function notReady(reason: string, message: string): Health {
  return { ready: 'False', reason, message };
}

function present(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== null),
  );
}
