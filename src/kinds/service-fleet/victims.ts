/** Which replica is removed, or updated, before which other one. Both orders are total: no two replicas are equal in them. */
import type { Replica } from './replica.ts';

type Criterion = (replica: Replica) => number;

/** The first difference decides; the smaller value comes first. */
const victimCriteria: readonly Criterion[] = [
  ({ isMade }) => (isMade ? 1 : 0),
  ({ isChosen }) => (isChosen ? 0 : 1),
  ({ isAvailable }) => (isAvailable ? 1 : 0),
  ({ protection }) => ({ no: 0, unknown: 1, yes: 2 })[protection],
  ({ content }) => ({ outdated: 0, unknown: 1, updating: 1, updated: 1 })[content],
  ({ isMisplaced }) => (isMisplaced ? 0 : 1),
  ({ rank }) => -rank,
  ({ hourlyMicros = 0 }) => -hourlyMicros,
  ({ isAsleep }) => (isAsleep ? 0 : 1),
  ({ crowd }) => -crowd,
  ({ entry }) => -entry.slot,
];

const updateCriteria: readonly Criterion[] = [
  ({ isAvailable }) => (isAvailable ? 1 : 0),
  ({ protection }) => ({ no: 0, unknown: 1, yes: 2 })[protection],
  ({ hourlyMicros = 0 }) => -hourlyMicros,
  ({ entry }) => -entry.slot,
];

export function victims(replicas: readonly Replica[]): Replica[] {
  return inOrder(replicas, victimCriteria);
}

export function updateOrder(replicas: readonly Replica[]): Replica[] {
  return inOrder(replicas, updateCriteria);
}

function inOrder(replicas: readonly Replica[], criteria: readonly Criterion[]): Replica[] {
  return [...replicas].sort((left, right) => {
    for (const criterion of criteria) {
      const difference = criterion(left) - criterion(right);
      if (difference !== 0) return difference;
    }
    return 0;
  });
}
