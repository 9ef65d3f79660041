/**
 * The roster of a fleet as its planner sees it:
 *
 * | remembered                                                               | searched for at the provider, or in the cluster |
 * |--------------------------------------------------------------------------|-------------------------------------------------|
 * | nothing: the fleet is new, or its state was lost                         | all                                             |
 * | some: `Retain` left others when the document was removed, and it is back | those, until none retires that may be left, too |
 * | all                                                                      | others, once in each process and account: the state may be a backup from before they were made (a folder only) |
 */
import { derivedUid, holdFor, waitFor, type Plan } from '../../engine/plan/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { Candidate } from './candidates.ts';
import { foundInCluster, foundRoster, type FoundAgain } from './found.ts';
import type { FleetInputs } from './inputs.ts';
import type { FleetLook, FleetView } from './look.ts';
import { accountOf } from './markets.ts';
import { scaledAsFound } from './number-found.ts';
import { replicaKey } from './roster.ts';

type RosterSeen = Pick<FleetInputs, 'state' | 'isFound' | 'numberIsLost'> & Pick<FleetLook, 'unread'>;

/** `documentOf`: where a document is that has this name (slots-seen.ts). */
export function rosterSeen(
  view: FleetView,
  candidates: readonly Candidate[],
  nowMs: number,
  documentOf: (key: ObjectKey) => string | undefined,
): RosterSeen {
  const { left, ...known } = view.record.kind;
  const { deleting } = view.object;
  const isNew = known.roster === undefined;
  const isSearched = isNew || (left === true && !deleting);
  const found = isSearched
    ? others(view, findAgain(view, candidates, nowMs))
    : madeSinceBackup(view, candidates, nowMs, documentOf);
  const roster = bySlot([...(known.roster ?? []), ...found.roster]);
  const volumes = bySlot([...(known.volumes ?? []), ...found.volumes]);
  const isOutdated = !isSearched && found.roster.length > 0;
  const wanted = roster.filter(({ phase }) => phase === 'wanted').length;
  const given = isNew || isOutdated ? scaledAsFound(view, wanted) : undefined;
  const scaled = given && [...(known.scaled ?? []).filter(({ until }) => until !== undefined), ...given];
  const isLeaving = deleting || known.roster?.some(({ phase }) => phase === 'retiring');
  return {
    state: {
      ...known,
      roster,
      ...(volumes.length > 0 ? { volumes } : {}),
      ...(scaled ? { scaled } : {}),
      ...(left && isLeaving ? { left } : {}),
    },
    isFound: isNew || found.roster.length + found.volumes.length > 0,
    numberIsLost: (isNew || isOutdated) && !view.fleet.snapshot.cluster,
    unread: isSearched ? unreadAccount(view, candidates) : undefined,
  };
}

/**
 * What carries the marks of this fleet, and neither its roster nor a record has it: it was made after the state file was copied. Without that, others
 * would be made in its place. Once none is found in an account, this process has made or removed whatever appears there later.
 */
function madeSinceBackup(
  view: FleetView,
  candidates: readonly Candidate[],
  nowMs: number,
  documentOf: (key: ObjectKey) => string | undefined,
): FoundAgain {
  const { fleet, key } = view;
  if (fleet.snapshot.cluster) return { roster: [], volumes: [] };
  const contents = [...contentsOf(view, candidates)].filter(
    ([account]) =>
      !fleet.searches.isDone(key, account) && accountOf(view, account).handle?.informer.current !== undefined,
  );
  if (contents.length === 0) return { roster: [], volumes: [] };
  const alive = contents.map(([account, { services, volumes }]) => {
    const there = [...services].filter(({ state }) => state !== 'deleting');
    return [account, { services: there, volumes }] as const;
  });
  const found = others(view, foundRoster(fleet, key, new Map(alive), candidates, nowMs));
  const roster = found.roster.filter(
    ({ slot }) => !wasLeft(view, slot) && documentOf(replicaKey(key, slot)) === undefined,
  );
  const accounts = new Set(roster.map(({ place }) => place.account));
  for (const [account] of contents) if (!accounts.has(account)) fleet.searches.done(key, account);
  const slots = new Set(roster.map(({ slot }) => slot));
  return { roster, volumes: found.volumes.filter(({ slot }) => slots.has(slot)) };
}

/** Somebody decided that it stays at the provider: a document of that name was removed with `Retain`. */
function wasLeft({ fleet: { store }, key }: FleetView, slot: number): boolean {
  return store.leftUntil(derivedUid(store.ownerName, replicaKey(key, slot))) !== undefined;
}

/** Of what was found, that of slots of which nothing is remembered. */
function others({ record, key, fleet }: FleetView, found: FoundAgain): FoundAgain {
  const { roster = [], volumes = [] } = record.kind;
  const [replicas, data] = [roster, volumes].map((entries) => new Set(entries.map(({ slot }) => slot)));
  const isNews = (slot: number) =>
    record.kind.roster === undefined || !fleet.store.record(replicaKey(key, slot));
  return {
    roster: found.roster.filter(({ slot }) => !replicas?.has(slot) && isNews(slot)),
    volumes: found.volumes.filter(({ slot }) => !data?.has(slot)),
  };
}

function bySlot<Entry extends { readonly slot: number }>(entries: readonly Entry[]): Entry[] {
  return entries.toSorted((one, other) => one.slot - other.slot);
}

/** What is there of a fleet whose state was lost, or that is new. The resources of a cluster say where it is wanted. */
function findAgain(view: FleetView, candidates: readonly Candidate[], nowMs: number): FoundAgain {
  const { fleet, key } = view;
  const { roster, volumes } = foundRoster(fleet, key, contentsOf(view, candidates), candidates, nowMs);
  const declared = fleet.snapshot.cluster ? foundInCluster(fleet, key, candidates, nowMs) : undefined;
  return {
    roster: withOthers(declared?.roster ?? [], roster),
    volumes: withOthers(declared?.volumes ?? [], volumes),
  };
}

function withOthers<Entry extends { readonly slot: number }>(
  first: readonly Entry[],
  second: readonly Entry[],
) {
  const known = new Set(first.map(({ slot }) => slot));
  return [...first, ...second.filter(({ slot }) => !known.has(slot))];
}

/** What the accounts of candidates have. */
function contentsOf(view: FleetView, candidates: readonly Candidate[]) {
  const accounts = [...new Set(candidates.map(({ place }) => place.account))];
  return new Map(
    accounts.map((account) => {
      const { services, volumes } = accountOf(view, account).handle?.informer.current ?? {};
      return [account, { services: services?.values() ?? [], volumes: [...(volumes?.values() ?? [])] }];
    }),
  );
}

/** Replicas may be in each account of a candidate. A person has to add one that is missing. */
function unreadAccount(view: FleetView, candidates: readonly Candidate[]): Plan | undefined {
  const { namespace } = parseObjectKey(view.key);
  for (const { place } of candidates) {
    const resolved = view.accounts.resolve(namespace, place.account);
    if (resolved.kind === 'problem') {
      const message = `${resolved.message}; before that, replicas that may be there can't be looked for`;
      return holdFor(resolved.reason, message, { path: ['spec'] });
    }
    const { handle, problem } = accountOf(view, place.account);
    if (!handle?.informer.current)
      return waitFor('AwaitingObservation', problem ?? 'the account has not been read yet');
  }
  return undefined;
}
