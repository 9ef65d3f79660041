import type { Timer } from '../base/clock.ts';

/** Runs `work` after each wait until stopped; a failure is logged, and does not end the repetition. */
export function repeat(
  wait: (run: () => void) => Timer,
  work: () => void,
  onFailure: (error: unknown) => void,
): () => void {
  let timer = wait(tick);
  function tick() {
    try {
      work();
    } catch (error) {
      onFailure(error);
    }
    timer = wait(tick);
  }
  return () => timer.cancel();
}
