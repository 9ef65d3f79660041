/** A read of a command that ends: what may pass is waited for, as `Retry-After` asks for, until the time of the command is over. */
import { mayPass, type Outcome } from '../../api/index.ts';
import { backoffMs, sleep } from '../../base/index.ts';
import type { Context } from '../context.ts';

const backoff = { firstMs: 500, longestMs: 10_000 };

export interface Patience extends Pick<Context, 'clock' | 'random' | 'stopped'> {
  /** Aborted when the process is stopped, and when the time is over. */
  readonly ends: AbortSignal;
  /** Monotonic milliseconds. */
  readonly untilMs: number;
}

/** Resolves with the value, or with what the API has answered last. */
export async function patientRead<Value>(
  { clock, random, ends, untilMs }: Patience,
  read: (ends: AbortSignal) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  let last: Outcome<Value> | undefined;
  for (let failures = 0; ; failures += 1) {
    const outcome = await read(ends);
    if (outcome.kind === 'applied') return outcome;
    if (ends.aborted) return last ?? outcome;
    if (!mayPass(outcome)) return outcome;
    last = outcome;
    const askedMs = 'retryAfterMs' in outcome ? (outcome.retryAfterMs ?? 0) : 0;
    const pauseMs = Math.max(askedMs, backoffMs(failures, backoff, random));
    if (clock.monotonicMs() + pauseMs >= untilMs) return outcome;
    await sleep(clock, pauseMs, ends);
  }
}
