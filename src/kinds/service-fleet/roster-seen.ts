/**
 * The roster of a fleet as its planner sees it:
 *
 * | remembered                                                               | searched for at the provider, or in the cluster |
 * |--------------------------------------------------------------------------|-------------------------------------------------|
 * | nothing: the fleet is new, or its state was lost                         | all                                             |
 * | some: `Retain` left others when the document was removed, and it is back | those, until none retires that may be left, too |
 * | all                                                                      | nothing                                         |
 */
import { holdFor, waitFor, type Plan } from '../../engine/plan/index.ts';
import { parseObjectKey } from '../../resources/index.ts';
import type { Candidate } from './candidates.ts';
import { foundInCluster, foundRoster, type FoundAgain } from './found.ts';
import type { FleetInputs } from './inputs.ts';
import type { FleetLook, FleetView } from './look.ts';
import { accountOf } from './markets.ts';
import { scaledAsFound } from './number-found.ts';
import { replicaKey } from './roster.ts';

type RosterSeen = Pick<FleetInputs, 'state' | 'isFound'> & Pick<FleetLook, 'unread'>;

export function rosterSeen(view: FleetView, candidates: readonly Candidate[], nowMs: number): RosterSeen {
  const { left, ...known } = view.record.kind;
  const { deleting } = view.object;
  const isNew = known.roster === undefined;
  const isSearched = isNew || (left === true && !deleting);
  const found = isSearched ? others(view, findAgain(view, candidates, nowMs)) : { roster: [], volumes: [] };
  const roster = bySlot([...(known.roster ?? []), ...found.roster]);
  const volumes = bySlot([...(known.volumes ?? []), ...found.volumes]);
  const scaled = isNew ? scaledAsFound(view, found.roster.length) : undefined;
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
    unread: isSearched ? unreadAccount(view, candidates) : undefined,
  };
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
