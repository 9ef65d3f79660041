/**
 * B8: what the operator writes to Kubernetes for services that are created, in polls in which nothing happens, and for edits. Counted at
 * the API server, with the control plane and the operator in processes of their own.
 */
import { operatorFlags } from './support/operator-flags.ts';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { OperatorWorld } from './support/operator-world.ts';
import { measureWrites, rowsOfWrites, type Writes, type WritesWorkload } from './support/operator-writes.ts';
import type { Row } from './support/report.ts';

const workload: WritesWorkload = { services: 1000, edits: 1000, polls: 100, pollSeconds: 0.5 };
const quickWorkload: WritesWorkload = { services: 20, edits: 20, polls: 5, pollSeconds: 0.5 };
const main = 'dist/main.mjs';

export const writes: Benchmark = {
  id: 'B8',
  title: 'Writes to Kubernetes',
  workload:
    '1,000 services created and made Ready, 100 quiet polls, 1,000 edits without and 1,000 with a restart',
  repetitions: 1,
  async run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
    const chosen = quick ? quickWorkload : workload;
    const measured: Writes[] = [];
    for (let count = 0; count < repetitions; count += 1) {
      const world = await OperatorWorld.start({ ...chosen, nodeFlags: operatorFlags });
      try {
        measured.push(await measureWrites(world, chosen, main));
      } finally {
        await world.end();
      }
    }
    return rowsOfWrites(chosen, measured);
  },
};
