/**
 * Which candidate a replica gets. Pure.
 *
 * | state            | the candidate                                                          | is used again                   |
 * |------------------|------------------------------------------------------------------------|---------------------------------|
 * | Available        | can be used                                                            |                                 |
 * | Scarce           | was refused for capacity, or did not provision in time                 | after the pause, by one replica |
 * | Probing          | was scarce, or its price was never seen; one replica asks              | when that is known              |
 * | Full             | has `maxReplicas`                                                      | when it has fewer               |
 * | PriceTooHigh     | has a known price above the highest one                                | when the price is known no more |
 * | Unpriced         | has no known price, and `unpriced: Skip`                               | when it has one                 |
 * | ModelNotAccepted | has shown three GPUs of other models within an hour                    | an hour later                   |
 * | Unusable         | its account can't be used, can't be read, or may not spend             | when it can                     |
 *
 * A fleet without `placement` has one candidate, which is always used: a replica itself waits for capacity there.
 */
import { waitFor, holdFor, type Gate, type Hold, type Plan } from '../../engine/plan/index.ts';
import type { Candidate } from './candidates.ts';
import { inPhase, type FleetInputs } from './inputs.ts';
import type { Replica } from './replica.ts';
import type { placementStates } from './schema-placement.ts';
import { nextSlots } from './slots.ts';
import { isBound, mayBeAt, volumeName } from './volumes.ts';

export interface KnownPrice {
  readonly micros: number;
  readonly basis: string;
}

export interface Market {
  readonly candidate: Candidate;
  /** Why nothing can be made in its account. */
  readonly problem: string | undefined;
  /** Why the catalog does not offer its place. */
  readonly unoffered?: Gate | undefined;
  /** In micro-USD per hour, of one replica. Undefined: unknown. */
  readonly price: KnownPrice | undefined;
  /** Of a new volume there, in the same unit. Undefined: unknown, or replicas have none. */
  readonly volumePrice?: KnownPrice | undefined;
  /** `retryAt`: Unix milliseconds; it may be over. */
  readonly scarcity: { readonly retryAt: number; readonly message: string } | undefined;
}

export type PlacementState = Exclude<(typeof placementStates)[number], 'Outdated'>;

export interface Standing {
  readonly market: Market;
  readonly replicas: number;
  readonly state: PlacementState;
  /** How many more replicas it takes. */
  readonly room: number;
  readonly message: string;
  /** Unix milliseconds, if time alone changes it. */
  readonly retryAt: number | undefined;
  /** Of `Probing`: what it costs is to be known, and not whether there is room. */
  readonly isForPrice?: true;
}

type Inputs = Pick<FleetInputs, 'object' | 'markets' | 'replicas' | 'state' | 'nowMs'>;

/** `without`: replicas that are to get another place. */
export function standings(inputs: Inputs, without: readonly Replica[] = []): Standing[] {
  const running = inPhase(inputs.replicas, 'wanted').filter((replica) => !without.includes(replica));
  return inputs.markets.map((market) => {
    const { name } = market.candidate;
    const there = running.filter(({ candidate }) => candidate === name);
    return { market, replicas: there.length, ...stateOf(inputs, market, there) };
  });
}

function stateOf(
  { object, state, nowMs }: Inputs,
  { candidate, problem, price, scarcity }: Market,
  there: readonly Replica[],
): Omit<Standing, 'market' | 'replicas'> {
  const { placement } = object.spec;
  const shut = (kind: PlacementState, message: string, retryAt?: number) => ({
    state: kind,
    room: 0,
    message: `${candidate.name}: ${message}`,
    retryAt,
  });
  const { maxHourlyMicros: most, maxReplicas, name } = candidate;
  const room = maxReplicas - there.length;
  const open = { state: 'Available', room, message: '', retryAt: undefined } as const;
  if (!placement) return open;
  if (problem !== undefined) return shut('Unusable', problem);
  const rest = state.rests?.find(
    (each) => each.candidate === name && each.since <= nowMs && nowMs < each.until,
  );
  if (rest) return shut(rest.state, restText[rest.state], rest.until);
  if (most !== undefined && price && price.micros > most) {
    return shut('PriceTooHigh', `${price.micros} micro-USD per hour (${price.basis}) are more than ${most}`);
  }
  if (most !== undefined && !price && placement.unpriced === 'Skip') {
    return shut('Unpriced', 'its price is unknown');
  }
  if (room <= 0) return shut('Full', `it has ${there.length} replicas`);
  const isUnproven = most !== undefined && price?.basis !== 'observed' && !there.some(isPriced);
  if (isUnproven && there.length > 0) return { ...shut('Probing', untilPriced), isForPrice: true };
  if (!scarcity) return isUnproven ? { ...open, room: 1 } : open;
  if (scarcity.retryAt > nowMs) return shut('Scarce', scarcity.message, scarcity.retryAt);
  const isAsked = there.some(({ isMade, content }) => !isMade && content === 'updating');
  return isAsked ? shut('Probing', scarcity.message) : { ...open, room: 1 };
}

