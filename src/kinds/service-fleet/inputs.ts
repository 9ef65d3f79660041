/** What the planner of a fleet sees, and how it makes its steps. */
import type { Arrange, Difference, Plan, PlannedObject } from '../../engine/plan/index.ts';
import type { CheckResult } from '../../observed/index.ts';
import type { OwnerRevision } from '../../state/index.ts';
import { countOf, type Wanted } from './counts.ts';
import type { Market } from './placement.ts';
import type { Replica } from './replica.ts';
import type { PresentContent } from './revisions.ts';
import { paceOf, withEntries } from './roster.ts';
import type { ServiceFleetSpec } from './schema.ts';
import type { FleetState, RosterEntry } from './state.ts';
import type { ResolvedTemplate } from './template.ts';
import { volumesAfter, type FleetVolumes } from './volumes.ts';

export interface Measured {
  /** Names this process in what is recorded. Undefined: it measures nothing. */
  readonly by: string | undefined;
  /** Those that are finished, by the index of their step. */
  readonly results: ReadonlyMap<number, readonly CheckResult[]>;
}

export interface FleetInputs {
  readonly object: PlannedObject<ServiceFleetSpec>;
  /** With the roster that was found, if none was known. */
  readonly state: FleetState & { readonly roster: readonly RosterEntry[] };
  /** The roster was found just now, and is not recorded yet. */
  readonly isFound: boolean;
  /** A number that the command `scale` gave may have been lost with the state. */
  readonly numberIsLost: boolean;
  /** Whose marks things carry. */
  readonly owner: string;
  /** One for each entry of the roster, in its order. */
  readonly replicas: readonly Replica[];
  /** Slots whose names documents have, with the place of each. */
  readonly taken: ReadonlyMap<number, string>;
  /** Slots whose names no document has any more, and what had them may be there still. */
  readonly leaving: ReadonlySet<number>;
  readonly volumes: FleetVolumes;
  readonly wanted: Wanted;
  /** What the document requires now. */
  readonly present: PresentContent;
  /** What it takes of a ServiceTemplate, to be remembered of the revision that the document requires. */
  readonly ofTemplate: ResolvedTemplate['ofTemplate'];
  /** Why no revision can be made of the document now. */
  readonly problem: Plan | undefined;
  readonly revisions: readonly OwnerRevision[];
  /** The one that the document required in the last pass. Undefined: none is recorded. */
  readonly update: OwnerRevision | undefined;
  /** The newest Healthy one. */
  readonly healthy: OwnerRevision | undefined;
  /** The one that all replicas are to have in the end. */
  readonly target: OwnerRevision | undefined;
  /** The values of Secrets and ConfigMaps are those with which the newest Healthy one was made. */
  readonly hasHealthyValues: boolean;
  /** No disruption window is open now. */
  readonly isWindowClosed: boolean;
  /** Those that the next change of the roster records. */
  readonly newRevisions?: readonly OwnerRevision[];
  /** How many replicas the rollout to the revision before has added for a while. */
  readonly addedBefore?: number;
  /** The state has changed in this pass. */
  readonly isUnsaved?: true;
  /** What is known of measurements that were asked for (measuring.ts). */
  readonly measured: Measured;
  /** The places for replicas, and what is known of them. */
  readonly markets: readonly Market[];
  /** Unix milliseconds. */
  readonly nowMs: number;
}

export function inPhase(replicas: readonly Replica[], phase: RosterEntry['phase']): Replica[] {
  return replicas.filter(({ entry }) => entry.phase === phase);
}

/** What they were spared for is over. One whose update somebody's work keeps waiting drains with the revision that it still has. */
export function inNewPhase(
  replicas: readonly Replica[],
  phase: RosterEntry['phase'],
  nowMs: number,
  because?: RosterEntry['cause'],
  wantedBy?: string,
): RosterEntry[] {
  return replicas.map(({ entry, isBlocked }) => {
    const { slot, granted, place, candidate, restarted } = entry;
    const isWithout = isBlocked && phase === 'draining';
    const revision = (isWithout ? entry.earlier : undefined) ?? entry.revision;
    const cause = phase === 'retiring' ? entry.cause : because;
    const by = phase === 'retiring' ? entry.by : wantedBy;
    return {
      slot,
      phase,
      since: nowMs,
      ...(revision === undefined ? {} : { revision }),
      ...(granted === undefined ? {} : { granted }),
      // It was restarted for that, and would be once more.
      ...(entry.retried === undefined || isWithout ? {} : { retried: entry.retried }),
      ...(restarted === undefined ? {} : { restarted }),
      place,
      ...(candidate === undefined ? {} : { candidate }),
      ...(cause ? { cause } : {}),
      ...(by === undefined ? {} : { by }),
    };
  });
}

/** What a change of the number of replicas shows. */
export function countDifference({ count, from }: Wanted, observed: number): Difference {
  const difference = { path: 'replicas', desired: count, observed, drift: false };
  return from === undefined ? difference : { ...difference, from };
}

type Change = Pick<Arrange, 'reason' | 'message' | 'change'> &
  Partial<Pick<Arrange, 'differences' | 'measured' | 'news'>>;

/** The entries replace those of their slots. */
export function arrange(
  inputs: FleetInputs,
  entries: readonly RosterEntry[],
  change: Change,
  rest: Partial<Omit<FleetState, 'roster'>> = {},
  revisionsAfter?: readonly OwnerRevision[],
): Arrange {
  const state = { ...inputs.state, ...rest, roster: withEntries(inputs.state.roster, entries) };
  const revisions = revisionsAfter ?? inputs.newRevisions;
  const volumes = volumesAfter({ ...inputs, state }, state.roster, revisions ?? inputs.revisions);
  return {
    kind: 'arrange',
    differences: [],
    ...change,
    state: volumes.length > 0 ? { ...state, volumes } : state,
    ...(revisions ? { revisions } : {}),
  };
}

/** The slots of these replicas, for messages. */
export function slotsText(replicas: readonly Replica[]): string {
  const slots = replicas.map(({ entry }) => entry.slot);
  const shown = slots.slice(0, 10).join(', ');
  return `${slots.length === 1 ? 'replica' : 'replicas'} ${shown}${slots.length > 10 ? ', …' : ''}`;
}

export function scaleInPace({ state, object, replicas, nowMs }: FleetInputs) {
  const { maxPerMinute } = object.spec.scaleIn;
  return paceOf(state.pace, replicas.length, (of) => countOf(maxPerMinute, of, 'up'), nowMs);
}
