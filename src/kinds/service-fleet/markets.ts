/** What is known of the candidates: their accounts, prices and capacity. */
import { rfc3339, sameValue } from '../../base/index.ts';
import type { AccountHandle } from '../../engine/index.ts';
import {
  capacityText,
  catalogGate,
  clampedMicros,
  demandKey,
  estimate,
  turnOf,
  type CapacityDemand,
  type Gate,
  type Place,
  type PriceBook,
} from '../../engine/plan/index.ts';
import { parseObjectKey } from '../../resources/index.ts';
import { candidateOf, candidatesOf, type Candidate } from './candidates.ts';
import { wantedReplicas } from './counts.ts';
import { revisionOf } from './revisions.ts';
import type { FleetPlacement } from './schema-placement.ts';
import type { ReplicaTemplate } from './schema.ts';
import type { FleetView } from './look.ts';
import type { Market } from './placement.ts';

type ReplicaSize = NonNullable<ReplicaTemplate['resources']>;

/** A price that was seen longer ago does not keep a candidate out. A stored price is renewed once a day. */
const provesMs = 2 * 86_400_000;

export function marketsOf(view: FleetView, candidates: readonly Candidate[]): Market[] {
  if (!view.object.spec.placement) {
    return candidates.map((candidate) => ({
      candidate,
      problem: undefined,
      unoffered: unofferedAt(view, candidate),
      // Only a plan shows it.
      ...(view.mode === 'preview' ? pricesAt(view, candidate) : { price: undefined }),
      scarcity: undefined,
    }));
  }
  return candidates.map((candidate) => {
    const { handle, problem } = accountOf(view, candidate.place.account);
    if (!handle) return { candidate, problem, price: undefined, scarcity: undefined };
    const size = sizeOf(view, candidate);
    if (!size)
      return {
        candidate,
        problem: 'the size of a replica is not known',
        price: undefined,
        scarcity: undefined,
      };
    return {
      candidate,
      problem: problem ?? unofferedAt(view, candidate)?.message,
      price: priceOf(view, handle, candidate, size),
      volumePrice: volumePriceOf(view, handle, candidate),
      scarcity: scarcityOf(view, handle, candidate, size),
    };
  });
}

/** Undefined: the template gives it, and can't be read. */
function sizeOf({ object }: FleetView, { place }: Candidate): ReplicaSize | undefined {
  return place.resources ?? object.spec.template.spec.resources;
}

/** By the catalog as far as it is known. */
function unofferedAt(view: FleetView, candidate: Candidate): Gate | undefined {
  const { region, geography, account } = candidate.place;
  const gpuCount = sizeOf(view, candidate)?.gpuCount ?? 0;
  return catalogGate({ region, geography, gpuCount }, accountOf(view, account).handle?.catalog.current);
}

function pricesAt(view: FleetView, candidate: Candidate): Pick<Market, 'price' | 'volumePrice'> {
  const { handle } = accountOf(view, candidate.place.account);
  const size = sizeOf(view, candidate);
  if (!handle || !size) return { price: undefined };
  return {
    price: priceOf(view, handle, candidate, size),
    volumePrice: volumePriceOf(view, handle, candidate),
  };
}

/** It is billed beside its service, so a ceiling for replicas is not for it. */
function volumePriceOf({ money, object }: FleetView, handle: AccountHandle, { place }: Candidate) {
  const { perReplica } = object.spec.storage ?? {};
  if (!perReplica) return undefined;
  const { region, geography } = place;
  const { micros, basis } = estimate(
    { storageGb: perReplica.sizeGb },
    { region, geography },
    money.books.book(handle),
  );
  return basis === 'unknown' ? undefined : { micros: clampedMicros(micros), basis };
}

/** Before replicas are placed: the catalog may have their prices, and shows whether their place is offered. */
export async function readCatalogs(view: FleetView): Promise<undefined> {
  const { object, record, clock, mode, store, key, money } = view;
  const { placement } = object.spec;
  const isPreview = mode === 'preview';
  const candidates = candidatesOf(object.spec);
  const wanted = wantedReplicas(
    object.spec,
    clock.wallMs(),
    record.kind.scaled,
    money.shedFor(key)?.replicas,
  ).count;
  const placed = record.kind.roster?.filter(({ phase }) => phase === 'wanted') ?? [];
  // None is where it is to be, and that may be a place that is not offered.
  const isNew = wanted > 0 && placed.every((entry) => candidateOf(entry, candidates) === undefined);
  const isMissing = placed.length < wanted || (isPreview && store.command(key) !== undefined);
  const isAsked = isNew || ((placement || isPreview) && isMissing) || (isPreview && mayBeResized(view));
  if (object.deleting || !isAsked) return;
  const priced = candidates.filter((candidate) => isPreview || !placement || isPriced(placement)(candidate));
  const names = new Set(priced.map(({ place }) => place.account));
  await Promise.all(
    [...names].map((name) => accountOf(view, name).handle?.catalog.get() ?? Promise.resolve()),
  );
}

