/**
 * B15: what it costs to ask budgets whether something may cost more, by how many members they have. Sums are kept up to date, so nothing of
 * it may grow with these. Before each question, something else of the fleet has moved: a request was reserved for another member.
 *
 * And what one round of shedding costs: of a budget with `mode: Shed` that is exceeded, all members are compared, each time. It is not asked for
 * more often than that budget has a pass: after a read, and every fifteen seconds.
 *
 * By itself: `node bench/b15-budget-gate.ts MEMBERS ACCOUNTS [ROUNDS]`.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { holdProcess } from '../src/base/index.ts';
import { planShedding, type Cost } from '../src/engine/plan/index.ts';
import type { ObjectKey } from '../src/resources/index.ts';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { shown, type Row } from './support/report.ts';
import { ScaleWorld } from './support/scale-world.ts';

interface Measured {
  readonly members: number;
  /** Microseconds of CPU of one question. */
  readonly quietUs: readonly number[];
  readonly busyUs: readonly number[];
  /** Milliseconds of CPU of one round. */
  readonly shedMs: readonly number[];
}

const budgetsOfEach = 8;
const perRound = 20_000;
const roundsOfShedding = 10;
const graceOverMs = 3_600_000;
const cost: Cost = { beforeMicros: 0n, afterMicros: 1000n, basis: 'observed', unknown: [] };
const keyOf = (index: number): ObjectKey => `ContainerService/team-0/service-${index}`;

function cpuUs(count: number, work: (index: number) => void): number {
  const before = process.cpuUsage();
  for (let index = 0; index < count; index += 1) work(index);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

/** The first is stopped in it. */
async function measureShedding(members: number, accounts: number, rounds: number): Promise<number[]> {
  const servicesPerAccount = Math.ceil(members / accounts);
  const world = await ScaleWorld.start({ accounts, servicesPerAccount, shedding: true });
  const { budgets } = world.money;
  const before = { exceededSince: Date.now() - graceOverMs, orders: [], ended: [], spared: [] };
  const round = () => {
    const inputs = budgets.shedding('Budget/team-0/shed', before);
    const plan = inputs && planShedding(inputs);
    if (plan?.list.length !== Math.floor(servicesPerAccount / 2) || plan.state.orders.length !== 1)
      throw new Error('half of the services are to be listed, and one is to be stopped');
  };
  cpuUs(roundsOfShedding, round);
  const shedMs = Array.from({ length: rounds }, () => cpuUs(roundsOfShedding, round) / 1000);
  await world.stop();
  return shedMs;
}

async function measure(members: number, accounts: number, rounds: number): Promise<Measured> {
  const letGo = holdProcess();
  const servicesPerAccount = Math.ceil(members / accounts);
  const world = await ScaleWorld.start({ accounts, servicesPerAccount, budgetsPerAccount: budgetsOfEach });
  const { budgets, reservations } = world.money;
  const keys = Array.from({ length: servicesPerAccount }, (_, index) => keyOf(index));
  if (keys.some((key) => budgets.gatingOf(key).length !== budgetsOfEach))
    throw new Error(`each service is to have ${budgetsOfEach} budgets`);
  const ask = (index: number) => {
    if (budgets.gate(keys[index % servicesPerAccount] ?? keyOf(0), cost))
      throw new Error('there is to be room');
  };
  const move = (index: number) => {
    const other = keyOf((index + 1) % servicesPerAccount);
    if (index % 2 === 0) reservations.take(other, 'team-0/default', cost);
    else reservations.end(keyOf(index % servicesPerAccount));
  };
  const measured = { members, quietUs: [] as number[], busyUs: [] as number[], shedMs: [] as number[] };
  cpuUs(perRound, ask);
  cpuUs(perRound, (index) => (move(index), ask(index)));
  for (let round = 0; round < rounds; round += 1) {
    measured.quietUs.push(cpuUs(perRound, ask));
    measured.busyUs.push(
      cpuUs(perRound, (index) => {
        move(index);
        ask(index);
      }),
    );
  }
  await world.stop();
  const shedMs = await measureShedding(members, accounts, rounds);
  letGo();
  return { ...measured, shedMs };
}

async function inProcess(members: number, accounts: number, rounds: number): Promise<Measured> {
  const args = [import.meta.filename, String(members), String(accounts), String(rounds)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Measured;
}

function rowsOf({ members, quietUs, busyUs, shedMs }: Measured, target: boolean): Row[] {
  const row = (what: string, values: readonly number[], atMost?: number, unit = 'µs'): Row => ({
    what: `${shown(members)} members: ${what}`,
    values,
    unit,
    isOfMachine: true,
    ...(atMost === undefined ? {} : { target: { atMost } }),
  });
  return [
    row('a question', quietUs, target ? 5 : undefined),
    row('a question after another member has moved, with that', busyUs),
    row('a round of shedding, by a budget that is exceeded', shedMs, undefined, 'ms'),
  ];
}

export const budgetGate: Benchmark = {
  id: 'B15',
  title: 'Asking budgets',
  workload: 'one account, each of its services in 8 budgets: CPU of asking all of them',
  repetitions: 5,
  async run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
    const [few, many] = quick ? [10, 100] : [100, 10_000];
    return [
      ...rowsOf(await inProcess(few, 1, repetitions), false),
      ...rowsOf(await inProcess(many, 1, repetitions), true),
    ];
  },
};

if (process.argv[1] === import.meta.filename) {
  const [members = 100, accounts = 1, rounds = 5] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify(await measure(members, accounts, rounds))}\n`);
}
