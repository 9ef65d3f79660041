/**
 * The command line as a process, and waiting for what comes of it: in the world of the project
 * (../world.ts).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { isSimulated, world, type Finished, type Program as RunningProgram } from '../world.ts';

export type { Finished };

/** The wall clock of the world. */
export const nowMs = (): number => world.nowMs();
export const sleep = (ms: number): Promise<void> => world.sleep(ms);
/** As the test, to any server of the world. */
export const fetch: typeof world.fetch = (url, init) => world.fetch(url, init);

/** A folder that is gone after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(world.temporary, 'fleetkeeper-'));
  // A process that was asked to stop may still write there.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  return folder;
}

export type Program = RunningProgram;

/** The command line, at work from now on. Ends with the test. */
export function launch(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Program {
  return world.launch(args, environment);
}

/** Runs one command to its end. */
export function fleetkeeper(
  args: readonly string[],
  environment?: Record<string, string>,
): Promise<Finished> {
  return world.launch(args, environment ?? {}).finished();
}

/**
 * Asks again until the answer is given; another process can't be awaited otherwise. With `progress` it
 * is given up only when that has been the same for `timeoutMs`: how long much work takes depends on what
 * else the machine does.
 */
export async function eventually<Value>(
  what: string,
  ask: () => Promise<Value | undefined | false>,
  timeoutMs = 30_000,
  progress: () => unknown = () => undefined,
): Promise<Value> {
  const sinceMs = world.nowMs();
  let untilMs = sinceMs + timeoutMs;
  let reached = progress();
  for (;;) {
    const askedAtMs = world.nowMs();
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (progress() !== reached) untilMs = world.nowMs() + timeoutMs;
    reached = progress();
    if (world.nowMs() > untilMs) throw new Error(`not within ${timeoutMs / 1000} s: ${what}`);
    // Asking is not to take most of the time of whoever answers, nor of a machine whose clock jumps over what nobody waits for.
    const answeredAtMs = world.nowMs();
    const waitedMs = isSimulated ? answeredAtMs - sinceMs : 0;
    await world.pause(Math.max(50, 2 * (answeredAtMs - askedAtMs), Math.min(waitedMs / 10, timeoutMs / 20)));
  }
}
