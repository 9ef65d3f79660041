/** One of the benchmarks B1 to B15. A file `bench/b<number>-….ts` exports it, and nothing else; `npm run bench` finds it there. */
import type { Row } from './report.ts';

export interface BenchmarkOptions {
  readonly repetitions: number;
  /** A smaller workload, to see that it works and that its counts hold; its times mean nothing. */
  readonly quick: boolean;
}

export interface Benchmark {
  /** Stable, e.g. `B4`. */
  readonly id: string;
  readonly title: string;
  /** What is done, in one sentence with its figures. */
  readonly workload: string;
  /** Without `--repetitions`; where one takes minutes it is less than the usual five. */
  readonly repetitions?: number;
  run(options: BenchmarkOptions): Promise<readonly Row[]>;
}
