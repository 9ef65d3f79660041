/**
 * What can go wrong, and how much of it goes wrong in one run. Each seed enables some kinds only (swarm testing): a
 * fault that hides another one would otherwise always be there to hide it.
 *
 * How late is too late? A request whose outcome is unknown takes effect within `lateMs`, and a read is behind by at most `lagMs`; together they are
 * shorter than the settle window, since that is what the window is for. A creation may take effect minutes later, and what it made may be shown a minute
 * later: for that there are longer windows (docs/internals/settlement.md).
 */
import type { SeededRandom } from '../support/seeded-random.ts';
import type { ClusterFault } from './cluster/faults.ts';

/** Of single requests: drawn for each. */
export const networkFaults = [
  'refuse',
  'lose-request',
  'lose-reply',
  'reset',
  'late',
  'slow',
  'duplicate',
  'throttle',
  'unavailable',
  'broken',
  'unauthorized',
  'scarce',
  'stale-reads',
  'truncated-reads',
] as const;
export type NetworkFault = (typeof networkFaults)[number];

/**
 * Of creations: one takes effect long after its client gave up, or what it made is not shown for long. They are drawn from a stream of
 * their own, so that older seeds stay as they were.
 */
export const creationFaults = ['late-creation', 'shown-late'] as const;
export type CreationFault = (typeof creationFaults)[number];

/** Of processes, accounts and people: each is an action at a moment of its own. */
export const worldFaults = [
  'crash-manager',
  'stop-manager',
  'stall-manager',
  'crash-plane',
  'jump-clock',
  'fill-disk',
  'lose-source',
  'odd-state',
  'poor',
  'foreign-change',
  'foreign-delete',
  'foreign-create',
  'foreign-activity',
  'foreign-probe',
] as const;
export type WorldFault =
  | (typeof worldFaults)[number]
  | typeof aimedCrash
  | typeof truncation
  | typeof hostileEdit
  | typeof forgery;
export type FaultKind = NetworkFault | CreationFault | WorldFault | ClusterFault;

/** A process dies while an intent is on its way to the disk, or its request to the server. It is drawn from a stream of its own. */
export const aimedCrash = 'crash-at-intent';

/** A file of the folder loses its document for a while. It is drawn from a stream of its own, too. */
export const truncation = 'truncate-file';

/** Somebody who may write Accounts, and nothing else, makes another one of ours. It is drawn from a stream of its own. */
export const hostileEdit = 'hostile-edit';

/** In a cluster: somebody who may patch statuses writes a colleague's service into one, and the leader dies before it can put that right. Of a stream of its own. */
export const forgery = 'forge-status';

/** Of a run in a folder; a cluster has more (`cluster/faults.ts`). */
export const allFaults: readonly FaultKind[] = [
  ...networkFaults,
  ...creationFaults,
  ...worldFaults,
  aimedCrash,
  truncation,
  hostileEdit,
];

/** After these it may not be known what became of a request. */
export const uncertainFaults: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'late-creation',
  'lose-request',
  'lose-reply',
  'reset',
  'late',
  'slow',
  'duplicate',
  'broken',
  'crash-manager',
  'stop-manager',
  'stall-manager',
  'crash-plane',
  aimedCrash,
]);

export const settleMs = 5000;
export const lateMs = 2400;
export const lagMs = 2400;
/** From the sending of a late creation to its effect. */
export const latestCreationMs = 240_000;
/** The client's own patience with one exchange. */
export const exchangeMs = 30_000;

export function drawCreationFaults(random: SeededRandom): Map<FaultKind, number> {
  const chosen = creationFaults.filter(() => random.chance(0.35));
  return new Map(chosen.map((kind) => [kind, random.pick([0.1, 0.3, 0.6])]));
}

export function drawFaults(random: SeededRandom): Map<FaultKind, number> {
  const density = random.pick([0.15, 0.3, 0.6]);
  const chosen = new Map<FaultKind, number>();
  for (const kind of [...networkFaults, ...worldFaults]) {
    const isChosen = random.chance(density);
    const probability = random.pick([0.01, 0.04, 0.12]);
    if (isChosen) chosen.set(kind, probability);
  }
  return chosen;
}
