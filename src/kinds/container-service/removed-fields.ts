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
import type { wire } from '../../api/index.ts';
import {
  environmentDigest,
  hidden,
  holdFor,
  isRemoved,
  parseBeacon,
  remedies,
  type Difference,
  type Field,
  type Hold,
} from '../../engine/plan/index.ts';
import { annotations } from '../../resources/index.ts';
import type { ServiceInputs } from './inputs.ts';

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
