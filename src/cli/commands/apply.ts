import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { applyConsent } from '../change/apply-consent.ts';
import { converge, stalledIn } from '../change/converge.ts';
import { agreed, inLockedFolder, planned, withOpenState, type LockedFolder } from '../change/one-shot.ts';
import { recordsIn, type Records } from '../change/part-of-fleet.ts';
import { isHeld } from '../../shown/heartbeats.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { OutputFormat } from '../output/output.ts';
import { isCluster } from '../cluster.ts';
import { complain, exitCodes, type Context } from '../context.ts';
import { analysisPrometheusOption } from '../analysis-prometheus.ts';
import { refuseOtherOwner } from '../change/other-owner.ts';
import { planFileArgument, withFolderOrPlanArgument } from '../flags/source-option.ts';
import { applyPlanFile, type PlanFileApplyFlags } from '../change/apply-plan-file.ts';
import {
  acceptIdentityOption,
  durationOption,
  outputOption,
  settleOption,
  withFolderFlags,
} from '../options.ts';
import { isSettled, needsPerson, readyReasonOf } from '../output/settled.ts';
import { policyOf } from '../change/judged.ts';
import { costProblem, withCostLimit, type CostLimitFlags } from '../change/cost-limit.ts';
import { policyOption, readPolicy, type PolicyFlags } from '../policy.ts';
import { identity } from '../progress/view.ts';
import { withSelectionFlags } from '../selection.ts';
import { printRecords } from '../status/output.ts';

type ApplyFlags = PlanFileApplyFlags & PolicyFlags & CostLimitFlags;

/**
 * `apply`: plan, consent, converge, report; exit 0 only when every object is Ready. With a plan file in place of the folder, only what
 * is in it (change/apply-plan-file.ts).
 */
export function defineApply(command: Command, context: Context, exit: (code: number) => void): void {
  withCostLimit(withSelectionFlags(withFolderFlags(withFolderOrPlanArgument(command), 'silent')))
    .addOption(outputOption())
    .option('--yes', 'do not ask')
    .addOption(durationOption('--timeout <duration>', 'how long to wait for the fleet', '10m'))
    .addOption(
      durationOption(
        '--stable <duration>',
        'how long what was started must stay Ready, before it is read once more and reported; 0s: not at all',
        '10s',
      ),
    )
    .addOption(settleOption())
    .addOption(analysisPrometheusOption())
    .addOption(acceptIdentityOption())
    .addOption(policyOption())
    .option('--allow-mass-change', 'allow the many creations, deletions and corrections in the plan')
    .option('--plan-digest <digest>', 'refuse a plan file with another digest than this: sha256:…')
    .option('--strict', 'refuse a plan file if objects that are not in it need something')
    .action(async (_given: string | undefined, flags: ApplyFlags, called: Command) => {
      const planFile = planFileArgument(called);
      refuseFlags(planFile, flags);
      if (isCluster(flags.source)) {
        throw new UserError(
          'the manager that runs in a cluster applies its objects',
          'write documents with `kubectl apply`, check with `fleetkeeper plan`, and wait with `kubectl wait --for=condition=Ready`',
        );
      }
      const rules = await readPolicy(flags);
      const judged = { ...flags, rules };
      const work = (folder: LockedFolder) =>
        planFile === undefined ? apply(folder, judged) : applyPlanFile(folder, judged, planFile, printResult);
      exit(await inLockedFolder(context, judged, 'apply', work));
    });
}

/** Flags that mean nothing with a plan file, or nothing without one. */
function refuseFlags(planFile: string | undefined, flags: ApplyFlags): void {
  const { target, selector, namespace, planDigest, strict, maxCostIncrease } = flags;
  if (planFile !== undefined && maxCostIncrease !== undefined) {
    throw new UserError(
      '--max-cost-increase is about a plan, and a plan file was made before',
      'give it to `plan --out`, or apply the folder',
    );
  }
  if (planFile !== undefined && [target, selector, namespace].some((flag) => flag !== undefined)) {
    throw new UserError(
      `${planFile} has its objects already, and --target, --selector and --namespace choose others`,
      'make a plan of that part with `plan --out`',
    );
  }
  if (planFile === undefined && (planDigest !== undefined || strict === true)) {
    throw new UserError(
      '--plan-digest and --strict are about a plan file, and none is given',
      'name the file that `plan --out` has written: apply PLANFILE --source DIR',
    );
  }
}

async function apply(folder: LockedFolder, flags: ApplyFlags): Promise<number> {
  const { context, snapshot } = folder;
  const source = folder.source(snapshot);
  const observed = await planned(folder, flags, 'apply', source);
  refuseOtherOwner(observed, flags);
  const problem = costProblem(observed.plan, flags);
  if (problem !== undefined) {
    complain(context, `${problem}; nothing is changed`);
    return exitCodes.denied;
  }
  if (!(await agreed(context, flags, 'apply', observed.plan))) return exitCodes.failed;
  return withOpenState(folder, 'apply', async (store) => {
    const { part } = observed;
    const { allowMassChange, stable: stableMs } = flags;
    const policy = await policyOf(context, observed);
    const consent = applyConsent({
      plan: observed.plan,
      results: observed.results,
      store: folder.preview,
      isCostLimited: flags.maxCostIncrease !== undefined,
    });
    const how = {
      command: 'apply',
      source,
      store,
      part,
      policy,
      allowMassChange,
      stableMs,
      consent,
    } as const;
    const records = recordsIn(part, store);
    const missing = (await converge(context, flags, how)) ?? unsettledIn(records);
    printResult(context, flags.output, records.records());
    if (missing !== undefined) complain(context, missing);
    const { problems } = observed.snapshot;
    if (problems.length > 0) {
      complain(
        context,
        `${problems.length} problem(s) in the source, above the plan: those documents were not applied`,
      );
    }
    if (problems.length > 0) return exitCodes.failed;
    return missing === undefined ? exitCodes.ok : codeOf(records);
  });
}

/** Whoever applies may not know that protection stays fresh only while a manager runs. */
function printResult(context: Context, format: OutputFormat, found: Iterable<ObjectRecord>): void {
  const records = [...found];
  printRecords(context, format, records);
  const { length } = records.filter(isHeld);
  if (length > 0 && format === 'text') {
    complain(
      context,
      `the heartbeats of ${length} ProtectedTask(s) stop now, unless \`fleetkeeper run\` runs; the services stay protected`,
    );
  }
}

/** Of a fleet that is not as declared. */
function codeOf(records: Records): number {
  const rest = [...records.records()].filter((record) => needsPerson(record) || !isSettled(record));
  return rest.every((record) => readyReasonOf(record) === 'PolicyDenied')
    ? exitCodes.denied
    : exitCodes.failed;
}

/** What was under way when the last object became Ready may have changed another one: what is reported is what counts. */
function unsettledIn(records: Records): string | undefined {
  const unsettled = [...records.records()].filter((record) => !isSettled(record));
  if (unsettled.length === 0) return stalledIn(records);
  const names = unsettled.map(({ key }) => identity(key)).join(', ');
  return `${unsettled.length} object(s) are not Ready any more: ${names}; the next apply continues with them`;
}
