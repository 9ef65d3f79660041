/**
 * Heartbeats of protected tasks, measured: a real manager over a folder with many tasks, before a real control plane, in
 * real time at the contract's period (§2: 30 s). The control plane's journal of requests tells when each beat came.
 *
 *     npm run bench:heartbeats -- [--tasks 2000] [--minutes 10]
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';

const { values } = parseArgs({
  options: { tasks: { type: 'string', default: '2000' }, minutes: { type: 'string', default: '10' } },
});
const tasks = Number(values.tasks);
const minutes = Number(values.minutes);
/** The control plane takes at most 1,000 unreleased activities per service. */
const tasksPerService = 500;
const periodSeconds = 30;
const apiKey = 'key-of-the-benchmark';
const apiVersion = 'fleetkeeper.dev/v1alpha1';
const main = path.resolve(import.meta.dirname, '../src/main.ts');

interface Beat {
  readonly atMs: number;
  readonly status: number | null;
}

function start(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

async function lineOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  if (child.stdout) {
    for await (const line of createInterface({ input: child.stdout })) {
      const match = pattern.exec(line);
      if (match?.[1] !== undefined) return match[1];
    }
  }
  throw new Error(`ended without printing ${pattern}`);
}

/** Of the process so far, user and system, in seconds. */
async function cpuSeconds({ pid }: ChildProcess): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function documents(url: string): object[] {
  const services = Array.from({ length: Math.ceil(tasks / tasksPerService) }, (_, index) => ({
    apiVersion,
    kind: 'ContainerService',
    metadata: { name: `service-${index}` },
    spec: { region: 'standard', image: 'app:1', resources: { cpu: 1, memoryGb: 1 } },
  }));
  return [
    {
      apiVersion,
      kind: 'Account',
      metadata: { name: 'default' },
      spec: {
        url,
        credentialsSecretRef: { name: 'key', key: 'key' },
        requests: { perSecond: 1000, burst: 100, concurrency: 8 },
      },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' }, stringData: { key: apiKey } },
    ...services,
    ...Array.from({ length: tasks }, (_, index) => ({
      apiVersion,
      kind: 'ProtectedTask',
      metadata: { name: `task-${index}` },
      spec: { serviceRef: { name: `service-${Math.floor(index / tasksPerService)}` } },
    })),
  ];
}

async function beatsAt(adminUrl: string): Promise<Beat[]> {
  const response = await fetch(`${adminUrl}/requests`);
  const { requests } = (await response.json()) as {
    requests: { at: string; method: string; path: string; status: number | null }[];
  };
  return requests
    .filter(({ method, path: where }) => method === 'POST' && where.endsWith('/activity'))
    .map(({ at, status }) => ({ atMs: Date.parse(at), status }));
}

interface Listed {
  readonly lastHeartbeatAt: number;
  readonly registeredAt: number;
  readonly fresh: boolean;
}

async function activitiesAt(url: string): Promise<Listed[]> {
  const read = async (where: string) => {
    const response = await fetch(`${url}${where}`, { headers: { authorization: `Bearer ${apiKey}` } });
    return response.json();
  };
  const { services } = (await read('/api/account')) as { services: { id: string }[] };
  const lists = await Promise.all(services.map(({ id }) => read(`/api/services/${id}/activity`)));
  return lists.flatMap((list) => (list as { activities: Listed[] }).activities);
}

const folder = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-heartbeats-'));
const accounts = path.join(folder, 'accounts.yaml');
await writeFile(
  accounts,
  stringify({ accounts: [{ name: 'bench', email: 'b@example.com', apiKeys: [apiKey] }] }),
);
const plane = start(
  [
    'control-plane',
    '--listen',
    '127.0.0.1:0',
    '--admin-listen',
    '127.0.0.1:0',
    '--database',
    ':memory:',
  ].concat(['--accounts', accounts]),
);
const lines = createInterface({ input: plane.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
const url = /^listening on (.*)$/.exec(String((await lines.next()).value))?.[1] ?? '';
const adminUrl = /^admin on (.*)$/.exec(String((await lines.next()).value))?.[1] ?? '';
await mkdir(path.join(folder, 'fleet'));
const text = documents(url)
  .map((document) => stringify(document))
  .join('---\n');
await writeFile(path.join(folder, 'fleet', 'fleet.yaml'), text);
const manager = start([
  'run',
  '--source',
  path.join(folder, 'fleet'),
  '--log-level',
  'warn',
  '--listen',
  '127.0.0.1:0',
]);
await lineOf(manager, /^(listening on .*)$/);
while ((await activitiesAt(url)).length < tasks) await delay(500);
await delay(2 * periodSeconds * 1000);

const [fromMs, fromCpu] = [Date.now(), await cpuSeconds(manager)];
const worst: number[] = [];
for (let minute = 0; minute < minutes; minute += 1) {
  await delay(60_000);
  const now = Date.now();
  const listed = await activitiesAt(url);
  worst.push(Math.max(...listed.map(({ lastHeartbeatAt }) => now - lastHeartbeatAt)));
  if (listed.some(({ fresh }) => !fresh)) throw new Error('a record has expired');
}
const [untilMs, untilCpu] = [Date.now(), await cpuSeconds(manager)];
const beats = (await beatsAt(adminUrl)).filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
const perSecond = new Map<number, number>();
for (const { atMs } of beats) {
  const second = Math.floor((atMs - fromMs) / 1000);
  perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
}
const mean = (beats.length / (untilMs - fromMs)) * 1000;
const peak = Math.max(...perSecond.values());
// oxlint-disable-next-line no-console
console.table({
  'tasks, minutes': { measured: `${tasks}, ${minutes}`, target: '2000, 10' },
  'beats (all accepted)': {
    measured: `${beats.length} (${beats.every(({ status }) => status === 200)})`,
    target: `${Math.round((tasks * minutes * 60) / periodSeconds)} (true)`,
  },
  'oldest heartbeat at any look': { measured: `${Math.max(...worst) / 1000} s`, target: '≤ 33 s' },
  'busiest second / mean': { measured: (peak / mean).toFixed(2), target: '≤ 2' },
  'CPU of the manager per 1,000 beats': {
    measured: `${(((untilCpu - fromCpu) / beats.length) * 1000).toFixed(2)} s`,
    target: '≤ 1 s',
  },
  machine: { measured: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`, target: '' },
});
manager.kill('SIGTERM');
plane.kill('SIGTERM');
await rm(folder, { recursive: true });
