/**
 * The operator over a cluster with many services: what it writes there for each create and edit (B8), that it writes
 * nothing while nothing happens, and what a cold start costs.
 *
 *     npm run bench:operator -- [--services 5000] [--edits 1000] [--polls 20] [--poll-seconds 15] [--repetitions 3]
 *                               [--main FILE]... [--profile DIR]
 *
 * FILE is what is run, by default the bundle; `--main src/main.ts` is the source. Of several files each is started cold, the
 * first one does the rest. With `--profile` each operator is
 * recorded (`node --cpu-prof`). The targets of a cold start are for 5,000 services, those of writes for 1,000. With `KUBEBUILDER_ASSETS` the
 * API server is a real one, as in B12.
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { realApiServer } from './support/api-server.ts';
import { operatorFlags } from './support/operator-flags.ts';
import { coldStart, rowsOfColdStarts, type ColdStart } from './support/operator-starts.ts';
import { OperatorWorld } from './support/operator-world.ts';
import { measureWrites, rowsOfWrites } from './support/operator-writes.ts';
import { shown, summarize, tableOf, type Row } from './support/report.ts';

const { values: flags } = parseArgs({
  options: {
    services: { type: 'string', default: '5000' },
    edits: { type: 'string', default: '1000' },
    polls: { type: 'string', default: '20' },
    'poll-seconds': { type: 'string', default: '15' },
    repetitions: { type: 'string', default: '3' },
    main: { type: 'string', multiple: true, default: ['dist/main.mjs'] },
    profile: { type: 'string' },
  },
});
const mains = flags.main;
const services = Number(flags.services);
const edits = Math.min(services, Number(flags.edits));
const polls = Number(flags.polls);
const pollSeconds = Number(flags['poll-seconds']);
const repetitions = Number(flags.repetitions);

const profiling = flags.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${flags.profile}`];
const nodeFlags = [...operatorFlags, ...profiling];
const world = await OperatorWorld.start({ services, pollSeconds, nodeFlags, server: await realApiServer() });
try {
  const workload = { services, edits, polls, pollSeconds };
  const writes = await measureWrites(world, workload, mains[0]);
  const starts: Record<string, ColdStart[]> = {};
  for (let count = 1; count <= repetitions; count += 1) {
    for (const main of mains) (starts[main] ??= []).push(await coldStart(world, { main, services }));
  }
  const rows: Row[] = [
    ...rowsOfWrites(workload, [writes]),
    ...Object.entries(starts).flatMap(([main, of]) => rowsOfColdStarts(main, of)),
  ];
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, load average ${loadavg().map(shown).join(' ')}, Node ${process.version}`;
  process.stdout.write(`${services} services; ${machine}\n${tableOf(rows.map(summarize))}\n`);
} finally {
  await world.end();
}
