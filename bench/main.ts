/**
 * The benchmarks B1 to B15, one after the other.
 *
 *     npm run bench -- [--only B1,B9] [--repetitions 5] [--quick] [--gate] [--json FILE] [--baseline FILE]
 *
 * Each result stands beside its limit, its target, and what was measured in the same run for comparison. `--quick` runs small
 * workloads, whose times mean nothing. With `--gate` it exits 1 when a count (requests, writes, refusals, duplicates) misses its
 * target; times never fail it. The JSON goes to FILE, by default bench/results/results.json. `--baseline` compares with the JSON of an
 * earlier run, and exits 1 for a figure that is more than 20 % worse (support/baseline.ts).
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { compare, comparisonTable, type Measured } from './support/baseline.ts';
import type { Benchmark } from './support/benchmark.ts';
import { median, missedCounts, shown, summarize, tableOf } from './support/report.ts';
import { selected } from './support/selection.ts';
import { yardstickMs } from './support/yardstick.ts';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    repetitions: { type: 'string' },
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    baseline: { type: 'string' },
    json: { type: 'string', default: path.join(import.meta.dirname, 'results', 'results.json') },
  },
});

interface Result extends Measured {
  readonly title: string;
  readonly workload: string;
  readonly repetitions: number;
  readonly seconds: number;
  readonly loadAverage: readonly number[];
}

async function allBenchmarks(): Promise<Benchmark[]> {
  const files = await readdir(import.meta.dirname);
  const modules = files
    .filter((file) => /^b\d+-.*\.ts$/.test(file))
    .map((file) => import(path.join(import.meta.dirname, file)) as Promise<Record<string, Benchmark>>);
  return (await Promise.all(modules)).flatMap((module) => Object.values(module));
}

async function run(benchmark: Benchmark): Promise<Result> {
  const { id, title, workload } = benchmark;
  const repetitions = Number(flags.repetitions ?? (flags.quick ? 1 : (benchmark.repetitions ?? 5)));
  const startedMs = performance.now();
  const yardsticks = [yardstickMs()];
  const rows = await benchmark.run({ repetitions, quick: flags.quick });
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  yardsticks.push(yardstickMs());
  const summaries = rows.map(summarize);
  return {
    id,
    title,
    workload,
    repetitions,
    seconds,
    loadAverage: loadavg(),
    yardstickMs: median(yardsticks),
    rows: summaries,
  };
}

function print({ id, title, workload, repetitions, seconds, loadAverage, rows }: Result): void {
  const load = loadAverage.map(shown).join(' ');
  const how = `${repetitions} repetition(s), ${seconds} s, load average ${load}${flags.quick ? ', QUICK: no measurement' : ''}`;
  process.stdout.write(`\n${id} ${title}: ${workload} (${how})\n${tableOf(rows)}\n`);
}

// One for each process that is to end with this one.
process.setMaxListeners(100);
const machine = {
  cpus: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`,
  node: process.version,
  at: new Date().toISOString(),
};
process.stdout.write(`${machine.cpus}, Node ${machine.node}, ${machine.at}\n`);
const results: Result[] = [];
for (const benchmark of selected(await allBenchmarks(), flags.only)) {
  const result = await run(benchmark);
  print(result);
  results.push(result);
  // After each: what was measured is not lost with what fails later.
  await mkdir(path.dirname(flags.json), { recursive: true });
  await writeFile(flags.json, `${JSON.stringify({ machine, quick: flags.quick, results }, null, 2)}\n`);
}
const missed = results.flatMap(({ id, rows }) => missedCounts(rows).map(({ what }) => `${id}: ${what}`));
if (flags.gate && missed.length > 0) {
  process.stderr.write(`counts that miss their target:\n${missed.join('\n')}\n`);
  process.exitCode = 1;
}
if (flags.baseline !== undefined) {
  const { results: before } = JSON.parse(await readFile(flags.baseline, 'utf8')) as {
    readonly results: readonly Measured[];
  };
  const compared = compare(results, before);
  process.stdout.write(`\nBeside ${flags.baseline}\n${comparisonTable(compared)}\n`);
  if (compared.some(({ isRegression }) => isRegression)) process.exitCode = 1;
}
