/** By what time a task ends. */
import { deadlineState, type TaskTime } from '../../engine/plan/index.ts';
import type { AccountHandle, KindOptions } from '../../engine/index.ts';
import type { ProtectedTaskSpec } from '../../resources/index.ts';

export function taskTime(
  { clock, mode, isOneShot = false }: Pick<KindOptions, 'clock' | 'mode' | 'isOneShot'>,
  account: AccountHandle | undefined,
): TaskTime {
  return {
    nowMs: clock.wallMs(),
    account: account?.time?.(),
    isOneShot: isOneShot || mode === 'preview',
  };
}

const longestRecheckMs = 3_600_000;
const openRecheckMs = 5000;
const disputedRecheckMs = { least: 1000, most: 60_000 };

/** Milliseconds until it has to be looked whether the deadline has passed; undefined without one. */
export function leftUntilDeadline({ until }: ProtectedTaskSpec, time: TaskTime): number | undefined {
  const { deadline } = until ?? {};
  if (deadline === undefined) return undefined;
  const leftMs = (nowMs: number) => Date.parse(deadline) - nowMs;
  switch (deadlineState(deadline, time)) {
    case 'open':
      return openRecheckMs;
    case 'disputed': {
      const { least, most } = disputedRecheckMs;
      return Math.max(least, Math.min(leftMs(time.account?.providerMs ?? time.nowMs), most));
    }
    case 'ahead':
    case 'passed':
      return Math.min(leftMs(time.nowMs), longestRecheckMs);
  }
}

/** Nothing is registered for it yet: it may be over. */
export function isOpen({ until }: ProtectedTaskSpec, time: TaskTime): boolean {
  return until?.deadline !== undefined && deadlineState(until.deadline, time) === 'open';
}

/** Why a task is not over although the clock of this machine shows that its deadline has passed. */
export function whyNotOver({ until }: ProtectedTaskSpec, time: TaskTime): string | undefined {
  const state = until?.deadline === undefined ? 'ahead' : deadlineState(until.deadline, time);
  if (state === 'open') {
    return 'by the clock of this machine its deadline has passed; it is released when that clock is certain';
  }
  // A second or two is no news.
  const isNews = state === 'disputed' && (time.account?.behindForMs ?? 0) > 0;
  return isNews
    ? "by the clock of this machine its deadline has passed, by the `Date` of the API's answers it has not: correct the clock that is wrong; `released: true` ends the task"
    : undefined;
}
