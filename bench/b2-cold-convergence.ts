/**
 * B2: a fleet of services is created behind a rate limit. What is measured waits for the limit and not for the processor, so the
 * manager and its peer run at the same time, each with a control plane of its own.
 */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { createAll } from './peers/retry-loop.ts';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { FolderWorld, apiKeyOf, serviceName } from './support/folder-world.ts';
import { GateProcess, type Passed, type Rate } from './support/gate-process.ts';
import { shown, type Row } from './support/report.ts';

const rate: Rate = { perSecond: 20, burst: 40 };
/** What is configured when nobody knows the rate. */
const guess: Rate = { perSecond: 200, burst: 40 };
/** From then on, in seconds after the start, as a share of the time that the unchanged rate takes. */
const changes = [
  { atShare: 0.25, perSecond: 10 },
  { atShare: 0.6, perSecond: 20 },
];

interface Circumstances {
  readonly what: string;
  /** As the manager is told; undefined: the peer. */
  readonly reported: Rate | undefined;
  readonly changes: typeof changes;
  /** Each so manieth answer to a create is lost on its way. */
  readonly loseEvery?: number;
  readonly targets?: { readonly ofLimit: number; readonly refusedShare?: number };
}

const steady = { changes: [] };
const loseEvery = 100;
const all: readonly Circumstances[] = [
  { what: 'R known', reported: rate, ...steady, targets: { ofLimit: 1.02, refusedShare: 0.001 } },
  { what: 'peer', reported: undefined, ...steady },
  { what: 'R unknown', reported: guess, ...steady, targets: { ofLimit: 1.15 } },
  { what: 'R changes', reported: guess, changes, targets: { ofLimit: 1.15 } },
  { what: `each ${loseEvery}th answer lost`, reported: rate, ...steady, loseEvery },
  { what: `peer, each ${loseEvery}th answer lost`, reported: undefined, ...steady, loseEvery },
];

interface Measured extends Passed {
  readonly duplicates: number;
}

/** Seconds in which the bucket gives so many tokens. */
function limitSeconds(services: number, changing: typeof changes): number {
  const unchanged = (services - rate.burst) / rate.perSecond;
  let [left, atSeconds, perSecond] = [services - rate.burst, 0, rate.perSecond];
  for (const change of changing) {
    const seconds = change.atShare * unchanged - atSeconds;
    left -= seconds * perSecond;
    atSeconds += seconds;
    perSecond = change.perSecond;
  }
  return atSeconds + left / perSecond;
}

async function measure(circumstances: Circumstances, services: number): Promise<Measured> {
  const world = await FolderWorld.start(1);
  const gate = await GateProcess.start(world.url, rate);
  try {
    if (circumstances.loseEvery !== undefined) {
      const lost = { method: 'POST', path: '^/api/services$', every: circumstances.loseEvery } as const;
      await world.setFaults([{ ...lost, fault: 'drop-response' }]);
    }
    const ended = new AbortController();
    void changeRate(gate, circumstances, services, ended.signal);
    await (circumstances.reported
      ? byManager(world, gate, circumstances.reported, services)
      : byPeer(gate, services));
    ended.abort();
    const passed = await gate.passed();
    return { ...passed, duplicates: (await world.services(0)).length - services };
  } finally {
    gate.end();
    await world.end();
  }
}

async function changeRate(
  gate: GateProcess,
  { changes: changing }: Circumstances,
  services: number,
  signal: AbortSignal,
): Promise<void> {
  const wholeSeconds = limitSeconds(services, []);
  while (changing.length > 0 && (await gate.passed()).requests === 0) await delay(10);
  let atSeconds = 0;
  for (const { atShare, perSecond } of changing) {
    await delay((atShare * wholeSeconds - atSeconds) * 1000, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    gate.setRate({ ...rate, perSecond });
    atSeconds = atShare * wholeSeconds;
  }
}

async function byManager(
  world: FolderWorld,
  gate: GateProcess,
  reported: Rate,
  services: number,
): Promise<void> {
  await world.declare(
    {
      accounts: 1,
      servicesPerAccount: services,
      servicesPerFile: 100,
      pollSeconds: 60,
      requests: { ...reported, concurrency: 10 },
    },
    gate.url,
  );
  const manager = world.startManager();
  // Answers that are lost on their way are no creates of the gate.
  while ((await world.services(0)).length < services) await delay(1000);
  // What were created twice would come now: evidence of lost answers is gathered after 5 s.
  await delay(8000);
  manager.kill('SIGTERM');
  await once(manager, 'exit');
}

async function byPeer(gate: GateProcess, services: number): Promise<void> {
  const bodies = Array.from({ length: services }, (_, index) => ({
    name: serviceName(0, index),
    region: 'standard',
    image: 'ghcr.io/acme/trainer:1.4',
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
    httpPort: 8080,
    environment: { MODE: 'train' },
  }));
  await createAll(gate.url, apiKeyOf(0), bodies);
}

function rowsOf(circumstances: Circumstances, measured: readonly Measured[], services: number): Row[] {
  const { what, targets, reported, loseEvery: losing } = circumstances;
  const limit = limitSeconds(services, circumstances.changes);
  const requests = measured.map((one) => one.requests).join(', ');
  return [
    {
      what: `${what}: until the last create`,
      values: measured.map(({ seconds }) => seconds),
      unit: 's',
      limit,
      ...(targets && { target: { atMost: targets.ofLimit * limit } }),
      beside: `${measured.map(({ seconds }) => shown(seconds / limit)).join(', ')} × the limit; ${requests} requests`,
    },
    {
      what: `${what}: refused with 429`,
      values: measured.map(({ refused }) => refused),
      unit: '',
      isCount: true,
      limit: 0,
      // What is learned of an unknown rate is learned from refusals.
      ...(targets?.refusedShare !== undefined && {
        target: { atMost: Math.max(2, targets.refusedShare * services) },
      }),
      beside: measured.map((one) => `${shown((100 * one.refused) / one.requests)} %`).join(', '),
    },
    {
      what: `${what}: duplicates`,
      values: measured.map(({ duplicates }) => duplicates),
      unit: '',
      limit: 0,
      ...(reported && { target: { atMost: 0 }, isCount: true }),
      ...(losing === undefined ? {} : { beside: `${Math.floor(services / losing)} answers lost at least` }),
    },
  ];
}

/** At the same time: more of them would wait for this machine. */
const pairs = [all.slice(0, 2), all.slice(2, 4), all.slice(4)];

async function run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
  const services = quick ? 100 : 2000;
  const rounds: Measured[][] = [];
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    const round: Measured[] = [];
    for (const pair of pairs) {
      round.push(...(await Promise.all(pair.map((circumstances) => measure(circumstances, services)))));
    }
    rounds.push(round);
  }
  return all.flatMap((circumstances, index) =>
    rowsOf(
      circumstances,
      rounds.flatMap((round) => round[index] ?? []),
      services,
    ),
  );
}

export const coldConvergence: Benchmark = {
  id: 'B2',
  title: 'cold convergence',
  workload: '2,000 creates at R = 20/s with a burst of 40; the peer sends again whatever fails, 10 at once',
  repetitions: 2,
  run,
};
