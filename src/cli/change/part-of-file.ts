/**
 * The part of a fleet that a plan file is about. Pure.
 *
 * | object                                             |                                                                |
 * |----------------------------------------------------|----------------------------------------------------------------|
 * | is in the file                                     | is planned and changed, as far as the file has its steps       |
 * | its Account                                        | is read                                                        |
 * | the replicas of a fleet in the file                | are planned and changed, as far as the fleet's entry has that  |
 * | the fleet of a replica in the file                 | is planned, since it decides when the replica may be corrected |
 * | a task of a service in the file that is registered | its heartbeats continue                                        |
 * | what a Budget counts beside these                  | is observed (counted.ts)                                       |
 * | any other                                          | stays as it is, and is not even planned                        |
 */
import type { PlanFile, PlannedNow } from '../../plan-file/index.ts';
import { ownerIn } from '../../plan-file/index.ts';
import { environmentKey } from '../../manager/index.ts';
import {
  accountKey,
  accountNamed,
  accountPlaceOf,
  stateTraitsOf,
  type ObjectKey,
} from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { ObservedFleet } from './fleet-plan.ts';
import { countedBeside } from './counted.ts';
import { neededBy, type PartOfFleet } from './part-of-fleet.ts';

interface Known {
  readonly observed: Pick<ObservedFleet, 'objects'>;
  readonly planned: PlannedNow;
  /** As it is at any time: replicas come and are gone while the file is applied. */
  readonly store: Pick<StateStore, 'records' | 'record'>;
}

export function partOfFile(file: PlanFile, { observed, planned, store }: Known): PartOfFleet {
  const chosen = file.objects.map(({ key }) => key);
  const keys = new Set<ObjectKey>([
    ...chosen,
    ...chosen.flatMap((key) => ownerIn(observed.objects.get(key), store.record(key)) ?? []),
    ...file.accounts.map(({ key }) => key),
    accountKey(environmentKey),
  ]);
  const kept = [...store.records()]
    .filter((record) => isKeptTask(record, keys, planned))
    .map(({ key }) => key);
  const included = [...new Set([...keys, ...kept])].filter((key) => !chosen.includes(key));
  const selected = new Set([...chosen, ...included]);
  const has = (key: ObjectKey) =>
    selected.has(key) || selected.has(ownerIn(undefined, store.record(key)) ?? key);
  return {
    isWhole: false,
    has,
    counted: countedBeside(chosen, observed, store, {
      has,
      neededBy: (key) => neededBy(key, observed, store),
    }),
    concerns: ({ key }) => key !== undefined && selected.has(key),
    chosen,
    included: included.filter((key) => accountNamed(key) === undefined),
    omitted: 0,
  };
}

/** It is registered, and the plan has nothing for it. */
function isKeptTask(
  { key, kind, manifest }: ObjectRecord,
  keys: ReadonlySet<ObjectKey>,
  { objects, held }: PlannedNow,
): boolean {
  const isRegistered = stateTraitsOf(key).registered?.(kind) !== undefined;
  const place = accountPlaceOf(key, manifest.spec);
  return isRegistered && 'with' in place && keys.has(place.with) && !objects.has(key) && !held.has(key);
}
