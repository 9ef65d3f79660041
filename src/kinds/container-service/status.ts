/** What the status of a service shows. */
import type { ProbeResult, wire } from '../../api/index.ts';
import { serviceBurn, providerText, type Observation } from '../../engine/plan/index.ts';
import type { ContainerServiceSpec } from '../../resources/index.ts';
import {
  allocation,
  no,
  notReady,
  present,
  shownMicros,
  yes,
  type ConditionInputs,
  type Health,
  type ConditionEntry,
} from '../../engine/status/index.ts';
import type { RegistryView, TemplateState } from './inputs.ts';

/**
 * Whether a service can be used: Ready is running with an endpoint, stopped as desired, or asleep. `secrets`: values
 * that the provider may repeat in an error message; asked for when there is one.
 */
export function serviceHealth(
  spec: ContainerServiceSpec,
  observation: Observation<wire.Service>,
  probe: ProbeResult | undefined,
  secrets: () => readonly string[] = () => [],
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
      return notReady('ServiceError', error ? providerText(error, secrets()) : 'the service is in error');
    case undefined:
    default:
      return notReady(
        'NotRunning',
        `the service is ${state === undefined ? 'in no known state' : providerText(state, [], 100)}`,
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

export function serviceAllocation(observation: Observation<wire.Service>): ConditionEntry[] {
  return allocation(observation, ({ state }) => {
    // Compute is allocated while a service is running or in error (§3 rule 1).
    if (state === 'running' || state === 'error') return yes('ComputeHeld');
    return no(
      state === 'paused' ? 'Paused' : state === 'sleeping' ? 'Sleeping' : 'NotAllocated',
      `the service is ${state ?? 'in no state'}`,
    );
  });
}

/** For the status of a service: what it has of its template and registry. */
export function observedReferences(template: TemplateState, registry: RegistryView): Record<string, unknown> {
  return {
    ...(template.kind === 'resolved' ? { template: template.name } : {}),
    ...(template.kind === 'resolved' && template.outdated.length > 0
      ? { templateOutdated: template.outdated }
      : {}),
    ...(registry.kind === 'none' ? {} : { registry: registry.name }),
  };
}

/** Only of a service that has taken something of a template. */
export function templateOutdated(template: TemplateState): NonNullable<ConditionInputs['more']> {
  if (template.kind !== 'resolved') return [];
  const { name, outdated, missing } = template;
  if (missing !== undefined) {
    return [['TemplateOutdated', { status: 'Unknown', reason: 'TemplateMissing', message: missing }]];
  }
  if (outdated.length === 0) {
    return [['TemplateOutdated', { status: 'False', reason: 'AsTaken', message: '' }]];
  }
  const message = `the template ${name} gives another ${outdated.join(', ')} now; \`templateUpdates: Apply\` takes it over`;
  return [['TemplateOutdated', { status: 'True', reason: 'TemplateChanged', message }]];
}
