/** The manager, for as long as it takes until every object is Ready or gone. */
import { messageOf } from '../../base/index.ts';
import type { DesiredSource } from '../../desired/index.ts';
import { oneShotGrace, type PassResult, type StepGuard, type StepPolicy } from '../../engine/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import { Manager } from '../../manager/index.ts';
import type { PlanGuard } from '../../plan-file/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import { createMetrics } from '../../telemetry/index.ts';
import type { Context } from '../context.ts';
import { openLog } from '../log.ts';
import { analysisPrometheus } from '../analysis-prometheus.ts';
import { acceptance, sameFleetFlags } from '../options.ts';
import { needsPerson, readyReasonOf } from '../output/settled.ts';
import { Convergence } from '../progress/convergence.ts';
import { oneLine } from '../output/terminal-text.ts';
import { openProgress, type ProgressScreen } from '../progress/screen.ts';
import { identity } from '../progress/view.ts';
import { environmentAccount } from '../source.ts';
import { countingGuard, forgetCounted } from './counted.ts';
import { firstRefusal } from './first-refusal.ts';
import type { OneShotFlags } from './one-shot.ts';
import { recordsIn, type PartOfFleet, type Records } from './part-of-fleet.ts';
import { words, type OneShotCommand } from './words.ts';

export interface Converged {
  readonly command: OneShotCommand;
  readonly source: DesiredSource;
  readonly store: StateStore;
  readonly part: PartOfFleet | undefined;
  readonly allowMassChange?: boolean | undefined;
  /** The rules of `--policy`. */
  readonly policy?: StepPolicy | undefined;
  /** How long what was started must stay Ready, in milliseconds. */
  readonly stableMs?: number | undefined;
  /** Only what it lets pass is done, and every wait is awaited. */
  readonly guard?: PlanGuard | undefined;
  /** What somebody has agreed to. */
  readonly consent?: StepGuard | undefined;
  readonly onPass?: (key: ObjectKey, result: PassResult) => void;
  /** The records that the end was concluded from. What passes find while all is being stopped is not among them. */
  readonly onFinished?: (records: readonly ObjectRecord[]) => void;
}

/** Resolves with what is missing, in a sentence; undefined: nothing. */
export async function converge(
  context: Context,
  flags: OneShotFlags,
  converged: Converged,
): Promise<string | undefined> {
  const { clock } = context;
  const { command, store, part, stableMs = 0, guard, onPass, onFinished } = converged;
  const end = ending();
  const { finish } = end;
  const records = recordsIn(part, store);
  const screen = await openProgress(context, store, records);
  const convergence: Convergence = new Convergence({
    clock,
    store,
    records,
    stableMs,
    screen,
    isAwaited: guard && ((key) => guard.has(key)),
    passed: () => manager.passed,
    readAgain: () => manager.readAgain(),
    onFinished: () => {
      if (!end.isReached) onFinished?.([...records.records()]);
      finish(stalledIn(records));
    },
  });
  const manager: Manager = new Manager({
    ...managerOptions(context, flags, converged, screen),
    onPass: (key, result) => {
      // What a pass finds while all is being stopped is not what the end was concluded from.
      if (!end.isReached) onPass?.(key, result);
      convergence.onPass(key, result);
    },
    onFailedPass: failureLines(screen),
  });
  const { goal, stopped } = words[command];
  const late = `not all objects are ${goal} after ${flags.timeout / 1000} s; requests under way continue at the provider, and the next run of the command continues from there`;
  const deadline = clock.after(flags.timeout, () => {
    const hint = convergence.isUnclear ? unclearHint : '';
    // What has not been Ready for as long as it must stay so has at least been Ready until now.
    const stalled = stalledIn(records);
    finish(convergence.isSettled ? stalled : [`${late}${hint}`, stalled].filter(Boolean).join('; '));
  });
  context.stopped.addEventListener('abort', () => finish(stopped), { once: true });
  try {
    await manager.start();
    screen.started();
    if ([...records.records()].length === 0) finish(undefined);
    return await end.missing;
  } finally {
    deadline.cancel();
    convergence.stop();
    await manager.stop();
    if (part) await forgetCounted(part.counted, store);
    screen.close();
  }
}

function managerOptions(
  context: Context,
  flags: OneShotFlags,
  { command, source, store, part, policy, allowMassChange = false, guard, consent }: Converged,
  screen: ProgressScreen,
) {
  const { clock, random, ports } = context;
  return {
    ...ports?.network,
    source,
    store,
    environment: environmentAccount(context),
    clock,
    random,
    logger: openLog(context, flags, (text) => screen.log(text)),
    metrics: createMetrics(),
    settleMs: flags.settle,
    grace: oneShotGrace,
    allowMassChange,
    ...acceptance(flags),
    ...analysisPrometheus(context, flags),
    policy,
    mode: 'manage' as const,
    isOneShot: true,
    guard: guard ?? firstRefusal(part && countingGuard(() => part.counted, store), consent),
    ...(part ? { isSelected: (key: ObjectKey) => part.has(key) || part.counted.has(key) } : {}),
    // No limit applies to what somebody agreed to lose.
    ...(command === 'destroy' ? { allowRemovals: true } : {}),
    commandFlags: sameFleetFlags(flags),
  };
}

/** Reached once, with what is missing. */
function ending() {
  const { promise: missing, resolve } = Promise.withResolvers<string | undefined>();
  let isReached = false;
  return {
    missing,
    finish: (what: string | undefined): void => {
      isReached = true;
      resolve(what);
    },
    get isReached() {
      return isReached;
    },
  };
}

/** A line for each different failure, such as a full disk: without it, the whole timeout would pass in silence. */
function failureLines(screen: ProgressScreen): (key: ObjectKey, error: unknown) => void {
  const shown = new Set<string>();
  return (key, error) => {
    const message = oneLine(messageOf(error));
    if (shown.has(message)) return;
    shown.add(message);
    screen.log(`${identity(key)} can't be worked on, and is tried again: ${message}`);
  };
}

const unclearHint =
  '. Each run looks for the outcome of a creation for `visibilitySeconds` of the Account: give it more time with --timeout, or confirm the outcome';

/** Of settled objects: who is needed. */
export function stalledIn(records: Records): string | undefined {
  const stalled = [...records.records()].filter(needsPerson);
  if (stalled.length === 0) return undefined;
  const names = stalled.map((record) => `${identity(record.key)} (${readyReasonOf(record)})`);
  return `${stalled.length} object(s) need a person: ${names.join(', ')}`;
}
