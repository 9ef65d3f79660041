/**
 * The reference control plane under load: after a warm-up three phases on one server (creates, reads, both), its memory, a
 * kill -9 under load and whether everything that was answered is there afterwards; and on another server the account
 * read of a large account. Beside it, in the same minute: a commit per request, and HTTP with nothing behind it.
 *
 *     npm run bench:control-plane -- [--directory DIR] [--repetitions 5] [--seconds 5] [--creates 10000] [--json FILE]
 *
 * DIR (default: the folder for temporary files) should be on the disk in question: commits wait for it.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { defaultConfig } from '../src/control-plane/main.ts';
import { syncsPerSecond } from './support/disk.ts';
import { LoadProcess, ServerProcess, serverEnvironment, serverNodeFlags } from './support/processes.ts';
import { median, shown, summarize, tableOf, type Row } from './support/report.ts';
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

const { values: flags } = parseArgs({
  options: {
    directory: { type: 'string', default: tmpdir() },
    repetitions: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    creates: { type: 'string', default: '10000' },
    json: { type: 'string' },
  },
});
const seconds = Number(flags.seconds);
const creates = Number(flags.creates);

const onlyCreates: Mix = { accountReads: 0, serviceReads: 0, creates: 1 };
const onlyReads: Mix = { accountReads: 7, serviceReads: 2, creates: 0 };
const everything: Mix = { accountReads: 7, serviceReads: 2, creates: 1 };
const accounts = Array.from({ length: accountCount }, (_, account) => account);
/** More than a service needs to become running. */
const lifecycleMs = defaultConfig.durations.provisionMs + 1000;
const largeAccount = 0;
const largeCount = 10_000;

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
  /** Creates that were answered 2xx before the kill -9, and how many of them were not there after it. */
  readonly answered: number;
  readonly lost: number;
  readonly commitPerRequest: Phase;
  readonly bareReads: Phase;
  readonly bareCreates: Phase;
  readonly largeReadMs: number;
  readonly largeReadAfterChangeMs: number;
}

const folder = await mkdtemp(path.join(flags.directory, 'fleetkeeper-benchmark-'));
let databases = 0;

function start(variant: Variant, database = path.join(folder, `${databases++}.db`)): Promise<ServerProcess> {
  return ServerProcess.start({ variant, database }, path.join(folder, 'compiled'));
}

async function repetition(): Promise<Repetition> {
  return {
    syncsPerSecond: syncsPerSecond(folder),
    ...(await underLoad()),
    ...(await compared()),
    ...(await readsOfALargeAccount()),
  };
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

async function underLoad() {
  const database = path.join(folder, `${databases++}.db`);
  const server = await start('control plane', database);
  const load = new LoadProcess();
  const warmUp = await phase(server, load, onlyCreates, { requests: creates / 5 });
  const create = await phase(server, load, onlyCreates, { requests: creates });
  const unsettled = await server.usage();
  await delay(lifecycleMs);
  const settled = await server.usage();
  const read = await phase(server, load, onlyReads, { seconds });
  const mix = await phase(server, load, everything, { seconds });
  const memory = await server.usage();
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
  const restarted = await start('control plane', database);
  const present = await servicesAt(restarted.url);
  await restarted.kill();
  const lost = all.filter(({ id }) => !present.has(id)).length;
  const settleCpuSeconds = settled.cpuSeconds - unsettled.cpuSeconds;
  return { create, settleCpuSeconds, read, mix, memory, answered: all.length, lost };
}

async function servicesAt(url: string): Promise<Set<string>> {
  const found = new Set<string>();
  for (const account of accounts) {
    const { services } = JSON.parse(String(await readAccount(url, account))) as { services: Created[] };
    for (const { id } of services) found.add(id);
  }
  return found;
}

/** The same creates without groups, and the same requests without anything behind HTTP. */
async function compared() {
  const single = await start('a commit per request');
  const load = new LoadProcess();
  await phase(single, load, onlyCreates, { requests: creates / 5 });
  const commitPerRequest = await phase(single, load, onlyCreates, { requests: creates / 2 });
  await single.kill();
  const bare = await start('bare HTTP');
  const length = { seconds: Math.min(seconds, 3) };
  await phase(bare, load, onlyCreates, { requests: creates / 5 });
  const bareReads = await phase(bare, load, { ...onlyReads, serviceReads: 0 }, length);
  const bareCreates = await phase(bare, load, onlyCreates, length);
  await bare.kill();
  load.end();
  return { commitPerRequest, bareReads, bareCreates };
}

async function readsOfALargeAccount() {
  const server = await start('control plane');
  const load = new LoadProcess();
  await load.run({
    url: server.url,
    accounts: [largeAccount],
    mix: onlyCreates,
    length: { requests: largeCount },
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
  const limit = middle(({ syncsPerSecond: syncs }) => syncs * connections);
  const failures = ({ create, read, mix }: Repetition) => create.failures + read.failures + mix.failures;
  const single = middle(({ commitPerRequest }) => createsPerSecond(commitPerRequest));
  return [
    {
      what: 'creates alone',
      values: over(({ create }) => createsPerSecond(create)),
      unit: '/s',
      target: { atLeast: 3000 },
      beside: `bare HTTP ${middle(({ bareCreates }) => createsPerSecond(bareCreates))}, a commit each ${single}, syncs × ${connections} = ${limit}`,
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
      target: { atMost: 125 },
      beside: `peak ${middle(({ memory }) => memory.peakBytes / 1e6)}, with ${middle(({ create, mix }) => create.created.length + mix.created.length)} services`,
    },
    {
      what: 'lost by a kill -9 under load',
      values: over(({ lost }) => lost),
      unit: '',
      target: { atMost: 0 },
      beside: `of ${shown(over(({ answered }) => answered).reduce((sum, one) => sum + one, 0))} creates that were answered 2xx`,
    },
    { what: 'failed requests', values: over(failures), unit: '', target: { atMost: 0 } },
    {
      what: 'account read of 10,000 services',
      values: over(({ largeReadMs }) => largeReadMs),
      unit: 'ms',
      target: { atMost: 50 },
    },
    {
      what: 'the same, after a change',
      values: over(({ largeReadAfterChangeMs }) => largeReadAfterChangeMs),
      unit: 'ms',
      target: { atMost: 50 },
    },
  ];
}

try {
  // The first start fills the cache of compiled code.
  await (await start('control plane')).kill();
  const repetitions: Repetition[] = [];
  for (let count = 1; count <= Number(flags.repetitions); count += 1) {
    process.stderr.write(`repetition ${count} of ${flags.repetitions}\n`);
    repetitions.push(await repetition());
  }
  const summaries = rowsOf(repetitions).map(summarize);
  const machine = {
    cpus: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    memoryGb: Math.round(totalmem() / 1e9),
    node: process.version,
    directory: flags.directory,
    syncsPerSecond: Math.round(median(repetitions.map(({ syncsPerSecond: syncs }) => syncs))),
    serverNodeFlags,
    serverEnvironment,
  };
  process.stdout.write(
    `${machine.cpus}, Node ${machine.node}; ${shown(machine.syncsPerSecond)} syncs/s in ${machine.directory}; ${connections} connections, ${accountCount} accounts\n${tableOf(summaries)}\n`,
  );
  if (flags.json !== undefined) {
    await writeFile(flags.json, `${JSON.stringify({ machine, summaries }, null, 2)}\n`);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