const untilPriced = 'the price of its first replica is not known yet';

/** What it costs is known, or is never shown. */
function isPriced({ hourlyMicros = 0, isReady }: Replica): boolean {
  return hourlyMicros > 0 || isReady;
}

const restText = {
  Scarce: 'a replica did not provision in time',
  ModelNotAccepted: 'GPUs of other models were shown',
  PriceTooHigh: 'a replica showed a price that is too high',
} as const;

/** A candidate for each of `count` replicas, one after the other. Fewer, if there are not enough. */
export function choose(inputs: Inputs, count: number, without: readonly Replica[] = []): Candidate[] {
  return chosenOf(
    inputs,
    Array.from({ length: count }, () => anyCandidate),
    without,
  ).flatMap((each) => each ?? []);
}

/** A candidate for each of the slots, which may have volumes. One that has to wait for its place is left out. */
export function chooseFor(
  inputs: Inputs & Pick<FleetInputs, 'volumes'>,
  slots: readonly number[],
  without: readonly Replica[] = [],
): { readonly slot: number; readonly candidate: Candidate }[] {
  const fits = slots.map(
    (slot) =>
      ({ place }: Candidate) =>
        mayBeAt(inputs, slot, place),
  );
  const chosen = chosenOf(inputs, fits, without);
  return slots.flatMap((slot, index) => {
    const candidate = chosen[index];
    return candidate ? [{ slot, candidate }] : [];
  });
}

const anyCandidate = () => true;

function chosenOf(
  inputs: Inputs,
  fits: readonly ((candidate: Candidate) => boolean)[],
  without: readonly Replica[],
): (Candidate | undefined)[] {
  const all = standings(inputs, without).map((standing): Filling => Object.assign({ added: 0 }, standing));
  return fits.map((isFit) => {
    const open = all.filter(({ room, added, market }) => room > added && isFit(market.candidate));
    const next = best(inputs, open, all);
    if (next) next.added += 1;
    return next?.market.candidate;
  });
}

type Filling = Standing & { added: number };

function best(inputs: Inputs, open: readonly Filling[], all: readonly Filling[]): Filling | undefined {
  const { placement } = inputs.object.spec;
  switch (placement?.strategy) {
    case 'Cheapest':
      return open.toSorted((one, other) => priceOf(one) - priceOf(other) || rankOf(one) - rankOf(other))[0];
    case 'Spread':
      return spread(placement.spread, open, all);
    case 'Ordered':
    case undefined:
      return open.toSorted((one, other) => rankOf(one) - rankOf(other))[0];
  }
}

const rankOf = ({ market }: Standing) => market.candidate.rank;
/** Unknown: after all known ones. */
const priceOf = ({ market }: Standing) => market.price?.micros ?? Number.MAX_VALUE;

type Spread = NonNullable<FleetInputs['object']['spec']['placement']>['spread'];

/** What is to have equally many replicas. */
export function domainOf({ place }: Pick<Candidate, 'place'>, over: Spread['over']): string {
  return JSON.stringify(
    over === 'account' ? [place.account] : over === 'region' ? [place.region] : [place.geography ?? 'auto'],
  );
}

