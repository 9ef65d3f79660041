/**
 * What `apply` may do beside what its plan has shown. A plan is one look, and time passes until the end: a schedule begins, a check fails,
 * a person changes something at the provider. The first row that applies. Pure.
 *
 * | what comes up                                                        |                                   |
 * |----------------------------------------------------------------------|-----------------------------------|
 * | of a fleet that a policy denies in the plan: any change of its replicas | is held: NotInPlan             |
 * | a removal, and the plan has one of that object, now or after a wait  | is done                           |
 * | a removal of what was not there at the time of the plan              | is done: this `apply` has made it |
 * | the plan does not know, or waits to know, what follows for the object | is done                          |
 * | of a fleet that has an entry in the plan, or was under way then      | is done                           |
 * | any other removal                                                    | is held: NotInPlan                |
 * | with `--max-cost-increase`, of an object without an entry: what may cost more | is held: NotInPlan       |
 * | anything else                                                        | is done                           |
 *
 * A fleet is under way while it waits or is about to change its roster: replicas that drain, a rollout, a move. So what is declared is
 * corrected, stopped and made again as always.
 */
import { entryOfAction } from '../../actions/index.ts';
import type { GuardedStep, PassResult, StepGuard } from '../../engine/index.ts';
import type { RosterPlan } from '../../engine/plan/index.ts';
import type { ChangeAction, FleetPlan, Held, ObjectName } from '../../manager/index.ts';
import { ownerIn } from '../../plan-file/index.ts';
import { objectKey, type ManagedKind, type ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import { followsWait } from './consent.ts';

const removals: ReadonlySet<ChangeAction> = new Set(['delete', 'replace', 'leave']);
const unseen = 'the plan of this apply did not show; apply again to see it in the plan';

export interface Agreed {
  readonly plan: Pick<FleetPlan, 'changes' | 'held' | 'unclear'>;
  /** Of all objects that were planned. */
  readonly results: ReadonlyMap<ObjectKey, Pick<PassResult, 'plan'>>;
  /** What was known at the time of the plan. */
  readonly store: Pick<StateStore, 'records'>;
  /** There is a limit of what it may cost. */
  readonly isCostLimited: boolean;
}

export function applyConsent({ plan, results, store, isCostLimited }: Agreed): StepGuard {
  const { changes, held, unclear } = plan;
  const known = new Set([...store.records()].flatMap(({ externalId }) => externalId ?? []));
  const shown = keysOf([...changes, ...held, ...unclear]);
  const removed = keysOf([
    ...changes.filter(({ action }) => removals.has(action)),
    ...held.filter(mayRemove),
    ...unclear,
  ]);
  const denied = keysOf(held.filter(({ reason }) => reason === 'PolicyDenied'));
  const mayContinue = (key: ObjectKey) => {
    const kind = results.get(key)?.plan.kind;
    return shown.has(key) || kind === 'wait' || kind === 'arrange';
  };
  const isOfOwner = ({ object, record }: GuardedStep) => {
    const owner = ownerIn(object, record);
    return owner !== undefined && mayContinue(owner);
  };
  return {
    refusesStep: (guarded) => {
      const { key, step, record } = guarded;
      const { effect, spends } = entryOfAction(step.action);
      if (effect === 'delete') {
        const wasThere = record.externalId !== undefined && known.has(record.externalId);
        const isRefused = wasThere && !removed.has(key) && !isOfOwner(guarded);
        return isRefused ? `it would be deleted, which ${unseen}` : undefined;
      }
      const isRefused = isCostLimited && spends && !shown.has(key) && !isOfOwner(guarded);
      return isRefused
        ? `${step.action.do} may cost more, with --max-cost-increase, and ${unseen}`
        : undefined;
    },
    refusesRoster: (key, roster) => {
      if (roster === undefined) return undefined;
      if (denied.has(key))
        return changesReplicas(roster) ? 'the plan of this apply showed it as denied' : undefined;
      return mayContinue(key) ? undefined : rosterRefusal(roster, isCostLimited);
    },
  };
}

function mayRemove(held: Held): boolean {
  return held.actions.some((action) => removals.has(action)) || followsWait(held);
}

function changesReplicas({ moves: { added, updated, leaving } }: RosterPlan): boolean {
  return added.length + updated.length + leaving.length > 0;
}

function rosterRefusal({ moves }: RosterPlan, isCostLimited: boolean): string | undefined {
  const leaving = moves.leaving.filter(({ unmade }) => !unmade);
  const [first] = leaving;
  if (first) return `${leaving.length} of its replicas would leave (${first.cause}), which ${unseen}`;
  const { added } = moves;
  if (!isCostLimited || added.length === 0) return undefined;
  return `${added.length} more replicas would cost more, with --max-cost-increase, and ${unseen}`;
}

function keysOf(named: readonly ObjectName[]): ReadonlySet<ObjectKey> {
  return new Set(named.map(({ kind, namespace, name }) => objectKey(kind as ManagedKind, namespace, name)));
}
