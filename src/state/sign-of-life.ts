/**
 * The sign of life of the process that works on a state file: a small file beside it. It is written at the start and at
 * a clean stop. In between only its modification time is set, every 10 s, which neither commits anything nor needs space. While
 * there are activity registrations, the times of their heartbeats are written with it.
 *
 *     (start) ──> alive: its time moves every 10 s ── stop ──> `stoppedAt` is written
 *                   └── killed ──> its time stays; the lock (lock.ts) is free
 *
 * What impairs the process is in it, too. On a full disk the sign is written over what the file had, which needs no new space. If that fails as
 * well, its time is not moved: `status` then shows that nobody is at work, and not that all is well.
 *
 * A sign of another process is left alone: whoever replaced the folder of a state may have one of its own there.
 *
 * It is for people who ask how old a status is. Nothing else depends on it, so a failed write is ignored.
 */
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs';
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
  /** What impairs the process, for people. Absent: nothing. */
  readonly problems?: readonly string[];
  /** What is wrong in the documents, for people. Objects that can't be read have no record. Absent: nothing. */
  readonly unreadable?: Unreadable;
}

export interface Unreadable {
  readonly count: number;
  /** With its file and line. */
  readonly first: string;
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
  problems: () => readonly string[] = () => [],
  unreadable: () => Unreadable | undefined = () => undefined,
): () => void {
  const file = signFile(stateFile);
  const started = { command, pid, host, startedAt: clock.wallMs() };
  let timer: Timer;
  const touched = new Touched(file, started);
  const next = () => {
    timer = clock.after(signEveryMs, () => {
      attempt(() => touched.touch(heartbeats(), problems(), unreadable(), clock.wallMs()));
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

class Touched {
  readonly #file: string;
  readonly #started: SignContent;
  #problems = '';

  constructor(file: string, started: SignContent) {
    this.#file = file;
    this.#started = started;
  }

  /** Without heartbeats, and with the same problems as before, the content stays as it is. */
  touch(
    heartbeats: SignContent['heartbeats'],
    found: readonly string[],
    wrong: Unreadable | undefined,
    nowMs: number,
  ): void {
    const file = this.#file;
    const problems = found.map((text) => text.slice(0, longestProblem));
    if (problems.length > 0 && isOfAnother(file, this.#started)) return;
    const unreadable = wrong && { ...wrong, first: wrong.first.slice(0, longestProblem) };
    const mark = [...problems, unreadable ? JSON.stringify(unreadable) : ''].join('\n');
    if (heartbeats === undefined && mark === this.#problems && existsSync(file)) {
      utimesSync(file, nowMs / 1000, nowMs / 1000);
      return;
    }
    const sign = {
      ...this.#started,
      ...(problems.length > 0 ? { problems } : {}),
      ...(unreadable ? { unreadable } : {}),
    };
    try {
      write(file, heartbeats ? { ...sign, heartbeats } : sign, nowMs);
    } catch {
      overwrite(file, sign, nowMs);
    }
    this.#problems = mark;
  }
}

/** Together with all else, less than a block of a disk. */
const longestProblem = 600;

function isOfAnother(file: string, { pid, host, startedAt }: SignContent): boolean {
  const found = contentOf(file);
  return found !== undefined && (found.pid !== pid || found.host !== host || found.startedAt !== startedAt);
}

/** In place, in one call, with blanks over the rest of what was there: no room is needed for that on most disks. */
function overwrite(file: string, sign: SignContent, nowMs: number): void {
  // What could not be written takes room, too.
  attempt(() => rmSync(`${file}.next`, { force: true }));
  const text = Buffer.from(`${JSON.stringify(sign)}\n`);
  const { size } = statSync(file);
  const whole = Buffer.concat([text, Buffer.alloc(Math.max(0, size - text.length), ' ')]);
  const descriptor = openSync(file, 'r+');
  try {
    if (writeSync(descriptor, whole, 0, whole.length, 0) < whole.length) throw new Error('it has no room');
  } finally {
    closeSync(descriptor);
  }
  utimesSync(file, nowMs / 1000, nowMs / 1000);
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
    const { command, pid, host, startedAt, stoppedAt, heartbeats, problems, unreadable } = JSON.parse(
      readFileSync(file, 'utf8'),
    );
    const isWhole = typeof command === 'string' && typeof host === 'string';
    if (!isWhole || !Number.isInteger(pid) || !Number.isFinite(startedAt)) return undefined;
    return {
      command,
      pid,
      host,
      startedAt,
      ...(Number.isFinite(stoppedAt) ? { stoppedAt } : {}),
      ...(isTimes(heartbeats) ? { heartbeats } : {}),
      ...(isTexts(problems) ? { problems } : {}),
      ...(isUnreadable(unreadable) ? { unreadable } : {}),
    };
  } catch {
    return undefined;
  }
}

function isTimes(value: unknown): value is Record<string, number> {
  return typeof value === 'object' && value !== null && Object.values(value).every(Number.isFinite);
}

function isUnreadable(value: unknown): value is Unreadable {
  const { count, first } = (value ?? {}) as Partial<Unreadable>;
  return Number.isInteger(count) && typeof first === 'string';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
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
