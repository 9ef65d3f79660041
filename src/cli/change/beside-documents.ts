/**
 * What the accounts show beside the documents of a folder. A run without a kept state knows earlier runs by marks alone, so a plan reports what
 * these leave open. Pure.
 *
 * | found | reported as |
 * |---|---|
 * | this fleet's mark on a thing that no document and no record has: its document was removed or renamed | `undeclared` |
 * | the same, and the state has that its object left it (`deletionPolicy: Retain`) | nothing |
 * | a creation, and a thing of that name without a mark, or with that of another owner and this digest key | `sameNames` |
 * | a mark that was made with another digest key, on a service whose `env` is declared | `uncompared` |
 * | a thing that a document adopts, and that no record had before | `adopted` |
 */
import { canonicalId } from '../../base/index.ts';
import type { DesiredSnapshot } from '../../desired/index.ts';
import type { AccountContents } from '../../engine/index.ts';
import { clampedMicros, isSameRegion } from '../../engine/plan/index.ts';
import type {
  Adopted,
  BesideDocuments,
  Change,
  FleetPlan,
  SameName,
  Undeclared,
  Uncompared,
} from '../../manager/index.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
import {
  accountPlaceOf,
  objectKey,
  parseObjectKey,
  remoteName,
  type ObjectKey,
} from '../../resources/index.ts';
import { onceEach } from '../../shown/shared-things.ts';
import { leftBy, surveyor, type Holding } from '../../shown/survey.ts';
import type { StateStore } from '../../state/index.ts';
import { usd } from '../output/render.ts';

/** An account that was read. */
export interface ReadContents {
  /** `namespace/name`. */
  readonly account: string;
  /** That of the environment, which serves all namespaces. */
  readonly isShared: boolean;
  readonly origin: string;
  readonly contents: AccountContents;
}

/** What the state had before the accounts were read. */
export interface KnownBefore {
  readonly isKept: boolean;
  readonly keys: ReadonlySet<ObjectKey>;
  readonly ids: ReadonlySet<string>;
}

export function knownBefore(store: Pick<StateStore, 'records'>): KnownBefore {
  const records = [...store.records()];
  const made = records.filter(({ externalId }) => externalId !== undefined);
  return {
    isKept: records.length > 0,
    keys: new Set(made.map(({ key }) => key)),
    ids: new Set(made.map(({ externalId = '' }) => canonicalId(externalId))),
  };
}

interface Beside {
  readonly snapshot: DesiredSnapshot;
  readonly store: StateStore;
  readonly accounts: readonly ReadContents[];
  readonly before: KnownBefore;
}

interface Held {
  readonly account: string;
  readonly isShared: boolean;
  readonly origin: string;
  readonly holdings: readonly Holding[];
  /** By kind and name. */
  readonly called: ReadonlyMap<string, readonly Holding[]>;
}

export function besideDocuments(plan: FleetPlan, given: Beside): BesideDocuments {
  const { snapshot, store, accounts, before } = given;
  const survey = surveyor({ snapshot, store });
  const shown = accounts.map(({ account, isShared, origin, contents }) => {
    const holdings = survey(contents);
    const called = Map.groupBy(holdings, (one) => nameOf(one) ?? '');
    return { account, isShared, origin, holdings, called };
  });
  // A document that can't be used, or was not planned, may stand for any of them.
  const isWhole = snapshot.problems.length === 0 && !plan.partial;
  const undeclared = isWhole ? undeclaredIn(onceEach(shown), store, before) : [];
  const sameNames = creationsIn(plan)
    .filter((key) => !before.keys.has(key))
    .flatMap((key) => sameNamesOf(key, snapshot, shown));
  const uncompared = uncomparedIn(shown, plan, given);
  const adopted = adoptedIn(shown, plan, given);
  return {
    ...(adopted.length > 0 ? { adopted } : {}),
    ...(undeclared.length > 0 ? { undeclared } : {}),
    ...(sameNames.length > 0 ? { sameNames } : {}),
    ...(uncompared.length > 0 ? { uncompared } : {}),
  };
}

function undeclaredIn(
  accounts: readonly Pick<Held, 'account' | 'holdings'>[],
  store: StateStore,
  { isKept, ids }: KnownBefore,
): Undeclared[] {
  const { ownerConfirmed } = store;
  const isLeft = leftBy(store);
  const isOurs = ({ managedBy, markKey }: Holding) =>
    managedBy.is === 'owner' && managedBy.isOurs && (ownerConfirmed || !isKept || markKey() === 'own');
  return accounts.flatMap(({ account, holdings }) =>
    holdings
      .filter((one) => isOurs(one) && isThere(one) && !ids.has(one.id) && !isLeft(one))
      .map((one) => {
        const { kind, id, name = null } = one;
        const message = `${described(one)} has this fleet's mark, and no document has it: it stays, and this folder does not manage it. \`Retain\` may have left it, or another folder may have adopted it, which keeps the mark: \`fleetkeeper inventory --all --source FOLDER\` with that folder shows it. Only if none manages it, delete it at the provider, or restore its document`;
        return { kind, account, id, name, hourlyMicros: microsOf(one), message };
      }),
  );
}

function nameOf({ kind, name, things }: Holding): string | undefined {
  return name === undefined ? undefined : `${kind} ${things.bestName?.(name) ?? name}`;
}

function isThere({ things, value }: Holding): boolean {
  return things.isGoing?.(value) !== true && things.isPart?.(value) !== true;
}

