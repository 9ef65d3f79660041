/** A line on stderr for what takes longer than two seconds, on a terminal only; it is gone when the work is done. */
import { createLogUpdate } from 'log-update';
import type { Timer } from '../base/index.ts';
import type { Context } from './context.ts';

const silentMs = 2000;
const everyMs = 500;

/** `describe` is asked for each line: what is under way, and how far it is. */
export async function withProgress<Result>(
  context: Pick<Context, 'clock' | 'stderr'>,
  describe: () => string,
  work: () => Promise<Result>,
): Promise<Result> {
  const { clock, stderr } = context;
  if (!stderr.isTTY) return work();
  const line = createLogUpdate(stderr);
  const startedAtMs = clock.monotonicMs();
  let timer: Timer;
  const show = () => {
    const seconds = Math.round((clock.monotonicMs() - startedAtMs) / 1000);
    line(`${describe()} (${seconds} s)`);
    timer = clock.after(everyMs, show);
  };
  timer = clock.after(silentMs, show);
  try {
    return await work();
  } finally {
    timer.cancel();
    line.clear();
  }
}
