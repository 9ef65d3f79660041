import { Option, type Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { clusterHeading, isCluster } from '../cluster.ts';
import { hasNews } from '../../manager/index.ts';
import { withLocal } from '../local/with-local.ts';
import { complain, exitCodes, print, type Context } from '../context.ts';
import { readFleet } from '../fleet-access.ts';
import {
  hasInputErrors,
  isDenied,
  observeFleet,
  problemLines,
  type ObservedFleet,
} from '../change/fleet-plan.ts';
import { withFolderArgument } from '../flags/source-option.ts';
import {
  acceptIdentityOption,
  durationOption,
  outputOptionWith,
  withFleetFlags,
  type FleetFlags,
} from '../options.ts';
import { partText } from '../change/part-of-fleet.ts';
import { withSelectionFlags, type SelectionFlags } from '../selection.ts';
import {
  markdownBounds,
  parseMarkdownName,
  parseMaxChars,
  renderMarkdown,
  standardName,
} from '../output/markdown.ts';
import type { DescribedPlan } from '../output/plan-schema.ts';
import { structured, type OutputFormat } from '../output/output.ts';
import { overlayText, palette, renderPlan } from '../output/render.ts';
import { policyOption, readPolicy, type PolicyFlags } from '../policy.ts';
import { readStdinFleet, stdinSource } from '../stdin-fleet.ts';

interface PlanFlags extends FleetFlags, SelectionFlags, PolicyFlags {
  readonly output: OutputFormat | 'markdown';
  readonly maxChars?: number;
  readonly name: string;
  readonly timeout: number;
  readonly allowMassChange?: boolean;
  readonly detail?: boolean;
  readonly with?: string;
}

/** `plan`: exit 0 nothing to do, 2 changes or drift, or something is held, 1 something could not be read, documents included. */
export function definePlan(command: Command, context: Context, exit: (code: number) => void): void {
  withSelectionFlags(withFleetFlags(withFolderArgument(command), 'silent', ', or `-` for standard input'))
    .addOption(outputOptionWith(['markdown'], ', markdown for a comment on a change'))
    .addOption(
      new Option(
        '--max-chars <n>',
        'of --output markdown: at most so many characters, from 1,000 to 65,000; default 60,000',
      ).argParser(parseMaxChars),
    )
    .addOption(
      new Option(
        '--name <name>',
        'of --output markdown: of the fleet, in the heading and in the hidden marker',
      )
        .argParser(parseMarkdownName)
        .default(standardName),
    )
    .addOption(durationOption('--timeout <duration>', 'how long to wait for the API', '1m'))
    .addOption(acceptIdentityOption())
    .addOption(policyOption())
    .addOption(
      new Option(
        '--with <dir>',
        'plan as if the documents of this folder were applied to the cluster; nothing is written to it',
      ).helpGroup(clusterHeading),
    )
    .option('--detail', 'show what becomes of each replica of a ServiceFleet')
    .option('--allow-mass-change', 'plan also what the brakes for many changes at once would stop')
    .action(async (_folder: string | undefined, flags: PlanFlags) => {
      const observed = await withLocal(context, flags.source, (local) => planOf(local, flags));
      for (const line of problemLines(observed.snapshot)) complain(context, line);
      for (const message of observed.unreadable) complain(context, message);
      show(context, flags, observed);
      if (hasInputErrors(observed) || observed.unreadable.length > 0) return exit(exitCodes.failed);
      if (isDenied(observed.plan)) return exit(exitCodes.denied);
      return exit(hasNews(observed.plan) ? exitCodes.changes : exitCodes.ok);
    });
}

function show(context: Context, flags: PlanFlags, { plan, readable }: ObservedFleet): void {
  const { output, detail } = flags;
  if (output === 'markdown') {
    const { unreadAccounts } = plan;
    const { maxChars = markdownBounds.standard, name } = flags;
    print(context, renderMarkdown({ ...(readable ?? plan), unreadAccounts }, { maxChars, name }));
  } else if (output !== 'text') print(context, structured(output, plan satisfies DescribedPlan));
  else if (readable) {
    if (plan.overlay) print(context, overlayText(plan.overlay));
    if (plan.partial) print(context, partText(plan.partial));
    print(context, renderPlan(readable, palette(context.stdout, context.environment), detail));
  }
}

async function planOf(context: Context, flags: PlanFlags): Promise<ObservedFleet> {
  if (flags.with !== undefined && !isCluster(flags.source)) {
    throw new UserError('--with is for clusters', 'add --source kubernetes, or plan the folder itself');
  }
  const rules = await readPolicy(flags);
  const access = await (flags.source === stdinSource ? readStdinFleet : readFleet)(context, flags);
  try {
    const observed = await observeFleet(context, { ...flags, rules }, access);
    const { overlay: checked } = access;
    if (!checked || flags.with === undefined) return observed;
    const overlay = { source: flags.with, ...checked };
    const { plan, readable } = observed;
    return { ...observed, plan: { overlay, ...plan }, readable: readable && { overlay, ...readable } };
  } finally {
    await access.close();
  }
}
