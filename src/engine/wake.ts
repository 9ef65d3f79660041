/** When an object is rechecked without an event, after a pass that ended with a plan. */
import { isKeyHold } from '../observed/index.ts';
import type { InSync, Plan } from './plan/index.ts';
import { entryOf } from '../reasons/index.ts';
import type { AccountHandle } from './accounts.ts';

export type Wake =
  | { readonly kind: 'never' }
  | { readonly kind: 'now' }
  | { readonly kind: 'after'; readonly delayMs: number }
  /** With the next account snapshot in which something has changed. */
  | { readonly kind: 'change'; readonly account: AccountHandle }
  /** With the next account snapshot, which is requested. */
  | { readonly kind: 'observation'; readonly account: AccountHandle };

const observationMs = 1000;

export function wakeAfter(plan: Plan, account: AccountHandle | undefined, wallMs: number): Wake {
  switch (plan.kind) {
    case 'act':
      return account ? { kind: 'observation', account } : { kind: 'now' };
    case 'arrange':
      return { kind: 'now' };
    case 'wait':
      // What the account read will show is awaited there. What only time changes gets a timer.
      return account && plan.recheckAfterMs <= observationMs
        ? { kind: 'observation', account }
        : { kind: 'after', delayMs: plan.recheckAfterMs };
    case 'hold': {
      const { recheckMs = plan.recheckAfterMs } = entryOf(plan.reason);
      if (recheckMs !== undefined) return { kind: 'after', delayMs: recheckMs };
      if (isKeyHold(plan.reason) && account) return { kind: 'observation', account };
      return account ? { kind: 'change', account } : { kind: 'never' };
    }
    case 'in-sync':
      return wakeWhenDue(plan, wallMs);
  }
}

/** One pass is enough for a preview, unless the account, or a list of it, could not be read, or something was only found again. */
export function wakeOfPreview(plan: Plan, account: AccountHandle | undefined): Wake {
  if (plan.kind === 'arrange' && plan.recalls) return { kind: 'now' };
  const isUnread = plan.kind === 'wait' && entryOf(plan.reason).accountUnread === true;
  return isUnread && account ? { kind: 'observation', account } : { kind: 'never' };
}

/** Nothing to do until something changes, or until time alone makes something due. */
function wakeWhenDue({ recheckAfterMs, differences, driftAcceptedUntil }: InSync, wallMs: number): Wake {
  const acceptsDrift = driftAcceptedUntil !== undefined && differences.some(({ drift }) => drift);
  const delaysMs = [
    ...(recheckAfterMs === undefined ? [] : [recheckAfterMs]),
    ...(acceptsDrift ? [driftAcceptedUntil - wallMs + 1] : []),
  ];
  return delaysMs.length === 0 ? { kind: 'never' } : { kind: 'after', delayMs: Math.min(...delaysMs) };
}
