/** How a service is removed, because its object was, or to be created anew; and the obstacles. */
import { deleteService, resizeService, startService } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import { wholeResources } from '../../api/wire.ts';
import {
  dataLossConfirmed,
  holdFor,
  passingStates,
  proceed,
  settledStates,
  spendingGateOf,
  waitFor,
  waitInUnknownState,
  type Action,
  type Difference,
  type Gate,
  type Plan,
  type Step,
} from '../../engine/plan/index.ts';
import { annotations, remoteName } from '../../resources/index.ts';
import { disruptionObstacle, protectorOf } from './disruption.ts';
import type { ServiceInputs } from './inputs.ts';

/** `creation`: how what takes its place would be planned, were it gone. */
export function planReplacement(
  inputs: ServiceInputs,
  service: wire.Service,
  immutable: readonly Difference[],
  differences: readonly Difference[],
  creation: (inputs: ServiceInputs) => Plan,
): Plan {
  const names = immutable.map((difference) => difference.path).join(', ');
  const path = ['spec', ...(immutable[0]?.path.split('.').slice(0, 1) ?? [])];
  // Nobody can move such a field: the API shows it in another way than it was sent, and would again after a replacement.
  if (immutable.every((difference) => difference.drift)) {
    return holdFor(
      'ImmutableFieldChanged',
      `${names} can't be changed on a service that exists, and is shown in another way than it was applied; write it as the API shows it`,
      { path, differences },
    );
  }
  // It is only known that it differs, not that somebody changed it: people write a place in another form than the
  // API.
  if (inputs.object.spec.adopt && Object.keys(inputs.record.applied).length === 0) {
    return holdFor(
      'ImmutableFieldChanged',
      `${names} can't be changed on a service that exists; a service is adopted as it is: write it as the API shows it, and change it once it is in place`,
      { path, differences },
    );
  }
  if (inputs.object.spec.replacement === 'Never') {
    return holdFor(
      'ImmutableFieldChanged',
      `${names} can't be changed on a service that exists; undo the change, or set \`replacement: Recreate\` to have it deleted and created again`,
      { path, differences },
    );
  }
  const action = deleteService({ id: service.id });
  const steps: [Step, ...Step[]] = [
    { action, reason: 'Replace', disruptive: true, ...withData(inputs), differences: immutable },
  ];
  if (lacksConsent(inputs)) return holdForDataLoss(inputs, 'replacing', steps, differences);
  // Nothing is deleted for the sake of what can't be created.
  const next = creation(withoutService(inputs));
  if (next.kind === 'hold') {
    const { reason, message } = next;
    return holdFor(reason, message, { steps, differences, ...(next.path && { path: next.path }) });
  }
  if (next.kind === 'wait') {
    const { reason, message, recheckAfterMs } = next;
    return waitFor(reason, message, { recheckAfterMs, steps, differences });
  }
  return act(inputs, steps, differences, inputs.gates.deletion);
}

/** As it will be once the service has gone. */
export function withoutService(inputs: ServiceInputs): ServiceInputs {
  const { replacementVolume, ownsStorage, volumesInAccount } = inputs;
  // A volume that can only grow once nobody uses it waits for us.
  const waitsForUs =
    replacementVolume.kind === 'growing' && replacementVolume.needsPause && !replacementVolume.failed;
  return {
    ...inputs,
    observation: { kind: 'absent', confirmed: true },
    volume: waitsForUs ? { kind: 'usable', id: replacementVolume.id } : replacementVolume,
    volumesInAccount: volumesInAccount - (ownsStorage ? 1 : 0),
  };
}

export function planServiceDeletion(inputs: ServiceInputs, service: wire.Service): Plan {
  const differences = [{ path: 'service', desired: null, observed: service.id, drift: false }];
  const state = service.state ?? '(none)';
  if (state === 'deleting') return waitFor('Deleting', 'the service is being deleted', { differences });
  if (!settledStates.has(state) && !passingStates.has(state)) return waitInUnknownState(state, differences);
  const action = deleteService({ id: service.id });
  const steps: [Step, ...Step[]] = [
    { action, reason: 'Deleted', disruptive: true, ...withData(inputs), differences },
  ];
  if (lacksConsent(inputs)) return holdForDataLoss(inputs, 'deleting', steps, differences);
  return act(inputs, steps, differences, inputs.gates.deletion);
}

function withData({ ownsStorage }: ServiceInputs): Pick<Step, 'destroysData'> {
  return ownsStorage ? { destroysData: true } : {};
}

function holdForDataLoss(
  inputs: ServiceInputs,
  doing: string,
  steps: readonly Step[],
  differences: readonly Difference[],
): Plan {
  const name = serviceName(inputs);
  const { derived, externalId } = inputs.record;
  const advice = derived
    ? `${derived.owner} did not make that storage, so it does not decide about it; check the data, and delete service ${externalId} at the provider`
    : `to allow it, annotate the object with ${annotations.confirmDataLoss}: "${name}" (restore it first if it was removed), ` +
      'or keep the service with deletionPolicy: Retain';
  return holdFor(
    'DataLossUnconfirmed',
    `${doing} the service would destroy the storage that it owns; ${advice}`,
    { path: ['metadata', 'annotations'], steps, differences },
  );
}

/** Storage would be deleted with the service, and nobody has confirmed that. */
export function lacksConsent(inputs: ServiceInputs): boolean {
  return inputs.ownsStorage && !dataLossConfirmed(inputs.object, serviceName(inputs));
}

export function serviceName({ object }: ServiceInputs): string {
  return remoteName('ContainerService', object.name, object.spec);
}

/** The first step, unless the object is paused, a gate is shut, or somebody's work would be interrupted. */
export function act(
  inputs: ServiceInputs,
  steps: readonly [Step, ...Step[]],
  differences: readonly Difference[],
  gate?: Gate,
): Plan {
  const { object, gates } = inputs;
  const spending = costsMore(inputs, steps[0].action) ? spendingGateOf(gates, steps[0]) : undefined;
  const plan = proceed(object, steps, differences, gate ?? spending);
  if (plan.kind !== 'act') return plan;
  const obstacle = disruptionObstacle(inputs, steps, differences);
  if (obstacle || !plan.step.disruptive) return obstacle ?? plan;
  const overrides = protectorOf(inputs);
  return overrides === undefined ? plan : { ...plan, step: { ...plan.step, overrides } };
}

function costsMore({ observation }: ServiceInputs, action: Action): boolean {
  if (action.do === startService.name) return true;
  if (action.do !== resizeService.name || observation.kind !== 'present') return false;
  const now = wholeResources(observation.value.resources);
  const { gpuCount, cpu, memoryGb } = action.resources;
  return !now || gpuCount > now.gpuCount || cpu > now.cpu || memoryGb > now.memoryGb;
}
