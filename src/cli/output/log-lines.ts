/**
 * Lines of the log for people: `12:03:04 warn  ContainerService default/web  held  ServiceError: exit 1`. They are made of the JSON
 * lines, in which secrets are hidden already. Times are local.
 */
import type { Palette } from './render.ts';
import { oneLine } from './terminal-text.ts';

interface Line {
  readonly level: string;
  readonly time: string;
  readonly msg: string;
  readonly members: Readonly<Record<string, unknown>>;
}

export function logLine(json: string, colours: Palette): string {
  const line = read(json);
  if (!line) return oneLine(json);
  const { object, reason, message, note, ready: _shown, ...rest } = line.members;
  const why = [reason, message ?? note].filter((part) => part !== undefined && part !== '').map(plain);
  const parts = [
    ...(object === undefined ? [] : [colours.strong(oneLine(objectName(plain(object))))]),
    paintOf(line.level, colours)(oneLine(line.msg)),
    ...(why.length > 0 ? [oneLine(why.join(': '))] : []),
    ...Object.entries(rest)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => colours.dim(oneLine(`${name}=${plain(value)}`))),
  ];
  return `${colours.dim(clockTime(line.time))} ${paintOf(line.level, colours)(line.level.padEnd(5))} ${parts.join('  ')}`;
}

function read(json: string): Line | undefined {
  try {
    const { level, time, msg, ...members } = JSON.parse(json) as Record<string, unknown>;
    return { level: plain(level), time: plain(time), msg: plain(msg ?? ''), members };
  } catch {
    return undefined;
  }
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** `Kind/namespace/name` as elsewhere in the output. */
function objectName(key: string): string {
  return key.replace(/^(\w+)\/([^/]+\/[^/]+)$/, '$1 $2');
}

function clockTime(time: string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? time : date.toTimeString().slice(0, 8);
}

function paintOf(level: string, { bad, busy, dim }: Palette): (text: string) => string {
  if (level === 'error' || level === 'fatal') return bad;
  if (level === 'warn') return busy;
  return level === 'info' ? (text) => text : dim;
}
