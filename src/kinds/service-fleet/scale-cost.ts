/** What another number of replicas costs, or another size of each, in a plan. Pure. */
import type { Arrange, Cost } from '../../engine/plan/index.ts';
import { inPhase, type FleetInputs } from './inputs.ts';
import type { Market } from './placement.ts';
import { isToChange, leavingWith, moreWith } from './planned-replicas.ts';
import { isShownRepaired } from './repair.ts';
import type { Replica } from './replica.ts';
import type { FleetState } from './state.ts';

const bases = ['observed', 'declared', 'catalog'] as const;

/**
 * Undefined: nothing more is wanted, or nobody knows what is saved. A replica whose place is not chosen yet is taken for one at the
 * first candidate. A volume costs something when it is made, and when it stays nothing is saved.
 */
export function scaleCost(inputs: CostInputs, plan: Arrange): Cost | undefined {
  // One that is broken and costs nothing is replaced by one that does.
  const lost = inPhase(inputs.replicas, 'wanted').filter(
    (replica) => replica.hourlyMicros === undefined && isShownRepaired(plan, replica),
  );
  const replaced = pricesOf(lost.length, [inputs.markets[0]?.price]);
  if (plan.change !== 'update') return together(countCost(inputs, plan), replaced);
  const leaving = leavingWith(inputs, plan);
  const isResized = plan.differences.some(({ path }) => path === 'template.resources');
  const size = isResized ? sizeCost(inputs, leaving) : undefined;
  const grown = together(growthCost(inputs, moreWith(plan)), replaced);
  return together(together(size, grown), savingOf(inputs, leaving, isResized));
}

type CostInputs = Pick<
  FleetInputs,
  'markets' | 'state' | 'object' | 'replicas' | 'wanted' | 'update' | 'present'
>;

const unknownCost: Cost = { beforeMicros: 0n, afterMicros: 0n, basis: 'unknown', unknown: [] };

function together(one: Cost | undefined, other: Cost | undefined): Cost | undefined {
  if (!one || !other) return one ?? other;
  const basis = bases.findLast((each) => [one.basis, other.basis].includes(each));
  if (!basis || [one.basis, other.basis].includes('unknown')) return unknownCost;
  const beforeMicros = one.beforeMicros + other.beforeMicros;
  return { beforeMicros, afterMicros: one.afterMicros + other.afterMicros, basis, unknown: [] };
}

/** Of replicas that the same document asks for in addition. They are made while the others get its template, or after it. */
function growthCost({ markets: [market], object }: CostInputs, more: number): Cost | undefined {
  const hasVolumes = object.spec.storage?.perReplica !== undefined;
  return pricesOf(more, hasVolumes ? [market?.price, market?.volumePrice] : [market?.price]);
}

function pricesOf(more: number, prices: readonly Market['price'][]): Cost | undefined {
  if (more <= 0) return undefined;
  const weakest = bases.findLast((basis) => prices.some((price) => price?.basis === basis));
  if (prices.includes(undefined) || !weakest) return unknownCost;
  const each = prices.reduce((total, price) => total + BigInt(price?.micros ?? 0), 0n);
  return { beforeMicros: 0n, afterMicros: each * BigInt(more), basis: weakest, unknown: [] };
}

/** Of replicas that leave with a rollout. Undefined: nobody knows what is saved. `isResized`: the known prices are of another size. */
function savingOf(
  { markets, object }: CostInputs,
  leaving: readonly Replica[],
  isResized: boolean,
): Cost | undefined {
  const isDeleted = object.spec.storage?.perReplica?.retire === 'Delete';
  const prices = leaving.flatMap(({ isMade, isAsleep, candidate, hourlyMicros }) => {
    if (!isMade) return [];
    const market = marketOf(markets, candidate);
    const micros = isAsleep ? 0 : hourlyMicros;
    const estimate = isResized ? undefined : market?.price;
    const price = micros === undefined ? estimate : ({ micros, basis: 'observed' } as const);
    return isDeleted ? [price, market?.volumePrice] : [price];
  });
  const beforeMicros = prices.reduce((total, price) => total + BigInt(price?.micros ?? 0), 0n);
  const weakest = bases.findLast((basis) => prices.some((price) => price?.basis === basis));
  if (prices.includes(undefined) || !weakest) return undefined;
  return { beforeMicros, afterMicros: 0n, basis: weakest, unknown: [] };
}

/** Of replicas that stay and get another size, once all of them have it. */
function sizeCost(inputs: CostInputs, leaving: readonly Replica[]): Cost | undefined {
  const { markets, replicas } = inputs;
  const changed = inPhase(replicas, 'wanted').filter(
    (replica) => isToChange(inputs, replica) && !leaving.includes(replica),
  );
  if (changed.length === 0) return undefined;
  const prices = changed.map(({ candidate }) => marketOf(markets, candidate)?.price);
  const weakest = bases.findLast((basis) => prices.some((price) => price?.basis === basis));
  const before = changed.reduce((total, { hourlyMicros = 0 }) => total + BigInt(hourlyMicros), 0n);
  const isKnown =
    !prices.includes(undefined) && changed.every(({ hourlyMicros }) => hourlyMicros !== undefined);
  if (!isKnown || !weakest) return unknownCost;
  const afterMicros = prices.reduce((total, price) => total + BigInt(price?.micros ?? 0), 0n);
  return { beforeMicros: before, afterMicros, basis: weakest, unknown: [] };
}

function countCost({ markets, state, object }: CostInputs, plan: Arrange): Cost | undefined {
  const count = plan.differences.find(({ path }) => path === 'replicas');
  if ((plan.change !== 'scale' && plan.change !== 'create') || !count) return undefined;
  const more = Number(count.desired) - Number(count.observed);
  const before = new Map(state.roster.map((entry) => [entry.slot, entry]));
  const { roster = [] }: FleetState = plan.state;
  const chosen = roster.filter((entry) =>
    more > 0 ? !before.has(entry.slot) : entry.phase !== before.get(entry.slot)?.phase,
  );
  const { perReplica } = object.spec.storage ?? {};
  const kept = new Set(state.volumes?.map(({ slot }) => slot));
  const hasVolume = (slot: number | undefined) =>
    perReplica !== undefined &&
    (more > 0 ? slot === undefined || !kept.has(slot) : perReplica.retire === 'Delete');
  const places = Array.from({ length: Math.abs(more) }, (_, index) => chosen[index]);
  const prices = places.flatMap((entry) => {
    const market = marketOf(markets, entry?.candidate);
    return hasVolume(entry?.slot) ? [market?.price, market?.volumePrice] : [market?.price];
  });
  const sum = prices.reduce((total, price) => total + BigInt(price?.micros ?? 0), 0n);
  const weakest = bases.findLast((basis) => prices.some((price) => price?.basis === basis));
  if (prices.includes(undefined) || !weakest) return more > 0 ? unknownCost : undefined;
  const [beforeMicros, afterMicros] = more > 0 ? [0n, sum] : [sum, 0n];
  return { beforeMicros, afterMicros, basis: weakest, unknown: [] };
}

function marketOf(markets: readonly Market[], name: string | undefined): Market | undefined {
  return markets.find(({ candidate }) => candidate.name === name) ?? markets[0];
}
