/** Which objects wait for a budget: by its trait, and by their messages. Pure. */
import { entryOf, isBlocking, isReason } from '../reasons/index.ts';
import { traitsOf } from '../resources/index.ts';
import { conditionOf, type StatusEntry } from './entries.ts';

export function isBudget({ kind }: StatusEntry): boolean {
  return traitsOf(kind).budget !== undefined;
}

/** Objects that wait for the budget, by their messages. */
export function waitingFor(budget: StatusEntry, all: readonly StatusEntry[]): readonly string[] {
  if (!isBudget(budget)) return [];
  return all.flatMap((entry) => {
    const ready = conditionOf(entry, 'Ready');
    if (!ready || entry.namespace !== budget.namespace || !isReason(ready.reason)) return [];
    const isFor =
      isBlocking(ready.reason) && entryOf(ready.reason).forBudget && isNamed(ready.message, budget.name);
    return isFor ? [`${entry.kind} ${entry.name}`] : [];
  });
}

function isNamed(message: string, name: string): boolean {
  return message.startsWith(`Budget ${name}:`) || message.includes(`of Budget ${name} can't be used`);
}
