/** Whether anything is written to a command that can't pass it on. */
import { fstatSync, type Stats } from 'node:fs';
import type { Context } from './context.ts';

/** What is there already arrives at once. A pipe that stays silent is what most supervisors give their processes. */
const silentMs = 50;

/**
 * A file with content, or a pipe or socket with something in it now. A terminal, a device such as /dev/null, an empty
 * or closed pipe, and one that others hold open without writing are no input.
 */
export async function hasInput({ stdin, clock }: Pick<Context, 'stdin' | 'clock'>): Promise<boolean> {
  if (stdin.isTTY) return false;
  const status = statusOf(stdin);
  if (status?.isFile()) return status.size > 0;
  return status?.isFIFO() || status?.isSocket() ? isReadable(stdin, clock) : false;
}

function statusOf(stdin: Context['stdin']): Stats | undefined {
  try {
    return 'fd' in stdin && typeof stdin.fd === 'number' ? fstatSync(stdin.fd) : undefined;
  } catch {
    // Closed by who started this process.
    return undefined;
  }
}

function isReadable(stdin: Context['stdin'], clock: Context['clock']): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isThere: boolean) => {
      timer.cancel();
      stdin.off('readable', onReadable).off('end', onNothing);
      // It continues to be read, which must not keep the process alive.
      stdin.unref();
      resolve(isThere);
    };
    const onReadable = () => settle(stdin.readableLength > 0);
    const onNothing = () => settle(false);
    const timer = clock.after(silentMs, onNothing);
    stdin.once('error', onNothing).on('end', onNothing).on('readable', onReadable);
  });
}
