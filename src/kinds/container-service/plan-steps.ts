/**
 * The steps towards a service that exists and differs, in the order of the table in plan.ts; and which differences are
 * corrected by them.
 */
import {
  patchService,
  resizeService,
  restartService,
  setSleepPolicy,
  startService,
  stopService,
} from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import { isOnlyReported, type Action, type Difference, type Step } from '../../engine/plan/index.ts';
import { disruptionObstacle, mayInterrupt } from './disruption.ts';
import { wireEnvironment } from './environment.ts';
import type { ServiceInputs } from './inputs.ts';

export interface MutableDifferences {
  readonly patch: readonly Difference[];
  readonly resources: readonly Difference[];
  readonly sleep: readonly Difference[];
  readonly power: readonly Difference[];
  readonly all: readonly Difference[];
}

/** The steps for everything that may be corrected, in the order of the table in plan.ts. */
export function planSteps(
  inputs: ServiceInputs,
  service: wire.Service,
  differences: MutableDifferences,
): Step[] {
  const { object, record, volume } = inputs;
  const { spec } = object;
  const { id, state } = service;
  const allowed = (list: readonly Difference[]) => correctableOf(inputs, list);
  const patch = allowed(differences.patch);
  const resources = allowed(differences.resources);
  const sleep = allowed(differences.sleep);
  const power = allowed(differences.power);
  const pausing = volume.kind === 'growing' || awaitsGrowth(inputs, state) !== undefined;
  const runs = state === 'running' || state === 'error';
  const interrupts = () => mayInterrupt(inputs, state);
  const mayRun = spec.desiredState === 'Running' && !pausing && volume.kind !== 'not-ready';
  const steps: Step[] = [];
  const add = (action: Action, list: readonly Difference[], disruptive: boolean, reason = reasonFor(list)) =>
    steps.push({ action, reason, disruptive, differences: list });

  const stops = state === 'running' || state === 'sleeping' || state === 'error';
  if (stops && spec.desiredState === 'Stopped' && power.length > 0) {
    add(stopService({ id }), power, interrupts());
  } else if (stops && volume.kind === 'growing' && volume.needsPause && !volume.failed) {
    add(stopService({ id }), [], interrupts(), 'VolumeExpansion');
  }
  const staysUp = steps.length === 0;
  if (patch.length > 0 && service.revision !== undefined) {
    add(patchAction(inputs, service, service.revision, patch), patch, staysUp && interrupts());
  }
  if (resources.length > 0 && spec.resources) {
    add(resizeService({ id, resources: spec.resources }), resources, staysUp && interrupts());
  }
  if (sleep.length > 0) {
    add(setSleepPolicy({ id, sleepAfterMinutes: spec.sleepAfterMinutes || null }), sleep, false);
  }
  // Asleep under a policy that is only to be reported, it is left asleep.
  const reported = sleep.length < differences.sleep.length;
  const neverSleeps = (spec.sleepAfterMinutes === 0 || spec.sleepAfterMinutes === null) && !reported;
  if (mayRun && state === 'paused' && power.length > 0) {
    const ends = record.kind.pausedFor === 'Budget' ? 'ShedEnded' : reasonFor(power);
    add(startService({ id }), power, false, ends);
  } else if (mayRun && state === 'sleeping' && neverSleeps) {
    add(startService({ id }), power, false, 'NeverSleeps');
  } else if (mayRun && runs && asksForRestart(inputs)) {
    const token = { path: 'restartToken', desired: spec.restartToken, observed: record.restartToken ?? null };
    add(restartService({ id }), [{ ...token, drift: false }], true, 'RestartRequested');
  }
  return steps;
}

function asksForRestart({ object, record }: ServiceInputs): boolean {
  const { restartToken } = object.spec;
  if (restartToken === undefined || restartToken === record.restartToken) return false;
  return object.restartedFor === undefined || object.restartedFor !== record.restartToken;
}

/** It was paused for its volume, which is not allowed to grow now. Started, it would be stopped again as soon as that seems allowed. */
export function awaitsGrowth(
  { record, volume }: Pick<ServiceInputs, 'record' | 'volume'>,
  state: string | undefined,
): string | undefined {
  const isPaused = state === 'paused' && record.kind.pausedFor === 'VolumeExpansion';
  return isPaused && volume.kind === 'usable' ? volume.growthWaits : undefined;
}

/**
 * A start interrupts nothing. So it does not wait behind a change that does: of a service that is paused under a task, the change would
 * wait for the task, and the task for the service.
 */
export function withoutWaitingStart(inputs: ServiceInputs, steps: readonly Step[]): readonly Step[] {
  const start = steps.find(({ action }) => action.do === startService.name);
  const [first, ...rest] = steps;
  if (!start || !first || !disruptionObstacle(inputs, [first, ...rest], [])) return steps;
  return [start, ...steps.filter((step) => step !== start)];
}

function patchAction(
  inputs: ServiceInputs,
  service: wire.Service,
  revision: number,
  differences: readonly Difference[],
): Action {
  const { spec } = inputs.object;
  const differs = (path: string) =>
    differences.some((difference) => difference.path === path || difference.path.startsWith(`${path}.`));
  return patchService({
    id: service.id,
    revision,
    patch: {
      ...(differs('image') && spec.image !== undefined ? { image: spec.image } : {}),
      ...(differs('command') && spec.command !== undefined ? { command: spec.command } : {}),
      ...(differs('httpPort') && spec.httpPort !== undefined ? { httpPort: spec.httpPort } : {}),
    },
    environment: differs('env') ? wireEnvironment(inputs) : undefined,
  });
}

export function corrects(inputs: ServiceInputs, difference: Difference): boolean {
  return !difference.drift || (isToBeCorrected(inputs, difference) && !inputs.driftBrake(difference));
}

/** The environment is sent as a whole: drift of one variable stays while that of another one must not be corrected. */
export function correctableOf(inputs: ServiceInputs, list: readonly Difference[]): Difference[] {
  const kept = list.filter(
    (difference) => isOfEnvironment(difference) && isToBeCorrected(inputs, difference),
  );
  const isBraked = kept.some((difference) => inputs.driftBrake(difference));
  return list.filter(
    (difference) => corrects(inputs, difference) && !(isBraked && kept.includes(difference)),
  );
}

function isOfEnvironment({ path }: Difference): boolean {
  return path === 'env' || path.startsWith('env.');
}

export function isToBeCorrected({ object, record }: ServiceInputs, difference: Difference): boolean {
  return difference.drift && object.spec.driftPolicy === 'Correct' && !isOnlyReported(difference, record);
}

function reasonFor(differences: readonly Difference[]): Step['reason'] {
  return differences.every((difference) => difference.drift) ? 'Drift' : 'SpecChanged';
}
