import { InvalidArgumentError, Option, type Command } from 'commander';
import { answerTo } from '../output/answers.ts';
import { complain, exitCodes, type Context } from '../context.ts';
import { follow } from '../logs/follow.ts';
import { linesSince, timeOf } from '../logs/line-times.ts';
import { withServices, type ServicesFlags } from '../logs/services.ts';
import { printSeveral, type Print } from '../logs/several.ts';
import { parseDuration } from '../options.ts';
import { lastLines, linesOf } from '../output/log-text.ts';
import { withProgress } from '../output/progress.ts';
import { selectorOption } from '../selection.ts';
import { withService, withServiceFlags } from '../account/service-lookup.ts';
import { forStream } from '../output/terminal-text.ts';

interface LogsFlags extends ServicesFlags {
  readonly tail?: number;
  readonly since?: Since;
  readonly follow?: boolean;
}

type Since = { readonly agoMs: number } | { readonly atMs: number };

/** `logs`: what the containers wrote; of one service raw for programs, and harmless on a terminal. */
export function defineLogs(command: Command, context: Context, exit: (code: number) => void): void {
  // `-f` follows, as in `kubectl logs`.
  withServiceFlags(command.arguments('[name...]'), '--source <dir>')
    .addOption(selectorOption())
    .option(
      '--all',
      'of all services: of the namespace, or without a folder of the account; with a name, of all replicas of that ServiceFleet',
    )
    .addOption(
      new Option(
        '--since <time>',
        'only lines from then on, as far as they show a time: 10m, or 2026-01-31T12:00:00Z',
      ).argParser(parseSince),
    )
    .option('--tail <lines>', 'only the last so many lines, of each service', parseCount)
    .option('-f, --follow', 'continue with new lines, until stopped')
    .action(async (names: readonly string[], flags: LogsFlags) => {
      const print = printing(context, flags);
      if (names.length > 1 || flags.selector || flags.all) {
        const isFollowing = flags.follow ?? false;
        const work = withServices(context, names, flags, (services) =>
          printSeveral(context, services, { isFollowing }, print),
        );
        return exit(await work);
      }
      await withService(context, names[0], flags, async (service) => {
        const { stdout } = context;
        const rest = await print(service, (text) => stdout.write(forStream(stdout, text)));
        if (flags.follow) await rest(1);
      });
      exit(exitCodes.ok);
    });
}

function printing(context: Context, flags: LogsFlags): Print {
  return async (service, write) => {
    const { id, label, account } = service;
    const read = async () =>
      answerTo(`read the logs of ${label}`, await account.api.logs(id, context.stopped), context.stopped);
    const text = await withProgress(context, () => `reading the logs of ${label}`, read);
    const shown = selected(context, label, text, flags);
    if (shown !== '') write(shown);
    return (services) => follow(context, service, text, write, services);
  };
}

function selected(context: Context, label: string, text: string, { since, tail }: LogsFlags): string {
  const recent = since ? writtenSince(context, label, text, since) : text;
  return tail === undefined ? recent : lastLines(recent, tail);
}

function writtenSince(context: Context, label: string, text: string, since: Since): string {
  const sinceMs = 'atMs' in since ? since.atMs : context.clock.wallMs() - since.agoMs;
  const { lines, isUnknown } = linesSince(linesOf(text), sinceMs);
  if (isUnknown) {
    complain(
      context,
      `nobody knows when lines of ${label} were written, which show no time: they are included`,
    );
  }
  return lines.join('');
}

function parseCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('expected a whole number of lines');
  return Number(text);
}

function parseSince(text: string): Since {
  if (/^\d+(?:\.\d+)?[a-z]+$/.test(text)) return { agoMs: parseDuration(text) };
  const atMs = /^[\dTtZz:.+-]+$/.test(text) ? timeOf(text) : undefined;
  if (atMs !== undefined) return { atMs };
  throw new InvalidArgumentError('expected a duration such as 10m, or a time such as 2026-01-31T12:00:00Z');
}
