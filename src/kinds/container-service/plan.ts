/**
 * The planner of a ContainerService.
 *
 *     absent ── create ──> provisioning ──> running <── start ── paused
 *                                           │  ▲  └─── stop ────> ▲
 *                             idle sleep    ▼  │ (by the provider)
 *                                         sleeping          error: restart, or a person
 *
 * The next step for a service that exists is the first one that applies:
 *
 * | what is observed                        | step                                                              |
 * |-----------------------------------------|-------------------------------------------------------------------|
 * | it is to be stopped for a budget, or is | stop, or Hold (shedding.ts)                                       |
 * | an immutable field differs              | Hold, or delete to be created again (`replacement: Recreate`)     |
 * | it runs and should be paused            | stop: desired Stopped, or its volume has to grow                  |
 * | image, command, env or httpPort differ  | patch: one request; the environment whole or not at all (§2)      |
 * | resources differ                        | resize: the whole object (§2)                                     |
 * | the sleep policy differs                | set it: it has an endpoint of its own (§4)                        |
 * | it is paused and should run             | start: never restart (§3 rule 1)                                  |
 * | the restart token is new, and it runs   | restart: running or error only (§3 rule 1)                        |
 *
 * Stopping comes before patching and starting after it, so that a service that changes its power state anyway is not
 * restarted once more; only where these changes wait for a task, a paused service is started first. `sleeping` is converged: it is not woken, unless the spec never allows sleep. In an unknown
 * state nothing is done; it is only reported.
 */
import { createService } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import { limits } from '../../api/wire.ts';
import { invariant } from '../../base/index.ts';
import {
  compareFields,
  hasVanished,
  holdFor,
  holdForMassDrift,
  inSync,
  isDrift,
  passingStates,
  planLifecycle,
  settledStates,
  spendingGateOf,
  waitFor,
  waitInUnknownState,
  withUnrecorded,
  type Difference,
  type Field,
  type Plan,
  type Step,
} from '../../engine/plan/index.ts';
import { annotations, type ContainerServiceSpec } from '../../resources/index.ts';
import { environmentDifferences, wireEnvironment } from './environment.ts';
import {
  createFields,
  immutableFields,
  patchFields,
  removedOf,
  resourcesField,
  sleepField,
} from './fields.ts';
import type { ServiceInputs } from './inputs.ts';
import {
  awaitsGrowth,
  correctableOf,
  corrects,
  isToBeCorrected,
  planSteps,
  withoutWaitingStart,
  type MutableDifferences,
} from './plan-steps.ts';
import { planError, probation } from './remediation.ts';
import { act, lacksConsent, planReplacement, planServiceDeletion, serviceName } from './removal.ts';
import { holdForRemoved, isUnsetByReplacement } from './removed-fields.ts';
import { revisionDrift, environmentRevisionDrift } from './revision-drift.ts';
import { planShed } from './shedding.ts';
import { templateObstacle, withAwaitedTemplate, withTakenOut } from './template.ts';

export function planService(inputs: ServiceInputs): Plan {
  return planLifecycle(inputs, {
    noun: 'service',
    create: () => planAbsent(inputs),
    change: (service) => withTakenOut(inputs, service, planPresent(inputs, service)),
    remove: (service) => planServiceDeletion(inputs, service),
  });
}

// ---- creation ----------------------------------------------------------------------------------------

function planAbsent(inputs: ServiceInputs): Plan {
  const { record, object } = inputs;
  const shed = planShed(inputs, undefined, []);
  if (shed) return shed;
  const vanished = hasVanished(inputs);
  const lost: Difference[] = vanished
    ? [{ path: 'service', desired: record.externalId, observed: null, drift: true }]
    : [];
  if (vanished && object.spec.driftPolicy === 'Report') return inSync(lost);
  if (vanished && lacksConsent(inputs)) {
    return holdFor(
      'DataLost',
      `service ${record.externalId} was deleted by somebody else, and its storage with it; ` +
        `to create it again with empty storage, annotate the object with ${annotations.confirmDataLoss}: "${serviceName(inputs)}"`,
      { differences: lost },
    );
  }
  return planCreation(inputs, lost);
}

