/**
 * B10: the reference control plane under load: after a warm-up three phases on one server (creates, reads, both), its memory, a
 * kill -9 under load and whether everything that was answered is there afterwards; and on another server the account
 * read of a large account. Beside it, in the same minute: a commit per request, and HTTP with nothing behind it.
 *
 * Commits wait for the disk of the folder for temporary files (`TMPDIR`).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { defaultConfig } from '../src/control-plane/main.ts';
import type { Benchmark, BenchmarkOptions } from './support/benchmark.ts';
import { syncsPerSecond } from './support/disk.ts';
import { LoadProcess, ServerProcess } from './support/processes.ts';
import { median, shown, type Row } from './support/report.ts';
import {
  accountCount,
  apiKeyOf,
  connections,
  serviceSpec,
  type Created,
  type Load,
  type LoadResult,
  type Mix,
  type Usage,
  type Variant,
} from './support/world.ts';

const onlyCreates: Mix = { accountReads: 0, serviceReads: 0, creates: 1 };
const onlyReads: Mix = { accountReads: 7, serviceReads: 2, creates: 0 };
const everything: Mix = { accountReads: 7, serviceReads: 2, creates: 1 };
const accounts = Array.from({ length: accountCount }, (_, account) => account);
/** More than a service needs to become running. */
const lifecycleMs = defaultConfig.durations.provisionMs + 1000;
const largeAccount = 0;

interface Phase extends LoadResult {
  readonly serverCpuSeconds: number;
}

interface Repetition {
  readonly syncsPerSecond: number;
  readonly create: Phase;
  /** Of the server, until everything that was created runs. */
  readonly settleCpuSeconds: number;
  readonly read: Phase;
  readonly mix: Phase;
  readonly memory: Usage;
  /** Of it, what is left after all garbage has been collected: Node's program, and what is in use. */
  readonly alive: Usage;
  /** Creates that were answered 2xx before the kill -9, and how many of them were not there after it. */
  readonly answered: number;
  readonly lost: number;
  readonly commitPerRequest: Phase;
  readonly bareReads: Phase;
  readonly bareCreates: Phase;
  readonly largeReadMs: number;
  readonly largeReadAfterChangeMs: number;
}

interface Size {
  readonly seconds: number;
  readonly creates: number;
  /** Services of the large account. */
  readonly large: number;
}

const fullSize: Size = { seconds: 5, creates: 10_000, large: 10_000 };
const quickSize: Size = { seconds: 1, creates: 500, large: 500 };

class ControlPlanes {
  readonly #folder: string;
  readonly #size: Size;
  #databases = 0;

  constructor(folder: string, size: Size) {
    this.#folder = folder;
    this.#size = size;
  }

