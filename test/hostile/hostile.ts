/**
 * One tenant attacks the reference control plane, and another one lives beside it. Whether the other's reads stay quick,
 * the server lives within its memory, starts again on what is left, and has lost nothing of the other.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { ServerProcess, type ServerOptions } from '../support/server-process.ts';
import { attacks, phases } from './attacks.ts';
import type { Order } from './attacker.ts';
import type { AttackersService } from './client.ts';
import { podAttacks, podPhases } from './pod-attacks.ts';
import {
  attackersQuota,
  durationsOf,
  PodSide,
  podViolations,
  serviceOfAttacker,
  type PodOptions,
  type PodReport,
} from './pods.ts';
import { Tenant } from './tenant.ts';
import { Victim, summary, type Latencies } from './victim.ts';

export interface HostileOptions {
  readonly quietMs: number;
  readonly attackMs: number;
  /** For the database; empty. */
  readonly folder: string;
  /** A quiet p99 that is shorter counts as this: what the machine itself does to a request. */
  readonly quietFloorMs: number;
  /** Of the victim's reads under attack; default 250. Longer where the machine does other work than the server's. */
  readonly longestP99Ms?: number;
  /** Services are Pods of this cluster; absent: they are simulated. */
  readonly pods?: PodOptions;
}

export interface HostileReport {
  readonly quiet: Latencies;
  readonly attacked: Latencies;
  readonly byPhase: Readonly<Record<string, Latencies>>;
  /** How many requests of the attacker ended with each status; 0: cut. */
  readonly answers: Readonly<Record<string, number>>;
  readonly peakMb: number;
  readonly heapLimitMb: number;
  readonly databaseMb: number;
  readonly restartMs: number;
  readonly pods?: PodReport;
  /** Warnings and errors of the server, each with its number. */
  readonly warnings: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

const heapLimitMb = 512;
/** With what is beside the heap: buffers of answers, the pages of the database. */
const memoryLimitMb = 1024;
const defaultLongestP99Ms = 250;
const longestSlowdown = 10;
const longestRestartMs = 5_000;
const keys = { attacker: 'key-of-the-attacker', victim: 'key-of-the-victim' };

/** What is simulated. */
const simulated = {
  services: 20,
  spec: {
    region: 'standard',
    image: 'registry.example/app:0',
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
    environment: { TOKEN: 'value' },
  },
};
const simulatedOfAttacker: AttackersService = {
  name: 'a',
  region: 'economy',
  image: 'nginx',
  resources: { gpuCount: 0, cpu: 0.01, memoryGb: 0.01 },
};

export async function hostile(options: HostileOptions): Promise<HostileReport> {
  const { folder, pods: podOptions } = options;
  const start = await serverOptions(options);
  const server = await ServerProcess.start(start);
  let restarted: ServerProcess | undefined;
  const victim = new Victim(server.url, keys.victim);
  const attacker = new Tenant(server.url, keys.attacker);
  let pods: PodSide | undefined;
  try {
    pods = podOptions && (await PodSide.connect(podOptions, victim, attacker));
    if (pods) await pods.prepare();
    else await victim.prepare(simulated);
    const seen = await attackIt(server, victim, pods, options);
    const peakMb = await peakMbOf(server.pid);
    const end = server.isRunning ? [] : [`the server has ended: ${server.stderr}`];
    const harm = (await pods?.harm()) ?? [];
    await server.kill();
    const startedMs = performance.now();
    restarted = await ServerProcess.start(start);
    victim.url = restarted.url;
    attacker.url = restarted.url;
    const missing = await victim.missing();
    const restartMs = performance.now() - startedMs;
    const podReport = pods && (await endOf(pods, seen.changes));
    await restarted.kill();
    const databaseMb = await sizeMbOf(folder);
    const warnings = warningsOf(`${server.stderr}${restarted.stderr}`);
    const { changes: _, ...latencies } = seen;
    const report = { ...latencies, peakMb, heapLimitMb, databaseMb, restartMs, warnings };
    return {
      ...report,
      ...(podReport && { pods: podReport }),
      violations: [
        ...end,
        ...violationsOf(report, options),
        ...missing,
        ...harm,
        ...(podReport ? podViolations(podReport) : []),
      ],
    };
  } finally {
    await Promise.all([server.kill(), restarted?.kill()]);
    await pods?.[Symbol.asyncDispose]();
  }
}

async function serverOptions({ folder, pods }: HostileOptions): Promise<ServerOptions> {
  const accounts = path.join(folder, 'accounts.yaml');
  const cluster = pods ? ['--runtime', 'kubernetes', '--kubeconfig', pods.kubeconfig] : [];
  const quota = pods ? `, quota: ${JSON.stringify(attackersQuota)}` : '';
  await writeFile(accounts, `accounts: [${accountText('attacker', quota)}, ${accountText('victim')}]`);
  return {
    accounts,
    database: path.join(folder, 'control-plane.db'),
    flags: ['--log-level', 'warn', '--log-format', 'json', ...cluster],
    environment: { NODE_OPTIONS: `--max-old-space-size=${heapLimitMb}` },
  };
}

interface Seen extends Pick<HostileReport, 'quiet' | 'attacked' | 'byPhase' | 'answers'> {
  /** Of Pods of the victim, in milliseconds. */
  readonly changes: { readonly quiet: readonly number[]; readonly attacked: readonly number[] };
}

/** The victim's life, before the attack and during it. */
async function attackIt(
  server: ServerProcess,
  victim: Victim,
  pods: PodSide | undefined,
  { quietMs, attackMs, pods: podOptions }: HostileOptions,
): Promise<Seen> {
  // The code is compiled by now, and the machine has settled.
  await victim.live(Math.min(quietMs, 2_000), false);
  const [quiet, changesQuiet] = await withChanges(pods, () => victim.live(quietMs, false));
  const service = podOptions ? serviceOfAttacker(podOptions.image) : simulatedOfAttacker;
  using attacker = await Attacker.start(server.url, service);
  const all: number[] = [];
  const changes: number[] = [];
  const byPhase: Record<string, Latencies> = {};
  const names = Object.keys(podOptions ? { ...podAttacks, ...attacks } : attacks);
  const inTurn = podOptions ? { ...podPhases, ...phases } : phases;
  for (const [phase, pattern] of Object.entries(inTurn)) {
    await attacker.attack(names.filter((name) => pattern.test(name)));
    const forMs = attackMs / Object.keys(inTurn).length;
    const [latencies, changed] = await withChanges(pods, () => victim.live(forMs, true));
    byPhase[phase] = summary(latencies);
    all.push(...latencies);
    changes.push(...changed);
  }
  const answers = await attacker.end();
  return {
    quiet: summary(quiet),
    attacked: summary(all),
    byPhase,
    answers,
    changes: { quiet: changesQuiet, attacked: changes },
  };
}

/** With what `live` gives, how long changes of Pods took that were begun meanwhile. */
async function withChanges(
  pods: PodSide | undefined,
  live: () => Promise<number[]>,
): Promise<readonly [number[], number[]]> {
  const over = new AbortController();
  const [latencies, beside] = await Promise.all([
    live().finally(() => over.abort()),
    pods && Promise.all([pods.changes(over.signal), pods.watchAttacker(over.signal)]),
  ]);
  return [latencies, beside?.[0] ?? []];
}

async function endOf(pods: PodSide, { quiet, attacked }: Seen['changes']): Promise<PodReport> {
  const changeAfterKillMs = await pods.change();
  return {
    changesQuiet: durationsOf(quiet),
    changesAttacked: durationsOf(attacked),
    changeAfterKillMs,
    podsOfAttacker: pods.podsOfAttacker,
    clearedMs: await pods.clear(),
  };
}

function violationsOf(
  report: Pick<HostileReport, 'quiet' | 'attacked' | 'peakMb' | 'restartMs'>,
  { quietFloorMs, longestP99Ms = defaultLongestP99Ms }: HostileOptions,
): string[] {
  const { quiet, attacked, peakMb, restartMs } = report;
  const slowest = longestSlowdown * Math.max(quiet.p99Ms, quietFloorMs);
  return [
    attacked.failed > 0 && `${attacked.failed} reads of the victim failed`,
    attacked.p99Ms > longestP99Ms &&
      `p99 of the victim's reads: ${attacked.p99Ms} ms, over ${longestP99Ms} ms`,
    attacked.p99Ms > slowest && `p99 of the victim's reads: ${attacked.p99Ms} ms, over ${slowest} ms`,
    peakMb > memoryLimitMb && `the server took ${peakMb} MB, more than ${memoryLimitMb} MB`,
    restartMs > longestRestartMs && `the restart took ${restartMs} ms`,
  ].filter((violation) => typeof violation === 'string');
}

function accountText(name: keyof typeof keys, more = ''): string {
  return `{name: ${name}, email: ${name}@hostile.example, balanceMicros: 1000000000000, apiKeys: [${keys[name]}]${more}}`;
}

async function sizeMbOf(folder: string): Promise<number> {
  const files = await readdir(folder);
  const sizes = await Promise.all(files.map(async (file) => (await stat(path.join(folder, file))).size));
  return sizes.reduce((sum, size) => sum + size) / 1e6;
}

/** By their messages; names in them count as one. */
function warningsOf(log: string): Record<string, number> {
  const counts: Record<string, number> = {};
  // The line that was being written when the server was killed is cut.
  for (const line of log.split('\n').filter((text) => text.startsWith('{') && text.endsWith('}'))) {
    const { msg, error = '', err } = JSON.parse(line) as LogLine;
    const message = `${msg}: ${error || (err?.message ?? '')}`.replaceAll(/[0-9a-f]{8}[-0-9a-f]{8,}/g, 'ID');
    counts[message] = (counts[message] ?? 0) + 1;
  }
  return counts;
}

interface LogLine {
  readonly msg: string;
  readonly error?: string;
  readonly err?: { readonly message?: string };
}

class Attacker {
  readonly #child: ChildProcess;
  readonly #target: Order['target'];

  static async start(url: string, service: AttackersService): Promise<Attacker> {
    const child = fork(path.join(import.meta.dirname, 'attacker.ts'), { execArgv: [] });
    await once(child, 'spawn');
    return new Attacker(child, url, service);
  }

  private constructor(child: ChildProcess, url: string, service: AttackersService) {
    const { hostname: host, port } = new URL(url);
    this.#child = child;
    this.#target = { host, port: Number(port), apiKey: keys.attacker, service };
  }

  /**
   * Instead of what it does now. Resolves when the attack is well under way: on a busy machine that takes seconds, since the
   * attacker leaves the processor to everybody else.
   */
  async attack(names: readonly string[]): Promise<void> {
    const underWay = once(this.#child, 'message');
    this.#order(names);
    await underWay;
  }

  async end(): Promise<Record<string, number>> {
    const answers = once(this.#child, 'message');
    this.#order([]);
    const [message] = (await answers) as [Record<string, number>];
    return message;
  }

  /** Also of a failed run. */
  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }

  #order(names: readonly string[]): void {
    this.#child.send({ target: this.#target, names } satisfies Order);
  }
}

async function peakMbOf(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(?<kb>\d+) kB/.exec(status)?.groups?.['kb'] ?? 0) / 1000;
}
