/** The variables of an environment that a plan adds, removes and changes. Names only: values are never shown. */
import type { Difference } from './types.ts';

export interface VariableChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Empty also if values differ and nobody knows which. */
  readonly changed: readonly string[];
}

type Shown = Pick<Difference, 'path' | 'desired' | 'changedNames'>;

const prefix = 'env.';

/** Undefined if there are none. */
export function variableChanges(differences: readonly Shown[]): VariableChanges | undefined {
  const named = differences.filter(({ path }) => path.startsWith(prefix));
  const changed = differences.flatMap(({ changedNames = [] }) => changedNames);
  if (named.length === 0 && changed.length === 0) return undefined;
  const names = (list: readonly Shown[]) => list.map(({ path }) => path.slice(prefix.length));
  return {
    added: names(named.filter(({ desired }) => desired !== null)),
    removed: names(named.filter(({ desired }) => desired === null)),
    changed: [...new Set(changed)].sort(),
  };
}