function spread(
  { over, maxSkew, whenUnsatisfiable }: Spread,
  open: readonly Filling[],
  all: readonly Filling[],
) {
  const counts = new Map<string, number>();
  for (const each of all) {
    const domain = domainOf(each.market.candidate, over);
    counts.set(domain, (counts.get(domain) ?? 0) + each.replicas + each.added);
  }
  const least = Math.min(...counts.values());
  const countAt = (each: Filling) => counts.get(domainOf(each.market.candidate, over)) ?? 0;
  const isEven = (each: Filling) => countAt(each) + 1 - least <= maxSkew;
  const ordered = open.toSorted((one, other) => countAt(one) - countAt(other) || rankOf(one) - rankOf(other));
  return ordered.find(isEven) ?? (whenUnsatisfiable === 'Prefer' ? ordered[0] : undefined);
}

/** Why replicas are missing that there would be room for. */
export function placementObstacle(
  inputs: Inputs & Pick<FleetInputs, 'volumes' | 'taken' | 'leaving'>,
  missing: number,
  longestMs: number,
): Plan | undefined {
  if (missing <= 0) return undefined;
  const slots = nextSlots(inputs, missing);
  const bound = slots.filter((slot) => isBound(inputs, slot, placesOf(inputs)));
  if (bound.length > 0) return boundObstacle(inputs, bound, 'delete the volume at the provider');
  if (!inputs.object.spec.placement || chooseFor(inputs, slots).length > 0) return undefined;
  const all = standings(inputs).filter(({ market }) =>
    slots.some((slot) => mayBeAt(inputs, slot, market.candidate.place)),
  );
  const times = all.flatMap(({ retryAt }) => retryAt ?? []);
  const asks = all.filter(({ state }) => state === 'Scarce' || state === 'Probing');
  const isForCapacity = asks.some(({ isForPrice }) => !isForPrice);
  const uneven = all.some(({ room }) => room > 0) ? ['another one would exceed `maxSkew`'] : [];
  const texts = all.flatMap(({ message }) => (message === '' ? [] : [message]));
  const message = `${missing} ${missing === 1 ? 'replica has' : 'replicas have'} no place: ${[...uneven, ...texts].join('; ')}`;
  if (asks.length > 0 && !isForCapacity)
    return waitFor('PriceUnknown', message, { recheckAfterMs: longestMs });
  if (!isForCapacity) return holdFor('NoCandidate', message, { path: ['spec', 'placement'] });
  const leftMs = Math.min(...times) - inputs.nowMs;
  return waitFor('CapacityUnavailable', message, {
    recheckAfterMs: Math.min(Math.max(leftMs, 1001), longestMs),
  });
}

/** The only place, which no replica is at yet, is not offered: none is sent there. */
export function unofferedPlace({ object, markets, replicas }: Inputs): Hold | undefined {
  const [market] = markets;
  if (object.spec.placement || market?.unoffered?.kind !== 'hold') return undefined;
  const isEmpty = inPhase(replicas, 'wanted').every(({ isMisplaced }) => isMisplaced);
  const { reason, message, path = [] } = market.unoffered;
  const [first = 'spec', ...rest] = path;
  return isEmpty ? holdFor(reason, message, { path: [first, 'template', 'spec', ...rest] }) : undefined;
}

function placesOf({ markets }: Inputs) {
  return markets.map(({ candidate }) => candidate.place);
}

/** Wanted replicas that can be at no candidate, because of their volumes. They stay where they are. */
export function boundReplicas(inputs: Inputs & Pick<FleetInputs, 'volumes'>): Replica[] {
  return inPhase(inputs.replicas, 'wanted').filter(
    ({ entry, isMisplaced }) =>
      isMisplaced && entry.place.volume && isBound(inputs, entry.slot, placesOf(inputs)),
  );
}

export function boundObstacle(
  { object, state }: Inputs & Pick<FleetInputs, 'volumes'>,
  slots: readonly number[],
  remedy: string,
): Plan {
  const texts = slots.slice(0, 5).map((slot) => {
    const { account = '', region = '' } = state.volumes?.find((each) => each.slot === slot) ?? {};
    return `${volumeName(object.name, slot)} (account ${account}, region ${region})`;
  });
  const more = slots.length > texts.length ? `, and ${slots.length - texts.length} more` : '';
  const message = `no candidate is where these volumes are: ${texts.join(', ')}${more}; add one, or ${remedy}`;
  return holdFor('PlacementBound', message, { path: ['spec'] });
}
