/**
 * B12: the operator before a real API server, with 5,000 services: what creating them writes, that quiet polls write nothing, and what a cold
 * start costs. The API server is one out of `KUBEBUILDER_ASSETS` (a folder with `etcd` and `kube-apiserver`), which counts requests itself.
 * Without that it is the API server of the tests, and the table shows which one it was.
 */
import { realApiServer } from './support/api-server.ts';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { operatorFlags } from './support/operator-flags.ts';
import { coldStart, rowsOfColdStarts, type ColdStart } from './support/operator-starts.ts';
import { OperatorWorld } from './support/operator-world.ts';
import { measureWrites, rowsOfWrites } from './support/operator-writes.ts';
import type { Row } from './support/report.ts';

const workload = { services: 5000, edits: 500, polls: 10, pollSeconds: 10 };
const quickWorkload = { services: 20, edits: 10, polls: 2, pollSeconds: 1 };
const main = 'dist/main.mjs';

export const operator: Benchmark = {
  id: 'B12',
  title: 'the operator before an API server',
  workload: '5,000 services created, quiet polls, 500 edits without and 500 with a restart, cold starts',
  repetitions: 3,
  async run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
    const chosen = quick ? quickWorkload : workload;
    const server = await realApiServer();
    const world = await OperatorWorld.start({ ...chosen, nodeFlags: operatorFlags, server });
    try {
      const writes = await measureWrites(world, chosen, main);
      const starts: ColdStart[] = [];
      for (let count = 0; count < repetitions; count += 1) {
        starts.push(await coldStart(world, { main, services: chosen.services }));
      }
      const [first, ...rest] = [...rowsOfWrites(chosen, [writes]), ...rowsOfColdStarts(main, starts)];
      return first ? [{ ...first, beside: `before ${world.serverName}; ${first.beside}` }, ...rest] : [];
    } finally {
      await world.end();
    }
  },
};