function planCreation(inputs: ServiceInputs, lost: readonly Difference[]): Plan {
  const { gates, volume, environment, registry } = inputs;
  if (environment.kind === 'problem') {
    return holdFor(environment.reason, environment.message, { path: environment.path, differences: lost });
  }
  if (volume.kind === 'problem') {
    return holdFor(volume.reason, volume.message, { path: volume.path, differences: lost });
  }
  const obstacle = templateObstacle(inputs, undefined, lost);
  const awaited = obstacle?.kind === 'hold' ? undefined : withAwaitedTemplate(inputs);
  if (awaited) {
    const step = creationStep(awaited.inputs, lost);
    const gated = act(awaited.inputs, [step], step.differences, gates.creation);
    if (gated.kind === 'hold') return gated;
    return waitFor('TemplateNotReady', awaited.message, { steps: [step], differences: step.differences });
  }
  if (obstacle) return obstacle;
  const step = creationStep(inputs, lost);
  const steps: [Step, ...Step[]] = [step];
  const { action, differences } = step;
  if (volume.kind === 'not-ready' || volume.kind === 'growing') {
    return waitFor('VolumeNotReady', volume.message, { steps, differences });
  }
  // Storage that a creation makes is a volume of the account, too.
  if (action.body.volumeGb !== undefined && inputs.volumesInAccount >= limits.volumesPerAccount) {
    return holdFor(
      'LimitReached',
      `the service needs a new volume, the account already has ${inputs.volumesInAccount}, and the API allows ${limits.volumesPerAccount} (§8); delete one that is not needed`,
      { path: ['spec', 'storage'], steps, differences },
    );
  }
  if (registry.kind === 'not-ready') {
    const message = `the image is pulled with the access of ImageRegistry ${registry.name}, which does not exist yet`;
    return waitFor('RegistryNotReady', message, { steps, differences });
  }
  return act(inputs, steps, differences, gates.creation ?? spendingGateOf(gates, step));
}

function creationStep(inputs: ServiceInputs, lost: readonly Difference[]) {
  const { volume, object, record } = inputs;
  const action = createService({
    body: createBody(inputs, volume.kind === 'usable' ? volume.id : undefined),
    environment: wireEnvironment(inputs),
  });
  const differences: Difference[] = [...lost];
  for (const { path, desired, from } of createFields(object.spec, inputs)) {
    if (desired === undefined) continue;
    const difference = { path, desired, observed: null, drift: lost.length > 0 };
    differences.push(from === undefined ? difference : { ...difference, from });
  }
  const reason = lost.length > 0 ? 'Vanished' : record.deletedByUs ? 'Replace' : 'Create';
  return { action, reason, disruptive: false, differences } as const;
}

function createBody(
  inputs: ServiceInputs,
  volumeId: string | undefined,
): Parameters<typeof createService>[0]['body'] {
  const { spec } = inputs.object;
  const { image, resources } = spec;
  invariant(image !== undefined, 'a service without image');
  return {
    name: serviceName(inputs),
    region: spec.region,
    image,
    resources,
    ...(spec.geography === undefined ? {} : { geography: spec.geography }),
    ...(spec.command === undefined ? {} : { command: spec.command }),
    ...(spec.httpPort === undefined ? {} : { httpPort: spec.httpPort }),
    ...(volumeId === undefined ? newStorage(spec) : { volumeId }),
    ...(spec.sleepAfterMinutes === undefined ? {} : { sleepAfterMinutes: spec.sleepAfterMinutes || null }),
  };
}

function newStorage({ storage }: ContainerServiceSpec): Pick<wire.ServiceCreate, 'volumeGb' | 'volumeMode'> {
  if (storage?.volumeGb === undefined) return {};
  const { volumeGb, volumeMode } = storage;
  return volumeMode === undefined ? { volumeGb } : { volumeGb, volumeMode };
}

// ---- a service that exists ---------------------------------------------------------------------------

function planPresent(inputs: ServiceInputs, service: wire.Service): Plan {
  const { environment, volume } = inputs;
  const immutable = compareImmutable(inputs, service);
  const mutable = compareMutable(inputs, service);
  // Reported in every case: they settle open outcomes.
  const removed = removedOf(inputs, service);
  const differences = [...immutable, ...mutable.all, ...removed];
  if (environment.kind === 'problem') {
    return holdFor(environment.reason, environment.message, { path: environment.path, differences });
  }
  if (volume.kind === 'problem') {
    return holdFor(volume.reason, volume.message, { path: volume.path, differences });
  }
  const obstacle = templateObstacle(inputs, service, differences);
  if (obstacle) return obstacle;
  const state = service.state ?? '(none)';
  if (state === 'deleting') return waitFor('Deleting', `the service is ${state}`, { differences });
  if (passingStates.has(state)) {
    const steps = stepsOnceUp(inputs, service);
    return waitFor('Provisioning', `the service is ${state}`, { steps, differences });
  }
  if (!settledStates.has(state)) return waitInUnknownState(state, differences);
  const shed = planShed(inputs, service, differences);
  if (shed) return shed;
  const unset = inputs.object.spec.replacement === 'Recreate' ? removed.filter(isUnsetByReplacement) : [];
  const correctable = [...immutable.filter((difference) => corrects(inputs, difference)), ...unset];
  if (correctable.length > 0) {
    return planReplacement(inputs, service, correctable, differences, (without) => planCreation(without, []));
  }
  if (service.revision === undefined && correctableOf(inputs, mutable.patch).length > 0) {
    const message = 'the API shows no revision of the service, and a patch needs one (§4 rule 3)';
    return waitFor('AwaitingObservation', message, { differences });
  }
  const [first, ...rest] = withoutWaitingStart(inputs, planSteps(inputs, service, mutable));
  if (first) return act(inputs, [first, ...rest], differences);
  return (
    planKept(inputs, service, mutable, differences) ??
    planAwaited(inputs, service, differences) ??
    holdForRemoved(removed, differences) ??
    inSync(differences, probation(inputs.record.kind, inputs.nowMs).leftMs)
  );
}

