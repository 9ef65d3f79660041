/** A state file as a manager leaves it, for commands that read it. */
import { systemRandom } from '../../../../src/base/index.ts';
import type { Condition, ObjectKey } from '../../../../src/resources/index.ts';
import { newRecord, openState, type Intent, type ObjectRecord } from '../../../../src/state/index.ts';
import { temporaryFile } from '../../../support/temporary.ts';

export const noon = Date.UTC(2026, 0, 1, 12);

export function condition(
  type: Condition['type'],
  status: Condition['status'],
  reason: string,
  message = '',
): Condition {
  return {
    type,
    status,
    reason,
    message,
    lastTransitionTime: '2026-01-01T11:00:00Z',
    observedGeneration: 1,
  };
}

export function aStatus(conditions: readonly Condition[], more: object = {}) {
  return { observedGeneration: 1, conditions, ...more };
}

export function anObject(key: ObjectKey, more: Partial<ObjectRecord> = {}): ObjectRecord {
  return { ...newRecord(key, `uid-of-${key}`), createdAt: noon - 7_200_000, ...more };
}

/** The flags that name the state file which holds these. */
export async function stateWith(
  records: readonly ObjectRecord[],
  intents: readonly Intent[] = [],
): Promise<readonly string[]> {
  const file = temporaryFile('state.db');
  const state = openState(file, systemRandom, { default: 'fleet', explicit: undefined });
  await state.store.saveAll(records);
  for (const intent of intents) {
    const record = state.store.record(intent.object);
    if (record) await state.store.saveIntent(intent, record);
  }
  state.close();
  return ['--source', file, '--state', file];
}
