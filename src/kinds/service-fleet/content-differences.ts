/** What a rollout changes in the replicas, field by field, for plans. Values of the environment are not shown. */
import { sameValue } from '../../base/index.ts';
import type { Difference } from '../../engine/plan/index.ts';
import type { OwnerRevision } from '../../state/index.ts';
import { revisionContent, type ServiceFleetSpec } from './schema.ts';

type Content = Pick<OwnerRevision, 'content' | 'values'>;
type Variable = { readonly name: string };

export function contentDifferences(before: Content | undefined, after: Content): Difference[] {
  if (!before) return [];
  const found = Object.keys(revisionContent.shape).flatMap((field) =>
    field === 'env' ? environmentDifferences(before, after) : fieldDifference(field, before, after),
  );
  const isOnlyValues = found.length === 0 && before.values !== after.values;
  return isOnlyValues ? [difference('env', '(values before)', '(present values)')] : found;
}

/** What the replicas of a new fleet will be. With `placement`, its candidates say where they are. */
export function creationDifferences(
  { placement, template: { spec } }: Pick<ServiceFleetSpec, 'placement' | 'template'>,
  content: Content,
): Difference[] {
  const { region, geography } = placement ? {} : spec;
  const place = Object.entries({ region, geography }).filter(([, value]) => value !== undefined);
  return [
    ...place.map(([field, value]) => difference(field, undefined, value)),
    ...contentDifferences({ content: {}, values: content.values }, content),
  ];
}

function difference(field: string, observed: unknown, desired: unknown): Difference {
  return { path: `template.${field}`, desired, observed, drift: false };
}

function fieldDifference(field: string, before: Content, after: Content): Difference[] {
  const [observed, desired] = [before.content[field], after.content[field]];
  return sameValue(observed, desired) ? [] : [difference(field, observed, desired)];
}

function environmentDifferences(before: Content, after: Content): Difference[] {
  const [earlier, later] = [variablesOf(before), variablesOf(after)];
  const names = [...new Set([...earlier.keys(), ...later.keys()])].sort();
  return names.flatMap((name) => {
    const [observed, desired] = [earlier.get(name), later.get(name)];
    if (sameValue(observed, desired)) return [];
    const shown = observed && desired ? '(set anew)' : desired && '(set)';
    return [difference(`env.${name}`, observed && '(set)', shown)];
  });
}

function variablesOf({ content }: Content): ReadonlyMap<string, Variable> {
  const { env = [] } = content as { readonly env?: readonly Variable[] };
  return new Map(env.map((variable) => [variable.name, variable]));
}
