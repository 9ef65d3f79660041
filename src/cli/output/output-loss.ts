/**
 * What becomes of output that can't be written. What is to be done stays the same: a manager must not end in the middle of its
 * work because nobody reads, or because the disk of its log is full.
 *
 * | where | nobody reads it any more (`| head`) | a full disk, a terminal that is gone |
 * |---|---|---|
 * | stdout | the rest is dropped; the exit code stays the same | the rest is dropped; an error on stderr, and success becomes failure |
 * | stderr | dropped | dropped |
 */
import { messageOf } from '../../base/index.ts';

interface OutputProcess {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly argv: readonly string[];
  on(event: 'exit', listener: (code: number) => void): unknown;
  exitCode?: number | string | null | undefined;
}

/**
 * Exit codes that promise a whole output, and what they become: all is well, and `plan` has changes. What runs a command of somebody else's
 * leaves 1 and 2 to that command.
 */
const withoutOutput: ReadonlyMap<number, number> = new Map([
  [0, 1],
  [2, 1],
]);
const withoutOutputOfOther: ReadonlyMap<number, number> = new Map([[0, 125]]);
const runners: ReadonlySet<string | undefined> = new Set(['exec', 'protect']);

/** The signal is aborted when nothing more can be written to stdout. */
export function watchOutput(of: OutputProcess): { readonly unread: AbortSignal } {
  const { stdout, stderr } = of;
  const codes = runners.has(of.argv[2]) ? withoutOutputOfOther : withoutOutput;
  const unread = new AbortController();
  let lost = false;
  stderr.on('error', () => void stderr.destroy());
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // It forgets that it was destroyed.
    stdout.destroy();
    unread.abort();
    if (error.code === 'EPIPE' || lost) return;
    lost = true;
    stderr.write(
      `error: can't write the output: ${messageOf(error)}\n  what was to be done is done all the same; give the output another place, or make room\n`,
    );
  });
  of.on('exit', (code) => {
    if (lost) of.exitCode = codes.get(code) ?? code;
  });
  return { unread: unread.signal };
}
