/**
 * A service that is stopped for a budget (engine/plan/shedding.ts has whom it concerns, and when).
 *
 * | an order is in force, and the service | step                                                                            |
 * |---------------------------------------|---------------------------------------------------------------------------------|
 * | runs, or is in error                  | stop: a disruption like any other, and never of anything protected, outside a window, or with `disruption: Never` |
 * | was stopped for it, and runs again    | as without an order: somebody has started it, so the order ends                 |
 * | is paused, or is gone                 | Hold, until the order ends; then it is started, or made anew, as the budget allows |
 * | is asleep, or in passing              | as without an order                                                             |
 *
 * Work in the service keeps it from being stopped even with `disruption: Always`: nobody has accepted that interruption.
 */
import { stopService } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import { rfc3339 } from '../../base/index.ts';
import { holdFor, serviceBurn, holdsCompute, type Difference, type Plan } from '../../engine/plan/index.ts';
import type { ShedSubject, ShedWay } from '../../engine/index.ts';
import {
  annotations,
  windowState,
  type ContainerServiceSpec,
  type ServiceState,
} from '../../resources/index.ts';
import { protectorOf } from './disruption.ts';
import type { ServiceInputs } from './inputs.ts';
import { act } from './removal.ts';

/** States in which a stop saves something. */
const stoppable: ReadonlySet<string> = new Set(['running', 'error']);

/** How it can be stopped for a budget. `tasks`: declared ones that protect it. Replicas are their fleet's. */
export function shedService(
  { record, object, snapshot, nowMs }: ShedSubject<ContainerServiceSpec, ServiceState>,
  tasks: readonly string[],
): ShedWay | undefined {
  if (record.derived) return undefined;
  const service = record.externalId === undefined ? undefined : snapshot?.services.get(record.externalId);
  return {
    annotations: object.annotations,
    isWanted: object.spec.desiredState === 'Running',
    obstacle: obstacleOf(object, service, tasks, nowMs),
    isDown: !service || !holdsCompute(service),
    isStopping: record.kind.pausedFor === 'Budget',
    isUp: service?.state === 'running',
    savesMicros: (service && serviceBurn(service)) ?? 0n,
  };
}

function obstacleOf(
  { spec, annotations: given }: ShedSubject<ContainerServiceSpec, ServiceState>['object'],
  service: wire.Service | undefined,
  tasks: readonly string[],
  nowMs: number,
): string | undefined {
  if (given[annotations.paused] === 'true') return `it has the annotation ${annotations.paused}`;
  if (spec.disruption === 'Never') return 'it has `disruption: Never`';
  const protector = protectorOf({ activities: [], declaredTasks: tasks });
  if (protector !== undefined) return `it is protected by ${protector}`;
  if (!windowState(spec.disruptionWindows, nowMs).open) return 'no disruption window of it is open';
  if (service && !stoppable.has(service.state ?? '')) return `it is ${service.state ?? 'in no known state'}`;
  return undefined;
}

/** Undefined: it is planned as without a budget. */
export function planShed(
  inputs: ServiceInputs,
  service: wire.Service | undefined,
  differences: readonly Difference[],
): Plan | undefined {
  const { shed, object } = inputs;
  if (!shed || object.spec.desiredState !== 'Running') return undefined;
  const state = service?.state ?? '';
  if (service && stoppable.has(state)) {
    if (shed.phase === 'done' || shed.wasStopped) return undefined;
    const { id } = service;
    const change = { path: 'desiredState', desired: 'Stopped', observed: 'Running', drift: false };
    const step = {
      action: stopService({ id }),
      reason: 'Shed',
      disruptive: true,
      differences: [change],
    } as const;
    return act(strict(inputs), [step], differences);
  }
  if (service && state !== 'paused') return undefined;
  return holdFor(
    'ShedForBudget',
    `stopped for Budget ${shed.budget} since ${rfc3339(shed.since)}, because a limit was passed; it starts again when there is room, ` +
      `or at once with the annotation ${annotations.exemptFromSheddingUntil}`,
    { differences },
  );
}

/** No exception for what is in error, or may always be interrupted. */
function strict(inputs: ServiceInputs): ServiceInputs {
  const { object } = inputs;
  const { spec } = object;
  const disruption = spec.disruption === 'Always' ? 'WhenUnprotected' : spec.disruption;
  return { ...inputs, object: { ...object, spec: { ...spec, disruption } }, isShedding: true };
}
