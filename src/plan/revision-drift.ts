/**
 * Drift of what the API hides. Every accepted change advances a revision (§2), so a revision that moved without us says
 * that somebody changed something. If nothing visible differs, it may be a field that is not returned.
 *
 * | the revision moved, and                                   | what is made of it                                  |
 * |-----------------------------------------------------------|-----------------------------------------------------|
 * | a visible field differs                                   | drift of that field; the revision says no more      |
 * | all fields that the spec gives are visible                | nothing: none of them has changed. The digest in the beacon makes an environment visible |
 * | a mutation of ours was sent since                         | nothing: it was ours                                |
 * | the state is another one than then, or is no steady one   | nothing: steps of the lifecycle advance it, too     |
 * | it may sleep and wake by itself meanwhile                 | nothing: so do those                                |
 * | otherwise, for each hidden field                          | doubt: reported as drift, and sent again once       |
 *
 * Once for each generation: a revision that goes on moving by itself would otherwise restart the service for ever. After
 * that, doubt is only reported.
 */
import type { wire } from '../api/index.ts';
import type { ContainerServiceSpec } from '../resources/index.ts';
import type { Baseline, ObjectRecord } from '../state/index.ts';
import { hidden, isDrift, type Field } from './differences.ts';
import type { ServiceInputs } from './inputs.ts';
import { environmentDigest } from './ownership.ts';
import type { Difference } from './types.ts';

const steadyStates = new Set(['running', 'paused', 'sleeping']);

/** Hidden fields among `fields` that somebody may have changed. */
export function doubts(
  { record, owner, object }: ServiceInputs,
  service: wire.Service,
  fields: readonly Field[],
): Difference[] {
  const moved = movedByOthers(record.baseline, service, object.spec);
  return fields
    .filter(
      ({ name, desired, observed }) =>
        observed === undefined &&
        desired !== undefined &&
        isDrift(name, owner.digestKey.digest(desired), record) &&
        (moved || record.doubted.includes(name)),
    )
    .map(({ path, desired }) => ({
      path,
      desired,
      observed: hidden,
      drift: true,
      hidden: true,
      doubt: true,
    }));
}

export function environmentDoubts(inputs: ServiceInputs, service: wire.Service): Difference[] {
  const { environment, owner, record, object } = inputs;
  if (environment.kind !== 'given' || service.environmentNames) return [];
  if (!isDrift('env', environmentDigest(owner, environment.values), record)) return [];
  const isDoubted = record.doubted.includes('env') || movedByOthers(record.baseline, service, object.spec);
  if (!isDoubted) return [];
  return [
    { path: 'env', desired: '(as declared)', observed: hidden, drift: true, hidden: true, doubt: true },
  ];
}

function movedByOthers(
  baseline: Baseline | undefined,
  { id, revision, state }: wire.Service,
  { sleepAfterMinutes }: ContainerServiceSpec,
): boolean {
  if (baseline?.id !== id || revision === undefined || revision <= baseline.revision) return false;
  if (state === undefined || state !== baseline.state || !steadyStates.has(state)) return false;
  return state === 'paused' || !sleepAfterMinutes;
}

/** Doubt has been met once for this generation: it is only told now. */
export function isOnlyTold({ doubt }: Difference, record: ObjectRecord): boolean {
  return doubt === true && record.resentFor === record.generation;
}
