/** The log of a command: JSON lines for programs, lines for people on a terminal. It is on stderr, since results own stdout. */
import { createLogger, type Logger, type LogLevel } from '../telemetry/index.ts';
import { complain, type Context } from './context.ts';
import { logLine } from './output/log-lines.ts';
import { palette } from './output/render.ts';

export const logFormats = ['auto', 'text', 'json'] as const;

export interface LogFlags {
  readonly logLevel: LogLevel;
  readonly logFormat: (typeof logFormats)[number];
}

/** `auto` is text if stderr is a terminal. */
export function isTextLog({ stderr }: Pick<Context, 'stderr'>, { logFormat }: LogFlags): boolean {
  return logFormat === 'auto' ? stderr.isTTY : logFormat === 'text';
}

/** `write`: where lines for people are shown; default stderr. */
export function openLog(
  context: Context,
  flags: LogFlags,
  write = (text: string) => complain(context, text),
): Logger {
  if (!isTextLog(context, flags)) return createLogger(flags.logLevel, context.ports?.log);
  const colours = palette(context.stderr, context.environment);
  return createLogger(flags.logLevel, { write: (line) => write(logLine(line, colours)) });
}
