/**
 * The operator over a cluster with many services: what it writes there for each create and edit (B8), that it writes
 * nothing while nothing happens, and what a cold start costs.
 *
 *     npm run bench:operator -- [--services 5000] [--edits 1000] [--polls 20] [--poll-seconds 15] [--repetitions 3]
 *                               [--main FILE]... [--profile DIR]
 *
 * FILE is what is run, by default the bundle; `--main src/main.ts` is the source. Of several files each is started cold, the
 * first one does the rest. With `--profile` each operator is
 * recorded (`node --cpu-prof`). The targets of a cold start are for 5,000 services, those of writes for 1,000.
 *
 * A cold start ends when every service has had a pass and no key waits for one. Memory is the most that the process
 * ever had, ten seconds later.
 */
import { cpus, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Asked } from './support/kubernetes-server.ts';
import { operatorFlags } from './support/operator-flags.ts';
import { OperatorWorld, type PlaneAsked, type Usage } from './support/operator-world.ts';
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
/** Writes that follow what was done; Events are told some time later. */
const settleMs = 10_000;

interface ColdStart {
  readonly observed: Usage;
  readonly settled: Usage;
  readonly kubernetes: Asked;
  readonly plane: PlaneAsked;
}

async function coldStart(main: string | undefined): Promise<ColdStart> {
  await Promise.all([world.asked(), world.planeAsked()]);
  const operator = await world.startOperator(main);
  const observed = await operator.whenObserved(services);
  await delay(settleMs);
  const settled = await operator.usage();
  const [kubernetes, plane] = await Promise.all([world.asked(), world.planeAsked()]);
  await operator.stop();
  return { observed, settled, kubernetes, plane };
}

function rowsOfColdStarts(main: string, starts: readonly ColdStart[]): Row[] {
  const over = (value: (one: ColdStart) => number) => starts.map(value);
  const [first] = starts;
  return [
    {
      what: `cold start of ${main}: until all are looked at`,
      values: over(({ observed }) => observed.seconds),
      unit: 's',
      target: { atMost: 20 },
    },
    { what: '  CPU', values: over(({ observed }) => observed.cpuSeconds), unit: 's' },
    {
      what: '  memory, at most',
      values: over(({ settled }) => settled.peakBytes / 1e6),
      unit: 'MB',
      target: { atMost: 400 },
    },
    {
      what: '  writes',
      values: over(({ kubernetes }) => kubernetes.statusWrites + kubernetes.finalizerWrites),
      unit: '',
      target: { atMost: 0 },
      beside: `${first?.kubernetes.accountWrites} of the Account, ${first?.kubernetes.eventWrites} Events; ${first?.plane.reads} reads and ${first?.plane.mutations} mutations at the control plane`,
    },
  ];
}

const profiling = flags.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${flags.profile}`];
const nodeFlags = [...operatorFlags, ...profiling];
const world = await OperatorWorld.start({ services, pollSeconds, nodeFlags });
try {
  const workload = { services, edits, polls, pollSeconds };
  const writes = await measureWrites(world, workload, mains[0]);
  const starts: Record<string, ColdStart[]> = {};
  for (let count = 1; count <= repetitions; count += 1) {
    for (const main of mains) (starts[main] ??= []).push(await coldStart(main));
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
