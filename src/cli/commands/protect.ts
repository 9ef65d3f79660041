import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { InvalidArgumentError, type Command } from 'commander';
import { UserError, sleep } from '../../base/index.ts';
import { complain, exitCodes, explainError, type Context } from '../context.ts';
import { durationOption } from '../options.ts';
import { Protection } from '../account/protection.ts';
import { withServiceFlags, type ServiceFlags } from '../account/service-lookup.ts';

interface ProtectFlags extends ServiceFlags {
  readonly name?: string;
  readonly taskId?: string;
  readonly require?: boolean;
  readonly patience: number;
}

/** As `env`, `nohup` and `timeout` have it, beside our own failure: a command that can't be run; one that is not there. */
const commandCodes = { notExecutable: 126, notFound: 127 } as const;
const signalBase = 128;
const longestName = 128;
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** `protect`: the service is not disturbed while a command runs. */
export function defineProtect(definition: Command, context: Context, exit: (code: number) => void): void {
  withServiceFlags(definition.arguments('[name] [command...]'))
    .usage('[options] NAME -- COMMAND [ARGUMENT...]')
    .option('--name <text>', 'of the activity; default the command', parseName)
    .option('--task-id <uuid>', 'continue the activity of a `protect` that was killed', parseTaskId)
    .option('--require', 'do not start the command unless the service is protected')
    .addOption(
      durationOption(
        '--patience <duration>',
        'how long to wait for the protection before the command starts',
        '10s',
      ),
    )
    .action(async (service: string | undefined, rest: string[], flags: ProtectFlags) => {
      const named = flags.id === undefined;
      const command = named || service === undefined ? rest : [service, ...rest];
      try {
        exit(await protect(context, named ? service : undefined, command, flags));
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        explainError(context, error);
        exit(exitCodes.notRun);
      }
    });
}

async function protect(
  context: Context,
  service: string | undefined,
  command: readonly string[],
  flags: ProtectFlags,
): Promise<number> {
  if (command.length === 0) {
    throw new UserError('which command?', 'write it behind --: protect NAME -- python train.py');
  }
  const activity = {
    id: flags.taskId ?? context.random.uuid(),
    name: flags.name ?? command.join(' ').slice(0, longestName),
  };
  const protection = new Protection(context, service, flags, activity, flags.taskId !== undefined);
  try {
    await awaitProtection(context, protection, flags);
  } catch (error) {
    await protection.end();
    throw error;
  }
  protection.commandStarts();
  const code = await run(context, command);
  // A terminal that closes sends SIGHUP twice. The release ends soon in any case.
  const release = context.takeSignals((signal) => {
    if (signal !== 'SIGHUP') protection.giveUp();
  });
  await protection.end();
  release();
  return code;
}

/** Until it is there, or has been waited for long enough. */
async function awaitProtection(
  context: Context,
  protection: Protection,
  { require: insists = false, patience }: ProtectFlags,
): Promise<void> {
  const waited = new AbortController();
  const late = sleep(context.clock, patience, AbortSignal.any([waited.signal, context.stopped]));
  const isHeld = await Promise.race([protection.held.then(() => true), late.then(() => false)]).finally(() =>
    waited.abort(),
  );
  if (context.stopped.aborted) throw new UserError('stopped before the command was started');
  if (isHeld) return complain(context, `protected by ${protection.label}`);
  const why = protection.failure ?? 'the API did not answer in time';
  if (insists) throw new UserError(`the service is not protected: ${why}`, 'the command was not started');
  complain(context, `not protected yet (${why}); the command starts anyway, and protection is still tried`);
}

/** Its exit code; as shells have it, 128 and the number of the signal that killed it. */
async function run(context: Context, [file = '', ...args]: readonly string[]): Promise<number> {
  // Before the child is there, so that there is no moment at which a signal ends us and leaves it.
  const release = context.takeSignals((signal) => {
    // A terminal has sent it to the child, too.
    if (signal !== 'SIGINT' || !context.stdin.isTTY) child.kill(signal);
  });
  const child = spawn(file, args, { stdio: 'inherit', env: context.environment });
  try {
    return await new Promise<number>((resolve) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        complain(context, `can't run ${file}: ${error.message}`);
        resolve(error.code === 'ENOENT' ? commandCodes.notFound : commandCodes.notExecutable);
      });
      child.once('exit', (code, signal) => {
        resolve(code ?? signalBase + (signal ? constants.signals[signal] : 0));
      });
    });
  } finally {
    release();
  }
}

function parseName(text: string): string {
  if (text.length >= 1 && text.length <= longestName) return text;
  throw new InvalidArgumentError(`expected 1 to ${longestName} characters`);
}

function parseTaskId(text: string): string {
  if (uuidPattern.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('expected a UUID');
}
