/**
 * Fields that were applied and that the document no longer gives. A patch that omits a field keeps it (§2 states that
 * of the environment, and nothing of the others). So the service still has it: its port stays public, its old command
 * runs.
 *
 * | the field                    | what follows                                                                  |
 * |------------------------------|-------------------------------------------------------------------------------|
 * | the service no longer has it | nothing: it is in place                                                       |
 * | a person leaves it           | nothing, and it is forgotten (`fleetkeeper.dev/leave-fields`)                 |
 * | httpPort, command            | `replacement: Recreate`: the service is created anew without it; else held    |
 * | sleepAfterMinutes, env       | held: 0 and an empty list clear it                                            |
 *
 * All else of the service is changed as usual; the hold remains when nothing else is to be done. The same applies to
 * fields that a template no longer gives. A template itself is replaced as a whole (§2), so a field that its document
 * omits takes its default again.
 */
import type { wire } from '../api/index.ts';
import { annotations } from '../resources/index.ts';
import { hidden, type Field } from './differences.ts';
import type { ServiceInputs } from './inputs.ts';
import { environmentDigest, parseBeacon } from './ownership.ts';
import { holdFor, type Difference, type Hold } from './types.ts';

const remedies: Readonly<Record<string, string>> = {
  httpPort: 'restore it, or set `replacement: Recreate` to have the service created anew without it',
  command:
    'restore it, write `command: []`, or set `replacement: Recreate` to have the service created anew without it',
  sleepAfterMinutes: 'restore it, or write 0 for a service that never sleeps',
  env: 'restore it, or write `env: []` for an empty environment',
};

export const leavableFields: readonly string[] = Object.keys(remedies);

/** `fields`: of the service, beside its environment. */
export function removedFields(
  inputs: ServiceInputs,
  service: wire.Service,
  fields: readonly Field[],
): Difference[] {
  const given = inputs.object.annotations[annotations.leaveFields] ?? '';
  const left = new Set(given.split(',').map((name) => name.trim()));
  return [...fields.filter((field) => isRemoved(inputs, field)), ...removedEnvironment(inputs, service)]
    .filter(({ path }) => remedies[path] !== undefined && !left.has(path))
    .map(({ path, observed }) => ({
      path,
      desired: null,
      observed: observed ?? hidden,
      drift: false,
      removed: true as const,
    }));
}

/** What can only be unset by creating the service anew. */
export function isUnsetByReplacement({ path }: Difference): boolean {
  return path === 'httpPort' || path === 'command';
}

export function holdForRemoved(
  removed: readonly Difference[],
  differences: readonly Difference[],
): Hold | undefined {
  const [first] = removed;
  if (!first) return undefined;
  const { path, observed } = first;
  const names = removed.map((difference) => difference.path).join(',');
  const more =
    removed.length > 1
      ? ` (and so were ${removed
          .slice(1)
          .map((one) => one.path)
          .join(', ')})`
      : '';
  return holdFor(
    'FieldRemoved',
    `${path} was removed${more}, and the service keeps it: ${JSON.stringify(observed)}. A patch can't unset it (§2): ${remedies[path]}; ` +
      `or leave it to the service with the annotation ${annotations.leaveFields}: "${names}"`,
    { path: ['spec', path], differences },
  );
}

/** It was applied, is not asked for, and is, or may be, still there. */
export function isRemoved(
  { record, owner }: Pick<ServiceInputs, 'record' | 'owner'>,
  { name, desired, observed }: Field,
): boolean {
  const applied = record.applied[name];
  if (desired !== undefined || applied === undefined) return false;
  if (applied === owner.digestKey.digest(undefined)) return false;
  const isNone =
    observed === null || observed === 'never' || (Array.isArray(observed) && observed.length === 0);
  return !isNone;
}

function removedEnvironment(
  { record, owner, environment }: ServiceInputs,
  { environmentNames }: wire.Service,
): { readonly path: string; readonly observed: unknown }[] {
  const applied = record.applied['env'];
  if (environment.kind !== 'unmanaged' || applied === undefined) return [];
  if (applied === environmentDigest(owner, undefined)) return [];
  const names = environmentNames?.filter((name) => parseBeacon(name) === undefined);
  return names?.length === 0 ? [] : [{ path: 'env', observed: names }];
}
