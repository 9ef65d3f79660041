/**
 * B1: what it costs to watch a fleet in which nothing happens, and how soon is seen what somebody else changes. The limit of the CPU is that
 * of a process that only reads the same answers, as text, at the same moments: one account after the other, spread over the poll.
 */
import { fork, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ReadAccounts } from './peers/bare-reader.ts';
import type { Polled } from './peers/object-poller.ts';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import {
  converge,
  isServiceRead,
  largest,
  small,
  type ConvergedWorld,
  type Placed,
} from './support/converged-world.ts';
import { apiKeyOf, type Request } from './support/folder-world.ts';
import { answerOf } from './support/processes.ts';
import { cpuSecondsOf } from './support/program.ts';
import { median, quantile, shown, type Row } from './support/report.ts';

/** Not the 60 s of a real fleet, which would take an hour: what a poll costs does not depend on how often it is made. */
const pollSeconds = 10;
const quickPollSeconds = 2;
const pollsEach = 3;
/** By then the garbage of the manager's start has been collected, which is no part of a poll. */
const startMs = 40_000;

interface Measured {
  /** Of one poll each. */
  readonly reads: number;
  readonly peerReads: number;
  readonly cpuSeconds: number;
  readonly peerCpuSeconds: number;
  /** Of reading the answers, and nothing else: spread over a poll, and all at once. */
  readonly bareCpuSeconds: number;
  readonly hastyCpuSeconds: number;
  readonly driftSeconds: readonly number[];
}

/** Requests and CPU of `child` during `work`. */
async function during(
  { world }: ConvergedWorld,
  child: ChildProcess,
  work: () => Promise<unknown>,
): Promise<{ readonly requests: readonly Request[]; readonly cpuSeconds: number }> {
  await world.forgetRequests();
  const before = await cpuSecondsOf(child);
  await work();
  const cpuSeconds = (await cpuSecondsOf(child)) - before;
  return { requests: await world.requests(), cpuSeconds };
}

async function pollEach(peer: ChildProcess, { world, placed }: ConvergedWorld): Promise<void> {
  const objects = placed.map(({ account, service }) => ({ id: service.id, apiKey: apiKeyOf(account) }));
  peer.send({ url: world.url, objects } satisfies Polled);
  await answerOf(peer);
}

async function readEach(
  bare: ChildProcess,
  { world, accounts }: ConvergedWorld,
  secondsOfPoll: number,
): Promise<void> {
  const apiKeys = Array.from({ length: accounts }, (_, account) => apiKeyOf(account));
  const everyMs = (1000 * secondsOfPoll) / accounts;
  for (let poll = 0; poll < pollsEach; poll += 1) {
    bare.send({ url: world.url, apiKeys, everyMs } satisfies ReadAccounts);
    await answerOf(bare);
  }
}

/** One service of each account is changed, at any moment of a poll; seconds until it is read because of that. */
async function drift(
  { world, accounts, placed, pollSeconds: period }: ConvergedWorld,
  repetition: number,
): Promise<number[]> {
  await world.forgetRequests();
  const changed = Array.from({ length: accounts }, (_, account) => {
    const own = placed.filter((one) => one.account === account);
    return own[repetition % own.length] as Placed;
  });
  const changedAt = new Map<string, number>();
  await Promise.all(
    changed.map(async ({ account, service }) => {
      await delay(Math.random() * period * 1000);
      changedAt.set(service.id, Date.now());
      await world.changeByHand(account, service);
    }),
  );
  const seen = async () => {
    const reads = (await world.requests()).filter(isServiceRead);
    return [...changedAt].flatMap(([id, atMs]) => {
      const read = reads.find((one) => one.path.endsWith(id));
      return read ? [(Date.parse(read.at) - atMs) / 1000] : [];
    });
  };
  while ((await seen()).length < accounts) await delay(500);
  return seen();
}

/** Of one poll, by the time between the reads of each account: how many fall into a window depends on where it begins. */
function readsForPoll(requests: readonly Request[], period: number): number {
  const timesMs = Map.groupBy(
    requests.filter(({ path: where }) => where === '/api/account'),
    ({ account }) => account,
  );
  const others = requests.filter(({ path: where }) => where !== '/api/account').length / pollsEach;
  return [...timesMs.values()].reduce((sum, reads) => {
    const [first = 0, ...later] = reads.map(({ at }) => Date.parse(at));
    const elapsedMs = (later.at(-1) ?? Number.NaN) - first;
    return sum + (later.length * period * 1000) / elapsedMs;
  }, others);
}

