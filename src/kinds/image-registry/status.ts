/** What the status of a registry shows. */
import type { wire } from '../../api/index.ts';
import { rfc3339 } from '../../base/index.ts';
import type { Observation } from '../../engine/plan/index.ts';
import { absent, available, type Health } from '../../engine/status/index.ts';
import type { LinkedService } from './inputs.ts';

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
