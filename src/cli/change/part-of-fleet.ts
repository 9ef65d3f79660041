/**
 * A part of the fleet: the objects that somebody chose, and what these need. Pure.
 *
 * | of a chosen object, or of one that it needs | is included, because |
 * |---|---|
 * | what it refers to: a service's volume and template, a task's service | it can't be judged or made without it |
 * | the ImageRegistry of its image | it can't be made without it |
 * | its Account | it is judged by what the account shows |
 * | its tasks | they protect it from what is done to it |
 *
 * A chosen object whose document is gone needs its Account only. Nothing else is included: a volume does not include the
 * services that use it.
 */
import { UserError } from '../../base/index.ts';
import {
  byAccountRef,
  referredKeys,
  type DesiredObject,
  type DesiredSnapshot,
  type Problem,
} from '../../desired/index.ts';
import { imageRegistry } from '../../kinds/image-registry/declaration.ts';
import { environmentKey, type PartialPlan } from '../../manager/index.ts';
import {
  accountKey,
  accountNamed,
  accountPlaceOf,
  normalRepository,
  parseObjectKey,
  repositoryOf,
  type ObjectKey,
} from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import { Selection, type SelectionFlags } from '../selection.ts';
import { countedBeside } from './counted.ts';

/** The objects that a command plans and changes. */
export interface PartOfFleet {
  /** All objects were chosen. */
  readonly isWhole: boolean;
  readonly has: (key: ObjectKey) => boolean;
  /** Whether it may be a problem of this part. */
  readonly concerns: (problem: Problem) => boolean;
  readonly chosen: readonly ObjectKey[];
  /** What the chosen ones need, without Accounts. */
  readonly included: readonly ObjectKey[];
  /** The number of all others, without Accounts. */
  readonly omitted: number;
  /** Of the others: what is observed, because a Budget counts it (counted.ts). */
  readonly counted: ReadonlySet<ObjectKey>;
}

type Known = Pick<DesiredSnapshot, 'objects' | 'unusable'>;
/** The records of a store, or of a part of it. */
export type Records = Pick<StateStore, 'records' | 'record'>;

/** Undefined: nothing was selected, so it is the whole fleet. Throws a `UserError` if nothing is selected by the flags. */
export function partOfFleet(flags: SelectionFlags, known: Known, store: Records): PartOfFleet | undefined {
  return new Selection(flags).isEverything ? undefined : partOf(flags, known, store, neededBy);
}

/** What is selected for removal, or everything. It includes Accounts and tasks, but not what it refers to. */
export function partToRemove(flags: SelectionFlags, known: Known, store: Records): PartOfFleet {
  return partOf(flags, known, store, accountsOf);
}

function partOf(flags: SelectionFlags, known: Known, store: Records, needed: typeof neededBy): PartOfFleet {
  const selection = new Selection(flags);
  const all = keysOf(known, store);
  const chosen = selection
    .among(all.map((key) => ({ ...parseObjectKey(key), key, labels: labelsOf(key, known, store) })))
    .map(({ key }) => key);
  if (chosen.length === 0 && !selection.isEverything) {
    throw new UserError(
      `no object is selected by ${selection.text}`,
      'correct it, or leave it out for the whole fleet',
    );
  }
  const selected = withNeeded(chosen, all, known, store, needed);
  const own = new Set(chosen);
  return {
    isWhole: selection.isEverything,
    has: (key) => selected.has(key),
    counted:
      needed === neededBy && !selection.isEverything
        ? countedBeside(chosen, known, store, {
            has: (key) => selected.has(key),
            neededBy: (key) => neededBy(key, known, store),
          })
        : new Set(),
    // The labels of a document that can't be used, and was never recorded, are not known.
    concerns: ({ key }) => key === undefined || selected.has(key) || (!flags.target && !store.record(key)),
    chosen,
    included: all.filter((key) => selected.has(key) && !own.has(key) && !isAccount(key)),
    omitted: all.filter((key) => !selected.has(key) && !isAccount(key)).length,
  };
}

function isAccount(key: ObjectKey): boolean {
  return accountNamed(key) !== undefined;
}

/** Of documents, usable or not, and of records. */
function keysOf({ objects, unusable }: Known, store: Records): ObjectKey[] {
  const recorded = Array.from(store.records(), ({ key }) => key);
  return [...new Set([...objects.keys(), ...unusable.keys(), ...recorded])].sort();
}

