import { Command, CommanderError } from 'commander';
import { UserError } from '../base/index.ts';
import { addApplyCommand } from './apply-command.ts';
import { addCompletionCommands } from './completion-command.ts';
import { exitCodes, explainError, type Context } from './context.ts';
import { addControlPlaneCommand } from './control-plane-command.ts';
import { addDemoCommand } from './demo-command.ts';
import { addEventsCommand } from './events-command.ts';
import { addExecCommand } from './exec-command.ts';
import { addImportCommand } from './import-command.ts';
import { addInventoryCommand } from './inventory-command.ts';
import { addLogsCommand } from './logs-command.ts';
import { addMetricsCommand } from './metrics-command.ts';
import { addOpenCommand } from './open-command.ts';
import { addPlanCommand } from './plan-command.ts';
import { addProtectCommand } from './protect-command.ts';
import { addResolveCommand } from './resolve-command.ts';
import { addRunCommand } from './run-command.ts';
import { addStatusCommand } from './status-command.ts';
import { version } from './version.ts';

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
  program.commandsGroup('A fleet:');
  addPlanCommand(program, context, exit);
  addApplyCommand(program, context, exit);
  addRunCommand(program, context);
  addStatusCommand(program, context);
  addResolveCommand(program, context);
  program.commandsGroup('One service:');
  addLogsCommand(program, context);
  addExecCommand(program, context, exit);
  addProtectCommand(program, context, exit);
  addEventsCommand(program, context);
  addMetricsCommand(program, context);
  addOpenCommand(program, context);
  program.commandsGroup('An account:');
  addInventoryCommand(program, context);
  addImportCommand(program, context);
  program.commandsGroup('This machine:');
  addDemoCommand(program, context, exit);
  addControlPlaneCommand(program, context);
  addCompletionCommands(program, context);
  program.helpCommand(true);
  for (const command of program.commands) command.copyInheritedSettings(program);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    if (!(error instanceof UserError)) throw error;
    explainError(context, error);
    return exitCodes.failed;
  }
}
