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
    stream,
  );
}