/** The steps for a service that is on its way up, if a restart is among them: it differs from nothing that is shown. */
function stepsOnceUp(inputs: ServiceInputs, service: wire.Service): readonly Step[] {
  const { restartToken } = inputs.object.spec;
  if (restartToken === undefined || restartToken === inputs.record.restartToken) return [];
  const plan = planPresent(inputs, { ...service, state: 'running' });
  const steps = plan.kind === 'act' ? [plan.step, ...plan.later] : plan.kind === 'wait' ? plan.steps : [];
  return steps.some(({ reason }) => reason === 'RestartRequested') ? steps : [];
}

/** Drift that would be corrected, were it not on so many services at once. */
function planKept(
  inputs: ServiceInputs,
  service: wire.Service,
  mutable: MutableDifferences,
  differences: readonly Difference[],
): Plan | undefined {
  const kept = differences.filter((difference) => isToBeCorrected(inputs, difference));
  const steps =
    kept.length > 0 ? planSteps({ ...inputs, driftBrake: () => undefined }, service, mutable) : [];
  return holdForMassDrift(kept, inputs.driftBrake, { steps, differences });
}

/** There is nothing to be done in this state but to wait, or to ask a person. */
function planAwaited(
  inputs: ServiceInputs,
  service: wire.Service,
  differences: readonly Difference[],
): Plan | undefined {
  const { object, volume } = inputs;
  const { state } = service;
  if (state === 'error') return planError(inputs, service, differences);
  if (state === 'paused' && object.spec.desiredState === 'Running' && volume.kind === 'growing') {
    return volume.failed
      ? holdFor('VolumeExpansionFailed', `paused for its volume, which could not grow: ${volume.message}`, {
          differences,
        })
      : waitFor('PausedForVolumeExpansion', `paused until its volume has grown: ${volume.message}`, {
          differences,
        });
  }
  const growthWaits = awaitsGrowth(inputs, state);
  if (growthWaits !== undefined && object.spec.desiredState === 'Running') {
    return waitFor(
      'PausedForVolumeExpansion',
      `paused until its volume has grown, which waits: ${growthWaits}`,
      {
        differences,
      },
    );
  }
  if (state === 'paused' && object.spec.desiredState === 'Running' && volume.kind === 'not-ready') {
    return waitFor('VolumeNotReady', volume.message, { differences });
  }
  return undefined;
}

function compareMutable(inputs: ServiceInputs, service: wire.Service): MutableDifferences {
  const { object, record, owner } = inputs;
  const { spec } = object;
  const compare = (fields: readonly Field[]) => [
    ...withUnrecorded(inputs, compareFields(fields, record, owner.digestKey)),
    ...revisionDrift(inputs, service, fields),
  ];
  const sent = [...compare(patchFields(spec, service)), ...environmentDifferences(inputs, service)];
  const resources = compare([resourcesField(spec, service)]);
  const sleep = compare([sleepField(spec, service)]);
  const power = withUnrecorded(inputs, powerDifferences(inputs, service));
  const visible = seen([...sent, ...resources, ...sleep, ...power]);
  const patch = [...sent, ...environmentRevisionDrift(inputs, service, { visible, inPatch: seen(sent) })];
  return { patch, resources, sleep, power, all: [...patch, ...resources, ...sleep, ...power] };
}

function seen(differences: readonly Difference[]): Difference[] {
  return differences.filter(({ revisionMoved }) => !revisionMoved);
}

function powerDifferences({ object, record, owner }: ServiceInputs, service: wire.Service): Difference[] {
  const observed = service.state === 'paused' ? 'Stopped' : 'Running';
  const desired = object.spec.desiredState;
  if (desired === observed) return [];
  // Paused by us for its volume's sake, or for a budget, is not drift, and neither is the start that follows.
  const drift =
    isDrift('desiredState', owner.digestKey.digest(desired), record) && record.kind.pausedFor === undefined;
  return [{ path: 'desiredState', desired, observed, drift }];
}

function compareImmutable(inputs: ServiceInputs, service: wire.Service): Difference[] {
  const { record, owner } = inputs;
  return withUnrecorded(inputs, compareFields(immutableFields(inputs, service), record, owner.digestKey));
}
