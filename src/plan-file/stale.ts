/**
 * Whether what a step was compared with, when the plan was made, is what is there now. Pure.
 *
 * | of a step that is left                               | compared                                                               |
 * |------------------------------------------------------|------------------------------------------------------------------------|
 * | a field that it changes                              | the value that was there                                               |
 * | variables                                            | their names, and the mark, which has a digest of their values          |
 * | a field that the API does not show, and no step is done | the revision: whatever moved it may have changed the field          |
 * | it deletes the thing                                 | each field that people set, where both reads show it                   |
 * | whether it runs                                      | nothing: that moves by itself, and another state needs another step    |
 *
 * A field that has the value of the plan already is not among those that are left, so an interrupted application continues. Where all is
 * again as it was when the plan was made, nobody can tell that from a plan that was never applied.
 */
import { effectOf } from '../actions/index.ts';
import { sameValue } from '../base/index.ts';
import { hidden, valueText } from '../engine/plan/index.ts';
import type { PlannedObject, PlannedStep, StepField } from './format.ts';

type Seen = Pick<PlannedObject, 'before' | 'steps' | 'later'>;

/** Each in a sentence. `now`: what is planned of the object now. The roster of a fleet is compared by its counts (rosters.ts). */
export function staleTexts(planned: Seen, now: Seen): string[] {
  const [all, present] = [allSteps(planned), allSteps(now)];
  const isBegun = present.length < all.length;
  const texts = present.flatMap((step) => {
    const same = all.find(({ fingerprint }) => fingerprint === step.fingerprint);
    const before = same ?? all.find(({ action }) => action === step.action);
    if (!before || step.count !== undefined) return [];
    const own = staleStepTexts(before, step.fields, planned.before, now.before);
    return isBegun ? own : own.concat(hiddenText(step.fields, planned.before, now.before));
  });
  return [...new Set(texts)];
}

/** Of one step: as the file has it, and what differs now. */
export function staleStepTexts(
  planned: PlannedStep,
  now: readonly StepField[],
  before: PlannedObject['before'],
  present: PlannedObject['before'],
): string[] {
  return [
    ...movedTexts(planned.fields, now),
    ...(sendsVariables(planned) ? environmentText(before, present) : []),
    ...(effectOf(planned.action) === 'delete' ? deletionText(before, present) : []),
  ];
}

function allSteps({ steps, later }: Seen): readonly PlannedStep[] {
  return [...steps, ...later];
}

/** A value that is not there is `null`; a field without `observed` has none to compare. */
function movedTexts(before: readonly StepField[], now: readonly StepField[]): string[] {
  const values = new Map(before.map(({ path, observed }) => [path, observed]));
  return now.flatMap(({ path, observed }) => {
    const then = values.get(path);
    const isComparable = [then, observed].every((value) => value !== undefined && value !== hidden);
    if (!isComparable || isOfVariables(path) || path === power || sameValue(then, observed)) return [];
    return `${path} was ${valueText(then)} when the plan was made, and is ${valueText(observed)} now`;
  });
}

const power = 'desiredState';

function isOfVariables(path: string): boolean {
  return path === 'env' || path.startsWith('env.');
}

function sendsVariables({ fields }: PlannedStep): boolean {
  return fields.some(({ path }) => isOfVariables(path));
}

type Before = PlannedObject['before'];

function environmentText({ environmentDigest: then }: Before, { environmentDigest: now }: Before): string[] {
  if (then === undefined || now === undefined || then === now) return [];
  return ['its environment has changed since the plan was made'];
}

function hiddenText(fields: readonly StepField[], before: Before, now: Before): string[] {
  const paths = fields.filter(({ observed }) => observed === hidden).map(({ path }) => path);
  const [then, present] = [before.revision, now.revision];
  if (paths.length === 0 || then === undefined || present === undefined || then === present) return [];
  return [
    `${paths.join(', ')} can't be seen, and may have changed: the revision was ${then} when the plan was made, and is ${present} now`,
  ];
}

function deletionText(
  { observedDigests: then = {} }: Before,
  { observedDigests: now = {} }: Before,
): string[] {
  const present = new Map(Object.entries(now));
  const changed = Object.entries(then)
    .filter(([name, digest]) => (present.get(name) ?? digest) !== digest)
    .map(([name]) => name);
  if (changed.length === 0) return [];
  return [`it would be deleted, and has changed since the plan was made: ${changed.join(', ')}`];
}
