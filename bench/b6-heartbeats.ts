/**
 * B6: 3,000 tasks of one account at the contract's period, while one mutation in twenty is answered 503, and 500 services are created through
 * the same limiter. Ours, and a timer for each task before one queue, run at the same time, each with a control plane of its own.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Gaps, busiest, periodSeconds } from './support/heartbeat-log.ts';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { HeartbeatWorld, type HeartbeatWorldOptions } from './support/heartbeat-world.ts';
import { median, shown, type Row } from './support/report.ts';

interface Size {
  readonly tasks: number;
  readonly services: number;
  readonly seconds: number;
}

interface Kept {
  readonly expired: number;
  readonly p999Seconds: number;
  readonly longestSeconds: number;
  readonly peakToMean: number;
  readonly cpuMsOfHeartbeat: number;
  readonly refused: number;
  readonly created: number;
}

/** Of the account; heartbeats alone need 100. */
const requestsPerSecond = 150;
const fullSize: Size = { tasks: 3000, services: 500, seconds: 180 };
const quickSize: Size = { tasks: 60, services: 10, seconds: 45 };
/** Less than the shortest time between two beats of a task. */
const lookMs = 10_000;

async function keep(loop: HeartbeatWorldOptions['loop'], { tasks, services, seconds }: Size): Promise<Kept> {
  const world = await HeartbeatWorld.start(tasks, { requestsPerSecond, loop });
  try {
    await delay(periodSeconds * 1000);
    await world.setFaults([{ fault: 'status', status: 503, code: 'unavailable', every: 20, method: 'POST' }]);
    const [startedMs, startedCpu] = [Date.now(), await world.cpuSeconds()];
    const gaps = new Gaps();
    gaps.take(await world.activities());
    await world.burst(services);
    while (Date.now() < startedMs + seconds * 1000) {
      await delay(lookMs);
      gaps.take(await world.activities());
    }
    const endedMs = Date.now();
    const cpuSeconds = (await world.cpuSeconds()) - startedCpu;
    const heartbeats = await world.heartbeats(startedMs, endedMs);
    const creations = await world.creations(startedMs, endedMs);
    return {
      expired: gaps.expired,
      p999Seconds: gaps.quantileMs(0.999) / 1000,
      longestSeconds: gaps.quantileMs(1) / 1000,
      peakToMean: busiest(heartbeats, tasks),
      cpuMsOfHeartbeat: (cpuSeconds * 1000) / heartbeats.length,
      refused: heartbeats.filter(({ status }) => status !== 200).length / heartbeats.length,
      created: creations.filter(({ status }) => status === 201).length,
    };
  } finally {
    await world.end();
  }
}

function rowsOf(ours: readonly Kept[], naive: readonly Kept[], { services }: Size): Row[] {
  const row = (what: string, unit: string, value: (kept: Kept) => number) => ({
    what,
    values: ours.map(value),
    unit,
    beside: `naive timers ${shown(median(naive.map(value)))} ${unit}`.trim(),
  });
  return [
    {
      ...row('records that expired', '', ({ expired }) => expired),
      isCount: true,
      limit: 0,
      target: { atMost: 0 },
    },
    {
      ...row('between two accepted beats: p99.9', 's', ({ p999Seconds }) => p999Seconds),
      limit: periodSeconds,
      target: { atMost: 33 },
    },
    row('  longest', 's', ({ longestSeconds }) => longestSeconds),
    {
      ...row('busiest second / mean', '', ({ peakToMean }) => peakToMean),
      limit: 1,
      target: { atMost: 1.3 },
    },
    row('beats that were refused', '%', ({ refused }) => refused * 100),
    row(`created meanwhile, of ${services}`, '', ({ created }) => created),
    row('CPU for one beat, creations included', 'ms', ({ cpuMsOfHeartbeat }) => cpuMsOfHeartbeat),
  ];
}

export const heartbeats: Benchmark = {
  id: 'B6',
  title: 'Heartbeats',
  workload: `3,000 tasks, ${requestsPerSecond} requests a second, every 20th mutation answered 503, 500 services created meanwhile, three minutes`,
  repetitions: 1,
  async run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
    const chosen = quick ? quickSize : fullSize;
    const [ours, naive]: [Kept[], Kept[]] = [[], []];
    for (let count = 0; count < repetitions; count += 1) {
      const [managed, timed] = await Promise.all([keep('manager', chosen), keep('naive timers', chosen)]);
      ours.push(managed);
      naive.push(timed);
    }
    return rowsOf(ours, naive, chosen);
  },
};