/** Of the document; if it is gone or can't be used, as they were recorded. */
function labelsOf(key: ObjectKey, { objects }: Known, store: Records): Readonly<Record<string, string>> {
  return objects.get(key)?.labels ?? store.record(key)?.manifest.labels ?? {};
}

function withNeeded(
  chosen: readonly ObjectKey[],
  all: readonly ObjectKey[],
  known: Known,
  store: Records,
  needed: typeof neededBy,
): ReadonlySet<ObjectKey> {
  const selected = new Set(chosen);
  const inside = Map.groupBy(all, (key) => homeOf(key, known, store));
  // A set is walked through with what is added on the way.
  for (const key of selected) {
    for (const other of needed(key, known, store)) selected.add(other);
    for (const task of inside.get(key) ?? []) selected.add(task);
  }
  return selected;
}

/** The object with which it is, as a task is with its service. */
function homeOf(key: ObjectKey, known: Known, store: Records): ObjectKey | undefined {
  const spec = specOf(key, known, store);
  const place = spec === undefined ? undefined : accountPlaceOf(key, spec);
  return place && 'with' in place ? place.with : undefined;
}

function specOf(
  key: ObjectKey,
  { objects }: Pick<Known, 'objects'>,
  store: Pick<Records, 'record'>,
): object | undefined {
  return objects.get(key)?.spec ?? store.record(key)?.manifest.spec;
}

/** Its Accounts, and if it has a document, what that refers to. */
export function neededBy(
  key: ObjectKey,
  known: Pick<Known, 'objects'>,
  store: Pick<Records, 'record'>,
): ObjectKey[] {
  const object = known.objects.get(key);
  if (!object) return accountsOf(key, known, store);
  return [...accountsOf(key, known, store), ...referredKeys(object), ...registriesOf(object, known)];
}

/** What gives access to its image. No document names it: it is found by its repository. */
function registriesOf({ namespace, spec }: DesiredObject, { objects }: Pick<Known, 'objects'>): ObjectKey[] {
  if (!('image' in spec) || spec.image === undefined) return [];
  const repository = repositoryOf(spec.image);
  return byAccountRef(objects, imageRegistry.name, namespace, spec.accountRef.name)
    .filter((registry) => normalRepository(registry.spec.repository) === repository)
    .map(({ key }) => key);
}

function accountsOf(
  key: ObjectKey,
  known: Pick<Known, 'objects'>,
  store: Pick<Records, 'record'>,
): ObjectKey[] {
  const { objects } = known;
  const spec = specOf(key, known, store);
  if (spec === undefined || accountNamed(key) !== undefined) return [];
  const place = accountPlaceOf(key, spec);
  const declared = 'account' in place ? place.account : undefined;
  const accounts = [declared, store.record(key)?.account].flatMap((account) =>
    account === undefined ? [] : accountKey(account),
  );
  // Where no document defines it, the account may be that of the environment.
  if (accounts.some((account) => !objects.has(account))) accounts.push(accountKey(environmentKey));
  // A task without a record of its own is where its service is.
  return 'with' in place ? [...accounts, ...accountsOf(place.with, known, store)] : accounts;
}

/** The records of a part, or all. */
export function recordsIn(part: PartOfFleet | undefined, store: Records): Records {
  if (!part) return store;
  return {
    record: (key) => (part.has(key) ? store.record(key) : undefined),
    records: () => [...store.records()].filter(({ key }) => part.has(key)),
  };
}

/** As the output of `plan` has it. */
export function partialOf({ chosen, included, omitted }: PartOfFleet): PartialPlan {
  return { selected: chosen.map(parseObjectKey), included: included.map(parseObjectKey), omitted };
}

const namesShown = 10;

/** For people, before a plan. */
export function partText({ selected, included, omitted }: PartialPlan): string {
  const needs = included.length === 0 ? '' : `, and what that needs: ${namesOf(included)}`;
  return `Only a part of the fleet: ${namesOf(selected)}${needs}. ${omitted} other object(s) stay as they are.`;
}

function namesOf(objects: PartialPlan['selected']): string {
  const names = objects.map(({ kind, namespace, name }) =>
    namespace === 'default' ? `${kind}/${name}` : `${kind}/${name} (${namespace})`,
  );
  const more = names.length > namesShown ? ` and ${names.length - namesShown} more` : '';
  return `${names.slice(0, namesShown).join(', ')}${more}`;
}
