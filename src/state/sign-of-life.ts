/**
 * The sign of life of the process that works on a state file: a small file beside it. It is written at the start and at
 * a clean stop. In between only its modification time is set, every 10 s, which neither commits anything nor needs space. While
 * there are activity registrations, the times of their heartbeats are written with it.
 *
 *     (start) ──> alive: its time moves every 10 s ── stop ──> `stoppedAt` is written
 *                   └── killed ──> its time stays; the lock (lock.ts) is free
 *
 * It is for people who ask how old a status is. Nothing else depends on it, so a failed write is ignored.
 */
import { existsSync, readFileSync, realpathSync, renameSync, statSync, utimesSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { UserError, messageOf, writeAnew, type Clock, type Timer } from '../base/index.ts';

export const signEveryMs = 10_000;

export interface SignContent {
  /** `run`, `apply` or another command that changes things. */
  readonly command: string;
  readonly pid: number;
  readonly host: string;
  /** Unix milliseconds, by the clock of `host`, as all times here. */
  readonly startedAt: number;
  readonly stoppedAt?: number;
  /** When the newest heartbeat for an object was accepted. */
  readonly heartbeats?: Readonly<Record<string, number>>;
}

export interface SignOfLife extends SignContent {
  readonly seenAt: number;
}

export interface StateFacts {
  /** Undefined: none was ever given, as with a state of version 0.1.0. */
  readonly sign: SignOfLife | undefined;
  /** A process on this machine holds the state. */
  readonly isHeld: boolean;
  /** Unix milliseconds of the last commit; undefined without a file. */
  readonly writtenAt: number | undefined;
}

/** To be called while the lock of the state is held. The returned function records a clean stop. */
export function giveSigns(
  stateFile: string,
  { command, pid, host }: Pick<SignContent, 'command' | 'pid' | 'host'>,
  clock: Clock,
  heartbeats: () => SignContent['heartbeats'] = () => undefined,
): () => void {
  const file = signFile(stateFile);
  const started = { command, pid, host, startedAt: clock.wallMs() };
  let timer: Timer;
  const next = () => {
    timer = clock.after(signEveryMs, () => {
      attempt(() => touch(file, started, heartbeats(), clock.wallMs()));
      next();
    });
  };
  attempt(() => write(file, started, started.startedAt));
  next();
  return () => {
    timer.cancel();
    const stoppedAt = clock.wallMs();
    attempt(() => write(file, { ...started, stoppedAt }, stoppedAt));
  };
}

/** Without heartbeats the content stays as it is. */
function touch(
  file: string,
  started: SignContent,
  heartbeats: SignContent['heartbeats'],
  nowMs: number,
): void {
  if (heartbeats === undefined && existsSync(file)) utimesSync(file, nowMs / 1000, nowMs / 1000);
  else write(file, heartbeats ? { ...started, heartbeats } : started, nowMs);
}

/** A reader sees the sign before or after, and no part of one. */
function write(file: string, sign: SignContent, nowMs: number): void {
  const next = `${file}.next`;
  writeAnew(next, `${JSON.stringify(sign)}\n`, 0o600);
  utimesSync(next, nowMs / 1000, nowMs / 1000);
  renameSync(next, file);
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // A full disk must not stop a manager. `status` then shows an older sign.
  }
}

/** What a state file shows of the process that works on it. */
export function stateFacts(stateFile: string): StateFacts {
  const file = signFile(stateFile);
  const seenAt = modified(file);
  const content = contentOf(file);
  const times = [modified(stateFile), modified(`${stateFile}-wal`)].filter((time) => time !== undefined);
  return {
    sign: content && seenAt !== undefined ? { ...content, seenAt } : undefined,
    isHeld: isHeld(`${real(stateFile)}.lock`),
    writtenAt: times.length === 0 ? undefined : Math.max(...times),
  };
}

function signFile(stateFile: string): string {
  return `${real(stateFile)}.manager`;
}

/** A state file that is opened by another name is the same state. */
function real(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** When the file was written last, in Unix milliseconds. Undefined: there is none. One that this user must not see is not the same as none. */
function modified(file: string): number | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  } catch (error) {
    throw new UserError(
      `can't see the state ${file}: ${messageOf(error)}`,
      'run this as the user who applied the fleet (was it `sudo`?), or give its folder to this user',
      error,
    );
  }
}

/** Whether there is a state file. Throws if this user must not know. */
export function hasStateFile(stateFile: string): boolean {
  return modified(stateFile) !== undefined;
}

function contentOf(file: string): SignContent | undefined {
  try {
    const { command, pid, host, startedAt, stoppedAt, heartbeats } = JSON.parse(readFileSync(file, 'utf8'));
    const isWhole = typeof command === 'string' && typeof host === 'string';
    if (!isWhole || !Number.isInteger(pid) || !Number.isFinite(startedAt)) return undefined;
    return {
      command,
      pid,
      host,
      startedAt,
      ...(Number.isFinite(stoppedAt) ? { stoppedAt } : {}),
      ...(isTimes(heartbeats) ? { heartbeats } : {}),
    };
  } catch {
    return undefined;
  }
}

function isTimes(value: unknown): value is Record<string, number> {
  return typeof value === 'object' && value !== null && Object.values(value).every(Number.isFinite);
}

/** Whether a read of the lock's database is refused. The read itself takes no longer than `lockState` waits. */
function isHeld(lockFile: string): boolean {
  if (!existsSync(lockFile)) return false;
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(lockFile, { readOnly: true, timeout: 0 });
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    return (error as { errcode?: number }).errcode === sqliteBusy;
  } finally {
    database?.close();
  }
}

const sqliteBusy = 5;
