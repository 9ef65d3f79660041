import { InvalidArgumentError, Option, type Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { hasNews } from '../../manager/index.ts';
import { withLocal } from '../local/with-local.ts';
import { complain, exitCodes, print, type Context } from '../context.ts';
import { isCluster } from '../cluster.ts';
import { readFleet } from '../fleet-access.ts';
import { planFileOf, writePlanFile, type MadePlan } from '../change/plan-file.ts';
import { planFileLimits } from '../../plan-file/index.ts';
import { identity } from '../progress/view.ts';
import { hasInputErrors, observeFleet, problemLines, type ObservedFleet } from '../change/fleet-plan.ts';
import { withFolderArgument } from '../flags/source-option.ts';
import {
  acceptIdentityOption,
  durationOption,
  outputOption,
  parseDuration,
  withFleetFlags,
  type FleetFlags,
} from '../options.ts';
import { partText } from '../change/part-of-fleet.ts';
import { withSelectionFlags, type SelectionFlags } from '../selection.ts';
import { structured, type OutputFormat } from '../output/output.ts';
import { palette, renderPlan } from '../output/render.ts';

interface PlanFlags extends FleetFlags, SelectionFlags {
  readonly output: OutputFormat;
  readonly timeout: number;
  readonly allowMassChange?: boolean;
  readonly detail?: boolean;
  readonly out?: string;
  readonly expires: number;
}

/** `plan`: exit 0 nothing to do, 2 changes or drift, or something is held, 1 something could not be read, documents included. */
export function definePlan(command: Command, context: Context, exit: (code: number) => void): void {
  withSelectionFlags(withFleetFlags(withFolderArgument(command), 'silent'))
    .addOption(outputOption())
    .addOption(durationOption('--timeout <duration>', 'how long to wait for the API', '1m'))
    .addOption(acceptIdentityOption())
    .option('--out <file>', 'write the plan to this file, for review and `apply FILE`; of folders only')
    .addOption(expiresOption())
    .option('--detail', 'show what becomes of each replica of a ServiceFleet')
    .option('--allow-mass-change', 'plan also what the brakes for many changes at once would stop')
    .action(async (_folder: string | undefined, flags: PlanFlags, called: Command) => {
      refuseCluster(flags);
      if (flags.out === undefined && called.getOptionValueSource('expires') === 'cli') {
        throw new UserError('--expires is about the file of --out, and none is written', 'add --out FILE');
      }
      const { observed, made } = await withLocal(context, flags.source, (local) => planOf(local, flags));
      for (const line of problemLines(observed.snapshot)) complain(context, line);
      for (const message of observed.unreadable) complain(context, message);
      if (flags.output !== 'text') print(context, structured(flags.output, observed.plan));
      else if (observed.readable) {
        if (observed.plan.partial) print(context, partText(observed.plan.partial));
        print(
          context,
          renderPlan(observed.readable, palette(context.stdout, context.environment), flags.detail),
        );
      }
      if (made) reportFile(context, flags, made);
      if (hasInputErrors(observed) || observed.unreadable.length > 0) return exit(exitCodes.failed);
      return exit(hasNews(observed.plan) ? exitCodes.changes : exitCodes.ok);
    });
}

async function planOf(
  context: Context,
  flags: PlanFlags,
): Promise<{ readonly observed: ObservedFleet; readonly made: MadePlan | undefined }> {
  const access = await readFleet(context, flags);
  try {
    const observed = await observeFleet(context, flags, access);
    if (flags.out === undefined || observed.unreadable.length > 0) return { observed, made: undefined };
    const made = planFileOf(context, flags, observed, access.store);
    writePlanFile(flags.out, made.text, context.pid);
    return { observed, made };
  } finally {
    await access.close();
  }
}

function expiresOption(): Option {
  const { shortestMs, longestMs } = planFileLimits;
  return new Option('--expires <duration>', 'how long a file of --out may be applied, 15m to 168h')
    .argParser((text) => {
      const duration = parseDuration(text);
      if (duration >= shortestMs && duration <= longestMs) return duration;
      throw new InvalidArgumentError('expected 15m to 168h');
    })
    .default(parseDuration('24h'), '24h');
}

/** The operator applies what the API server has. */
function refuseCluster({ source, out }: PlanFlags): void {
  if (out === undefined || !isCluster(source)) return;
  throw new UserError(
    'a plan file is of a folder, and the source is a cluster: the manager there applies what the API server has',
    'review the documents before `kubectl apply`; `fleetkeeper plan` without --out shows what the manager would do',
  );
}

/** Programs read the plan on stdout. */
function reportFile(context: Context, { output, out = '' }: PlanFlags, { digest, unknown }: MadePlan): void {
  const say = (text: string) => (output === 'text' ? print(context, text) : complain(context, text));
  if (unknown.length > 0) {
    const names = unknown.map(identity).join(', ');
    complain(
      context,
      `not in ${out}, because what they need is not known yet: ${names}; plan them again later`,
    );
  }
  say(`plan ${digest}`);
}
