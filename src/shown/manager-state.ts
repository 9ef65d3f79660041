/**
 * Who keeps a state up to date, and how old it is. Pure: from the sign of life beside a state file (state/sign-of-life.ts), or
 * from the Lease of a cluster.
 *
 * | state     | meaning                                                             | exit code |
 * |-----------|---------------------------------------------------------------------|-----------|
 * | `Running` | it holds the state or the Lease, and was seen lately                | 0         |
 * | `Impaired` | it runs, and reports that it sees no edits, or can't write its state; in a cluster, that it has held the Lease for a minute, and has not listed what it manages | 3; others than `run`: 0 |
 * | `Silent`  | it holds the state on this machine, and gives no sign: it is paused, or can't write there | 3 |
 * | `Stopped` | it ended in order; of `apply` and others, that is their normal end  | 3; others than `run`: 0 |
 * | `Lost`    | it ended without being stopped, or can't be seen from here          | 3; others than `run`: 0 |
 * | `Unknown` | nothing was recorded: no manager has run, or it can't be read       | 0         |
 */
import { rfc3339 } from '../base/index.ts';
import type { LeaseHolder } from '../kubernetes/index.ts';
import { signEveryMs, type StateFacts, type Unreadable } from '../state/index.ts';

export type ManagerPhase = 'Running' | 'Impaired' | 'Silent' | 'Stopped' | 'Lost' | 'Unknown';

/** Times in Unix milliseconds, by the clock of `host`. */
export interface ManagerState {
  readonly phase: ManagerPhase;
  readonly command?: string;
  readonly host?: string;
  readonly pid?: number;
  readonly startedAt?: number;
  readonly seenAt?: number;
  /** Another machine, whose clock may differ, and whose processes can't be seen. */
  readonly isElsewhere?: boolean;
  /** Why it is not known, or what impairs it. */
  readonly note?: string;
  /** Of an operator: the namespaces that it has read, or `*` for all; absent: an earlier version does not show that. */
  readonly reads?: ReadonlySet<string>;
  /** Of a manager of a folder: what is wrong in its documents now. */
  readonly unreadable?: Unreadable;
}

/** A process that missed three signs is no longer taken as running if it can't be seen. */
const freshMs = 3 * signEveryMs;
/** So long may it take until a new leader has listed everything. */
const startMs = 60_000;

export function managerOfFolder(
  { sign, isHeld, writtenAt }: StateFacts,
  hostname: string,
  nowMs: number,
): ManagerState {
  if (!sign) {
    const note = isHeld ? 'a process that records no sign of life holds the state' : undefined;
    return { ...seen(writtenAt), phase: isHeld ? 'Running' : 'Unknown', ...(note ? { note } : {}) };
  }
  const { command, host, pid, startedAt, stoppedAt, seenAt, problems = [], unreadable } = sign;
  const isElsewhere = host !== hostname;
  const isFresh = Math.abs(nowMs - seenAt) < freshMs;
  const found = { command, host, pid, startedAt, seenAt, isElsewhere };
  if (stoppedAt !== undefined && !isHeld) return { ...found, phase: 'Stopped' };
  if (isHeld && !isFresh) return { ...found, phase: 'Silent' };
  // The lock of another machine need not be visible here.
  if (!isHeld && !(isElsewhere && isFresh)) return { ...found, phase: 'Lost' };
  const running = { ...found, ...(unreadable ? { unreadable } : {}) };
  return problems.length === 0
    ? { ...running, phase: 'Running' }
    : { ...running, phase: 'Impaired', note: problems.join('; ') };
}

function seen(seenAt: number | undefined): Pick<ManagerState, 'seenAt'> {
  return seenAt === undefined ? {} : { seenAt };
}

/** `lease`: a text if it can't be read. */
export function managerOfCluster(lease: LeaseHolder | string | undefined, nowMs: number): ManagerState {
  if (typeof lease === 'string') return { phase: 'Unknown', note: lease };
  if (lease === undefined) return { phase: 'Unknown', note: 'no Lease of a manager was found' };
  const { identity, acquiredAt, renewedAt, durationMs, reads } = lease;
  const [host, pid] = identity?.split('_') ?? [];
  const found = {
    command: 'run',
    isElsewhere: true,
    ...seen(renewedAt),
    ...(host ? { host } : {}),
    ...(Number.isInteger(Number(pid)) ? { pid: Number(pid) } : {}),
    ...(acquiredAt === undefined ? {} : { startedAt: acquiredAt }),
    ...(reads ? { reads: new Set(reads) } : {}),
  };
  if (identity === undefined) return { ...found, phase: 'Stopped' };
  const isFresh = renewedAt !== undefined && Math.abs(nowMs - renewedAt) < Math.max(2 * durationMs, freshMs);
  if (!isFresh) return { ...found, phase: 'Lost' };
  const isLate = acquiredAt !== undefined && renewedAt - acquiredAt > startMs;
  return reads?.length === 0 && isLate
    ? { ...found, phase: 'Impaired', note: idleNote }
    : { ...found, phase: 'Running' };
}

