import { placeText } from '../desired/index.ts';
import { isKeyHold } from '../observed/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import { fromGate } from './decision.ts';
import { giveUpAdvice } from './fleet/advice.ts';
import { behindSource } from './outcomes/backoffs.ts';
import type { Creations } from './outcomes/creations.ts';
import type { Pass } from './pass.ts';
import { holdFor, inSync, waitFor, type Plan } from './plan/index.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';

/** What prevents an observation of the object. */
export function blockedBy(
  { fleet }: Pick<ReconcilerOptions, 'fleet'>,
  creations: Pick<Creations, 'keeps'>,
  record: ObjectRecord,
  pass: Pass,
  account: ReturnType<Pass['account']>,
): Plan | undefined {
  if (fleet.behind === 'first') return behindSource(fleet);
  const problem = fleet.snapshot.unusable.get(record.key)?.[0];
  if (problem) {
    return holdFor(
      'InvalidSpec',
      `${placeText(problem)}: ${problem.path ? `${problem.path}: ` : ''}${problem.message}; ${problem.remedy}`,
    );
  }
  const annotation = fleet.annotationProblem(record.key);
  if (annotation) {
    const { name, message } = annotation;
    return holdFor('InvalidAnnotation', message, { path: ['metadata', 'annotations', name] });
  }
  const gate = fleet.lingering.get(record.key);
  if (gate) return fromGate(gate);
  const { handle } = account;
  const kept = creations.keeps(pass, handle);
  if (account.problem) return pass.released(handle !== undefined) ? (kept ?? inSync()) : account.problem;
  const failure = handle?.informer.failure;
  // A task does not need the account read, so its activity must not depend on it.
  if (!failure || pass.kind.needsNoAccountRead) return undefined;
  if (pass.isGivenUp()) return kept ?? inSync();
  const { reason, message } = failure;
  const text = `${message}${giveUpAdvice(record)}`;
  if (isKeyHold(reason)) return holdFor(reason, text);
  return waitFor(reason, text, reason === 'CredentialMissing' ? { stalled: true } : {});
}
