/** Times that creations without a response, and things that no read has shown, are waited for. */
import type { AccountHandle } from '../accounts.ts';

/** Interval of rechecks that nothing else triggers. */
const waitRecheckMs = 5000;
/** A shorter wait is for an account read (wake.ts), and there is none while the API is unreachable. */
const shortestWaitMs = 1001;

/** `leftMs`: until it is over. */
export function recheckMs(leftMs: number): number {
  return leftMs > 0 ? Math.min(Math.max(leftMs, shortestWaitMs), waitRecheckMs) : waitRecheckMs;
}

/** In whole seconds, rounded up. In a cluster, each change of a message is a write. */
export function inCoarseSteps(seconds: number): number {
  const step = seconds > 60 ? 60 : 10;
  return Math.ceil(seconds / step) * step;
}

/** Without an Account, the default of an Account. */
export function visibilityMs(account: AccountHandle | undefined): number {
  return (account?.spec.visibilitySeconds ?? 600) * 1000;
}

export function longestMs(account: AccountHandle, settleMs: number): number {
  return Math.max(visibilityMs(account), settleMs);
}
