/**
 * B3: an edit behind a long backlog. The workqueue and the limiter are the manager's own, wired as it does, with as many workers; a pass
 * is one request. They wait and compute nothing, so all repetitions, and the peer, run at the same time.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Limiter, priorities } from '../src/api/limiter.ts';
import { holdProcess, systemClock } from '../src/base/index.ts';
import { Workqueue, type QueueLane } from '../src/engine/workqueue.ts';
import { createMetrics } from '../src/telemetry/index.ts';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { quantile, shown, type Row } from './support/report.ts';

const workers = 16;
const perSecond = 20;
const burst = 40;
/** How long a request takes to be answered. */
const roundTripMs = 20;

interface Sizes {
  readonly backlog: number;
  readonly edits: number;
  /** Between two edits, on the average. */
  readonly gapMs: number;
  readonly floodMs: number;
}

/** A queue with its workers, before an API of that rate. */
class Engine {
  readonly #queue: Workqueue<string>;
  readonly #limiter: Limiter;
  readonly #onRequest = new Map<string, () => void>();
  readonly #isFifo: boolean;
  /** Requests by what they were for. */
  readonly requests: Record<Extract<QueueLane, 'edit' | 'resync'>, number> = { edit: 0, resync: 0 };

  constructor(isFifo: boolean) {
    const metrics = createMetrics();
    this.#isFifo = isFifo;
    this.#queue = new Workqueue(systemClock, metrics);
    this.#limiter = new Limiter(
      { account: 'bench', perSecond, burst, concurrency: 10 },
      systemClock,
      metrics,
    );
    for (let worker = 0; worker < workers; worker += 1) void this.#work();
  }

  fill(backlog: number): void {
    for (let index = 0; index < backlog; index += 1) this.#queue.add(`resync-${index}`, 'resync');
  }

  /** Milliseconds until its request is sent. */
  edit(name: string): Promise<number> {
    const startedMs = performance.now();
    return new Promise((resolve) => {
      this.#onRequest.set(name, () => resolve(performance.now() - startedMs));
      this.#queue.add(name, this.#isFifo ? 'resync' : 'edit');
    });
  }

  async stop(): Promise<void> {
    const stopped = this.#queue.stop();
    this.#limiter.close();
    await stopped;
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take()) {
      await this.#pass(key);
      this.#queue.done(key);
    }
  }

  async #pass(key: string): Promise<void> {
    try {
      const priority = this.#queue.laneOf(key) === 'edit' ? priorities.edit : priorities.read;
      await this.#limiter.run('ordinary', priority, () => this.#request(key));
    } catch {
      // Turned away when the measurement is over.
    }
  }

  #request(key: string): Promise<void> {
    this.requests[key.startsWith('resync') ? 'resync' : 'edit'] += 1;
    this.#onRequest.get(key)?.();
    this.#onRequest.delete(key);
    return delay(roundTripMs);
  }
}

async function editsBehind({ backlog, edits, gapMs }: Sizes): Promise<number[]> {
  const engine = new Engine(false);
  engine.fill(backlog);
  const latencies: Promise<number>[] = [];
  for (let index = 0; index < edits; index += 1) {
    await delay(Math.random() * 2 * gapMs);
    latencies.push(engine.edit(`edit-${index}`));
  }
  const all = await Promise.all(latencies);
  await engine.stop();
  return all;
}

async function editInFifo({ backlog }: Sizes): Promise<number> {
  const engine = new Engine(true);
  engine.fill(backlog);
  const latencyMs = await engine.edit('edit');
  await engine.stop();
  return latencyMs;
}

/** The share of the backlog in all that is done while edits never end. */
async function shareUnderFlood({ backlog, floodMs }: Sizes): Promise<number> {
  const engine = new Engine(false);
  engine.fill(backlog);
  for (let index = 0; index < backlog; index += 1) void engine.edit(`edit-${index}`);
  await delay(floodMs);
  await engine.stop();
  return engine.requests.resync / (engine.requests.resync + engine.requests.edit);
}

async function run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
  const sizes: Sizes = quick
    ? { backlog: 200, edits: 10, gapMs: 300, floodMs: 4000 }
    : { backlog: 10_000, edits: 200, gapMs: 1500, floodMs: 60_000 };
  const each = <Value>(measure: (sizes: Sizes) => Promise<Value>) =>
    Promise.all(Array.from({ length: repetitions }, () => measure(sizes)));
  const release = holdProcess();
  const [latencies, fifo, shares] = await Promise.all([
    each(editsBehind),
    each(editInFifo),
    each(shareUnderFlood),
  ]);
  release();
  return [
    {
      what: 'edit: until its request is sent, p99',
      values: latencies.map((all) => quantile(all, 0.99)),
      unit: 'ms',
      limit: 1000 / perSecond,
      target: { atMost: 150 },
      beside: `median ${shown(quantile(latencies.flat(), 0.5))} ms; in a FIFO queue ${shown(Math.max(...fifo) / 1000)} s`,
    },
    {
      what: 'the backlog’s share while edits never end',
      values: shares,
      unit: '',
      isCount: true,
      limit: 0.25,
      target: { atLeast: 0.2 },
    },
  ];
}

export const editBehindBacklog: Benchmark = {
  id: 'B3',
  title: 'an edit behind a backlog',
  workload: `200 edits, at random moments, behind 10,000 resyncs of a request each at R = ${perSecond}/s, ${workers} workers`,
  run,
};