/** Its replicas may get another size, whose price a plan shows. */
function mayBeResized({ object, record, store, key }: FleetView): boolean {
  const { resources, templateRef } = object.spec.template.spec;
  const present = revisionOf(store.revisions(key), record.kind.update)?.content['resources'];
  return present !== undefined && (templateRef !== undefined || !sameValue(present, resources));
}

const isPriced = (placement: FleetPlacement | undefined) => {
  const isCheapest = placement?.strategy === 'Cheapest';
  return ({ maxHourlyMicros }: Candidate) => isCheapest || maxHourlyMicros !== undefined;
};

/** The account of replicas, by the name in `accountRef`, and why nothing can be made in it. */
export function accountOf(
  { accounts, fleet, key }: Pick<FleetView, 'accounts' | 'fleet' | 'key'>,
  name: string,
): { readonly handle: AccountHandle | undefined; readonly problem: string | undefined } {
  const resolved = accounts.resolve(parseObjectKey(key).namespace, name);
  if (resolved.kind === 'problem') return { handle: undefined, problem: resolved.message };
  const { handle } = resolved;
  const { current, failure } = handle.informer;
  if (failure) return { handle, problem: failure.message };
  if (!current) return { handle, problem: `the account ${name} has not been read yet` };
  const { creation, spending } = fleet.gates(handle, current);
  return { handle, problem: (creation ?? spending)?.message };
}

function priceOf(
  { money, clock }: FleetView,
  handle: AccountHandle,
  { place, maxHourlyMicros }: Candidate,
  { gpuCount, cpu, memoryGb }: ReplicaSize,
): Market['price'] {
  const { region, geography, volumeGb } = place;
  const demands = [
    { compute: { gpuCount, cpu, memoryGb } },
    ...(volumeGb === undefined ? [] : [{ storageGb: volumeGb }]),
  ];
  const sum = (book: PriceBook, at: Place) => {
    const parts = demands.map((demand) => estimate(demand, at, book));
    const [weakest] = parts.toSorted((one, other) => bases.indexOf(other.basis) - bases.indexOf(one.basis));
    if (!weakest || weakest.basis === 'unknown') return undefined;
    const micros = clampedMicros(parts.reduce((total, part) => total + part.micros, 0n));
    return { micros, basis: weakest.basis };
  };
  const book = money.books.book(handle);
  const price = sum(book, { region, geography });
  if (price?.basis !== 'observed' || maxHourlyMicros === undefined || price.micros <= maxHourlyMicros) {
    return price;
  }
  const sinceMs = clock.wallMs() - provesMs;
  return sum({ ...book, observed: book.observed.filter(({ at }) => at >= sinceMs) }, { region, geography });
}

const bases = ['observed', 'declared', 'catalog', 'unknown'];

function scarcityOf(
  { capacity, clock, key }: FleetView,
  handle: AccountHandle,
  { place }: Candidate,
  { gpuCount, cpu, memoryGb }: ReplicaSize,
): Market['scarcity'] {
  const { region, geography = 'auto', volumeGb: storageGb = 0 } = place;
  const demand: CapacityDemand = { region, geography, gpuCount, cpu, memoryGb, storageGb };
  const entries = new Map(capacity.entries(handle).map((entry) => [demandKey(entry.demand), entry]));
  const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
  const turn = turnOf({ entries, windows: new Map(), asking: [], line: [] }, { key, demand }, now);
  if (turn.kind === 'ask') {
    return turn.isProbe ? { retryAt: now.wallMs, message: `${capacityText(demand)} was refused` } : undefined;
  }
  const retryAt = Math.ceil(now.wallMs + turn.leftMs);
  return { retryAt, message: `${capacityText(demand)} was refused; asked again at ${rfc3339(retryAt)}` };
}
