/**
 * The objects of a plan with their steps, as a plan file has them. `plan --out` and `apply PLANFILE` make them with this code, so
 * they are comparable.
 *
 * | the plan of an object                     | its entry                                                            |
 * |-------------------------------------------|----------------------------------------------------------------------|
 * | a step is next, or waits                  | the steps of the plan, and those of later passes                     |
 * | held until a person changes something     | none: nobody reviews what may not be done. Compared, its steps count |
 * | a ServiceFleet                            | one: how many replicas are added, updated and drained, and with what |
 * | a replica, because of such a change       | none: its fleet has it                                               |
 * | a replica for another reason, as drift    | one of its own                                                       |
 * | a task to be protected or released        | that                                                                 |
 * | nothing to do, or not known yet           | none                                                                 |
 * | a wait after which the values are known   | none: they can't be reviewed yet                                     |
 */
import { effectOf, type Effect } from '../actions/index.ts';
import { referredKeys, type DesiredObject, type DesiredSnapshot } from '../desired/index.ts';
import type { Foreseen, PassResult } from '../engine/index.ts';
import {
  isUnforeseen,
  clampedMicros,
  weakest,
  type Cost,
  type Plan,
  type RosterPlan,
  type Step,
} from '../engine/plan/index.ts';
import { entryOf } from '../reasons/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { ObjectRecord, StateStore } from '../state/index.ts';
import {
  documentDigest,
  environmentDigest,
  observedDigests,
  rosterFingerprint,
  sentValues,
  stepFingerprint,
} from './fingerprint.ts';
import { sha256, type PlannedObject, type PlannedStep, type StepField } from './format.ts';
import type { HiddenValues } from './values.ts';

export interface PlanContext {
  readonly snapshot: Pick<DesiredSnapshot, 'objects'>;
  readonly store: Pick<StateStore, 'record' | 'recordOf'>;
  /** Of the account that the object is in. Undefined: it has no key, so nothing can be planned in it. */
  readonly hiddenOf: (key: ObjectKey) => HiddenValues | undefined;
  /** What objects of a file had when it was made. Others, and all if the file is made of this plan, have what they have now. */
  readonly beforeIds: ReadonlyMap<ObjectKey, string | undefined>;
}

export interface PlannedNow {
  readonly objects: ReadonlyMap<ObjectKey, PlannedObject>;
  /** Held until a person changes something: what would be done otherwise. */
  readonly held: ReadonlyMap<ObjectKey, PlannedObject>;
  /** What they need can't be known yet. */
  readonly unknown: readonly ObjectKey[];
  /** Something is under way or held, and no step is known. So nobody can say that nothing is left. */
  readonly open: ReadonlySet<ObjectKey>;
}

export function plannedObjects(
  results: ReadonlyMap<ObjectKey, PassResult>,
  context: PlanContext,
): PlannedNow {
  const objects = new Map<ObjectKey, PlannedObject>();
  const held = new Map<ObjectKey, PlannedObject>();
  const unknown: ObjectKey[] = [];
  const open = new Set<ObjectKey>();
  const rosters = new Map(
    [...results].flatMap(([key, { foreseen }]) => (foreseen?.roster ? [[key, foreseen.roster]] : [])),
  );
  for (const key of [...results.keys()].sort()) {
    const result = results.get(key);
    const hidden = context.hiddenOf(key);
    if (!result || !hidden || isOfOwner(key, result, context, rosters)) continue;
    const planned = plannedObject(key, result, context, hidden);
    if (planned === 'unknown') unknown.push(key);
    else if (planned) (result.plan.kind === 'hold' ? held : objects).set(key, planned);
    else if (!result.removed && result.plan.kind !== 'in-sync') open.add(key);
  }
  return { objects, held, unknown, open };
}

/** The change of the roster that brings it about is an entry of its owner. */
function isOfOwner(
  key: ObjectKey,
  { plan }: PassResult,
  { snapshot, store }: PlanContext,
  rosters: ReadonlyMap<ObjectKey, RosterPlan>,
): boolean {
  const owner = ownerIn(snapshot.objects.get(key), store.record(key));
  const roster = owner && rosters.get(owner);
  if (plan.kind === 'wait' && entryOf(plan.reason).inPlan === 'owner') return owner !== undefined;
  const [step] = stepsOf(plan);
  if (!roster || !step) return false;
  const { add, update, repair, drain } = roster;
  return explains({ add: add + repair > 0, update: update > 0, drain: drain + repair > 0 }, step);
}

