/** Commands of Fleetkeeper as processes of their own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';

const source = path.resolve(import.meta.dirname, '../../src/main.ts');

/** `main`: the file to run; by default the source. It ends with this process at the latest. */
export function start(
  args: readonly string[],
  {
    main = source,
    nodeFlags = [],
  }: { readonly main?: string | undefined; readonly nodeFlags?: readonly string[] } = {},
): ChildProcess {
  const child = spawn(process.execPath, [...nodeFlags, main, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  return child;
}

export function linesOf({ stdout }: ChildProcess): AsyncIterator<string> {
  return createInterface({ input: stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
}

export async function addressIn(lines: AsyncIterator<string>, pattern: RegExp): Promise<string> {
  const { value } = await lines.next();
  const address = pattern.exec(String(value))?.[1];
  if (address === undefined) throw new Error(`instead of ${pattern} it printed: ${value}`);
  return address;
}

/** Of a process so far, user and system. */
export async function cpuSecondsOf({ pid }: ChildProcess): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** The most memory that a process ever had, shared code included. */
export async function peakBytesOf({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** What a process has in memory now, shared code included. */
export async function memoryBytesOf({ pid }: Pick<ChildProcess, 'pid'>): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
