/**
 * What `apply` and `destroy` have in common: one process works on a folder at a time. It shows what it will do, asks, does it, and ends.
 *
 *     lock the state file -> read the folder once -> plan on a copy of the state -> ask -> open the state -> work -> release
 *
 * Until somebody agreed, nothing is written and nothing is sent that changes anything.
 */
import { UserError } from '../../base/index.ts';
import type { DesiredSnapshot, DesiredSource } from '../../desired/index.ts';
import type { FleetPlan } from '../../manager/index.ts';
import type { Rule } from '../../policy/index.ts';
import {
  giveSigns,
  lockState,
  openState,
  readState,
  type OwnerChoice,
  type StateStore,
} from '../../state/index.ts';
import { complain, print, type Context } from '../context.ts';
import { fleetIdentity } from '../digest-key.ts';
import { withLocalCode } from '../local/with-local.ts';
import { stateFile, type FleetFlags } from '../options.ts';
import type { AnalysisFlags } from '../analysis-prometheus.ts';
import type { OutputFormat } from '../output/output.ts';
import { palette, renderPlan } from '../output/render.ts';
import type { SelectionFlags } from '../selection.ts';
import { complainOfSecrets } from '../secrets-dir.ts';
import { openSource } from '../source.ts';
import { consented } from './consent.ts';
import { observeFleet, problemLines, type ObservedFleet } from './fleet-plan.ts';
import { complainOfBeside } from './other-owner.ts';
import { partText, type PartOfFleet } from './part-of-fleet.ts';
import { isSuspicious } from './vanished.ts';
import { words, type OneShotCommand } from './words.ts';

export interface OneShotFlags extends FleetFlags, SelectionFlags, AnalysisFlags {
  readonly output: OutputFormat;
  /** Milliseconds. */
  readonly timeout: number;
  readonly settle: number;
  readonly yes?: boolean;
  /** Of `--policy`. */
  readonly rules?: readonly Rule[] | undefined;
  readonly allowMassChange?: boolean;
}

/** A folder that no other process works on. */
export interface LockedFolder {
  /** With the account of the folder's own control plane, if it has one. */
  readonly context: Context;
  readonly snapshot: DesiredSnapshot;
  /** A copy: what is changed in it is not kept. */
  readonly preview: StateStore;
  readonly file: string;
  readonly owner: OwnerChoice;
  /** A source that declares this and never changes. */
  source(declared: DesiredSnapshot): DesiredSource;
}

/** Resolves with the exit code of the work. */
export async function inLockedFolder(
  context: Context,
  flags: OneShotFlags,
  command: OneShotCommand,
  work: (folder: LockedFolder) => Promise<number>,
): Promise<number> {
  const file = stateFile(flags);
  const lock = (context.ports?.stateFiles?.lockState ?? lockState)(
    file,
    `process ${context.pid} on ${context.hostname} (fleetkeeper ${command} --source ${flags.source})`,
  );
  try {
    return await withLocalCode(context, flags.source, async (local) => {
      // What was planned and agreed to is what is done, whatever happens to the files meanwhile.
      const folder = openSource(flags, local, false, complainOfSecrets(context));
      const snapshot = await folder.start(() => undefined);
      const owner = await fleetIdentity(local, flags, file);
      return work({
        context: local,
        snapshot,
        preview: readState(file, local.random, owner),
        file,
        owner,
        source: (declared) => ({ ...folder, start: async () => declared }),
      });
    });
  } finally {
    lock.release();
  }
}

/** How long the API may take to be read, however long the work may take. */
export const readingMs = 60_000;

/** Throws a `UserError` if an account can't be read. `removed`: what may be deleted, in place of what the flags select. */
export async function planned(
  { context, preview }: LockedFolder,
  flags: OneShotFlags,
  command: OneShotCommand,
  source: DesiredSource,
  removed?: PartOfFleet,
): Promise<ObservedFleet> {
  const limited = { ...flags, timeout: Math.min(flags.timeout, readingMs) };
  const observed = await observeFleet(context, limited, { source, store: preview }, removed);
  for (const line of problemLines(observed.snapshot)) complain(context, line);
  if (observed.unreadable.length > 0) {
    throw new UserError(observed.unreadable.join('\n'), words[command].unreadable);
  }
  const { vanished } = observed;
  if (isSuspicious(vanished) && !flags.allowMassChange) {
    throw new UserError(
      `the account does not show ${vanished.keys.length} of ${vanished.managed} objects that were there, and ${command} would forget them: nothing was changed`,
      'check at the provider; if they are really gone, pass --allow-mass-change',
    );
  }
  return observed;
}

/** Shows the plan, in text only, and asks. */
export async function agreed(
  context: Context,
  flags: OneShotFlags,
  command: OneShotCommand,
  plan: FleetPlan,
): Promise<boolean> {
  if (flags.output === 'text') {
    if (plan.partial) print(context, partText(plan.partial));
    print(context, renderPlan(plan, palette(context.stdout, context.environment)));
  } else complainOfBeside(context, plan);
  return consented(context, flags, command, plan);
}

/** Other commands see that this process is working, for as long as it does. */
export async function withOpenState(
  { context, file, owner }: LockedFolder,
  command: OneShotCommand,
  work: (store: StateStore) => Promise<number>,
): Promise<number> {
  const { pid, hostname: host, random, clock, ports } = context;
  const state = (ports?.stateFiles?.openState ?? openState)(file, random, owner);
  const stopSigns = (ports?.stateFiles?.giveSigns ?? giveSigns)(file, { command, pid, host }, clock);
  try {
    return await work(state.store);
  } finally {
    state.close();
    stopSigns();
  }
}
