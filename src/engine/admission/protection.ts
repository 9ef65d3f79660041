/**
 * What is at stake when objects and the tasks that protect them leave the source:
 *
 * - `together`: a task leaves with the service that it protects, or with the owner of that;
 * - `awaited`: a registered task leaves alone, and its service waits for anything (a change for the task, or for what hides whether there is one: an API
 *   that does not answer), or a change of it is not reported on yet.
 *
 * Another branch that is checked out may look like either. A task that leaves while nothing waits is over.
 */
import {
  accountPlaceOf,
  stateTraitsOf,
  type ObjectKey,
  type ProtectedTaskSpec,
} from '../../resources/index.ts';
import type { LastReport, ObjectRecord } from '../../state/index.ts';

export type Stake = 'together' | 'awaited';

export interface StakeInputs {
  readonly recordOf: (key: ObjectKey) => ObjectRecord | undefined;
  /** Whether the document of the object has changed since its last report. */
  readonly isUnreported: (record: ObjectRecord) => boolean;
}

export function stakes(missing: readonly ObjectRecord[], inputs: StakeInputs): ReadonlyMap<ObjectKey, Stake> {
  const keys = new Set(missing.map(({ key }) => key));
  const found = new Map<ObjectKey, Stake>();
  for (const record of missing) {
    const place = accountPlaceOf(record.key, record.manifest.spec);
    const home = 'with' in place ? inputs.recordOf(place.with) : undefined;
    const owner = home?.derived?.owner;
    const known = 'with' in place ? [place.with, owner] : [];
    const leaving = known.filter((key) => key !== undefined && keys.has(key)) as readonly ObjectKey[];
    if (leaving.length > 0) for (const key of [record.key, ...leaving]) found.set(key, 'together');
    else if (home && holds(record) && isAwaited(home, inputs)) found.set(record.key, 'awaited');
  }
  return found;
}

/** Its activity is registered, and neither released nor about to be. By which clock a deadline has passed is the task's own business. */
function holds({ key, kind, manifest }: ObjectRecord): boolean {
  const { released } = manifest.spec as Partial<ProtectedTaskSpec>;
  return released !== true && stateTraitsOf(key).registered?.(kind)?.isReleased === false;
}

function isAwaited(home: ObjectRecord, { recordOf, isUnreported }: StakeInputs): boolean {
  // In error, what ran in it has ended.
  if (home.report?.ready?.reason === 'ServiceError') return false;
  const owner = home.derived && recordOf(home.derived.owner);
  return isWaiting(home.report) || isUnreported(home) || (owner !== undefined && isUnreported(owner));
}

function isWaiting({ pending, interrupted }: Partial<LastReport> = {}): boolean {
  return pending !== undefined || interrupted !== undefined;
}
