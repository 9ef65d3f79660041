/** What the status of a fleet shows. */
import { rfc3339 } from '../../base/index.ts';
import { present, type Health, type Statement } from '../../engine/status/index.ts';
import { ownerLabel, type ConditionType } from '../../resources/index.ts';
import type { OwnerRevision } from '../../state/index.ts';
import { observedReferences } from '../container-service/status.ts';
import { begunAnalyses } from './analysis.ts';
import type { Scaled } from './schema-wanted.ts';
import { inPhase } from './inputs.ts';
import type { FleetLook } from './look.ts';
import { hasContent, revisionName } from './revisions.ts';
import { standings, type Standing } from './placement.ts';
import type { UpdateStep } from './schema.ts';
import type { RolloutRecord } from './state.ts';
import { stepsLeft } from './steps.ts';
import { floorOf } from './rollout.ts';

const endpointsShown = 100;

export function fleetHealth({ replicas, wanted }: FleetLook): Health {
  const running = inPhase(replicas, 'wanted');
  const available = running.filter(({ isAvailable, content }) => isAvailable && content === 'updated').length;
  if (available >= wanted.count) return { ready: 'True', reason: 'AllAvailable', message: '' };
  const message = `${available} of ${wanted.count} replicas are available as the template requires`;
  return { ready: 'False', reason: 'ReplicasNotReady', message };
}

export function observedFleet(look: FleetLook): Record<string, unknown> {
  const { replicas, wanted, name, endpoints, revisions, healthy, update } = look;
  const running = inPhase(replicas, 'wanted');
  const count = (test: (replica: (typeof running)[number]) => boolean) => running.filter(test).length;
  return {
    replicas: running.length,
    desiredReplicas: wanted.count,
    // Until the revision of an edited template is recorded, replicas are compared with the one before.
    updatedReplicas: isOfPresent(look) ? count(({ content }) => content === 'updated') : 0,
    readyReplicas: count(({ isReady }) => isReady),
    availableReplicas: count(({ isAvailable }) => isAvailable),
    drainingReplicas: replicas.length - running.length,
    failedReplicas: count(({ givenUp }) => givenUp !== undefined),
    selector: `${ownerLabel}=${name}`,
    ...(healthy ? { currentRevision: revisionName(healthy.number) } : {}),
    ...(update ? { updateRevision: revisionName(update.number) } : {}),
    ...(revisions.length > 0 ? { revisions: revisions.map(shownRevision) } : {}),
    ...(look.state.rollout ? { rollout: shownRollout(look, look.state.rollout) } : {}),
    ...(wanted.schedule === undefined ? {} : { schedule: wanted.schedule }),
    ...(look.shed ? { limitedBy: `Budget ${look.shed.budget}` } : {}),
    ...(wanted.scaled ? { scaled: shownScaled(wanted.scaled) } : {}),
    ...shownPlacement(look),
    ...observedReferences(look.template, { kind: 'none' }),
    ...(endpoints.length > 0 ? { endpoints: endpoints.slice(0, endpointsShown) } : {}),
  };
}

function isOfPresent(look: FleetLook): boolean {
  return look.update === undefined || hasContent(look.update, look.present);
}

function shownRevision({ number, outcome, at, content, reason }: OwnerRevision) {
  const image = content['image'];
  return {
    name: revisionName(number),
    outcome,
    at: rfc3339(at),
    ...(typeof image === 'string' ? { image } : {}),
    ...(reason === undefined ? {} : { reason }),
  };
}

function shownScaled({ replicas, until }: Scaled): object {
  return { replicas, ...(until === undefined ? {} : { until: rfc3339(until) }) };
}

/** With a fleet that has `placement`, or whose replicas stay where they are. */
function shownPlacement(look: FleetLook) {
  const { placement, update } = look.object.spec;
  if (!placement && update.mode !== 'InPlace') return {};
  const shown = placement ? standings(look).map(shownStanding) : [];
  const outdated = inPhase(look.replicas, 'wanted').filter(({ candidate }) => candidate === undefined);
  const others = { candidate: '', replicas: outdated.length, state: 'Outdated' };
  if (!placement && outdated.length === 0) return {};
  return { placement: outdated.length > 0 ? [...shown, others] : shown };
}

function shownStanding({ market, replicas, state, message, retryAt }: Standing) {
  const { candidate, price } = market;
  return present({
    candidate: candidate.name,
    replicas,
    state,
    message: message === '' ? undefined : message,
    retryAt: retryAt === undefined ? undefined : rfc3339(retryAt),
    hourlyMicros: price?.micros,
    basis: price?.basis,
  });
}

function shownRollout(
  look: FleetLook,
  { phase, revision, attempt, since, progressAt, stopped, failures, cause }: RolloutRecord,
) {
  const { object, update, healthy } = look;
  const left = stepsLeft(look);
  const isCounting = phase === 'Progressing' && update?.outcome !== 'Healthy';
  const deadline = progressAt + object.spec.update.progressDeadlineSeconds * 1000;
  return {
    phase,
    revision: revisionName(revision),
    ...(healthy ? { from: revisionName(healthy.number) } : {}),
    attempt,
    ...(left ? { step: left.rollout.step + 1, of: left.steps.length, kind: kindOf(left.current) } : {}),
    ...shownAnalyses(look),
    since: rfc3339(since),
    ...(isCounting && !stopped ? { deadline: rfc3339(deadline) } : {}),
    ...(stopped ? { waitsFor: stopped.reason, waitsSince: rfc3339(stopped.since) } : {}),
    ...(failures.length > 0 ? { failures: failures.slice(0, 5) } : {}),
    ...(cause === undefined ? {} : { cause }),
  };
}

function kindOf(step: UpdateStep): string | undefined {
  return Object.keys(step)[0];
}

function shownAnalyses({ state, object, nowMs }: FleetLook): object {
  const { rollout } = state;
  const begun = rollout ? begunAnalyses(rollout, object.spec.update.steps ?? [], nowMs) : [];
  if (begun.length === 0) return {};
  const analyses = begun.map(({ record: { step, passed, failed, inconclusive, last } }) =>
    present({ step: step + 1, passed, failed, inconclusive, message: last }),
  );
  return { analyses };
}

/** Present while it is True; the condition is False from then on. */
export function rolledBack({ state, target }: FleetLook): (readonly [ConditionType, Statement])[] {
  const { rollout } = state;
  if (rollout?.phase !== 'RolledBack') return [];
  const has = target ? `, and the replicas have ${revisionName(target.number)}` : '';
  const message = `${revisionName(rollout.revision)} failed: ${rollout.cause ?? 'it was tried before'}${has}`;
  return [['RolledBack', { status: 'True', reason: 'RevisionFailed', message }]];
}

export function availability(look: FleetLook): readonly [ConditionType, Statement] {
  const available = inPhase(look.replicas, 'wanted').filter(({ isAvailable }) => isAvailable).length;
  const floor = floorOf(look);
  const message = `${available} of ${look.wanted.count} replicas are available; the fleet allows no fewer than ${floor}`;
  return [
    'Available',
    available >= floor
      ? { status: 'True', reason: 'EnoughAvailable', message }
      : { status: 'False', reason: 'TooFewAvailable', message },
  ];
}
