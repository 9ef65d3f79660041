/**
 * Removed objects of which the account does not show any more what they had. They would be forgotten, and whatever is there all the same
 * would be billed, and managed by nobody. Pure.
 */
import { effectOf } from '../../actions/index.ts';
import { isSuspiciousRead } from '../../engine/plan/index.ts';
import type { FleetPlan } from '../../manager/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';

type Records = Pick<StateStore, 'records' | 'lastIntent'>;

/** Objects with something that was seen at the provider. A deletion that was requested is no surprise. */
export function managedThings(store: Records): ReadonlySet<ObjectKey> {
  const managed = [...store.records()].filter(({ key, externalId, seen, deletedByUs }) => {
    const isDeleted = deletedByUs || effectOf(store.lastIntent(key)?.action ?? '') === 'delete';
    return externalId !== undefined && seen?.id === externalId && !isDeleted;
  });
  return new Set(managed.map(({ key }) => key));
}

export interface Vanished {
  readonly keys: readonly ObjectKey[];
  /** How many there were before. */
  readonly managed: number;
}

/** Those that a preview has forgotten, but for those that are left at the provider. */
export function vanishedIn(
  plan: FleetPlan,
  managed: ReadonlySet<ObjectKey>,
  after: Pick<StateStore, 'record'>,
): Vanished {
  const left = new Set<string>(
    plan.changes.map(({ kind, namespace, name }) => `${kind}/${namespace}/${name}`),
  );
  const keys = [...managed].filter((key) => !after.record(key) && !left.has(key));
  return { keys, managed: managed.size };
}

/** The account, not the fleet, may be wrong. */
export function isSuspicious({ keys, managed }: Vanished): boolean {
  return isSuspiciousRead(managed, keys.length);
}

export function withVanished(plan: FleetPlan, { keys }: Vanished): FleetPlan {
  const message = 'the account does not show it any more; it is forgotten once that is certain';
  const unclear = keys.map(
    (key) => ({ ...parseObjectKey(key), reason: 'ConfirmingAbsence', message }) as const,
  );
  const summary = { ...plan.summary, waiting: plan.summary.waiting + keys.length };
  return { ...plan, unclear: [...plan.unclear, ...unclear], summary };
}
