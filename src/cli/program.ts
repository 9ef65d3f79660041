import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { UserError } from '../base/index.ts';
import { addApplyCommand } from './apply-command.ts';
import { complain, exitCodes, type Context } from './context.ts';
import { addControlPlaneCommand } from './control-plane-command.ts';
import { addDemoCommand } from './demo-command.ts';
import { addPlanCommand } from './plan-command.ts';
import { addRunCommand } from './run-command.ts';
import { addStatusCommand } from './status-command.ts';

/** Runs one command line (without program name); resolves with the exit code. */
export async function runCommandLine(argv: readonly string[], context: Context): Promise<number> {
  let code: number = exitCodes.ok;
  const exit = (next: number) => {
    code = next;
  };
  const program = new Command('fleetkeeper')
    .description(
      'Keeps container services and volumes of the Container Compute Control API as their owners declared them.',
    )
    .version(version())
    .showHelpAfterError('(see --help)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
    });
  addDemoCommand(program, context, exit);
  addRunCommand(program, context);
  addPlanCommand(program, context, exit);
  addApplyCommand(program, context, exit);
  addStatusCommand(program, context);
  addControlPlaneCommand(program, context);
  for (const command of program.commands) command.copyInheritedSettings(program);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    if (!(error instanceof UserError)) throw error;
    complain(context, `error: ${error.message}`);
    if (error.remedy) complain(context, `  ${error.remedy}`);
    return exitCodes.failed;
  }
}

function version(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}
