/** Runs the blocks of a document in one shell, as somebody who follows it does. */
import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import type { Block } from './blocks.ts';
import type { World } from './worlds.ts';

export interface Outcome {
  /** Commands that failed, with their exit codes. A plan that has changes exits with 2. */
  readonly failures: readonly string[];
  /** What each block printed. */
  readonly printed: readonly string[];
}

const root = path.join(import.meta.dirname, '../../..');

/**
 * Servers are reached before the next command runs. They are in no table of jobs: a document starts them in another
 * terminal.
 */
const helpers = `
set -uEm
trap 'printf "%s: %s\\n" "$?" "$BASH_COMMAND" >> "$WORK/failures"' ERR
serve() {
  local port=$1; shift
  ( "$@" > /dev/null 2>> "$WORK/servers.log" & echo $! >> "$WORK/servers" )
  for _ in {1..300}; do curl -s -o /dev/null "http://127.0.0.1:$port" && return; sleep 0.1; done
  echo "nothing listens on port $port"; cat "$WORK/servers.log"; return 1
}
stop() {
  trap - ERR
  { for job in $(jobs -p); do kill -- "-$job"; done; kill $(cat "$WORK/servers"); wait; } 2> /dev/null
}
trap stop EXIT
`;

export async function runBlocks(folder: string, blocks: readonly Block[], world: World): Promise<Outcome> {
  const bin = path.join(folder, 'bin');
  await mkdir(bin);
  const command = `#!/bin/sh\nexec "${process.execPath}" "${path.join(root, 'dist/main.mjs')}" "$@"\n`;
  await writeFile(path.join(bin, 'fleetkeeper'), command, { mode: 0o755 });
  await cp(path.join(root, 'examples'), path.join(folder, 'examples'), { recursive: true });
  const ports = await freePorts();
  const parts = blocks.map(
    ({ text }, index) => `exec > "$WORK/printed.${index}"\n${here(text, world, ports)}`,
  );
  const start = `cd "${world.inCheckout ? root : folder}"\nexec > "$WORK/before"\n${withPorts(world.before, ports)}`;
  const output = await bash([helpers, start, ...parts].join('\n'), {
    ...outerEnvironment(),
    PATH: [bin, path.dirname(process.execPath), process.env['PATH']].join(':'),
    WORK: folder,
    ROOT: root,
  });
  const text = async (file: string) => readFile(path.join(folder, file), 'utf8').catch(() => '');
  const failures = (await text('failures')).split('\n').filter((line) => line !== '' && !isPlan(line));
  if (failures.length > 0) failures.push(output, await text('before'), await text('servers.log'));
  return { failures, printed: await Promise.all(blocks.map((_, index) => text(`printed.${index}`))) };
}

/** Without what would be settings of the commands. */
function outerEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('FLEETKEEPER_'));
  return Object.fromEntries(entries.map(([name, value = '']) => [name, value]));
}

/** `"$@"`: of the function that the quickstart defines. */
function isPlan(failure: string): boolean {
  return failure.startsWith('2: ') && / plan |"\$@"/.test(failure);
}

type Ports = Readonly<Record<'PLANE' | '8787' | '8080', string>>;

async function freePorts(): Promise<Ports> {
  const servers = await Promise.all(
    [1, 2, 3].map(
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const [plane = '', first = '', second = ''] = servers.map((server) => {
    const address = server.address();
    server.close();
    return typeof address === 'object' ? String(address?.port) : '';
  });
  return { PLANE: plane, 8787: first, 8080: second };
}

function withPorts(text: string, ports: Ports): string {
  return Object.entries(ports).reduce((all, [written, port]) => all.replaceAll(written, port), text);
}

/** The text of a block for this machine. What listens until Ctrl-C becomes a server. */
function here(text: string, { instead = [] }: World, ports: Ports): string {
  const written = instead.reduce((all, [from, to]) => all.replaceAll(from, to), text);
  return withPorts(written, ports)
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => {
      const [, port] = / (?:control-plane|run) .*--listen 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
      return port === undefined || /&\s*$/.test(line) ? line : `serve ${port} ${line}`;
    })
    .join('\n');
}

/** Resolves with what it writes to stderr. */
function bash(script: string, environment: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', script], {
      env: environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.on('data', (chunk) => (errors += String(chunk)));
    child.on('error', reject);
    child.on('exit', () => resolve(errors));
  });
}
