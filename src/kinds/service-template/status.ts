/** What the status of a template shows. */
import type { wire } from '../../api/index.ts';
import type { Observation } from '../../engine/plan/index.ts';
import { absent, available, type Health } from '../../engine/status/index.ts';
import type { TemplateUser } from './view.ts';

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
