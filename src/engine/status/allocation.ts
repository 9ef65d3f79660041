/**
 * An accepted request, an allocation and a ready application differ (§1). `Accepted` is what the API has
 * accepted, `Allocated` is what it holds for that now, and `Ready` (conditions.ts) is what can be used.
 */
import type { Observation } from '../plan/index.ts';
import type { Reason } from '../../reasons/index.ts';
import type { ConditionType } from '../../resources/index.ts';
import type { Statement } from './conditions.ts';

export type ConditionEntry = readonly [ConditionType, Statement];

export function allocation<Value>(
  observation: Observation<Value>,
  held: (value: Value) => Statement,
): ConditionEntry[] {
  if (observation.kind === 'present') {
    return [
      ['Accepted', yes('Exists')],
      ['Allocated', held(observation.value)],
    ];
  }
  const statement: Statement =
    observation.kind === 'absent'
      ? no('NotThere', '')
      : { status: 'Unknown', reason: 'AwaitingObservation', message: '' };
  return [
    ['Accepted', statement],
    ['Allocated', statement],
  ];
}

export function yes(reason: Reason): Statement {
  return { status: 'True', reason, message: '' };
}

export function no(reason: Reason, message: string): Statement {
  return { status: 'False', reason, message };
}