export function ownerIn(
  object: DesiredObject | undefined,
  record: ObjectRecord | undefined,
): ObjectKey | undefined {
  return object?.derived?.owner ?? record?.derived?.owner;
}

export interface RosterChanges {
  readonly add: boolean;
  readonly update: boolean;
  readonly drain: boolean;
}

/** Reasons of steps that a change of the roster has. Drift, restarts and what vanished are not among them. */
const rosterReasons: ReadonlySet<Step['reason']> = new Set([
  'Create',
  'Deleted',
  'SpecChanged',
  'VolumeExpansion',
]);

/** An update may take another replica in the place of one, so it adds and drains as well. */
export function explains({ add, update, drain }: RosterChanges, { action, reason }: Step): boolean {
  if (!rosterReasons.has(reason)) return false;
  const by: Readonly<Record<Effect, boolean>> = {
    create: add || update,
    change: update,
    delete: drain || update,
  };
  return by[effectOf(action.do) ?? 'change'];
}

function plannedObject(
  key: ObjectKey,
  result: PassResult,
  context: PlanContext,
  hidden: HiddenValues,
): PlannedObject | 'unknown' | undefined {
  const { plan, foreseen, removed, leaves } = result;
  const { store, snapshot } = context;
  const object = snapshot.objects.get(key);
  const record = store.record(key);
  const { beforeIds } = context;
  const beforeId = beforeIds.has(key) ? beforeIds.get(key) : record?.externalId;
  const fingerprints = {
    hidden,
    beforeId,
    referred: object ? referredKeys(object) : [],
    ownerOf: (id: string) => store.recordOf(id)?.key,
  };
  const toStep = (step: Step): PlannedStep => ({
    action: step.action.do,
    fields: fieldsOf(step, hidden),
    fingerprint: stepFingerprint(step.action, fingerprints),
  });
  const about = { key, documentDigest: documentDigest(object, hidden), before: beforeOf(record, foreseen) };
  if (removed)
    return leaves === undefined ? undefined : { ...about, steps: [named('leave', leaves)], later: [] };
  if (plan.kind === 'wait' && isUnforeseen(plan)) return 'unknown';
  if (foreseen?.roster) return rosterObject(about, plan, foreseen.roster, hidden);
  const task = taskStep(plan);
  if (task !== undefined) return { ...about, steps: [named(task, about.documentDigest)], later: [] };
  const steps = stepsOf(plan);
  const later = foreseen?.later ?? [];
  if (steps.length + later.length === 0) return isUnknown(plan) ? 'unknown' : undefined;
  return {
    ...about,
    steps: steps.map(toStep),
    later: later.map(toStep),
    ...(plan.kind === 'wait' ? { waits: steps[0]?.after ? 'Releasing' : plan.reason } : {}),
    ...costOf([...steps, ...later]),
  };
}

export function stepsOf(plan: Plan): readonly Step[] {
  if (plan.kind === 'act') return [plan.step, ...plan.later];
  return plan.kind === 'wait' || plan.kind === 'hold' ? plan.steps : [];
}

/**
 * Something differs, and what is done about it depends on how a wait ends; nothing was observed; or the roster of a fleet is only
 * being found.
 */
function isUnknown(plan: Plan): boolean {
  if (plan.kind === 'arrange') return true;
  if (plan.kind === 'wait' && plan.differences.length > 0) return true;
  return (plan.kind === 'wait' || plan.kind === 'hold') && entryOf(plan.reason).observed !== 'yes';
}

function taskStep(plan: Plan): 'protect' | 'release' | undefined {
  const awaited = plan.kind === 'wait' ? entryOf(plan.reason).inPlan : undefined;
  return awaited === 'protect' || awaited === 'release' ? awaited : undefined;
}

/** A step without a request of its own. */
function named(action: string, what: unknown): PlannedStep {
  return { action, fields: [], fingerprint: sha256({ do: action, what }) };
}