/** Until the poll has gone back to its own pace: while something is under way it is faster. */
async function whenQuiet({ world, accounts, pollSeconds: period }: ConvergedWorld): Promise<void> {
  for (let reads = Infinity; reads > accounts;) {
    await world.forgetRequests();
    await delay(period * 1000);
    reads = (await world.requests()).length;
  }
}

async function repeat(
  converged: ConvergedWorld,
  { manager, peer, bare }: Record<'manager' | 'peer' | 'bare', ChildProcess>,
  repetition: number,
): Promise<Measured> {
  await whenQuiet(converged);
  const { pollSeconds: period } = converged;
  const own = await during(converged, manager, () => delay(pollsEach * period * 1000));
  const others = await during(converged, peer, () => pollEach(peer, converged));
  const least = await during(converged, bare, () => readEach(bare, converged, period));
  const hasty = await during(converged, bare, () => readEach(bare, converged, 0));
  return {
    reads: readsForPoll(own.requests, period),
    cpuSeconds: own.cpuSeconds / pollsEach,
    peerReads: others.requests.filter(isServiceRead).length,
    peerCpuSeconds: others.cpuSeconds,
    bareCpuSeconds: least.cpuSeconds / pollsEach,
    hastyCpuSeconds: hasty.cpuSeconds / pollsEach,
    driftSeconds: await drift(converged, repetition),
  };
}

async function run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
  const converged = await converge({
    ...(quick ? small : largest),
    pollSeconds: quick ? quickPollSeconds : pollSeconds,
  });
  const manager = converged.world.startManager();
  const [peer, bare] = [startPeer('object-poller.ts'), startPeer('bare-reader.ts')];
  try {
    // The first poll of each is a start.
    await pollEach(peer, converged);
    await readEach(bare, converged, 0);
    await delay(quick ? 0 : startMs);
    const measured: Measured[] = [];
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      measured.push(await repeat(converged, { manager, peer, bare }, repetition));
    }
    return rowsOf(measured, converged, quick);
  } finally {
    peer.kill('SIGKILL');
    bare.kill('SIGKILL');
    manager.kill('SIGKILL');
    await converged.world.end();
  }
}

function startPeer(file: string): ChildProcess {
  const child = fork(path.join(import.meta.dirname, 'peers', file));
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

function rowsOf(
  measured: readonly Measured[],
  { accounts, placed, pollSeconds: period }: ConvergedWorld,
  quick: boolean,
): Row[] {
  const drifts = measured.flatMap(({ driftSeconds }) => driftSeconds);
  const shareOfPeer = (of: 'cpuSeconds' | 'bareCpuSeconds') =>
    measured.map((one) => one[of] / one.peerCpuSeconds);
  type Cpu = 'cpuSeconds' | 'peerCpuSeconds' | 'bareCpuSeconds' | 'hastyCpuSeconds';
  const milliseconds = (of: Cpu) => `${shown(1000 * median(measured.map((one) => one[of])))} ms`;
  return [
    {
      what: 'reads for a poll',
      values: measured.map(({ reads }) => reads),
      unit: '',
      isCount: true,
      limit: accounts,
      // A short poll is measured less exactly.
      target: { atMost: (quick ? 1.25 : 1.05) * accounts },
      beside: `peer ${shown(median(measured.map(({ peerReads }) => peerReads)))}`,
    },
    {
      what: 'CPU for a poll, as a share of the peer’s',
      values: shareOfPeer('cpuSeconds'),
      unit: '',
      limit: median(shareOfPeer('bareCpuSeconds')),
      target: { atMost: 0.05 },
      beside: `${milliseconds('cpuSeconds')}, peer ${milliseconds('peerCpuSeconds')}, for ${shown(placed.length)} services; reading alone ${milliseconds('bareCpuSeconds')}, and ${milliseconds('hastyCpuSeconds')} all at once`,
    },
    {
      what: 'drift is seen after, p99',
      values: [quantile(drifts, 0.99)],
      unit: 's',
      limit: period,
      target: { atMost: period + 1 },
      beside: `${drifts.length} changes at any time of a poll; median ${shown(median(drifts))} s`,
    },
  ];
}

export const steadyPoll: Benchmark = {
  id: 'B1',
  title: 'steady poll',
  workload: `40 accounts of 248 converged services, polled every ${pollSeconds} s, ${pollsEach} polls each time`,
  run,
};
