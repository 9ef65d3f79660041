/**
 * How many replicas are wanted after the state was lost. Numbers by the command `scale` are lost with it, in a folder: a
 * cluster has them in the document.
 *
 * | the document    | what follows                                                                             |
 * |-----------------|------------------------------------------------------------------------------------------|
 * | has `replicas`  | they count. What is more is removed, and the plan and an Event state that                 |
 * | has none        | so many as were found are wanted, as if `scale` had given that number                     |
 *
 * While nobody has confirmed that the replicas are of this owner, none of them is removed because there are too many. So there is
 * time to give the number again.
 */
import { holdFor, type Difference, type Hold } from '../../engine/plan/index.ts';
import { countDifference, inPhase, slotsText, type FleetInputs } from './inputs.ts';
import type { FleetView } from './look.ts';
import type { Rollout } from './rollout.ts';
import type { FleetState } from './state.ts';
import { victims } from './victims.ts';

/** `found`: the number of replicas. Undefined: the document decides. */
export function scaledAsFound(
  { fleet: { snapshot }, key, object }: FleetView,
  found: number,
): FleetState['scaled'] | undefined {
  const isAsFound = snapshot.objects.get(key)?.document.gives?.('replicas') === false && found > 0;
  return isAsFound ? [{ replicas: found, of: object.spec.replicas }] : undefined;
}

/** What the pass that finds replicas states of their number, and what a plan shows of it. */
export function numberFound(inputs: FleetInputs): {
  readonly text: readonly string[];
  readonly differences?: Difference[];
} {
  const { wanted, replicas, numberIsLost } = inputs;
  const found = inPhase(replicas, 'wanted').length;
  if (wanted.scaled && numberIsLost)
    return { text: [`the document has no \`replicas\`, so ${found} stay until the next \`scale\``] };
  if (found === 0 || found === wanted.count) return { text: [] };
  const lost = numberIsLost ? [`${wanted.count} are wanted; ${lostNumber}`] : [];
  const from = numberIsLost ? { from: `found again; ${lostNumber}` } : {};
  return { text: lost, differences: [{ ...countDifference(wanted, found), ...from }] };
}

const lostNumber = 'a number that `scale` gave was lost with the state, so give it again to keep it';

/** Nothing that may be another fleet's drains because there is too much of it. */
export function unprovenSurplus(
  { replicas, wanted, owner }: FleetInputs,
  { target }: Rollout,
): Hold | undefined {
  const running = inPhase(replicas, 'wanted');
  const surplus = running.length - target;
  const unproven = running.filter(({ isUnproven }) => isUnproven);
  if (surplus <= 0 || unproven.length === 0) return undefined;
  const message =
    `${running.length} replicas were found, and ${wanted.count} are wanted: ${slotsText(victims(unproven).slice(0, surplus))} would be removed, ` +
    `and were not made with this state file; ${lostNumber}. To remove them, confirm once with --owner ${owner} that they are this fleet's`;
  return holdFor('OwnershipUnproven', message);
}
