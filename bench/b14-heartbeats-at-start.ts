/**
 * B14: whether heartbeats come in time while a process starts with a large fleet, and after its thread stood still (a provider in another
 * process, real HTTP). All that a start does, and all heartbeats, share one thread of JavaScript. The provider asks for a heartbeat each 5 s,
 * so that there are many to be seen.
 *
 * By itself it measures further sizes: `node bench/b14-heartbeats-at-start.ts ACCOUNTS SERVICES_PER_ACCOUNT TASKS`.
 */
import { execFile, fork, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pino from 'pino';
import { holdProcess, systemClock, systemHeap } from '../src/base/index.ts';
import { HeapPolicy } from '../src/cli/heap-policy.ts';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { answerOf, end } from './support/processes.ts';
import { shown, type Row } from './support/report.ts';
import type { Heartbeats } from './support/scale-provider.ts';
import { ScaleWorld, type ScaleWorkload } from './support/scale-world.ts';

interface Measured extends Heartbeats {
  readonly startMs: number;
  readonly rssMb: number;
  /** Of heartbeats around the pause. */
  readonly latestAfterPauseMs: number;
}

type Workload = Required<Pick<ScaleWorkload, 'accounts' | 'servicesPerAccount' | 'tasks'>>;

const pauseMs = 10_000;
/** By then each task has had its heartbeat again. */
const recoveryMs = 15_000;
const providerFile = path.join(import.meta.dirname, 'support/scale-provider-process.ts');

async function measure(workload: Workload): Promise<Measured> {
  const letGo = holdProcess();
  const provider = fork(providerFile, [JSON.stringify(workload)]);
  const url = (await answerOf(provider)) as string;
  // As in `run`.
  const policy = new HeapPolicy({ heap: systemHeap, clock: systemClock, logger: pino({ enabled: false }) });
  const world = await ScaleWorld.start({ ...workload, url });
  const heartbeats = await heartbeatsOf(provider);
  const rssMb = process.memoryUsage.rss() / 1e6;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
  await delay(recoveryMs);
  const { lateMs } = await heartbeatsOf(provider);
  const latestAfterPauseMs = Math.max(...lateMs.slice(heartbeats.lateMs.length));
  await world.stop();
  policy.stop();
  await end(provider);
  letGo();
  return { ...heartbeats, startMs: world.startMs, rssMb, latestAfterPauseMs };
}

async function heartbeatsOf(provider: ChildProcess): Promise<Heartbeats> {
  provider.send('heartbeats');
  return (await answerOf(provider)) as Heartbeats;
}

async function inProcess({ accounts, servicesPerAccount, tasks }: Workload): Promise<Measured> {
  const args = [import.meta.filename, ...[accounts, servicesPerAccount, tasks].map(String)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 });
  return JSON.parse(stdout) as Measured;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export const heartbeatsAtStart: Benchmark = {
  id: 'B14',
  title: 'Heartbeats while a large fleet starts',
  workload: '100 accounts of 1,000 services each in a cluster, and 1,000 protected tasks',
  repetitions: 3,
  async run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
    const workload = quick
      ? { accounts: 4, servicesPerAccount: 100, tasks: 100 }
      : { accounts: 100, servicesPerAccount: 1000, tasks: 1000 };
    const runs: Measured[] = [];
    for (let round = 0; round < repetitions; round += 1) runs.push(await inProcess(workload));
    const late = (what: string, share: number, atMost?: number): Row => ({
      what: `a heartbeat is later than its period by: ${what}`,
      values: runs.map(({ lateMs }) => percentile(lateMs, share)),
      unit: 'ms',
      isOfMachine: true,
      ...(atMost === undefined ? {} : { target: { atMost } }),
      beside: `${runs.map(({ lateMs }) => shown(lateMs.length)).join(', ')} heartbeats`,
    });
    return [
      {
        what: 'until each object had its last pass',
        values: runs.map(({ startMs }) => startMs / 1000),
        unit: 's',
        isOfMachine: true,
        target: { atMost: 30 },
        beside: `${runs.map(({ rssMb }) => shown(rssMb)).join(', ')} MB of memory`,
      },
      {
        what: 'tasks whose activity was registered',
        values: runs.map(({ activities }) => activities),
        unit: '',
        target: { atLeast: workload.tasks },
      },
      late('median', 0.5),
      late('p99', 0.99, 2000),
      late('longest', 1),
      {
        what: 'the same, after the thread stood still for 10 s: longest',
        values: runs.map(({ latestAfterPauseMs }) => latestAfterPauseMs),
        unit: 'ms',
        isOfMachine: true,
        target: { atMost: 2 * pauseMs },
        beside: 'a record lives for 300 s',
      },
    ];
  },
};

if (process.argv[1] === import.meta.filename) {
  const [accounts = 1, servicesPerAccount = 100, tasks = 100] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify(await measure({ accounts, servicesPerAccount, tasks }))}\n`);
}