/** With the replicas of fleets. */
function creationsIn({ changes }: FleetPlan): ObjectKey[] {
  const own = changes.filter(({ action }) => action === 'create').map(keyOf);
  return [...new Set([...own, ...changes.flatMap(createdReplicas)])];
}

function createdReplicas({ namespace, replicas = [] }: Change): ObjectKey[] {
  return replicas
    .filter(({ action }) => action === 'create')
    .map(({ name }) => objectKey(containerService.name, namespace, name));
}

function keyOf({ kind, namespace, name }: Pick<Change, 'kind' | 'namespace' | 'name'>): ObjectKey {
  return `${kind}/${namespace}/${name}` as ObjectKey;
}

function sameNamesOf(key: ObjectKey, { objects }: DesiredSnapshot, accounts: readonly Held[]): SameName[] {
  const { kind, namespace, name } = parseObjectKey(key);
  const spec: object = objects.get(key)?.spec ?? {};
  const region = 'region' in spec ? spec.region : undefined;
  const isHere = ({ value }: { readonly value: object }) => {
    const at = 'region' in value ? value.region : undefined;
    return typeof region !== 'string' || typeof at !== 'string' || isSameRegion(region, at);
  };
  const account = accountOf(key, spec, accounts);
  const called = account?.called.get(`${kind} ${remoteName(kind, name, spec)}`) ?? [];
  const found = called.filter((one) => isHere(one) && isThere(one) && mayBeMeant(one));
  return found.map((one) => ({
    kind,
    namespace,
    name,
    account: account?.account ?? '',
    id: one.id,
    owner: one.markedBy ?? null,
    sameKey: one.markKey() === 'own',
    hourlyMicros: microsOf(one),
    message: sameNameText(one),
  }));
}

/** What an owner with another digest key has is another fleet's. The mark of a volume does not show the key. */
function mayBeMeant({ managedBy, markKey }: Holding): boolean {
  if (managedBy.is === 'nobody') return true;
  return managedBy.is === 'owner' && !managedBy.isOurs && markKey() !== 'other';
}

function accountOf(key: ObjectKey, spec: object, accounts: readonly Held[]): Held | undefined {
  const place = accountPlaceOf(key, spec);
  const named = 'account' in place ? accounts.find(({ account }) => account === place.account) : undefined;
  return named ?? accounts.find(({ isShared }) => isShared);
}

function sameNameText(one: Holding): string {
  const what = `there is one of this name already: ${described(one)}`;
  if (one.markedBy === undefined) {
    return `${what}, without a mark. The creation makes a second one beside it. A change of its environment at the provider removes a mark; to manage it, write \`adopt: {id: ${one.id}}\``;
  }
  const whose = `with the mark of another owner (${one.markedBy})${one.markKey() === 'own' ? ' and of this digest key' : ''}`;
  return `${what}, ${whose}. The creation makes a second one beside it. If this fleet had another name before, plan it with that one: \`--owner NAME\``;
}

function adoptedIn(accounts: readonly Held[], { held }: FleetPlan, { snapshot, before }: Beside): Adopted[] {
  const isHeld = new Set(held.map(keyOf));
  const wanted = new Map(
    [...snapshot.objects.values()].flatMap(({ key, spec }) =>
      'adopt' in spec && spec.adopt && !isHeld.has(key) ? [[canonicalId(spec.adopt.id), key] as const] : [],
    ),
  );
  const found = onceEach(accounts).flatMap(({ holdings }) => holdings);
  return found.flatMap((one) => {
    const key = wanted.get(one.id);
    if (key === undefined || before.ids.has(one.id)) return [];
    const owner = one.markedBy ?? null;
    const what = `takes over ${described(one)}${one.name === undefined ? '' : `, which the API calls ${JSON.stringify(one.name)}`}`;
    const message = owner === null ? what : `${what}, with the mark of the owner ${owner}`;
    return [{ ...parseObjectKey(key), id: one.id, thing: one.name ?? null, owner, message }];
  });
}

/** Services whose documents have variables, by a mark of another key, where nothing else is known of the values. */
function uncomparedIn(
  accounts: readonly Held[],
  { changes }: FleetPlan,
  { snapshot, before }: Beside,
): Uncompared[] {
  const sent = new Set(
    changes.filter(({ variables, action }) => variables !== undefined || action === 'replace').map(keyOf),
  );
  const found = accounts.flatMap(({ holdings }) =>
    holdings.flatMap(({ managedBy, markKey }) => {
      if (managedBy.is !== 'fleet') return [];
      const { key } = managedBy;
      const isOpen = hasVariables(snapshot.objects.get(key)?.spec) && !before.keys.has(key) && !sent.has(key);
      return isOpen && markKey() === 'other' ? [key] : [];
    }),
  );
  return [...new Set(found)].sort().map(parseObjectKey);
}

function hasVariables(spec: object = {}): boolean {
  return 'env' in spec && Array.isArray(spec.env) && spec.env.length > 0;
}

function described({ id, things, value }: Holding): string {
  const micros = things.burn(value);
  const state = things.state(value);
  const price = micros === undefined ? undefined : `${usd(clampedMicros(micros))}/h`;
  const facts = [state, price].filter((fact) => fact !== undefined);
  return facts.length === 0 ? id : `${id} (${facts.join(', ')})`;
}

function microsOf({ things, value }: Holding): number | null {
  const micros = things.burn(value);
  return micros === undefined ? null : clampedMicros(micros);
}
