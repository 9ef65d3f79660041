import { InvalidArgumentError, type Command } from 'commander';
import { execAnswerMs, readExecAnswer, type ExecResult } from '../../api/index.ts';
import { UserError } from '../../base/index.ts';
import { answerTo } from '../output/answers.ts';
import { complain, exitCodes, explainError, print, type Context } from '../context.ts';
import { hasInput } from '../input.ts';
import { parseDuration } from '../options.ts';
import { structured } from '../output/output.ts';
import { withProgress } from '../output/progress.ts';
import {
  withService,
  withServiceFlags,
  type FoundService,
  type ServiceFlags,
} from '../account/service-lookup.ts';
import { forStream } from '../output/terminal-text.ts';

interface ExecFlags extends ServiceFlags {
  readonly timeout?: number;
}

const longestSeconds = 60;

/** `exec`: one command in the container; its output and its exit code. */
export function defineExec(definition: Command, context: Context, exit: (code: number) => void): void {
  withServiceFlags(definition.arguments('[name] [command...]'))
    .usage('[options] NAME -- COMMAND [ARGUMENT...]')
    .option('--timeout <duration>', `for the command, 1s to ${longestSeconds}s`, parseTimeout)
    .action(async (name: string | undefined, rest: string[], flags: ExecFlags) => {
      const named = flags.id === undefined;
      const command = named || name === undefined ? rest : [name, ...rest];
      const answerMs = execAnswerMs({ command, timeoutSeconds: flags.timeout });
      const run = (service: FoundService) => execute(context, service, command, flags.timeout);
      try {
        if (command.length === 0)
          throw new UserError('which command?', 'write it behind --: exec NAME -- ls -l /');
        exit(await withService(context, named ? name : undefined, flags, run, answerMs));
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        explainError(context, error);
        exit(exitCodes.notRun);
      }
    });
}

async function execute(
  context: Context,
  { account, id, label }: FoundService,
  command: readonly string[],
  timeoutSeconds: number | undefined,
): Promise<number> {
  await refuseInput(context);
  const idempotencyKey = context.random.uuid();
  const body = { command: [...command], ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }) };
  const run = () => account.api.exec(id, body, idempotencyKey);
  const onStop = () => complain(context, `the command is still running in ${label}; waiting for its answer`);
  context.stopped.addEventListener('abort', onStop, { once: true });
  const outcome = await withProgress(context, () => `running in ${label}`, run);
  context.stopped.removeEventListener('abort', onStop);
  if (outcome.kind === 'unknown') {
    throw new UserError(
      `nobody knows whether the command ran in ${label}: ${outcome.reason}`,
      `check there before you run it again; it was sent once, with the Idempotency-Key ${idempotencyKey}`,
    );
  }
  const answer = answerTo(`run the command in ${label}`, outcome);
  const result = readExecAnswer(answer);
  if (!result) print(context, structured('json', { answer }));
  else {
    if (isNotFound(result)) {
      complain(
        context,
        `the command ${String(command[0])} was not found in the image of ${label}, and did not run; what its engine reported:`,
      );
    }
    context.stdout.write(forStream(context.stdout, result.stdout));
    context.stderr.write(forStream(context.stderr, result.stderr));
    if (result.truncated) complain(context, 'the API has cut the output');
  }
  if (result?.exitCode !== undefined) return asExitCode(result.exitCode);
  complain(context, 'the command was accepted, and the answer does not show its exit code');
  return exitCodes.notRun;
}

const engineReports =
  /(?:OCI runtime|exec failed|crun:|runc)[^]*(?:executable file[^\n]*not found|no such file or directory|command that was not found)/i;

/** As Docker and podman report it. What a shell does not find, it names itself. */
export function isNotFound({ exitCode, stdout, stderr }: ExecResult): boolean {
  const mayBe = exitCode === undefined || exitCode < 0 || (exitCode >= 125 && exitCode <= 127);
  return mayBe && engineReports.test(`${stdout}\n${stderr}`);
}

/** A command that would have read it must not run without. */
async function refuseInput(context: Context): Promise<void> {
  if (!(await hasInput(context))) return;
  throw new UserError(
    'there is input for the command, and the API takes none: nothing was sent',
    'put it into the command: exec NAME -- sh -c "…"; or run it without: exec NAME -- COMMAND </dev/null',
  );
}

function parseTimeout(text: string): number {
  const seconds = parseDuration(text) / 1000;
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= longestSeconds) return seconds;
  throw new InvalidArgumentError(`expected whole seconds from 1s to ${longestSeconds}s`);
}

/** As the exit code of a process: what does not fit (killed, out of range) is 255. */
export function asExitCode(code: number): number {
  return code >= 0 && code <= 255 ? code : 255;
}
