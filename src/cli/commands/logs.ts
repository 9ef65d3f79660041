import { InvalidArgumentError, type Command } from 'commander';
import { describeOutcome } from '../../api/index.ts';
import { UserError, sleep } from '../../base/index.ts';
import { answerTo } from '../output/answers.ts';
import { complain, type Context } from '../context.ts';
import { lastLines, newPart } from '../output/log-text.ts';
import { withProgress } from '../output/progress.ts';
import { withService, withServiceFlags, type FoundService, type ServiceFlags } from '../service-lookup.ts';
import { forStream } from '../output/terminal-text.ts';

interface LogsFlags extends ServiceFlags {
  readonly tail?: number;
  readonly follow?: boolean;
}

const followMs = 2000;

/** `logs`: what the container wrote; raw for programs, harmless on a terminal. */
export function defineLogs(command: Command, context: Context): void {
  withServiceFlags(command.arguments('[name]'))
    .option('--tail <lines>', 'only the last so many lines', parseCount)
    .option('--follow', 'continue with new lines, until stopped')
    .action((name: string | undefined, flags: LogsFlags) =>
      withService(context, name, flags, async (service) => {
        const read = async () =>
          answerTo(
            `read the logs of ${service.label}`,
            await service.account.api.logs(service.id, context.stopped),
            context.stopped,
          );
        const text = await withProgress(context, () => `reading the logs of ${service.label}`, read);
        write(context, flags.tail === undefined ? text : lastLines(text, flags.tail));
        if (flags.follow) await follow(context, service, text);
      }),
    );
}

/** A failed read is reported once and tried again: the next one brings what was missed. */
async function follow(context: Context, { account, id, label }: FoundService, text: string): Promise<void> {
  const { clock, stopped } = context;
  let before = text;
  let trouble = '';
  for (;;) {
    await sleep(clock, followMs, stopped);
    // With `| head` there is nobody to go on for.
    if (stopped.aborted || context.stdout.destroyed) return;
    const outcome = await account.api.logs(id, stopped);
    if (outcome.kind === 'applied') {
      write(context, newPart(before, outcome.value));
      before = outcome.value;
      trouble = '';
      continue;
    }
    if (stopped.aborted) return;
    if (outcome.kind === 'refused' && outcome.status === 404) {
      throw new UserError(`${label} is gone`, '`fleetkeeper status` shows its state');
    }
    const message = describeOutcome(outcome);
    if (message !== trouble) complain(context, `can't read the logs of ${label} now: ${message}`);
    trouble = message;
  }
}

function write({ stdout }: Context, text: string): void {
  if (text !== '') stdout.write(forStream(stdout, text));
}

function parseCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('expected a whole number of lines');
  return Number(text);
}