export function fieldsOf({ action, differences }: Step, hidden: HiddenValues): StepField[] {
  const values = new Map(
    Object.entries(sentValues(action, hidden)).map(([name, value]) => [valuePath(action, name), value]),
  );
  const fields = differences.map(({ path, desired, observed, from }): StepField => {
    const value = values.get(path);
    values.delete(path);
    return {
      ...plainField(path, desired, observed),
      ...(from === undefined ? {} : { from }),
      ...(value === undefined ? {} : { value }),
    };
  });
  return [...fields, ...[...values].map(([path, value]) => ({ path, value }))];
}

function valuePath(action: Step['action'], name: string): string {
  return 'credentials' in action ? `credentials.${name}` : `env.${name}`;
}

/** As JSON has it. */
function plainField(path: string, desired: unknown, observed: unknown): StepField {
  return JSON.parse(
    JSON.stringify({ path, desired: desired ?? null, observed: observed ?? null }),
  ) as StepField;
}

export function beforeOf(
  record: ObjectRecord | undefined,
  { value }: Pick<Foreseen, 'value'> = { value: undefined },
): PlannedObject['before'] {
  const shown = (value ?? {}) as Readonly<Record<string, unknown>>;
  const environment = value && environmentDigest(value);
  const state = shown['state'] ?? shown['status'];
  const { revision } = shown;
  return {
    ...(record?.externalId === undefined ? {} : { externalId: record.externalId }),
    ...(typeof revision === 'number' ? { revision } : {}),
    ...(typeof state === 'string' ? { state } : {}),
    ...(value ? { observedDigests: observedDigests(value) } : {}),
    ...(environment === undefined ? {} : { environmentDigest: environment }),
  };
}

type About = Pick<PlannedObject, 'key' | 'documentDigest' | 'before'>;

/** Undefined: nothing becomes of its replicas. */
function rosterObject(
  about: About,
  plan: Plan,
  roster: RosterPlan,
  hidden: HiddenValues,
): PlannedObject | undefined {
  const { content, fallback, replicas, leaves, command, update } = roster;
  const fingerprint = rosterFingerprint(replicas, content, hidden);
  const differences = plan.kind === 'arrange' ? plan.differences : [];
  const fields = differences.map(({ path, desired, observed }) => plainField(path, desired, observed));
  const { add, repair, drain } = roster;
  const counts = { add, update, repair, [leaves ? 'leave' : 'drain']: drain };
  const changes = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([action, count]) => ({ action, fields, count, fingerprint }));
  const commanded =
    command === undefined
      ? []
      : [{ action: 'command', fields: [{ path: 'command', desired: command }], count: 1, fingerprint }];
  const steps = [...commanded, ...changes];
  if (steps.length === 0) return undefined;
  const back = fallback && rosterFingerprint(replicas, fallback, hidden);
  const mayReturn = back !== undefined && (update > 0 || command !== undefined);
  const later = mayReturn ? [{ action: 'return', fields: [], count: update, fingerprint: back }] : [];
  return { ...about, steps, later, ...costOfArrange(plan) };
}

function costOfArrange(plan: Plan): Pick<PlannedObject, 'cost'> {
  return plan.kind === 'arrange' && plan.cost ? { cost: shownCost([plan.cost]) } : {};
}

function costOf(steps: readonly Step[]): Pick<PlannedObject, 'cost'> {
  const costs = steps.flatMap(({ cost }) => cost ?? []);
  return costs.length === 0 ? {} : { cost: shownCost(costs) };
}

/** Of steps that follow each other, in micro-USD per hour. */
function shownCost(costs: readonly Cost[]): Record<string, number | string> {
  const delta = costs.reduce((sum, { beforeMicros, afterMicros }) => sum + afterMicros - beforeMicros, 0n);
  const before = costs[0]?.beforeMicros ?? 0n;
  const deltaMicros = clampedMicros(delta);
  return {
    beforeMicros: clampedMicros(before),
    afterMicros: clampedMicros(before + delta),
    deltaMicros,
    // As in the cost of a plan.
    deltaHourlyMicros: deltaMicros,
    basis: weakest(costs.map(({ basis }) => basis)),
  };
}
