/**
 * A command in a container, bounded in time and output.
 *
 *     running ──(its output ends)──> ending ──(the engine has its exit code)──> done
 *        │                             │
 *        └──(its time is up, or it writes without end)──┴──> killed
 *
 * Output beyond the 64 KiB that are answered of each stream is read and dropped, so that the command can continue and
 * its exit code is known. From 64 MiB on it counts as endless. A killed command has the exit code 124, as with
 * timeout(1). If this server can't kill it (the engine is on another machine), the answer shows that it may still be
 * running.
 */
import type { Readable } from 'node:stream';
import { sleep, type Clock } from '../../../base/clock.ts';
import { execOutputBytes } from '../../domain/config.ts';
import type { Execution, ExecutionResult } from '../../domain/runtime.ts';
import type { Engine, ExecInspection } from './engine/engine.ts';
import { pieces, type Piece } from './engine/frames.ts';
import { killContainerProcess } from './host-process.ts';

const endlessBytes = 64 * 1024 * 1024;
const pollMs = 50;
const killedCode = 124;

/** Throws an `EngineError` when it is not known how the command ended. */
export async function runInContainer(
  engine: Engine,
  clock: Clock,
  containerId: string,
  { command, timeoutSeconds }: Execution,
): Promise<ExecutionResult> {
  const deadlineMs = clock.monotonicMs() + timeoutSeconds * 1000;
  const execId = await engine.createExec(containerId, command);
  const output = await outputOf(engine, execId, clock, deadlineMs);
  const inspection = await untilEnded(engine, execId, clock, output.isEndless ? 0 : deadlineMs);
  if (!inspection.Running) return output.result(inspection.ExitCode ?? killedCode);
  const why = output.isEndless ? 'wrote more than 64 MiB' : `did not end within ${timeoutSeconds} s`;
  const fate = killContainerProcess(inspection.Pid, containerId)
    ? 'was killed'
    : "can't be killed from here: it may still be running";
  output.tell(`the command ${why} and ${fate}\n`);
  return output.result(killedCode);
}

/** Until the command closes its output, its time is up, or it has written too much. */
async function outputOf(
  engine: Engine,
  execId: string,
  clock: Clock,
  deadlineMs: number,
): Promise<BoundedOutput> {
  const timeout = new AbortController();
  const timer = clock.after(deadlineMs - clock.monotonicMs(), () => timeout.abort());
  const output = new BoundedOutput();
  try {
    const stream = await engine.startExec(execId, timeout.signal);
    timeout.signal.addEventListener('abort', () => stream.destroy());
    await output.read(stream);
  } finally {
    timer.cancel();
  }
  return output;
}

async function untilEnded(
  engine: Engine,
  execId: string,
  clock: Clock,
  deadlineMs: number,
): Promise<ExecInspection> {
  for (;;) {
    const inspection = await engine.inspectExec(execId);
    if (!inspection.Running || clock.monotonicMs() >= deadlineMs) return inspection;
    await sleep(clock, pollMs);
  }
}

class BoundedOutput {
  readonly #kept: Record<Piece['stream'], Buffer[]> = { stdout: [], stderr: [] };
  readonly #keptBytes = { stdout: 0, stderr: 0 };
  #bytes = 0;
  #isTruncated = false;

  get isEndless(): boolean {
    return this.#bytes > endlessBytes;
  }

  async read(stream: Readable): Promise<void> {
    try {
      for await (const piece of pieces(stream)) {
        this.#take(piece);
        // Leaving the loop closes the stream.
        if (this.isEndless) return;
      }
    } catch {
      // It broke off, or its time was up. The engine is asked next how the command ended.
      this.#isTruncated = true;
    }
  }

  /** A message of this server, for readers of the command's errors. */
  tell(text: string): void {
    this.#isTruncated = true;
    this.#kept.stderr.push(Buffer.from(text));
  }

  result(exitCode: number): ExecutionResult {
    const { stdout, stderr } = this.#kept;
    return {
      exitCode,
      stdout: Buffer.concat(stdout).toString(),
      stderr: Buffer.concat(stderr).toString(),
      truncated: this.#isTruncated,
    };
  }

  #take({ stream, bytes }: Piece): void {
    this.#bytes += bytes.length;
    const kept = bytes.subarray(0, execOutputBytes - this.#keptBytes[stream]);
    if (kept.length < bytes.length) this.#isTruncated = true;
    if (kept.length === 0) return;
    // A copy, so that the rest of the chunk can go.
    this.#kept[stream].push(Buffer.from(kept));
    this.#keptBytes[stream] += kept.length;
  }
}
