/** A line on stderr for what takes longer than two seconds, on a terminal only; it is gone when the work is done. */
import type { Timer } from '../../base/index.ts';
import type { Context } from '../context.ts';
import { oneLine } from './terminal-text.ts';

const silentMs = 2000;
const everyMs = 500;

/** `describe` is asked for each line: what is under way, and how far it is. */
export async function withProgress<Result>(
  { clock, stderr }: Pick<Context, 'clock' | 'stderr'>,
  describe: () => string,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!stderr.isTTY) return work();
  const startedAtMs = clock.monotonicMs();
  const done = new AbortController();
  let erase: (() => void) | undefined;
  let timer: Timer;
  const start = async () => {
    // Most work is done before.
    const { createLogUpdate } = await import('log-update');
    if (done.signal.aborted) return;
    // The cursor is left alone: a question may follow, and a process that is killed could not bring it back.
    const line = createLogUpdate(stderr, { showCursor: true });
    erase = () => line.clear();
    const show = () => {
      const seconds = Math.round((clock.monotonicMs() - startedAtMs) / 1000);
      line(oneLine(`${describe()} (${seconds} s)`));
      timer = clock.after(everyMs, show);
    };
    show();
  };
  timer = clock.after(silentMs, () => void start());
  try {
    return await work();
  } finally {
    done.abort();
    timer.cancel();
    erase?.();
  }
}
