/** What heartbeats came to, as the control plane saw them. */
import type { SentHeartbeat, ListedActivity } from './heartbeat-world.ts';

export const periodSeconds = 30;
const expirySeconds = 300;

/** The most beats within one second, wherever it begins, as a multiple of the mean of so many tasks. */
export function busiest(heartbeats: readonly SentHeartbeat[], tasks: number): number {
  const times = heartbeats.map(({ atMs }) => atMs).toSorted((left, right) => left - right);
  let [most, first] = [0, 0];
  for (const [last, atMs] of times.entries()) {
    while (atMs - (times[first] ?? atMs) >= 1000) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return (most * periodSeconds) / tasks;
}

/** The times between two accepted beats of one task, from many looks at the activities. */
export class Gaps {
  readonly #newest = new Map<string, number>();
  readonly #gapsMs: number[] = [];
  expired = 0;
  /** Of the task that was renewed longest ago. */
  oldestMs = 0;

  take(listed: readonly ListedActivity[]): void {
    for (const { id, lastHeartbeatAt } of listed) {
      const gapMs = lastHeartbeatAt - (this.#newest.get(id) ?? lastHeartbeatAt);
      if (gapMs > 0) this.#gapsMs.push(gapMs);
      if (gapMs > expirySeconds * 1000) this.expired += 1;
      this.#newest.set(id, lastHeartbeatAt);
    }
    this.oldestMs = Math.min(...this.#newest.values());
  }

  /** `share` of all gaps are at most so long; 1 for the longest. */
  quantileMs(share: number): number {
    const sorted = this.#gapsMs.toSorted((left, right) => left - right);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  }
}
