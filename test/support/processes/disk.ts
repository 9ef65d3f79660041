/** Disks in trouble. What can't be made here is told, and its tests are skipped. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
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
  const inject = ['-e', `trace=${calls}`, '-e', `inject=${calls}:${how}`];
  const strace = spawn('strace', ['-f', '-o', '/dev/null', ...inject, '-p', String(pid)]);
  onTestFinished(() => void strace.kill('SIGKILL'));
  let reported = '';
  strace.stderr.on('data', (part: Buffer) => (reported += part.toString()));
  while (!reported.includes('attached')) {
    if (strace.exitCode !== null) throw new Error(`strace: ${reported}`);
    await Promise.race([once(strace.stderr, 'data'), delay(1000)]);
  }
}
