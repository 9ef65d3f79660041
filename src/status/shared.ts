/** Templates and registries: what serves others. */
import type { wire } from '../api/index.ts';
import { rfc3339 } from '../base/index.ts';
import type { LinkedService, Observation, RegistryView, TemplateState } from '../plan/index.ts';
import type { ConditionInputs, Health } from './conditions.ts';

const available: Health = { ready: 'True', reason: 'Available', message: '' };

function absent(noun: string, observation: Exclude<Observation<unknown>, { kind: 'present' }>): Health {
  return observation.kind === 'pending'
    ? { ready: 'False', reason: 'AwaitingObservation', message: observation.message }
    : { ready: 'False', reason: 'NotThere', message: `the ${noun} does not exist` };
}

// ---- templates ---------------------------------------------------------------------------------------

interface TemplateUser {
  readonly name: string;
  readonly missing: readonly string[];
}

export function templateHealth(observation: Observation<wire.Template>): Health {
  return observation.kind === 'present' ? available : absent('template', observation);
}

/** Who uses it, and what they lack of the environment that it requires. */
export function observedTemplate(
  observation: Observation<wire.Template>,
  users: readonly TemplateUser[],
): Record<string, unknown> {
  if (observation.kind !== 'present') return {};
  const lacking = users
    .filter(({ missing }) => missing.length > 0)
    .map(({ name, missing }) => ({ service: name, variables: missing }));
  return {
    services: users.map(({ name }) => name),
    ...(lacking.length > 0 ? { missingEnvironment: lacking } : {}),
  };
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

// ---- registries --------------------------------------------------------------------------------------

export function registryHealth(
  observation: Observation<wire.Registry>,
  linked: readonly LinkedService[],
): Health {
  if (observation.kind !== 'present') return absent('registry', observation);
  const outdated = linked.filter(({ credentials }) => credentials === 'Outdated');
  if (outdated.length === 0) return available;
  const names = outdated.map(({ id, name }) => name ?? id).join(', ');
  const message = `launched with the credentials before the last rotation: ${names}; their next launch takes the present ones`;
  return { ...available, message };
}

export function observedRegistry(
  observation: Observation<wire.Registry>,
  repository: string,
  linked: readonly LinkedService[],
): Record<string, unknown> {
  if (observation.kind !== 'present') return { repository };
  const rotatedAt = timeOf(observation.value.rotatedAt);
  return {
    repository,
    linkedServices: linked.map(({ id, name, state, credentials }) => ({ id, name, state, credentials })),
    ...(rotatedAt === undefined ? {} : { rotatedAt }),
  };
}

/** Milliseconds or a text; undefined for anything else. */
function timeOf(value: unknown): string | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const atMs = new Date(value).getTime();
  return Number.isFinite(atMs) ? rfc3339(atMs) : undefined;
}
