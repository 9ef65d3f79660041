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
import { OperatorWorld, type PlaneAsked, type Usage } from './support/operator-world.ts';
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

interface Phase {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly kubernetes: Asked;
  readonly plane: PlaneAsked;
}

interface ColdStart {
  readonly lookedAt: Usage;
  readonly settled: Usage;
  readonly kubernetes: Asked;
  readonly plane: PlaneAsked;
}

async function phase(usage: () => Promise<Usage>, work: () => Promise<void>): Promise<Phase> {
  await Promise.all([world.asked(), world.planeAsked()]);
  const before = await usage();
  await work();
  const after = await usage();
  await delay(settleMs);
  return {
    seconds: after.seconds - before.seconds,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    kubernetes: await world.asked(),
    plane: await world.planeAsked(),
  };
}

/** Creates, quiet polls, edits that need no restart, edits that do. */
async function measureWrites() {
  await world.asked();
  const operator = await world.startOperator(mains[0]);
  const usage = () => operator.usage();
  const creates = await phase(usage, () => world.whenReady());
  const quiet = await phase(usage, () => delay(polls * pollSeconds * 1000));
  const edit = (spec: object) => async () => {
    await world.edit(edits, spec);
    await world.whenReady();
  };
  const light = await phase(usage, edit({ sleepAfterMinutes: 1440 }));
  const heavy = await phase(usage, edit({ image: 'ghcr.io/acme/trainer:1.5' }));
  const { peakBytes } = await usage();
  await operator.stop();
  return { creates, quiet, light, heavy, peakBytes };
}

async function coldStart(main: string | undefined): Promise<ColdStart> {
  await Promise.all([world.asked(), world.planeAsked()]);
  const operator = await world.startOperator(main);
  const lookedAt = await operator.whenLookedAt(services);
  await delay(settleMs);
  const settled = await operator.usage();
  const [kubernetes, plane] = await Promise.all([world.asked(), world.planeAsked()]);
  await operator.stop();
  return { lookedAt, settled, kubernetes, plane };
}

function rowsOfPhase(
  what: string,
  count: number,
  { kubernetes, plane, ...phased }: Phase,
  target: number,
): Row[] {
  const { statusWrites, finalizerWrites } = kubernetes;
  return [
    {
      what: `${what}: writes for one`,
      values: [(statusWrites + finalizerWrites) / count],
      unit: '',
      target: { atMost: target },
      beside: `${statusWrites} of status, ${finalizerWrites} of finalizers, ${kubernetes.conflicts} conflicts; beside these ${kubernetes.accountWrites} of the Account, ${kubernetes.eventWrites} Events`,
    },
    {
      what: `${what}: a second`,
      values: [count / phased.seconds],
      unit: '/s',
      beside: `${shown((phased.cpuSeconds / count) * 1000)} ms of CPU and ${shown((plane.reads + plane.mutations) / count)} requests to the control plane for one`,
    },
  ];
}

function rowsOfColdStarts(main: string, starts: readonly ColdStart[]): Row[] {
  const over = (value: (one: ColdStart) => number) => starts.map(value);
  const [first] = starts;
  return [
    {
      what: `cold start of ${main}: until all are looked at`,
      values: over(({ lookedAt }) => lookedAt.seconds),
      unit: 's',
      target: { atMost: 20 },
    },
    { what: '  CPU', values: over(({ lookedAt }) => lookedAt.cpuSeconds), unit: 's' },
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
/** As manifests/ has it. */
const nodeFlags = ['--max-old-space-size=384', '--max-semi-space-size=16', ...profiling];
const world = await OperatorWorld.start({ services, pollSeconds, nodeFlags });
try {
  const { creates, quiet, light, heavy, peakBytes } = await measureWrites();
  const starts: Record<string, ColdStart[]> = {};
  for (let count = 1; count <= repetitions; count += 1) {
    for (const main of mains) (starts[main] ??= []).push(await coldStart(main));
  }
  const rows: Row[] = [
    ...rowsOfPhase('creates', services, creates, 3.2),
    {
      what: `${polls} quiet polls: writes`,
      values: [quiet.kubernetes.statusWrites + quiet.kubernetes.finalizerWrites],
      unit: '',
      target: { atMost: 0 },
      beside: `${quiet.kubernetes.accountWrites} of the Account, ${quiet.kubernetes.eventWrites} Events, ${quiet.kubernetes.otherWrites} others; ${shown((quiet.cpuSeconds / polls) * 1000)} ms of CPU for a poll`,
    },
    ...rowsOfPhase('edits', edits, light, 2.1),
    ...rowsOfPhase('edits that restart', edits, heavy, 2.1),
    { what: 'memory through all of this, at most', values: [peakBytes / 1e6], unit: 'MB' },
    ...Object.entries(starts).flatMap(([main, of]) => rowsOfColdStarts(main, of)),
  ];
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, load average ${loadavg().map(shown).join(' ')}, Node ${process.version}`;
  process.stdout.write(`${services} services; ${machine}\n${tableOf(rows.map(summarize))}\n`);
} finally {
  await world.end();
}
