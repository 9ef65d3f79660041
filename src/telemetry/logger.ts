import { destination, pino, type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Members that hold secrets by their name, wherever a caller may have put them. */
const secretMembers = [
  'authorization',
  'headers',
  'apiKey',
  'password',
  'environment',
  'env',
  'value',
  'token',
];

/**
 * JSON lines on stderr (results own stdout). Messages are constants with keys; secrets are kept out by
 * `Sensitive` and, as a second lock, by name.
 */
export function createLogger(level: LogLevel, stream: DestinationStream = standardError()): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: (members) => bounded(members, 0) },
      redact: {
        paths: secretMembers.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: '[redacted]',
      },
    },
    { write: (line) => stream.write(escaped(line)) },
  );
}

/** Lines that could not be written are kept up to this, and follow when there is room. */
const keptBytes = 1024 * 1024;

/** A full disk, or a terminal that is gone, must not stop a manager: its log has a gap then. */
function standardError(): DestinationStream {
  const stream = destination({ fd: 2, sync: true, maxLength: keptBytes });
  stream.on('error', () => undefined);
  return stream;
}

/** Texts of others get into members; each is bounded where it is read, and once more here. */
const longestText = 4096;
const mostMembers = 100;
const deepest = 6;

function bounded(members: Record<string, unknown>, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members)
      .slice(0, mostMembers)
      .map(([name, value]) => [name.slice(0, longestText), boundedValue(value, depth + 1)]),
  );
}

function boundedValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string')
    return value.length > longestText ? `${value.slice(0, longestText - 1)}…` : value;
  if (typeof value !== 'object' || value === null) return value;
  // A value with its own serialisation (an Error, a secret) keeps it.
  const isPlain = Object.getPrototypeOf(value) === Object.prototype || Array.isArray(value);
  if (!isPlain) return value;
  if (depth >= deepest) return '…';
  return Array.isArray(value)
    ? value.slice(0, mostMembers).map((item) => boundedValue(item, depth + 1))
    : bounded(value as Record<string, unknown>, depth);
}

/** JSON escapes only the first 32 control characters; a terminal that shows the line would obey the others, and those that turn the direction of writing. */
function escaped(line: string): string {
  return line.replaceAll(/[\u007f-\u009f\u2028\u2029]|\p{Cf}/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