const idleNote =
  'it holds the Lease, and can not list all that it manages; its log and its /readyz?verbose have the reason';

/** It knows what is declared in the namespace now, as far as it shows that. */
export function isReadBy({ reads }: ManagerState, namespace: string): boolean {
  return reads === undefined || reads.has('*') || reads.has(namespace);
}

/** None is at work now. */
export function isAbsent({ phase }: ManagerState): boolean {
  return phase === 'Silent' || phase === 'Stopped' || phase === 'Lost';
}

/** Somebody started a manager that was to stay, and it does not keep the state up to date any more. */
export function isMissing(manager: ManagerState): boolean {
  return manager.command === 'run' && (isAbsent(manager) || manager.phase === 'Impaired');
}

/** The first line of `status`. */
export function managerLine(manager: ManagerState, nowMs: number): string {
  const { phase, command = 'run', seenAt, note } = manager;
  const asOf = seenAt === undefined ? 'as of an unknown time' : `as of ${clockTime(seenAt, nowMs)}`;
  const skew = clockNote(manager, nowMs);
  const who =
    command === 'run' ? `the manager${place(manager)}` : `\`fleetkeeper ${command}\`${place(manager)}`;
  const ago = seenAt === undefined ? 'at an unknown time' : agoText(seenAt, nowMs);
  if (phase === 'Impaired') return `${asOf}, and may be out of date: ${who} reports: ${note}${skew}`;
  if (note !== undefined) return `${asOf}; ${note}`;
  if (phase === 'Unknown') return `${asOf}; which manager wrote it is not recorded`;
  if (phase === 'Running') return `${asOf} by ${who}${skew}`;
  if (phase === 'Silent')
    return `no manager is at work: last seen ${ago}; ${who}, still holds the state, and is paused, hangs, or can't write there`;
  if (command !== 'run') {
    return phase === 'Stopped'
      ? `${asOf}, when ${who}, ended; no manager is running`
      : `${asOf}, when ${who}, was last seen; it did not end by itself${skew}`;
  }
  const how = phase === 'Stopped' ? 'when it was stopped' : 'and not stopped';
  return `no manager is running: last seen ${ago}, ${how}${place(manager) && ` (${place(manager).trim()})`}${skew}`;
}

function place({ host, pid }: ManagerState): string {
  if (host === undefined) return '';
  return ` on ${host}${pid === undefined ? '' : `, pid ${pid}`}`;
}

function clockNote({ host, isElsewhere, seenAt = 0 }: ManagerState, nowMs: number): string {
  const aheadMs = seenAt - nowMs;
  const whose = host === undefined ? 'its machine' : host;
  if (aheadMs > signEveryMs) return `; the clock of ${whose} is ${spanText(aheadMs)} ahead of this one`;
  return isElsewhere ? `; by the clock of ${whose}` : '';
}

/** `13:05:12` of today, with the date before it otherwise: in the time zone of who asks. */
export function clockTime(wallMs: number, nowMs: number): string {
  const [day, time] = local(wallMs);
  return day === local(nowMs)[0] ? time : `${day} ${time}`;
}

const two = (value: number) => String(value).padStart(2, '0');

function local(wallMs: number): [string, string] {
  const date = new Date(wallMs);
  return [
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`,
    [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':'),
  ];
}

export function agoText(atMs: number, nowMs: number): string {
  return `${spanText(Math.max(0, nowMs - atMs))} ago`;
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** `5 min`: in the largest unit that fits. */
export function spanText(ms: number): string {
  const [unit, unitMs] = units.find(([, each]) => ms >= each) ?? ['s', 1000];
  return `${Math.floor(ms / unitMs)} ${unit}`;
}

/** For programs; docs/reference/output.md has the fields. */
export function managerItem(manager: ManagerState): object {
  const { phase, command, host, pid, startedAt, seenAt, note, unreadable } = manager;
  return {
    state: phase,
    ...(command === undefined ? {} : { command }),
    ...(host === undefined ? {} : { host }),
    ...(pid === undefined ? {} : { pid }),
    ...(startedAt === undefined ? {} : { startedAt: rfc3339(startedAt) }),
    ...(seenAt === undefined ? {} : { seenAt: rfc3339(seenAt) }),
    ...(note === undefined ? {} : { note }),
    ...(unreadable ? { unreadable } : {}),
  };
}
