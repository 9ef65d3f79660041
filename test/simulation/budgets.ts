/** Budgets as people write them, and whom they are about: by the words of the design, and without the code that counts. */
import { parseObjectKey, type ObjectKey } from '../../src/resources/index.ts';
import type { BudgetEdit } from './script.ts';
import type { Json, View, Wanted } from './watch.ts';

/** After an edit, processes may go by what there was before. */
export const unheardMs = 240_000;
/** What is written by then was there before any process. */
const startMs = 1000;

export function budgetKey(name: string): ObjectKey {
  return `Budget/default/${name}`;
}

export function budgetNames({ budgetEdits }: Pick<View, 'budgetEdits'>): string[] {
  return [...new Set(budgetEdits.map(({ name }) => name))];
}

/** All documents of the budget that processes may go by at that time. Undefined among them: there may be none. */
export function documentsAt(
  { budgetEdits }: Pick<View, 'budgetEdits'>,
  name: string,
  atMs: number,
): (BudgetEdit | undefined)[] {
  const own = budgetEdits.filter((each) => each.name === name);
  const isRecent = (index: number) => (own[index + 1]?.atMs ?? Number.POSITIVE_INFINITY) >= atMs - unheardMs;
  const recent = own.filter((each, index) => each.atMs <= atMs && isRecent(index)).map(({ edit }) => edit);
  const [first] = own;
  const isNew = first !== undefined && first.atMs > startMs && first.atMs >= atMs - unheardMs;
  return isNew ? [undefined, ...recent] : recent;
}

/** All that processes may know of what is wanted of the object. */
export function recentlyWanted(view: Pick<View, 'history' | 'nowMs'>, key: ObjectKey): readonly Wanted[] {
  const history = view.history(key);
  return history.filter((_, index) => (history[index + 1]?.atMs ?? view.nowMs) >= view.nowMs - unheardMs);
}

/** Whether the budget counts the object. `maybe`: it depends on what a process has taken in. */
export function belongs(
  view: Pick<View, 'history' | 'nowMs'>,
  { scope, team }: Pick<BudgetEdit, 'scope' | 'team'>,
  key: ObjectKey,
): 'yes' | 'no' | 'maybe' {
  if (scope !== 'labels') return 'yes';
  const wanted = recentlyWanted(view, key);
  // A fleet is about what it owns, which has the labels of its template.
  const labelsOf = ({ labels = {}, spec }: Wanted): Json =>
    parseObjectKey(key).kind === 'ServiceFleet' ? (spec.template.metadata?.labels ?? {}) : labels;
  const having = wanted.filter((each) => labelsOf(each)['team'] === team);
  if (wanted.length === 0 || (having.length > 0 && having.length < wanted.length)) return 'maybe';
  return having.length > 0 ? 'yes' : 'no';
}

const withoutCompute = new Set(['paused', 'sleeping', 'deleting']);

/** What is charged for, with the object that it is recorded for, if it is for one. */
export function charged(
  { services, volumes }: Json,
  { disk }: Pick<View, 'disk'>,
): { readonly key: ObjectKey | undefined; readonly micros: number }[] {
  const keys = new Map(disk.records().map(({ externalId, key }) => [externalId, key]));
  return [
    ...services
      .filter(({ state }: Json) => !withoutCompute.has(state))
      .map(({ id, hourlyMicros: micros }: Json) => ({ key: keys.get(id), micros })),
    ...volumes
      .filter(({ status }: Json) => status !== 'deleting')
      .map(({ id, serviceId, hourlyMicros: micros }: Json) => ({
        key: keys.get(id) ?? keys.get(serviceId),
        micros,
      })),
  ];
}
