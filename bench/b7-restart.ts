/**
 * B7: the manager is killed, something is changed in an account meanwhile, and it starts again. The limit of its time is that of the YAML
 * library alone on the same documents.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { converge, largest, small, type ConvergedWorld, type Placed } from './support/converged-world.ts';
import type { Request } from './support/folder-world.ts';
import { memoryBytesOf } from './support/program.ts';
import { median, shown, type Row } from './support/report.ts';

const pollSeconds = 15;
/** What a start has to do is over by then, and garbage has been collected. */
const settleMs = 20_000;
const quickSettleMs = 2000;

interface Measured {
  /** From the start of the process to the arrival of the mutation. */
  readonly seconds: number;
  /** Until then. */
  readonly requests: number;
  readonly mutations: number;
  readonly wrongMutations: number;
  readonly idleMegabytes: number;
  /** The YAML library on these documents, and nothing else. */
  readonly parsingSeconds: number;
}

const isMutation = ({ method }: Request) => method !== 'GET';

async function restart(
  { world, accounts, placed }: ConvergedWorld,
  repetition: number,
  quietMs: number,
): Promise<Measured> {
  const { account, service } = placed[(repetition * 977) % placed.length] as Placed;
  const current = (await world.services(account)).find(({ id }) => id === service.id);
  await world.changeByHand(account, current ?? service);
  await world.forgetRequests();
  const startedAt = Date.now();
  const manager = world.startManager();
  let right: Request | undefined;
  while (!right) {
    await delay(100);
    right = (await world.requests()).find((one) => isMutation(one) && one.path.includes(service.id));
  }
  const requests = await world.requests();
  await delay(quietMs);
  const mutations = (await world.requests()).filter(isMutation);
  const idleMegabytes = (await memoryBytesOf(manager)) / 1e6;
  await killed(manager);
  const measured: Measured = {
    seconds: (Date.parse(right.at) - startedAt) / 1000,
    requests: requests.filter(({ at }) => at <= right.at).length,
    mutations: mutations.length,
    wrongMutations: mutations.filter(({ path }) => !path.includes(service.id)).length,
    idleMegabytes,
    parsingSeconds: (await world.parseAlone()).seconds,
  };
  if (measured.requests < accounts) throw new Error('a mutation before all accounts were read');
  return measured;
}

async function killed(manager: ChildProcess): Promise<void> {
  const ended = once(manager, 'exit');
  manager.kill('SIGKILL');
  await ended;
}

async function run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
  const converged = await converge({
    ...(quick ? small : largest),
    pollSeconds,
  });
  try {
    const measured: Measured[] = [];
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      measured.push(await restart(converged, repetition, quick ? quickSettleMs : settleMs));
    }
    return rowsOf(measured, converged);
  } finally {
    await converged.world.end();
  }
}

function rowsOf(measured: readonly Measured[], { accounts, placed }: ConvergedWorld): Row[] {
  const over = (value: (one: Measured) => number) => measured.map(value);
  return [
    {
      what: 'until the right mutation arrives',
      values: over(({ seconds }) => seconds),
      unit: 's',
      isOfMachine: true,
      limit: median(over(({ parsingSeconds }) => parsingSeconds)),
      target: { atMost: 2 },
      beside: `from the start of the process; ${shown(placed.length)} documents are parsed before the first request`,
    },
    {
      what: 'requests until then',
      values: over(({ requests }) => requests),
      unit: '',
      isCount: true,
      limit: accounts,
      target: { atMost: accounts + 25 },
      beside: `whose account it is, the account: 2 for each of ${accounts}; a per-object poller ${shown(placed.length)}`,
    },
    {
      what: 'mutations of anything else',
      values: over(({ wrongMutations }) => wrongMutations),
      unit: '',
      isCount: true,
      limit: 0,
      target: { atMost: 0 },
      beside: `${shown(median(over(({ mutations }) => mutations)))} of what was changed`,
    },
    {
      what: `memory ${settleMs / 1000} s later`,
      values: over(({ idleMegabytes }) => idleMegabytes),
      unit: 'MB',
      target: { atMost: 200 },
    },
  ];
}

export const restartAfterKill: Benchmark = {
  id: 'B7',
  title: 'restart after kill -9',
  workload: '9,920 converged services in 40 accounts, one of them changed while the manager was away',
  run,
};
