/** `status` of each kind: conditions, drift, the last mutation, and what the API shows. Never a secret value. */
import type { ProbeResult, wire } from '../api/index.ts';
import { rfc3339 } from '../base/index.ts';
import {
  type DescribedDuplicate,
  clampedMicros,
  serviceBurn,
  toldText,
  volumeBurn,
  type Observation,
  type Plan,
} from '../plan/index.ts';
import type { Reason } from '../reasons/index.ts';
import type { ContainerServiceSpec } from '../resources/index.ts';
import type { Intent, ObjectRecord, ObjectStatus } from '../state/index.ts';
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
  readonly revision: number | undefined;
  readonly reconcileAt: string | undefined;
  /** Conditions that only some kinds have. */
  readonly more?: ConditionInputs['more'];
  /** What carries the object's mark beside what is recorded. */
  readonly duplicates?: readonly DescribedDuplicate[];
  /** Unix milliseconds since which it has waited for a read without a break. */
  readonly readSince?: number | undefined;
  readonly wallMs: number;
}

export function buildStatus(inputs: StatusInputs): ObjectStatus {
  const { record, plan, lastIntent, revision, reconcileAt, wallMs } = inputs;
  const now = rfc3339(wallMs);
  const { duplicates = [] } = inputs;
  const outcomeUnknown =
    lastIntent?.outcome === 'unknown' || lastIntent?.outcome === 'pending'
      ? `${lastIntent.action} (${lastIntent.idempotencyKey}): ${lastIntent.note ?? 'no answer yet'}`
      : record.creationInDoubt
        ? `${lastIntent ? `${lastIntent.action} (${record.creationInDoubt.idempotencyKey})` : 'a creation from before the status was wiped'}: it may still take effect`
        : undefined;
  const drift = driftEntries(plan, record.status?.drift ?? [], now);
  const unknownSince = outcomeUnknown === undefined ? undefined : lastIntent?.createdAt;
  return {
    observedGeneration: record.generation,
    ...(record.externalId === undefined ? {} : { id: record.externalId }),
    ...(revision === undefined ? {} : { revision }),
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
          },
        }
      : {}),
    ...(reconcileAt === undefined ? {} : { lastHandledReconcileAt: reconcileAt }),
  };
}

// ---- services ----------------------------------------------------------------------------------------

/**
 * Whether a service can be used: Ready is running with an endpoint, stopped as desired, or asleep. `secrets`: values
 * that the provider may repeat in an error message.
 */
export function serviceHealth(
  spec: ContainerServiceSpec,
  observation: Observation<wire.Service>,
  probe: ProbeResult | undefined,
  secrets: readonly string[] = [],
): Health {
  if (observation.kind === 'pending') return notReady('AwaitingObservation', observation.message);
  if (observation.kind !== 'present') return notReady('NotThere', 'the service does not exist');
  const { state, error } = observation.value;
  switch (state) {
    case 'running':
      if (spec.desiredState === 'Stopped') return notReady('NotStopped', 'the service runs, and should not');
      return runningHealth(spec, observation.value, probe);
    case 'paused':
      return spec.desiredState === 'Stopped'
        ? { ready: 'True', reason: 'Stopped', message: '' }
        : notReady('Paused', 'the service is paused');
    case 'sleeping':
      return { ready: 'True', reason: 'Sleeping', message: 'asleep under its sleep policy' };
    case 'error':
      return notReady('ServiceError', error ? toldText(error, secrets) : 'the service is in error');
    case undefined:
    default:
      return notReady(
        'NotRunning',
        `the service is ${state === undefined ? 'in no known state' : toldText(state, [], 100)}`,
      );
  }
}

function runningHealth(
  { httpPort, readiness }: ContainerServiceSpec,
  { endpoint, unreadable = [] }: wire.Service,
  probe: ProbeResult | undefined,
): Health {
  const odd = unreadable.find(({ field }) => field === 'endpoint');
  if (odd) {
    // There is one, and nobody could say when it became readable: only who asks for a probe waits for it.
    const message = `the API shows the endpoint in a form that can't be read (${odd.found})`;
    if (!readiness) return { ready: 'True', reason: 'Running', message };
    return notReady('EndpointUnreadable', `${message}; without \`readiness\` it is not needed`);
  }
  if ((httpPort !== undefined || readiness) && !endpoint) {
    return notReady('NoEndpoint', 'the service runs, but has no endpoint yet');
  }
  if (!readiness || probe?.ready) return { ready: 'True', reason: 'Running', message: '' };
  return probe
    ? notReady('ProbeFailed', probe.message)
    : notReady('ProbePending', 'the service runs, and its endpoint has not been checked yet');
}

export function observedService(observation: Observation<wire.Service>): Record<string, unknown> {
  if (observation.kind !== 'present') return {};
  const { state, endpoint, region, geography, volumeId } = observation.value;
  const hourlyMicros = shownMicros(serviceBurn(observation.value));
  return present({ state, endpoint, region, geography, hourlyMicros, volumeId });
}

// ---- volumes -----------------------------------------------------------------------------------------

export function volumeHealth(observation: Observation<wire.Volume>): Health {
  if (observation.kind === 'pending') return notReady('AwaitingObservation', observation.message);
  if (observation.kind !== 'present') return notReady('NotThere', 'the volume does not exist');
  const { status, error } = observation.value;
  if (status === 'ready') return { ready: 'True', reason: 'Provisioned', message: '' };
  return notReady(
    status === 'error' ? 'VolumeError' : 'NotReady',
    error
      ? toldText(error)
      : `the volume is ${status === undefined ? 'in no status' : toldText(status, [], 100)}`,
  );
}

export function observedVolume(observation: Observation<wire.Volume>): Record<string, unknown> {
  if (observation.kind !== 'present') return {};
  const { status, region, geography, sizeGb, requestedSizeGb, provisioned, serviceId } = observation.value;
  const hourlyMicros = shownMicros(volumeBurn(observation.value));
  const size = { sizeGb, requestedSizeGb, provisioned };
  return present({ state: status, region, geography, ...size, serviceId, hourlyMicros });
}

/** By the rule of burn (plan/money.ts): what it costs now, not what it would cost if it ran. */
function shownMicros(burn: bigint | undefined): number | undefined {
  return burn === undefined ? undefined : clampedMicros(burn);
}

function notReady(reason: Reason, message: string): Health {
  return { ready: 'False', reason, message };
}

function present(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [name, typeof value === 'string' ? toldText(value) : value]),
  );
}
