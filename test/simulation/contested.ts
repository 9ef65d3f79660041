/** Fleets with candidates and with steps, in a world whose capacity, prices and checks change (attacks.ts). */
import type { SeededRandom } from '../support/seeded-random.ts';
import { attackDeeds, attackedRegions, roamingDeeds } from './attacks.ts';
import type { Action } from './script.ts';
import type { Json } from './watch.ts';

/** Now and then the price of a size (documents.ts), and no size. */
const ceilings = [15_000, 40_000, 1_200_000];

/** Somebody gives a fleet other places and other steps, or takes them away. */
export function editContest(spec: Json, random: SeededRandom, regions: readonly string[]): void {
  if (regions.length > attackedRegions.length) return editRoaming(spec, random, regions);
  if (random.chance(0.5)) editPlacement(spec, random);
  if (spec.update.steps === undefined || random.chance(0.3)) editSteps(spec, random);
  if (random.chance(0.3)) spec.update.onFailure = random.pick(['Rollback', 'Freeze']);
  if (random.chance(0.3)) spec.update.progressDeadlineSeconds = random.pick([60, 300, 1800]);
}

function editPlacement(spec: Json, random: SeededRandom): void {
  delete spec.placement;
  // A volume can't move.
  if (spec.storage?.perReplica || random.chance(0.15)) return;
  const regions = random.chance(0.5) ? attackedRegions : attackedRegions.toReversed();
  const candidates = regions.slice(0, random.chance(0.8) ? 2 : 1).flatMap((region, index) => {
    const geographies = random.chance(0.4) ? ['europe', undefined] : [undefined];
    return geographies.map((geography, each) =>
      candidateAt({ name: `${region}-${index}-${each}`, region, geography }, random),
    );
  });
  spec.placement = {
    candidates,
    strategy: random.pick(['Ordered', 'Ordered', 'Cheapest', 'Spread']),
    provisionTimeoutMinutes: random.pick([0, 1, 20]),
    unpriced: random.pick(['Try', 'Skip']),
    spread: { over: 'region', whenUnsatisfiable: random.pick(['Prefer', 'Require']) },
    ...(random.chance(0.25) ? { maxHourlyMicros: random.pick(ceilings) } : {}),
    ...(random.chance(0.5)
      ? { moveBack: { enabled: true, afterMinutes: 1, minSavingPercent: 0, maxPerHour: 60 } }
      : {}),
  };
}

/** Any of the regions, in any order. */
function editRoaming(spec: Json, random: SeededRandom, regions: readonly string[]): void {
  delete spec.placement;
  if (spec.storage?.perReplica) return;
  const drawn = regions.map((region) => ({ region, at: random.between(0, 1000) }));
  const candidates = drawn
    .toSorted((one, other) => one.at - other.at)
    .map(({ region }) => candidateAt({ name: region, region }, random));
  spec.placement = {
    candidates,
    strategy: random.pick(['Ordered', 'Cheapest', 'Spread']),
    provisionTimeoutMinutes: random.pick([0, 20]),
    moveBack: { enabled: true, afterMinutes: 1, minSavingPercent: random.pick([0, 10]), maxPerHour: 60 },
  };
}

function candidateAt(place: Json, random: SeededRandom): Json {
  const candidate: Json = { ...place };
  if (place.geography === undefined) delete candidate.geography;
  if (random.chance(0.3)) candidate.maxReplicas = random.between(1, 4);
  if (random.chance(0.15)) candidate.maxHourlyMicros = random.pick(ceilings);
  return candidate;
}

function editSteps(spec: Json, random: SeededRandom): void {
  delete spec.update.steps;
  if (random.chance(0.2)) return;
  const checks = [
    { http: { path: '/health' } },
    { exec: { command: ['test', '-f', '/ready'] } },
    { prometheus: { query: 'up', min: 0.5 } },
  ];
  const analysis = {
    forSeconds: random.between(10, 90),
    everySeconds: random.pick([5, 15]),
    failures: random.between(0, 2),
    inconclusive: random.pick(['Wait', 'Fail']),
    checks: checks.filter(() => random.chance(0.7)),
  };
  const first = random.pick([{ replicas: 1 }, { weight: 30 }]);
  const steps: object[] = [first];
  if (random.chance(0.5)) steps.push({ pause: { seconds: random.between(1, 60) } });
  if (analysis.checks.length > 0) steps.push({ analysis });
  if ('weight' in first && random.chance(0.5)) steps.push({ weight: 60 }, { pause: { seconds: 5 } });
  spec.update.steps = steps;
}

/**
 * At the end people want all replicas at the first place, and measure nothing. What failed by its checks is not tried again, so it is another
 * template.
 */
export function withoutContest({ placement: _placement, update, template, ...spec }: Json): Json {
  const { steps: _steps, ...rest } = update;
  return {
    ...spec,
    update: rest,
    template: { ...template, spec: { ...template.spec, restartToken: 'mended' } },
  };
}

/** Of the fleets in `slots`. `others`: tasks in their replicas, which come and go. */
export function attackActions(
  random: SeededRandom,
  slots: readonly number[],
  others: readonly number[],
  healAtMs: number,
  isRoaming: boolean,
): Action[] {
  const minutes = healAtMs / 60_000;
  const actions: Action[] = [];
  const add = (deed: Action['do'], count: number, among: readonly number[]) => {
    for (let each = 0; each < count && among.length > 0; each += 1) {
      const [slot, atMs] = [random.pick(among), random.between(0, healAtMs - 1)];
      actions.push({ atMs, do: deed, slot, seed: random.between(0, 2 ** 30) });
    }
  };
  if (isRoaming) {
    add(roamingDeeds[0], random.between(1, Math.max(1, Math.floor(minutes / 5))), slots);
    if (random.chance(0.3)) add(roamingDeeds[1], 1, slots);
    return actions;
  }
  for (const deed of attackDeeds)
    add(deed, random.chance(0.7) ? random.between(1, Math.max(1, Math.ceil(minutes / 5))) : 0, slots);
  const perMinute = random.pick([0.2, 0.6]);
  add('write', Math.ceil(perMinute * minutes), others);
  add('remove', Math.ceil((perMinute * minutes) / 2), others);
  return actions;
}
