/**
 * Decisions that the planners of all kinds share:
 *
 * | object    | observation               | plan                                                        |
 * |-----------|---------------------------|-------------------------------------------------------------|
 * | any       | pending                   | Wait                                                        |
 * | desired   | conflict                  | Hold: it must not be changed                                |
 * | desired   | absent, not confirmed     | Wait, if there was something: one absence proves nothing    |
 * | desired   | absent                    | the kind's creation                                         |
 * | desired   | present                   | the kind's change                                           |
 * | removed   | conflict, or retained     | InSync: there is nothing managed to delete                  |
 * | removed   | a conflict of `mayBeOurs` | Hold: a thing with the object's mark, or the recorded one, may be managed |
 * | removed   | absent                    | InSync once it is confirmed                                 |
 * | removed   | present                   | the kind's deletion                                         |
 *
 * In each case `proceed` follows: the first step is taken unless the object is paused or a gate is closed.
 */
import { entryOf } from '../../reasons/index.ts';
import { annotations } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { PlannedObject } from './inputs.ts';
import {
  holdFor,
  inSync,
  shut,
  waitFor,
  type Difference,
  type Gate,
  type Observation,
  type Plan,
  type Step,
} from './types.ts';

interface LifecycleInputs<Value> {
  readonly object: PlannedObject<{ readonly deletionPolicy: 'Delete' | 'Retain' }>;
  readonly record: ObjectRecord;
  readonly observation: Observation<Value>;
}

interface Ways<Value> {
  /** The everyday word for such a thing: `service`. */
  readonly noun: string;
  create(): Plan;
  change(value: Value): Plan;
  remove(value: Value): Plan;
}

export function planLifecycle<Value>(inputs: LifecycleInputs<Value>, ways: Ways<Value>): Plan {
  const { object, record, observation } = inputs;
  // If the object were forgotten, a thing that may be managed would remain, and be billed.
  const isForeign = observation.kind === 'conflict' && !entryOf(observation.reason).mayBeOurs;
  const isLeft = object.spec.deletionPolicy === 'Retain' || isForeign;
  if (object.deleting && isLeft) return inSync();
  switch (observation.kind) {
    case 'pending':
      return waitFor('AwaitingObservation', observation.message);
    case 'conflict':
      return holdFor(observation.reason, observation.message, { path: ['spec', 'adopt'] });
    case 'absent':
      if (record.externalId !== undefined && !observation.confirmed) {
        return waitFor(
          'ConfirmingAbsence',
          observation.message ??
            `${ways.noun} ${record.externalId} is not in the account; verifying that it is gone`,
        );
      }
      return object.deleting ? inSync() : ways.create();
    case 'present':
      return object.deleting ? ways.remove(observation.value) : ways.change(observation.value);
  }
}

export function proceed(
  { annotations: given }: Pick<PlannedObject<unknown>, 'annotations'>,
  steps: readonly [Step, ...Step[]],
  differences: readonly Difference[],
  gate: Gate | undefined,
): Plan {
  if (given[annotations.paused] === 'true') {
    return holdFor(
      'Paused',
      `the annotation ${annotations.paused} stops all mutations; remove it to continue`,
      {
        path: ['metadata', 'annotations', annotations.paused],
        steps,
        differences,
      },
    );
  }
  if (gate) return shut(gate, steps, differences);
  const [step, ...later] = steps;
  return { kind: 'act', step, later, differences };
}

/** The object's thing is gone, although Fleetkeeper did not delete it. */
export function hasVanished({ record }: Pick<LifecycleInputs<unknown>, 'record'>): boolean {
  return record.externalId !== undefined && !record.deletedByUs;
}

/** The operator wrote the thing's name to confirm that its data may be lost. */
export function dataLossConfirmed(
  { annotations: given }: Pick<PlannedObject<unknown>, 'annotations'>,
  name: string,
): boolean {
  return given[annotations.confirmDataLoss] === name;
}
