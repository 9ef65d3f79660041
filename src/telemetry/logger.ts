import { destination, pino, type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Members that hold secrets by their name, wherever a caller may have put them. */
const secretMembers = ['authorization', 'apiKey', 'password', 'environment', 'env', 'value', 'token'];

/**
 * JSON lines on stderr (results own stdout). Messages are constants with keys; secrets are kept out by
 * `Sensitive` and, as a second lock, by name.
 */
export function createLogger(
  level: LogLevel,
  stream: DestinationStream = destination({ fd: 2, sync: true }),
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: secretMembers.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: '[redacted]',
      },
    },
    { write: (line) => stream.write(escaped(line)) },
  );
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
