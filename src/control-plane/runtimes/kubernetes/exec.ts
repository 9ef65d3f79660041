/**
 * A command in a container, bounded in time and output. Of each output, what is answered is kept; the rest is dropped,
 * so that the command can continue and its exit code is known. From 64 MiB on it counts as endless.
 *
 * The cluster can't end a command. When its time is up, or it writes without end, the connection is closed, and the
 * answer states that it may still be running: exit code 124, as with timeout(1).
 */
import type { Clock } from '../../../base/clock.ts';
import type { ExecEnd, ExecPiece, PodApi, Target } from '../../../kubernetes/index.ts';
import { execOutputBytes } from '../../domain/config.ts';
import type { Execution, ExecutionResult } from '../../domain/runtime.ts';
import { containerName } from './names.ts';

const endlessBytes = 64 * 1024 * 1024;
const killedCode = 124;
/** As shells have them. */
const notExecutableCode = 126;
const notFoundCode = 127;

/** Throws a `KubernetesError` when there is no connection to the container. */
export async function runInPod(
  pods: PodApi,
  clock: Clock,
  pod: Target,
  { command, timeoutSeconds }: Execution,
): Promise<ExecutionResult> {
  const stop = new AbortController();
  const output = new BoundedOutput(() => stop.abort());
  const timer = clock.after(timeoutSeconds * 1000, () => stop.abort());
  try {
    const end = await pods.exec(pod, containerName, command, (piece) => output.take(piece), stop.signal);
    return output.result(end, command, timeoutSeconds, stop.signal.aborted);
  } finally {
    timer.cancel();
  }
}

class BoundedOutput {
  readonly #onEndless: () => void;
  readonly #kept: Record<ExecPiece['stream'], Buffer[]> = { stdout: [], stderr: [] };
  readonly #keptBytes = { stdout: 0, stderr: 0 };
  #bytes = 0;
  #isTruncated = false;

  constructor(onEndless: () => void) {
    this.#onEndless = onEndless;
  }

  take({ stream, bytes }: ExecPiece): void {
    this.#bytes += bytes.length;
    if (this.#bytes > endlessBytes) this.#onEndless();
    const kept = bytes.subarray(0, execOutputBytes - this.#keptBytes[stream]);
    if (kept.length < bytes.length) this.#isTruncated = true;
    if (kept.length === 0) return;
    // A copy, so that the rest of the message can go.
    this.#kept[stream].push(Buffer.from(kept));
    this.#keptBytes[stream] += kept.length;
  }

  result(
    end: ExecEnd,
    command: readonly string[],
    timeoutSeconds: number,
    isStopped: boolean,
  ): ExecutionResult {
    if (end.kind === 'exited') return this.#result(end.exitCode);
    if (end.kind === 'failed' && !isStopped) {
      const isMissing = /not found|no such file/i.test(end.message);
      this.#note(
        `${isMissing ? 'no such command' : 'the command can not be executed'}: ${command[0] ?? ''}\n`,
      );
      return this.#result(isMissing ? notFoundCode : notExecutableCode);
    }
    const why =
      this.#bytes > endlessBytes ? 'wrote more than 64 MiB' : `did not end within ${timeoutSeconds} s`;
    const what = isStopped ? `the command ${why}` : 'the connection to the command was lost';
    this.#isTruncated = true;
    this.#note(`${what}; it can't be ended from here and may still be running\n`);
    return this.#result(killedCode);
  }

  /** A message of this server, for readers of the command's errors. */
  #note(text: string): void {
    this.#kept.stderr.push(Buffer.from(text));
  }

  #result(exitCode: number): ExecutionResult {
    const { stdout, stderr } = this.#kept;
    return {
      exitCode,
      stdout: Buffer.concat(stdout).toString(),
      stderr: Buffer.concat(stderr).toString(),
      truncated: this.#isTruncated,
    };
  }
}
