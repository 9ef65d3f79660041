import type { Command } from 'commander';
import { hasNews } from '../../manager/index.ts';
import { withLocal } from '../local/with-local.ts';
import { complain, exitCodes, print, type Context } from '../context.ts';
import { readFleet } from '../fleet-access.ts';
import { hasInputErrors, observeFleet, problemLines, type ObservedFleet } from '../change/fleet-plan.ts';
import { withFolderArgument } from '../flags/source-option.ts';
import {
  acceptIdentityOption,
  durationOption,
  outputOption,
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
}

/** `plan`: exit 0 nothing to do, 2 changes or drift, or something is held, 1 something could not be read, documents included. */
export function definePlan(command: Command, context: Context, exit: (code: number) => void): void {
  withSelectionFlags(withFleetFlags(withFolderArgument(command), 'silent'))
    .addOption(outputOption())
    .addOption(durationOption('--timeout <duration>', 'how long to wait for the API', '1m'))
    .addOption(acceptIdentityOption())
    .option('--detail', 'show what becomes of each replica of a ServiceFleet')
    .option('--allow-mass-change', 'plan also what the brakes for many changes at once would stop')
    .action(async (_folder: string | undefined, flags: PlanFlags) => {
      const observed = await withLocal(context, flags.source, (local) => planOf(local, flags));
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
      if (hasInputErrors(observed) || observed.unreadable.length > 0) return exit(exitCodes.failed);
      return exit(hasNews(observed.plan) ? exitCodes.changes : exitCodes.ok);
    });
}

async function planOf(context: Context, flags: PlanFlags): Promise<ObservedFleet> {
  const access = await readFleet(context, flags);
  try {
    return await observeFleet(context, flags, access);
  } finally {
    await access.close();
  }
}
