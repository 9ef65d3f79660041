/**
 * B9: a folder of documents planned and applied by one-shot commands, as Terraform is used. The limit of a plan is the YAML library alone on the
 * same documents; that of an apply is with requests and durable records in addition (`peers/apply-alone.ts`). What a plan takes before the first
 * document is a row of its own: the start of Node, the code, the state and the reads.
 */
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { FolderWorld, type Finished } from './support/folder-world.ts';
import { median, shown, type Row } from './support/report.ts';

/** Lifecycles that take seconds would be measured otherwise: how long provisioning takes is not up to the client. */
const timeScale = '10000';
/** Terraform 1.x with `terraform_data`, measured once on a machine with 2 cores, 2,000 resources. */
const terraform = { planSeconds: 8, applySeconds: 86, planExponent: 1.4, applyExponent: 1.8 };
const limits = { perSecond: 1000, burst: 10_000, concurrency: 64 };

interface Measured {
  /** Of an account, and nothing in it. */
  readonly empty: Finished;
  readonly plan: Finished;
  readonly apply: Finished;
  /** Of everything applied. */
  readonly quiet: Finished;
  /** The YAML library on these documents, and nothing else. */
  readonly parsing: Finished;
  /** The library, a request for each document, and records of both. */
  readonly creating: Finished;
  readonly planReads: number;
  readonly creates: number;
  readonly applyReads: number;
}

async function measure(documents: number): Promise<Measured> {
  // What is measured is not to wait for the provider's limit.
  const world = await FolderWorld.start(2, ['--time-scale', timeScale, '--rate-limit', 'none']);
  try {
    const fleet = { accounts: 1, servicesPerFile: 100, pollSeconds: 60, requests: limits };
    await world.declare({ ...fleet, servicesPerAccount: 0 });
    const empty = await world.run(['plan', ...world.flags]);
    await world.declare({ ...fleet, servicesPerAccount: documents });
    await world.forgetRequests();
    const plan = await world.run(['plan', ...world.flags]);
    const planned = await world.requests();
    await world.forgetRequests();
    // By default it stays for 10 s until what was started was Ready for so long: a pause, and no work.
    const apply = await world.run(['apply', ...world.flags, '--yes', '--stable', '0s']);
    const applied = await world.requests();
    const quiet = await world.run(['plan', ...world.flags]);
    const runs = [empty, plan, apply, quiet];
    const codes = runs.map(({ code }) => code);
    if (codes.join() !== '0,2,0,0') {
      const said = runs.map(({ complaints }) => complaints).join('\n');
      throw new Error(`plan, plan, apply and plan exited with ${codes.join(', ')}: ${said}`);
    }
    const parsing = await world.parseAlone();
    const creating = await world.applyAlone(1, {
      services: documents,
      requestsAtOnce: limits.concurrency,
    });
    return {
      empty,
      plan,
      apply,
      quiet,
      parsing,
      creating,
      planReads: planned.length,
      creates: applied.filter(({ method }) => method === 'POST').length,
      applyReads: applied.filter(({ method }) => method === 'GET').length,
    };
  } finally {
    await world.end();
  }
}

/** By how much time grows with documents: 1 is linear. */
function exponent(measured: ReadonlyMap<number, Measured>, seconds: (one: Measured) => number): number {
  const sizes = [...measured.keys()];
  const [smallest, largest] = [Math.min(...sizes), Math.max(...sizes)];
  const at = (size: number) => seconds(measured.get(size) as Measured);
  return Math.log(at(largest) / at(smallest)) / Math.log(largest / smallest);
}

function rowsOfSize(size: number, measured: readonly Measured[]): Row[] {
  const over = <Value>(value: (one: Measured) => Value) => measured.map(value);
  const alone = (what: 'parsing' | 'creating') => median(over((one) => one[what].seconds));
  const seconds = (
    what: string,
    finished: Finished[],
    limit: number,
    atMost?: number,
    peer?: number,
  ): Row => {
    const values = finished.map((one) => one.seconds);
    const cpu = `${shown(median(finished.map(({ cpuSeconds }) => cpuSeconds)))} s of CPU`;
    const isSized = size === 2000 && atMost !== undefined && peer !== undefined;
    return {
      what: `${shown(size)} documents: ${what}`,
      values,
      unit: 's',
      isOfMachine: true,
      limit,
      ...(isSized && { target: { atMost } }),
      beside: isSized ? `${cpu}; Terraform ${peer} s, ${shown(peer / median(values))} times as long` : cpu,
    };
  };
  return [
    seconds(
      'plan of all that is to be created',
      over(({ plan }) => plan),
      alone('parsing'),
      0.5,
      terraform.planSeconds,
    ),
    seconds(
      'apply',
      over(({ apply }) => apply),
      alone('creating'),
      4,
      terraform.applySeconds,
    ),
    seconds(
      'plan with nothing to do',
      over(({ quiet }) => quiet),
      alone('parsing'),
    ),
    {
      what: `${shown(size)} documents: reads of a plan`,
      values: over(({ planReads }) => planReads),
      unit: '',
      isCount: true,
      limit: 1,
      target: { atMost: 3 },
      beside: 'whose account it is, the account, the catalog',
    },
    {
      what: `${shown(size)} documents: creates of an apply`,
      values: over(({ creates }) => creates),
      unit: '',
      isCount: true,
      limit: size,
      target: { atMost: size },
      beside: `${shown(median(over(({ applyReads }) => applyReads)))} reads`,
    },
  ];
}

async function run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
  const sizes = quick ? [50, 100] : [1000, 2000, 5000];
  const rounds: Map<number, Measured>[] = [];
  // What is compiled for the first time is kept for the others.
  if (!quick) await measure(10);
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    const round = new Map<number, Measured>();
    for (const size of sizes) round.set(size, await measure(size));
    rounds.push(round);
  }
  const growth = (what: 'plan' | 'apply', seconds: (one: Measured) => number): Row => ({
    what: `growth of ${what}: exponent, by CPU`,
    values: rounds.map((round) => exponent(round, seconds)),
    unit: '',
    limit: 1,
    target: { atMost: 1.1 },
    beside: `Terraform ${terraform[`${what}Exponent`]}`,
  });
  const empty = rounds.flatMap((round) => Array.from(round.values(), (one) => one.empty));
  return [
    {
      what: 'plan of an account, and nothing in it',
      values: empty.map((one) => one.seconds),
      unit: 's',
      isOfMachine: true,
      beside: `${shown(median(empty.map(({ cpuSeconds }) => cpuSeconds)))} s of CPU`,
    },
    ...sizes.flatMap((size) =>
      rowsOfSize(
        size,
        rounds.flatMap((round) => round.get(size) ?? []),
      ),
    ),
    growth('plan', ({ plan }) => plan.cpuSeconds),
    growth('apply', ({ apply }) => apply.cpuSeconds),
  ];
}

export const folder: Benchmark = {
  id: 'B9',
  title: 'a folder against Terraform',
  workload:
    '1,000, 2,000 and 5,000 documents of services in one account, planned, applied, and planned again',
  run,
};
