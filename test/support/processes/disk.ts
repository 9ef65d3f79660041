/** Disks in trouble. What can't be made here is told, and its tests are skipped. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

function mount(folder: string): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'fleetkeeper-test', folder]).status === 0;
}

function tryToMount(): boolean {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-disk-'));
  const isMounted = mount(folder);
  if (isMounted) execFileSync('umount', [folder]);
  rmSync(folder, { recursive: true });
  return isMounted;
}

export const canMount = tryToMount();
export const canFailSyncs = spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status === 0;

if (!canMount)
  process.stderr.write('tests of full and read-only disks are NOT run: nothing can be mounted\n');
if (!canFailSyncs) process.stderr.write('tests of disks that fail are NOT run: they need strace\n');

/** The folder of an empty file system of 1 MB, until the test ends. */
export function smallDisk(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetkeeper-disk-'));
  if (!mount(folder)) throw new Error(`can't mount ${folder}`);
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

export function makeReadOnly(folder: string): void {
  execFileSync('mount', ['-o', 'remount,ro', folder]);
}

/** From now on, what the process hands to the disk is not confirmed: EIO. */
export function failSyncs(pid: number | undefined): Promise<void> {
  return disturbSyncs(pid, 'error=EIO');
}

/** From now on, the disk takes so long for each of them. */
export function slowSyncs(pid: number | undefined, delayMs: number): Promise<void> {
  return disturbSyncs(pid, `delay_enter=${delayMs * 1000}`);
}

async function disturbSyncs(pid: number | undefined, how: string): Promise<void> {
  const calls = 'fsync,fdatasync';
  await attach(pid, ['-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:${how}`]);
}

async function attach(pid: number | undefined, options: readonly string[]): Promise<void> {
  const strace = spawn('strace', ['-f', ...options, '-p', String(pid)]);
  onTestFinished(() => void strace.kill('SIGKILL'));
  let reported = '';
  strace.stderr.on('data', (part: Buffer) => (reported += part.toString()));
  while (!reported.includes('attached')) {
    if (strace.exitCode !== null) throw new Error(`strace: ${reported}`);
    await Promise.race([once(strace.stderr, 'data'), delay(1000)]);
  }
}

/** A call to the system, by its lines in the trace: a wait for the disk begins before it ends. */
export interface SystemCall {
  readonly name: string;
  readonly text: string;
  readonly beganAt: number;
  /** Undefined: it had not ended when the trace was read. */
  readonly endedAt: number | undefined;
}

/** From now on, what the process hands to files and sockets, and its waits for the disk, which takes 300 ms for each. */
export async function traceWrites(pid: number | undefined): Promise<() => SystemCall[]> {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'fleetkeeper-trace-')), 'trace');
  onTestFinished(() => rmSync(path.dirname(file), { recursive: true }));
  const calls = 'pwrite64,fsync,fdatasync,write,writev,sendto,sendmsg';
  const slow = ['-e', 'inject=fsync,fdatasync:delay_enter=300000'];
  await attach(pid, ['-y', '-s', '100000', '-o', file, '-e', `trace=${calls}`, ...slow]);
  return () => callsIn(readFileSync(file, 'utf8').split('\n'));
}

function callsIn(lines: readonly string[]): SystemCall[] {
  return lines.flatMap((line, beganAt) => {
    const [, thread = '', name = '', text = ''] = /^(\d+) +([a-z0-9]+)\((.*)$/.exec(line) ?? [];
    if (name === '') return [];
    const isUnfinished = text.endsWith('<unfinished ...>');
    const resumed = lines.findIndex(
      (later, at) => at > beganAt && later.startsWith(thread) && later.includes(`<... ${name} resumed>`),
    );
    const endedAt = isUnfinished ? (resumed === -1 ? undefined : resumed) : beganAt;
    return [{ name, text, beganAt, endedAt }];
  });
}
