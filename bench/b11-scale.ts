/**
 * B11: what one edit, one account read and one scrape cost, by how many other objects there are. Nothing of it may grow with these. Each
 * size has a process of its own; CPU is that of the whole process, so that collecting garbage counts, too. The limit of a scrape is to
 * write the series that it shows, of which each account has its own.
 *
 * By itself it measures further sizes: `node --expose-gc bench/b11-scale.ts ACCOUNTS SERVICES_PER_ACCOUNT [ROUNDS]`.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pino from 'pino';
import { holdProcess, systemClock, systemHeap } from '../src/base/index.ts';
import { HeapPolicy } from '../src/cli/heap-policy.ts';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { median, shown, type Row } from './support/report.ts';
import { ScaleWorld, type ScaleWorkload } from './support/scale-world.ts';

/** Milliseconds of CPU of one, over several rounds. */
interface Measured {
  readonly objects: number;
  readonly startMs: number;
  readonly editMs: readonly number[];
  readonly readMs: readonly number[];
  readonly scrapeMs: readonly number[];
  /** Of a scrape, what it takes to write the series that it shows. */
  readonly writeMs: readonly number[];
  readonly rssMb: number;
}

/** A single one is too short for the clock of the CPU. */
const perRound = { edit: 40, read: 3, scrape: 50 };
/** What is done for the first time is compiled, of an edit several times until it is as fast as it gets. */
const warmUp = { edit: 100, read: 3, scrape: 200 };
const sweepMs = 2000;

async function cpuMs(count: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  for (let done = 0; done < count; done += 1) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / count;
}

/**
 * Once, so that what the start left is not collected while something is measured. V8 sweeps the heap on other threads for a second after a
 * collection. Before each round it would count as the cost of an edit, the more of it the larger the heap is.
 */
async function collectGarbage(): Promise<void> {
  globalThis.gc?.();
  await new Promise<void>((resolve) => {
    setTimeout(resolve, sweepMs);
  });
}

async function measure(workload: ScaleWorkload, rounds: number): Promise<Measured> {
  const letGo = holdProcess();
  // As in `run`.
  const policy = new HeapPolicy({ heap: systemHeap, clock: systemClock, logger: pino({ enabled: false }) });
  const before = process.cpuUsage();
  const world = await ScaleWorld.start(workload);
  const { user, system } = process.cpuUsage(before);
  const measured = {
    objects: workload.accounts * workload.servicesPerAccount,
    startMs: (user + system) / 1000,
    editMs: [] as number[],
    readMs: [] as number[],
    scrapeMs: [] as number[],
    writeMs: [] as number[],
  };
  await cpuMs(warmUp.edit, () => world.edit());
  await cpuMs(warmUp.read, () => world.read());
  await cpuMs(warmUp.scrape, () => world.scrape());
  await collectGarbage();
  for (let round = 0; round < rounds; round += 1) {
    measured.editMs.push(await cpuMs(perRound.edit, () => world.edit()));
    measured.readMs.push(await cpuMs(perRound.read, () => world.read()));
    measured.scrapeMs.push(await cpuMs(perRound.scrape, () => world.scrape()));
    measured.writeMs.push(await cpuMs(perRound.scrape, () => world.writeSeries()));
  }
  const rssMb = process.memoryUsage.rss() / 1e6;
  await world.stop();
  policy.stop();
  letGo();
  return { ...measured, rssMb };
}

async function inProcess({ accounts, servicesPerAccount }: ScaleWorkload, rounds: number): Promise<Measured> {
  const args = [
    '--expose-gc',
    import.meta.filename,
    String(accounts),
    String(servicesPerAccount),
    String(rounds),
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Measured;
}

/** By how much the cost of one grows with the number of objects: 0 is not at all, 1 is linear. */
function exponent(few: Measured, many: Measured, cost: (one: Measured) => readonly number[]): number {
  const growth = median(cost(many)) / median(cost(few));
  return Math.log(growth) / Math.log(many.objects / few.objects);
}

function rowsOf(measured: Measured): Row[] {
  const { objects, editMs, readMs, scrapeMs, writeMs, startMs, rssMb } = measured;
  const row = (what: string, values: readonly number[], atMost?: number): Row => ({
    what: `${shown(objects)} objects: ${what}`,
    values,
    unit: 'ms',
    isOfMachine: true,
    ...(atMost === undefined ? {} : { target: { atMost } }),
  });
  return [
    row('an edit', editMs, objects === 10_000 ? 2 : undefined),
    row('a read of an account of 100', readMs),
    { ...row('a scrape', scrapeMs, objects >= 10_000 ? 50 : undefined), limit: median(writeMs) },
    { ...row('start', [startMs]), beside: `${shown(rssMb)} MB of memory` },
  ];
}

export const scale: Benchmark = {
  id: 'B11',
  title: 'Cost by the number of other objects',
  workload: 'accounts of 100 services each in a cluster: CPU of one edit, one account read, one scrape',
  repetitions: 5,
  async run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
    const [few, many] = quick ? [1, 4] : [1, 100];
    const small = await inProcess({ accounts: few, servicesPerAccount: 100 }, repetitions);
    const large = await inProcess({ accounts: many, servicesPerAccount: 100 }, repetitions);
    type Cost = (one: Measured) => readonly number[];
    const growth = (what: string, cost: Cost, leastCost?: Cost): Row => ({
      what: `growth of ${what}: exponent`,
      values: [exponent(small, large, cost)],
      unit: '',
      limit: leastCost ? exponent(small, large, leastCost) : 0,
      target: { atMost: 0.05 },
    });
    return [
      ...rowsOf(small),
      ...rowsOf(large),
      growth('an edit', ({ editMs }) => editMs),
      growth('an account read', ({ readMs }) => readMs),
      growth(
        'a scrape',
        ({ scrapeMs }) => scrapeMs,
        ({ writeMs }) => writeMs,
      ),
    ];
  },
};

if (process.argv[1] === import.meta.filename) {
  const [accounts = 1, servicesPerAccount = 100, rounds = 5] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify(await measure({ accounts, servicesPerAccount }, rounds))}\n`);
}
