/**
 * Why a fleet has, changes or removes a replica: by its roster, at the moment at which the request for the replica is recorded. Pure.
 *
 * | entry of the roster                        | who asked                                                  |
 * |--------------------------------------------|------------------------------------------------------------|
 * | leaves, with a cause                       | the scale, a repair, an operator command, a relocation     |
 * | leaves without a cause                     | the rollout: another one takes its place                   |
 * | wanted; it is created                      | the rollout to its revision, or the scale                  |
 * | wanted; it is changed                      | the rollout to its revision                                |
 * | none, or of a volume                       | the fleet                                                  |
 */
import { isCreation } from '../../actions/index.ts';
import type { AskedBy } from '../../state/index.ts';
import { childName } from './roster.ts';
import type { FleetInputs } from './inputs.ts';
import type { FleetState, RosterEntry } from './state.ts';

interface Owner {
  readonly name: string;
  readonly state: FleetState;
}

export function askedByFleet({ name, state }: Owner, child: string, action: string): AskedBy {
  const entry = (state.roster ?? []).find(({ slot }) => childName(name, slot) === child);
  if (!entry) return { by: 'Fleet', name };
  if (entry.phase !== 'wanted') return leaving(name, state, entry);
  const { rollout } = state;
  if (isCreation(action) && entry.revision !== rollout?.revision) return scale(name, entry);
  return leadingTo(name, state, entry.revision);
}

const causes = { scale: 'Scale', repair: 'Repair', retire: 'Command', placement: 'Relocation' } as const;

function leaving(name: string, state: FleetState, entry: RosterEntry): AskedBy {
  if (entry.cause === 'scale') return scale(name, entry);
  return entry.cause ? { by: causes[entry.cause], name } : leadingTo(name, state, state.rollout?.revision);
}

function scale(name: string, { by }: RosterEntry): AskedBy {
  return { by: 'Scale', name, ...(by === undefined ? {} : { detail: by }) };
}

function leadingTo(name: string, { rollout }: FleetState, revision: number | undefined): AskedBy {
  const isReturning = rollout?.phase === 'RollingBack';
  return {
    by: isReturning ? 'Rollback' : 'Rollout',
    name,
    ...(revision === undefined ? {} : { revision }),
  };
}

/** Who wants the number of replicas that a change of it leads to. Undefined: the document. */
export function scaledBy({ wanted, replicas }: Pick<FleetInputs, 'wanted' | 'replicas'>): string | undefined {
  if (wanted.budget !== undefined) return `Budget ${wanted.budget}`;
  if (wanted.schedule !== undefined) return `schedule ${wanted.schedule}`;
  if (wanted.scaled) return 'command scale';
  const isFor = (cause: RosterEntry['cause']) =>
    replicas.some(({ entry }) => entry.phase !== 'wanted' && entry.cause === cause);
  if (isFor('repair')) return 'in place of a broken replica';
  return isFor('placement') ? 'in place of one that moves' : undefined;
}
