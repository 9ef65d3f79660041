/**
 * What people ask of budgets in a world that has several, with fleets: their documents, which come and go; prices that rise and fall; and
 * what objects have for them: the label of a team, a priority, an exemption, and in fleets a least number of replicas. All of it is
 * drawn from streams of its own.
 */
import { annotations } from '../../src/resources/index.ts';
import { rfc3339 } from '../../src/base/index.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Document } from './documents.ts';
import { epochMs } from './place.ts';
import { stream } from './random-port.ts';
import type { BudgetEdit, Script } from './script.ts';
import type { Json } from './watch.ts';

const teams = ['a', 'b'] as const;
const plenty = 10 ** 9;
/** From less than what one service costs to several with a GPU. */
const limits = [15_000, 30_000, 30_000, 60_000, 60_000, 120_000, 500_000, 1_500_000, plenty, plenty];

export function sheddingScript(seed: number, healAtMs: number): Pick<Script, 'budgets' | 'priceRises'> {
  const random = stream(seed, 'budgets and fleets');
  const names = ['team', 'second', 'third'].slice(0, random.between(1, 3));
  const budgets = names.flatMap((name) => editsOf(name, random, healAtMs));
  return {
    budgets: budgets.toSorted((left, right) => left.atMs - right.atMs),
    priceRises: changesOfPrices(random, healAtMs),
  };
}

function editsOf(name: string, random: SeededRandom, healAtMs: number): BudgetEdit[] {
  const scope = random.pick(['account', 'namespace', 'labels'] as const);
  const about = scope === 'labels' ? { scope, team: random.pick(teams) } : { scope };
  const shed = {
    graceMinutes: random.between(1, 2),
    maxPerMinute: random.between(1, 3),
    resumeBelowPercent: random.pick([50, 90, 100]),
    resumeAfterMinutes: random.between(1, 2),
  };
  const firstMs = random.chance(0.8) ? 0 : random.between(1, healAtMs / 2);
  const count = random.between(2, 6);
  const times = Array.from({ length: count }, () => random.between(firstMs + 60_000, healAtMs - 1));
  const isPlentyFirst = random.chance(0.8);
  const editAt = (atMs: number, index: number): BudgetEdit => ({
    atMs,
    name,
    ...about,
    hourlyMicros: index === 0 && isPlentyFirst ? plenty : random.pick(limits),
    mode: random.chance(0.95) ? 'Shed' : 'Gate',
    shed,
    ...(index > 0 && random.chance(0.12) ? { isRemoved: true as const } : {}),
  });
  return [firstMs, ...times.toSorted((left, right) => left - right)].map(editAt);
}

function changesOfPrices(random: SeededRandom, healAtMs: number): Script['priceRises'] {
  const changes = Array.from({ length: random.between(0, 4) }, () => ({
    atMs: random.between(1, healAtMs - 1),
    percent: random.pick([120, 200, 500, 2000]),
  }));
  const falls = Array.from({ length: random.between(0, 2) }, () => ({
    atMs: random.between(1, healAtMs - 1),
    percent: random.pick([25, 50]),
  }));
  return [...changes, ...falls].toSorted((left, right) => left.atMs - right.atMs);
}

/** As it is, with what its author asks of budgets now. */
export function ofSomeTeam(
  document: Document,
  random: SeededRandom,
  nowMs: number,
  isNew: boolean,
): Document {
  const { kind, spec } = document;
  if (!['ContainerService', 'StorageVolume', 'ServiceFleet'].includes(kind)) return document;
  const isRetagged = isNew || random.chance(0.2);
  const isJudgedAnew = isNew || random.chance(0.25);
  const labels = isRetagged ? teamLabels(random) : undefined;
  const judged = isJudgedAnew ? asked(random, nowMs) : undefined;
  if (kind !== 'ServiceFleet')
    return {
      ...document,
      ...(labels ? { labels } : {}),
      ...(judged ? { annotations: { ...withoutAsked(document.annotations), ...judged } } : {}),
    };
  const counts = isNew ? { replicas: random.between(2, 6), minReplicas: random.between(0, 2) } : {};
  const { metadata = {} }: Json = spec.template;
  const isInTemplate = random.chance(0.3);
  const more = {
    ...metadata,
    ...(labels ? { labels } : {}),
    ...(judged && isInTemplate ? { annotations: judged } : {}),
  };
  return {
    ...document,
    ...(judged && !isInTemplate ? { annotations: judged } : {}),
    spec: { ...spec, ...counts, template: { ...spec.template, metadata: more } },
  };
}

function teamLabels(random: SeededRandom): Record<string, string> {
  const team = random.pick([...teams, ...teams, undefined]);
  return team === undefined ? {} : { team };
}

const { shedPriority, exemptFromSheddingUntil } = annotations;

function asked(random: SeededRandom, nowMs: number): Record<string, string> {
  const priority = random.pick([undefined, undefined, undefined, '0', '100', '900', 'never']);
  const isExempt = random.chance(0.1);
  const untilMs = epochMs + nowMs + random.between(30_000, 600_000);
  return {
    ...(priority === undefined ? {} : { [shedPriority]: priority }),
    ...(isExempt ? { [exemptFromSheddingUntil]: rfc3339(untilMs) } : {}),
  };
}

function withoutAsked(given: Readonly<Record<string, string>>): Record<string, string> {
  const names: ReadonlySet<string> = new Set([shedPriority, exemptFromSheddingUntil]);
  return Object.fromEntries(Object.entries(given).filter(([name]) => !names.has(name)));
}
