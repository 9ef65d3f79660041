/**
 * Drift of hidden fields. Every accepted change advances a revision (§2). So a revision that moved without
 * Fleetkeeper shows that somebody changed something. If nothing visible differs, it may be a field that is not
 * returned. The values of an environment never are: whoever sends the beacon's name along with other values changes
 * nothing visible.
 *
 * | the revision moved, and                                   | what follows                                        |
 * |-----------------------------------------------------------|-----------------------------------------------------|
 * | something visible differs that a patch does not change    | drift of that field; the revision shows no more     |
 * | a field differs that a patch changes                      | drift of it; the same patch carries the environment |
 * | all fields that the spec gives are visible                | nothing: none of them has changed                   |
 * | Fleetkeeper has sent a mutation since                     | nothing: that moved it                              |
 * | the state differs from the one then, or is no steady one  | nothing: steps of the lifecycle advance it, too     |
 * | it may have slept and woken by itself in between          | possible drift: reported, and left alone            |
 * | the field was sent again and refused, and it moved since  | possible drift: reported, and left alone            |
 * | otherwise, for each hidden field                          | possible drift: reported, and sent again once       |
 *
 * Once for each generation: a revision that moves on by itself would otherwise restart the service for ever. A refused request counts if the
 * revision moved with it, since it may have been carried out all the same. After
 * that, possible drift is only reported. A service with a sleep policy of n minutes that has run for less than n has
 * not slept. If the wall clock was set back since it was first seen to run, it may have.
 */
import type { wire } from '../../api/index.ts';
import {
  environmentDigest,
  hidden,
  isDrift,
  providerText,
  type Difference,
  type Field,
} from '../../engine/plan/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { ServiceInputs } from './inputs.ts';

const steadyStates = new Set(['running', 'paused', 'sleeping']);

/** Hidden fields among `fields` that somebody may have changed. */
export function revisionDrift(
  inputs: ServiceInputs,
  service: wire.Service,
  fields: readonly Field[],
): Difference[] {
  const { record, owner } = inputs;
  const moved = movement(inputs, service);
  return fields
    .filter(
      ({ name, desired, observed }) =>
        observed === undefined &&
        desired !== undefined &&
        isDrift(name, owner.digestKey.digest(desired), record) &&
        (moved !== 'not' || record.doubted.includes(name)),
    )
    .map(({ name, path, desired }) =>
      revisionDifference(
        path,
        desired,
        moved === 'perhaps' && !record.doubted.includes(name),
        inVain(record, service),
      ),
    );
}

/** `visible`: what differs and can be seen; `inPatch`: of that, what a patch changes. */
export function environmentRevisionDrift(
  inputs: ServiceInputs,
  service: wire.Service,
  { visible, inPatch }: { readonly visible: readonly Difference[]; readonly inPatch: readonly Difference[] },
): Difference[] {
  const { environment, owner, record } = inputs;
  if (environment.kind !== 'given' || inPatch.some(({ path }) => /^env(\.|$)/.test(path))) return [];
  if (service.environmentNames && Object.keys(environment.values.reveal()).length === 0) return [];
  if (!isDrift('env', environmentDigest(owner, environment.values), record)) return [];
  const isExplained = visible.length > 0 && !inPatch.some(({ drift }) => drift);
  const moved = isExplained ? 'not' : movement(inputs, service);
  const isSuspected = record.doubted.includes('env');
  return moved === 'not' && !isSuspected
    ? []
    : [
        revisionDifference(
          'env',
          '(as declared)',
          moved === 'perhaps' && !isSuspected,
          inVain(record, service),
        ),
      ];
}

/** A field that is doubted already is sent again, also once an intent has taken the baseline away: else nothing would ever be sent. */
function revisionDifference(
  path: string,
  desired: unknown,
  isReportOnly: boolean,
  cause: string | undefined,
): Difference {
  const difference = {
    path,
    desired,
    observed: hidden,
    drift: true,
    hidden: true,
    revisionMoved: true,
  } as const;
  if (cause !== undefined) return { ...difference, isReportOnly: true, cause };
  return isReportOnly ? { ...difference, isReportOnly } : difference;
}

/** It was sent again in this generation, and refused, and the revision has moved since. What was found, for people. */
function inVain({ refusal, generation }: ObjectRecord, { revision }: wire.Service): string | undefined {
  const { revision: from, answer = '' } = (refusal?.generation === generation && refusal.resent) || {};
  if (from === undefined || revision === undefined || revision <= from) return undefined;
  return `it was sent again, and refused with ${providerText(answer, [], 100)}, but the revision moved from ${from} to ${revision}: it may have been carried out all the same; the next edit of the document sends it once more`;
}

type Movement = 'not' | 'perhaps' | 'by others';

function movement({ record, object, nowMs }: ServiceInputs, service: wire.Service): Movement {
  const { baseline, seen } = record;
  const { id, revision, state } = service;
  if (baseline?.id !== id || revision === undefined || revision <= baseline.revision) return 'not';
  if (state === undefined || state !== baseline.state || !steadyStates.has(state)) return 'not';
  const sleepAfterMinutes = service.sleepAfterMinutes ?? object.spec.sleepAfterMinutes;
  if (state === 'paused' || !sleepAfterMinutes) return 'by others';
  if (state !== 'running' || seen?.id !== id || seen.state !== state || seen.mayBeOlder) return 'perhaps';
  const runsForMs = nowMs - seen.since;
  // The wall clock was set back if it is negative: how long the service runs is unknown.
  return runsForMs >= 0 && runsForMs < sleepAfterMinutes * 60_000 ? 'by others' : 'perhaps';
}

/**
 * Of a service for which nothing else is to be done: drift that is only reported stays so until the field is sent
 * again.
 */
export function keptRevisionDrift(
  record: ObjectRecord,
  differences: readonly Difference[],
): Partial<Pick<ObjectRecord, 'doubted' | 'resentFor'>> {
  const paths = differences.filter(({ isReportOnly }) => isReportOnly).map(({ path }) => path);
  if (paths.length === 0) return {};
  return { doubted: [...new Set([...record.doubted, ...paths])], resentFor: record.generation };
}
