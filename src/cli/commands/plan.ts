import { InvalidArgumentError, Option, type Command } from 'commander';
import { UserError } from '../../base/index.ts';
import type { OverlayCheck } from '../../desired/index.ts';
import { hasNews } from '../../manager/index.ts';
import { withLocal } from '../local/with-local.ts';
import { complain, exitCodes, print, type Context } from '../context.ts';
import { hasStateFile } from '../../state/index.ts';
import { expiredTasks } from '../../shown/heartbeats.ts';
import { isAbsent } from '../../shown/manager-state.ts';
import { readEntries } from '../status/read.ts';
import { clusterHeading, isCluster } from '../cluster.ts';
import { readFleet } from '../fleet-access.ts';
import {
  hasInputErrors,
  isDenied,
  observeFleet,
  problemLines,
  type ObservedFleet,
} from '../change/fleet-plan.ts';
import { planFileOf, writePlanFile, type MadePlan } from '../change/plan-file.ts';
import { planFileLimits } from '../../plan-file/index.ts';
import { identity } from '../progress/view.ts';
import { withFolderArgument } from '../flags/source-option.ts';
import {
  acceptIdentityOption,
  apiTimeoutOption,
  outputOptionWith,
  parseDuration,
  withFleetFlags,
  stateFile,
  type FleetFlags,
} from '../options.ts';
import { refuseDocument } from '../no-document.ts';
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
import { costProblem, withCostLimit, type CostLimitFlags } from '../change/cost-limit.ts';
import { policyOption, readPolicy, type PolicyFlags } from '../policy.ts';
import { complainOfSecrets } from '../secrets-dir.ts';
import { readStdinFleet, stdinSource } from '../stdin-fleet.ts';

interface PlanFlags extends FleetFlags, SelectionFlags, PolicyFlags, CostLimitFlags {
  readonly output: OutputFormat | 'markdown';
  readonly maxChars?: number;
  readonly name: string;
  readonly timeout: number;
  readonly allowMassChange?: boolean;
  readonly detail?: boolean;
  readonly with?: string;
  readonly out?: string;
  readonly expires: number;
}

/** `plan`: exit 0 nothing to do, 2 changes or drift, or something is held or not known yet, 1 something could not be read, documents included. */
export function definePlan(command: Command, context: Context, exit: (code: number) => void): void {
  withCostLimit(
    withSelectionFlags(withFleetFlags(withFolderArgument(command), 'silent', ', or `-` for standard input')),
  )
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
    .addOption(apiTimeoutOption())
    .addOption(acceptIdentityOption())
    .addOption(policyOption())
    .option('--out <file>', 'write the plan to this file, for review and `apply FILE`; of folders only')
    .addOption(expiresOption())
    .addOption(
      new Option(
        '--with <dir>',
        'plan as if the documents of this folder were applied to the cluster; nothing is written to it',
      ).helpGroup(clusterHeading),
    )
    .option('--detail', 'show what becomes of each replica of a ServiceFleet')
    .option('--allow-mass-change', 'plan also what the brakes for many changes at once would stop')
    .action(async (_folder: string | undefined, flags: PlanFlags, called: Command) => {
      refuseSources(flags);
      if (flags.out === undefined && called.getOptionValueSource('expires') === 'cli') {
        throw new UserError('--expires is about the file of --out, and none is written', 'add --out FILE');
      }
      const { observed, made } = await withLocal(context, flags.source, (local) => planOf(local, flags));
      for (const line of problemLines(observed.snapshot)) complain(context, line);
      for (const message of observed.unreadable) complain(context, message);
      show(context, flags, observed);
      if (flags.output === 'text') await noteExpired(context, flags);
      if (made) reportFile(context, flags, made);
      if (hasInputErrors(observed) || observed.unreadable.length > 0) return exit(exitCodes.failed);
      const problem = costProblem(observed.plan, flags);
      if (problem !== undefined) {
        complain(context, problem);
        if (flags.out !== undefined)
          complain(
            context,
            `${flags.out} was not written: this plan is not to be applied. A file of that name is of an earlier plan`,
          );
      }
      if (problem !== undefined || isDenied(observed.plan)) return exit(exitCodes.denied);
      return exit(hasNews(observed.plan) ? exitCodes.changes : exitCodes.ok);
    });
}

function show(context: Context, flags: PlanFlags, { plan, readable }: ObservedFleet): void {
  const { output, detail } = flags;
  if (output === 'markdown') {
    const { unreadAccounts } = plan;
    const { maxChars = markdownBounds.standard, name } = flags;
    print(context, renderMarkdown({ ...readable, unreadAccounts }, { maxChars, name }));
  } else if (output !== 'text') print(context, structured(output, plan satisfies DescribedPlan));
  else {
    if (plan.overlay) print(context, overlayText(plan.overlay));
    if (plan.partial) print(context, partText(plan.partial));
    print(context, renderPlan(readable, palette(context.stdout, context.environment), detail));
  }
}

/** A plan is no read of heartbeats, and a stale record still protects: that nobody sends any is no change of the plan. */
async function noteExpired(context: Context, flags: PlanFlags): Promise<void> {
  if (isCluster(flags.source) || flags.source === stdinSource || !hasStateFile(stateFile(flags))) return;
  const { entries, manager } = await readEntries(context, flags);
  const { length } = expiredTasks(entries);
  if (isAbsent(manager) && length > 0)
    complain(
      context,
      `${length} ProtectedTask(s) get no heartbeats: no manager is running. Start \`fleetkeeper run\``,
    );
}

async function planOf(
  context: Context,
  flags: PlanFlags,
): Promise<{ readonly observed: ObservedFleet; readonly made: MadePlan | undefined }> {
  const rules = await readPolicy(flags);
  const access = await (flags.source === stdinSource ? readStdinFleet : readFleet)(
    context,
    flags,
    complainOfSecrets(context),
  );
  try {
    const found = await observeFleet(context, { ...flags, rules, foresees: flags.out !== undefined }, access);
    const observed = withOverlay(found, flags, access.overlay);
    const isTooMuch = costProblem(observed.plan, flags) !== undefined;
    if (flags.out === undefined || observed.unreadable.length > 0 || isTooMuch)
      return { observed, made: undefined };
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

function withOverlay(
  observed: ObservedFleet,
  { with: source }: PlanFlags,
  checked: OverlayCheck | undefined,
): ObservedFleet {
  if (!checked || source === undefined) return observed;
  const overlay = { source, ...checked };
  const { plan, readable } = observed;
  return { ...observed, plan: { overlay, ...plan }, readable: { overlay, ...readable } };
}

/** The operator applies what the API server has, and standard input is read once. */
function refuseSources({ source, out, with: documents }: PlanFlags): void {
  if (documents !== undefined && !isCluster(source)) {
    throw new UserError('--with is for clusters', 'add --source kubernetes, or plan the folder itself');
  }
  if (out === undefined) return;
  if (source === stdinSource) {
    throw new UserError(
      'a plan file is of a folder, and the source is standard input, which `apply` can not read again',
      'write the documents to a folder, and plan that',
    );
  }
  if (!isCluster(source)) return refuseDocument(source, out, 'the plan file');
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
