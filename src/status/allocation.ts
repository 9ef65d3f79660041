/**
 * An accepted request, an allocation and a ready application are three things (§1): `Accepted` is what the API has taken
 * on, `Allocated` what it holds for it now, `Ready` (conditions.ts) what can be used.
 */
import type { wire } from '../api/index.ts';
import type { Observation } from '../plan/index.ts';
import type { Reason } from '../reasons/index.ts';
import type { ConditionType } from '../resources/index.ts';
import type { Statement } from './conditions.ts';

export type Told = readonly [ConditionType, Statement];

export function serviceAllocation(observation: Observation<wire.Service>): Told[] {
  return allocation(observation, ({ state }) => {
    // Compute is allocated while a service is running or in error (§3 rule 1).
    if (state === 'running' || state === 'error') return yes('ComputeHeld');
    return no(
      state === 'paused' ? 'Paused' : state === 'sleeping' ? 'Sleeping' : 'NotAllocated',
      `the service is ${state ?? 'in no state'}`,
    );
  });
}

/** Provisioned allocation is checked apart from the status (§2 Volume). */
export function volumeAllocation(observation: Observation<wire.Volume>): Told[] {
  return allocation(observation, ({ status, provisioned }) =>
    (provisioned ?? status === 'ready')
      ? yes('StorageHeld')
      : no('NotAllocated', `the volume is ${status ?? 'in no status'} and not provisioned`),
  );
}

function allocation<Value>(observation: Observation<Value>, held: (value: Value) => Statement): Told[] {
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

function yes(reason: Reason): Statement {
  return { status: 'True', reason, message: '' };
}

function no(reason: Reason, message: string): Statement {
  return { status: 'False', reason, message };
}
