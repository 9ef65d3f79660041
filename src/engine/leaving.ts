/**
 * An object that is removed with `deletionPolicy: Retain` leaves what it made at the provider. Its budgets have to remember that before it is
 * forgotten (money/left-things.ts). The plan is the given one, or why the object has to stay for now.
 */
import type { Pass } from './pass.ts';
import { shut, type Plan } from './plan/index.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';

/** `uid`: of the object that the pass is about. Undefined: it leaves nothing, and its plan stands. */
export function leaving(
  { store, money, mode }: Pick<ReconcilerOptions, 'store' | 'money' | 'mode'>,
  pass: Pass,
  uid: string,
  plan: Plan,
): Promise<Plan> | undefined {
  const record = store.record(pass.key);
  // In a cluster, it may vanish during its pass.
  if (plan.kind !== 'in-sync' || record?.uid !== uid || !pass.isGivenUp()) return undefined;
  const gate = mode === 'preview' ? undefined : money.leaveGate(record);
  if (gate) return Promise.resolve(shut(gate, [], []));
  return money.leave(record).then(() => plan);
}
