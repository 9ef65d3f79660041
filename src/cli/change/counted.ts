/**
 * What Budgets count beside a part of a fleet: without it, a limit would be passed by what nobody has seen. Pure.
 *
 * | object of a namespace with a Budget and a chosen object        |                                                    |
 * |----------------------------------------------------------------|----------------------------------------------------|
 * | is chosen, or needed by one that is                            | is no matter of this file                          |
 * | has a record                                                   | counts by that; only its Account is read           |
 * | is a Budget, or may count for one, and has no record           | is observed, and nothing is done for it            |
 * | what that needs to be observed, and has no record              | the same                                           |
 */
import type { DesiredObject, DesiredSnapshot } from '../../desired/index.ts';
import type { StepGuard } from '../../engine/index.ts';
import { ownerIn } from '../../plan-file/index.ts';
import { accountKey, accountNamed, parseObjectKey, traitsOf, type ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';

type Known = Pick<DesiredSnapshot, 'objects'>;
type Records = Pick<StateStore, 'record'>;

export interface CountedRules {
  /** It is chosen, or needed by a chosen one. */
  readonly has: (key: ObjectKey) => boolean;
  readonly neededBy: (key: ObjectKey) => readonly ObjectKey[];
}

export function countedBeside(
  chosen: readonly ObjectKey[],
  { objects }: Known,
  store: Records,
  { has, neededBy }: CountedRules,
): ReadonlySet<ObjectKey> {
  const namespaces = new Set(chosen.map((key) => parseObjectKey(key).namespace));
  const near = [...objects.values()].filter(({ namespace }) => namespaces.has(namespace));
  const budgets = near.filter(({ kind }) => traitsOf(kind).budget !== undefined);
  const limited = new Set(budgets.map(({ namespace }) => namespace));
  const members = near.filter(({ kind, namespace }) => limited.has(namespace) && mayCount(kind));
  const all = new Set<ObjectKey>([...budgets, ...members].map(({ key }) => key));
  for (const { namespace, spec } of budgets)
    if ('accountRef' in spec && spec.accountRef) all.add(accountKey(`${namespace}/${spec.accountRef.name}`));
  // A set is walked through with what is added on the way.
  for (const key of all) for (const other of neededBy(key)) all.add(other);
  return new Set(
    [...all].filter((key) => !has(key) && (accountNamed(key) !== undefined || !store.record(key))),
  );
}

/** It costs something itself, or owns what does. */
function mayCount(kind: DesiredObject['kind']): boolean {
  const traits = traitsOf(kind);
  return traits.asks !== undefined || traits.ownedAt !== undefined;
}

/** It, or what owns it, is only counted. */
export function isCounted(key: ObjectKey, counted: ReadonlySet<ObjectKey>, store: Records): boolean {
  const owner = ownerIn(undefined, store.record(key));
  return counted.has(key) || (owner !== undefined && counted.has(owner));
}

/** Nothing is done for what is only counted. */
export function countingGuard(counted: () => ReadonlySet<ObjectKey>, store: Records): StepGuard {
  const message = 'it is not chosen, and only counted for a Budget';
  return {
    refusesStep: ({ key }) => (isCounted(key, counted(), store) ? message : undefined),
    refusesRoster: (key, roster) => {
      if (!roster || !counted().has(key)) return undefined;
      const { added, updated, leaving, corrected } = roster.moves;
      return added.length + updated.length + leaving.length + corrected.length > 0 ? message : undefined;
    },
  };
}

/** What was only counted, and exists nowhere, leaves no record. */
export async function forgetCounted(
  counted: ReadonlySet<ObjectKey>,
  store: Pick<StateStore, 'record' | 'lastIntent' | 'remove'>,
): Promise<void> {
  for (const key of counted) {
    const record = store.record(key);
    const isBudget = traitsOf(parseObjectKey(key).kind).budget !== undefined;
    const isOnlyCounted = accountNamed(key) === undefined && !isBudget;
    if (record && isOnlyCounted && record.externalId === undefined && !store.lastIntent(key))
      await store.remove(key);
  }
}
