/**
 * The steps of later passes: the planner runs on what its steps lead to, one after the other. Of a service that is created and is to
 * be paused, that is the stop; of one that is paused for its volume, the start. Gates are taken as open, and other objects of the
 * plan as done, since a step is judged once more before it is sent. What nobody can know before is left out: restarts after errors.
 */
import {
  actions,
  createService,
  deleteService,
  patchService,
  resizeService,
  restartService,
  setSleepPolicy,
  startService,
  stopService,
} from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import type { Action, Plan, Step } from '../../engine/plan/index.ts';
import { serviceDigests } from './fields.ts';
import type { ServiceInputs } from './inputs.ts';
import { planService } from './plan.ts';
import { rememberedOf } from './remembered.ts';
import { withoutService } from './removal.ts';
import { withAwaitedTemplate } from './template.ts';

export function laterSteps(inputs: ServiceInputs, plan: Plan): Step[] {
  const steps = stepsOf(plan);
  if (steps.length === 0 && !waitsForVolume(plan)) return [];
  const later: Step[] = [];
  // No service needs the same action twice. Where that seems so, nobody knows what follows.
  const names = new Set(steps.map(({ action }) => action.do));
  let at = steps.reduce(after, undisturbed(inputs));
  for (let next = nextOf(at); next && !names.has(next.step.action.do); next = nextOf(at)) {
    names.add(next.step.action.do);
    later.push(next.step);
    at = after(next.at, next.step);
  }
  return later;
}

function waitsForVolume(plan: Plan): boolean {
  return (
    plan.kind === 'wait' && (plan.reason === 'VolumeNotReady' || plan.reason === 'PausedForVolumeExpansion')
  );
}

/** If there is nothing else to do, the volume is as it is to be then. */
function nextOf(at: ServiceInputs): { readonly step: Step; readonly at: ServiceInputs } | undefined {
  const [step] = stepsOf(planService(at));
  if (step) return { step, at };
  const { volume } = at;
  const isThere = volume.kind === 'usable' && volume.growthWaits === undefined;
  if (isThere || volume.kind === 'none' || volume.kind === 'problem') return undefined;
  const there = { ...at, volume: { kind: 'usable', id: volume.id ?? '' } } as const;
  const [then] = stepsOf(planService(there));
  return then && { step: then, at: there };
}

function stepsOf(plan: Plan): readonly Step[] {
  if (plan.kind === 'act') return [plan.step, ...plan.later];
  return plan.kind === 'wait' ? plan.steps : [];
}

function undisturbed(inputs: ServiceInputs): ServiceInputs {
  return {
    ...(withAwaitedTemplate(inputs)?.inputs ?? inputs),
    gates: { creation: undefined, deletion: undefined, spending: undefined },
    driftBrake: () => undefined,
    activities: [],
    declaredTasks: [],
    holdsActivity: () => false,
  };
}

/** As the service is once the request has taken effect. It has no id yet if it is made by it. */
function after(before: ServiceInputs, { action, reason }: Step): ServiceInputs {
  const inputs = withMemory(before, action.do, reason);
  const applied = withApplied(inputs, action);
  if (action.do === createService.name) {
    const { body, environment } = action;
    const service = { ...body, id: '', state: 'running', revision: 1, ...shownNames(environment.reveal()) };
    const record = { ...applied.record, externalId: '', deletedByUs: false };
    return seen({ ...applied, record }, service);
  }
  if (action.do === deleteService.name) {
    return withoutService({ ...inputs, record: { ...inputs.record, deletedByUs: true } });
  }
  if (action.do === patchService.name) {
    const names = action.environment ? shownNames(action.environment.reveal()) : {};
    // The revision stays: what moves it is no change of anybody else.
    return changed(applied, { ...action.patch, ...names });
  }
  if (action.do === resizeService.name) return changed(applied, { resources: action.resources });
  if (action.do === setSleepPolicy.name) {
    return changed(applied, { sleepAfterMinutes: action.sleepAfterMinutes });
  }
  if (action.do === stopService.name) return changed(grown(applied), { state: 'paused' });
  const starts = action.do === startService.name || action.do === restartService.name;
  return starts ? changed(applied, { state: 'running' }) : inputs;
}

function shownNames(environment: Readonly<Record<string, string>>): { environmentNames: string[] } {
  return { environmentNames: Object.keys(environment) };
}

/** What the record remembers of a request that was sent, and applied. */
function withMemory(inputs: ServiceInputs, action: string, reason: Step['reason']): ServiceInputs {
  const { record, nowMs: at } = inputs;
  const { generation } = record;
  const sent = rememberedOf(record.kind, { is: 'intended', action, reason, generation, at });
  return { ...inputs, record: { ...record, kind: rememberedOf(sent, { is: 'applied', action }) } };
}

function withApplied(inputs: ServiceInputs, { do: name }: Action): ServiceInputs {
  const { record, object } = inputs;
  const { fields, answersRestart } = actions[name];
  const digests = Object.entries(serviceDigests(inputs));
  // A service that is created runs, whatever it is to do.
  const isSent = (field: string) => (fields === 'all' ? field !== 'desiredState' : fields.includes(field));
  return {
    ...inputs,
    record: {
      ...record,
      applied: {
        ...(fields === 'all' ? {} : record.applied),
        ...Object.fromEntries(digests.filter(([field]) => isSent(field))),
      },
      unconfirmed: record.unconfirmed.filter((field) => !isSent(field)),
      doubted: record.doubted.filter((field) => !isSent(field)),
      ...(answersRestart ? { restartToken: object.spec.restartToken } : {}),
    },
  };
}

/** While the service is paused, its volume grows. */
function grown(inputs: ServiceInputs): ServiceInputs {
  const { volume } = inputs;
  return volume.kind === 'growing' ? { ...inputs, volume: { kind: 'usable', id: volume.id } } : inputs;
}

function seen(inputs: ServiceInputs, service: wire.Service): ServiceInputs {
  const { volume } = inputs;
  const made = { ...inputs, attachedVolume: undefined };
  if (volume.kind !== 'not-ready' && volume.kind !== 'growing') {
    return { ...made, observation: { kind: 'present', value: service } };
  }
  // It was made with the volume that it waited for.
  const volumeId = volume.id ?? '';
  return {
    ...made,
    observation: { kind: 'present', value: { ...service, volumeId } },
    volume: { kind: 'usable', id: volumeId },
  };
}

function changed(inputs: ServiceInputs, change: Partial<wire.Service>): ServiceInputs {
  const { observation } = inputs;
  if (observation.kind !== 'present') return inputs;
  return { ...inputs, observation: { kind: 'present', value: { ...observation.value, ...change } } };
}