  start(variant: Variant, database = this.#newDatabase()): Promise<ServerProcess> {
    return ServerProcess.start({ variant, database }, path.join(this.#folder, 'compiled'));
  }

  async repetition(): Promise<Repetition> {
    return {
      syncsPerSecond: syncsPerSecond(this.#folder),
      ...(await this.#underLoad()),
      ...(await this.#compared()),
      ...(await this.#readsOfALargeAccount()),
    };
  }

  #newDatabase(): string {
    return path.join(this.#folder, `${this.#databases++}.db`);
  }

  async #underLoad() {
    const { seconds, creates } = this.#size;
    const database = this.#newDatabase();
    const server = await this.start('control plane', database);
    const load = new LoadProcess();
    const warmUp = await phase(server, load, onlyCreates, { requests: creates / 5 });
    const create = await phase(server, load, onlyCreates, { requests: creates });
    const unsettled = await server.usage();
    await delay(lifecycleMs);
    const settled = await server.usage();
    const read = await phase(server, load, onlyReads, { seconds });
    const mix = await phase(server, load, everything, { seconds });
    const memory = await server.usage();
    const alive = await server.alive();
    const killed = load.run({
      url: server.url,
      accounts,
      mix: everything,
      length: { seconds },
      untilKilled: true,
    });
    await delay(seconds * 300);
    await server.kill();
    const all = [warmUp, create, mix, await killed].flatMap(({ created }) => created);
    load.end();
    const restarted = await this.start('control plane', database);
    const present = await servicesAt(restarted.url);
    await restarted.kill();
    const lost = all.filter(({ id }) => !present.has(id)).length;
    const settleCpuSeconds = settled.cpuSeconds - unsettled.cpuSeconds;
    return { create, settleCpuSeconds, read, mix, memory, alive, answered: all.length, lost };
  }

  /** The same creates without groups, and the same requests without anything behind HTTP. */
  async #compared() {
    const { seconds, creates } = this.#size;
    const single = await this.start('a commit per request');
    const load = new LoadProcess();
    await phase(single, load, onlyCreates, { requests: creates / 5 });
    const commitPerRequest = await phase(single, load, onlyCreates, { requests: creates / 2 });
    await single.kill();
    const bare = await this.start('bare HTTP');
    const length = { seconds: Math.min(seconds, 3) };
    await phase(bare, load, onlyCreates, { requests: creates / 5 });
    const bareReads = await phase(bare, load, { ...onlyReads, serviceReads: 0 }, length);
    const bareCreates = await phase(bare, load, onlyCreates, length);
    await bare.kill();
    load.end();
    return { commitPerRequest, bareReads, bareCreates };
  }

  async #readsOfALargeAccount() {
    const server = await this.start('control plane');
    const load = new LoadProcess();
    await load.run({
      url: server.url,
      accounts: [largeAccount],
      mix: onlyCreates,
      length: { requests: this.#size.large },
    });
    load.end();
    const [quiet, changed]: [number[], number[]] = [[], []];
    for (let count = 0; count < 20; count += 1) {
      await createInLargeAccount(server.url);
      changed.push(await timed(() => readAccount(server.url, largeAccount)));
      quiet.push(await timed(() => readAccount(server.url, largeAccount)));
    }
    await server.kill();
    return { largeReadMs: median(quiet), largeReadAfterChangeMs: median(changed) };
  }
}

async function phase(
  server: ServerProcess,
  load: LoadProcess,
  mix: Mix,
  length: Load['length'],
): Promise<Phase> {
  const before = await server.usage();
  const result = await load.run({ url: server.url, accounts, mix, length });
  const after = await server.usage();
  return { ...result, serverCpuSeconds: after.cpuSeconds - before.cpuSeconds };
}

async function servicesAt(url: string): Promise<Set<string>> {
  const found = new Set<string>();
  for (const account of accounts) {
    const { services } = JSON.parse(String(await readAccount(url, account))) as { services: Created[] };
    for (const { id } of services) found.add(id);
  }
  return found;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

async function readAccount(url: string, account: number): Promise<Buffer> {
  const response = await fetch(`${url}/api/account`, {
    headers: { authorization: `Bearer ${apiKeyOf(account)}` },
  });
  return Buffer.from(await response.arrayBuffer());
}

async function createInLargeAccount(url: string): Promise<void> {
  const response = await fetch(`${url}/api/services`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKeyOf(largeAccount)}`,
      'content-type': 'application/json',
      'idempotency-key': crypto.randomUUID(),
    },
    body: JSON.stringify(serviceSpec),
  });
  await response.text();
}

const createsPerSecond = ({ created, seconds: duration }: LoadResult) => created.length / duration;
const readsPerSecond = ({ reads, seconds: duration }: LoadResult) => reads / duration;
const cpuMicrosPerRequest = ({ serverCpuSeconds, reads, created }: Phase) =>
  (serverCpuSeconds * 1e6) / (reads + created.length);

function rowsOf(repetitions: readonly Repetition[]): Row[] {
  const over = (value: (one: Repetition) => number) => repetitions.map(value);
  const middle = (value: (one: Repetition) => number) => shown(median(over(value)));
  const syncs = median(over(({ syncsPerSecond: perSecond }) => perSecond));
  const failures = ({ create, read, mix }: Repetition) => create.failures + read.failures + mix.failures;
  const single = middle(({ commitPerRequest }) => createsPerSecond(commitPerRequest));
  return [
    {
      what: 'creates alone',
      values: over(({ create }) => createsPerSecond(create)),
      unit: '/s',
      limit: syncs * connections,
      target: { atLeast: 3000 },
      isOfMachine: true,
      beside: `bare HTTP ${middle(({ bareCreates }) => createsPerSecond(bareCreates))}, a commit each ${single}`,
    },
    {
      what: '  CPU of the server for one',
      values: over(({ create }) => cpuMicrosPerRequest(create)),
      unit: 'µs',
      beside: `bare HTTP ${middle(({ bareCreates }) => cpuMicrosPerRequest(bareCreates))}, a commit each ${middle(({ commitPerRequest }) => cpuMicrosPerRequest(commitPerRequest))}`,
    },
    {
      what: 'becoming running: CPU of the server for one',
      values: over(({ settleCpuSeconds, create }) => (settleCpuSeconds * 1e6) / create.created.length),
      unit: 'µs',
    },
    {
      what: 'reads alone',
      values: over(({ read }) => readsPerSecond(read)),
      unit: '/s',
      target: { atLeast: 9000 },
      isOfMachine: true,
      beside: `bare HTTP ${middle(({ bareReads }) => readsPerSecond(bareReads))}`,
    },
    {
      what: '  CPU of the server for one',
      values: over(({ read }) => cpuMicrosPerRequest(read)),
      unit: 'µs',
      beside: `bare HTTP ${middle(({ bareReads }) => cpuMicrosPerRequest(bareReads))}`,
    },
    { what: 'both: reads', values: over(({ mix }) => readsPerSecond(mix)), unit: '/s' },
    { what: 'both: creates', values: over(({ mix }) => createsPerSecond(mix)), unit: '/s' },
    { what: 'both: median latency', values: over(({ mix }) => mix.medianMs), unit: 'ms' },
    { what: 'both: p99 latency', values: over(({ mix }) => mix.p99Ms), unit: 'ms' },
    {
      what: 'memory at the end',
      values: over(({ memory }) => memory.memoryBytes / 1e6),
      unit: 'MB',
      limit: median(over(({ alive }) => alive.memoryBytes / 1e6)),
      target: { atMost: 125 },
      beside: `peak ${middle(({ memory }) => memory.peakBytes / 1e6)}, with ${middle(({ create, mix }) => create.created.length + mix.created.length)} services`,
    },
    {
      what: 'lost by a kill -9 under load',
      values: over(({ lost }) => lost),
      unit: '',
      isCount: true,
      target: { atMost: 0 },
      beside: `of ${shown(over(({ answered }) => answered).reduce((sum, one) => sum + one, 0))} creates that were answered 2xx`,
    },
    { what: 'failed requests', values: over(failures), unit: '', isCount: true, target: { atMost: 0 } },
    {
      what: 'account read of 10,000 services',
      values: over(({ largeReadMs }) => largeReadMs),
      unit: 'ms',
      target: { atMost: 50 },
      isOfMachine: true,
    },
    {
      what: 'the same, after a change',
      values: over(({ largeReadAfterChangeMs }) => largeReadAfterChangeMs),
      unit: 'ms',
      target: { atMost: 50 },
      isOfMachine: true,
    },
  ];
}

export const controlPlane: Benchmark = {
  id: 'B10',
  title: 'Reference control plane',
  workload: `70 % account reads, 20 % service reads, 10 % creates, ${connections} connections, ${accountCount} accounts, every answer durable`,
  async run({ repetitions, quick }: BenchmarkOptions): Promise<Row[]> {
    const folder = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-benchmark-'));
    try {
      const planes = new ControlPlanes(folder, quick ? quickSize : fullSize);
      // The first start fills the cache of compiled code.
      await (await planes.start('control plane')).kill();
      const measured: Repetition[] = [];
      for (let count = 0; count < repetitions; count += 1) measured.push(await planes.repetition());
      return rowsOf(measured);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
