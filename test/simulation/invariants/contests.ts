/**
 * FI9 of fleets, and what else holds for those that choose among places and measure their rollouts (contested.ts):
 *
 * | rule | |
 * |------|---|
 * | FI9  | a revision that has failed is given to no replica again, while there is a Healthy one |
 * | FI14 | a replica is added at a place that the document has, and no more of them than its candidate takes |
 * | FI15 | a step with an analysis is passed by what was measured, and a check that fails all the time passes no measurement |
 * | FI16 | a step has no more replicas at the new revision than it allows |
 * | FI17 | no replica is made where its known price is above the highest one (prices.ts) |
 * | FI18 | while nothing changes, a replica moves at most once (moves.ts) |
 */
import { sameValue } from '../../../src/base/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { limitsOf, type RosterEntry } from '../fleets.ts';
import type { Invariant, Json, View } from '../watch.ts';
import { moveInvariants } from './moves.ts';
import { priceInvariants } from './prices.ts';
import { entryOf, givesWay, leftAtProvider, limits, ofSteps, slotsOf, type Step } from './steps.ts';

const fi9FailedStays = ofSteps((view) => ({
  step({ fleet, before, after }) {
    const known = view.disk.revisions().get(fleet) ?? [];
    if (!known.some(({ outcome }) => outcome === 'Healthy')) return;
    const failed = new Set(known.flatMap(({ number, outcome }) => (outcome === 'Failed' ? [number] : [])));
    const sent = after.filter((entry) => {
      const was = entryOf(before, entry.slot);
      const isKept =
        was && (was.revision === entry.revision || was.revision === undefined || givesWay(was, entry));
      return entry.revision !== undefined && failed.has(entry.revision) && !isKept;
    });
    if (sent.length > 0)
      view.violated(
        'FI9',
        `${fleet} gives ${slotsOf(sent)} the revision r${sent[0]?.revision}, which has failed`,
      );
  },
}));

/** Places of the document, with how many replicas each takes. */
function candidatesOf({ template, placement, accountRef }: Json): Json[] {
  const { region, geography } = template.spec;
  return placement?.candidates ?? [{ region, geography, accountRef }];
}

function isAt({ place }: Json, { region, geography }: Json): boolean {
  return place.region === region && place.geography === geography;
}

const fi14Places = ofSteps((view) => {
  const left = leftAtProvider(view);
  return {
    forgotten: (key) => left.forgotten(key),
    step(step) {
      left.note(step);
      const { fleet, before, after, specs } = step;
      const wanted: readonly Json[] = after.filter(({ phase }) => phase === 'wanted');
      const placed = wanted.filter((entry) => {
        const was: Json = entryOf(before, entry.slot);
        return (!was || was.candidate !== entry.candidate) && !left.has(fleet, entry.slot);
      });
      for (const entry of placed) {
        const all = specs.flatMap((spec) => candidatesOf(spec).filter((each) => isAt(entry, each)));
        if (all.length === 0)
          view.violated(
            'FI14',
            `${fleet} adds slot ${entry.slot} at ${JSON.stringify(entry.place)}, which it does not name`,
          );
        const own = all.filter(({ name = entry.candidate }) => name === entry.candidate);
        const most = Math.max(...own.map(({ maxReplicas = 1000 }) => maxReplicas));
        // Those that have other storage, or none, are to be replaced.
        const there = wanted.filter(
          ({ candidate, place }) => candidate === entry.candidate && sameValue(place, entry.place),
        ).length;
        if (own.length > 0 && there > most)
          view.violated(
            'FI14',
            `${fleet} adds slot ${entry.slot} at ${entry.candidate}: ${there} are there, and ${most} may be`,
          );
      }
    },
  };
});

/** Steps as all the documents have them that the step may rest on; undefined: they have different ones. */
function stepsOf({ specs }: Step): readonly Json[] | undefined {
  const [first, ...others] = specs.map(({ update }) => JSON.stringify(update?.steps ?? []));
  return first !== undefined && others.every((each) => each === first) ? JSON.parse(first) : undefined;
}

interface Rollouts {
  readonly was: Json;
  readonly is: Json;
}

/** Of one attempt at one revision. */
function rolloutsOf(view: View, { fleet, record }: Step): Rollouts | undefined {
  const was: Json = (view.inMemory(fleet)?.kind as Json)?.rollout;
  const is: Json = (record.kind as Json).rollout;
  const isSame = was && is && was.revision === is.revision && was.attempt === is.attempt;
  return isSame ? { was, is } : undefined;
}

function countsOf({ analyses = [] }: Json, step: number): Json {
  return analyses.find((each: Json) => each.step === step);
}

const fi15Measured = ofSteps((view) => ({
  step(step) {
    const steps = stepsOf(step);
    const rollouts = rolloutsOf(view, step);
    if (!steps || !rollouts) return;
    const { was, is } = rollouts;
    const { analysis }: Json = steps[was.step] ?? {};
    if (analysis && is.step > was.step) judgePassed(view, step.fleet, analysis, countsOf(was, was.step));
    for (const now of is.analyses ?? []) {
      const before = countsOf(was, now.step);
      const { checks = [] }: Json = steps[now.step]?.analysis ?? {};
      if (before?.checks !== now.checks || now.passed <= before.passed) continue;
      const kinds: string[] = checks.flatMap((check: object) => Object.keys(check));
      const sour = kinds.find((kind) => view.soursSince?.(kind, now.at));
      if (sour !== undefined)
        view.violated(
          'FI15',
          `a measurement of ${step.fleet} has passed, and its ${sour} failed all the time`,
        );
    }
  },
}));

function judgePassed(view: View, fleet: ObjectKey, analysis: Json, counts: Json): void {
  const { passed = 0, failed = 0, inconclusive = 0 } = counts ?? {};
  if (failed > (analysis.failures ?? 1) || passed <= inconclusive)
    view.violated(
      'FI15',
      `${fleet} passes an analysis with ${passed} measurements that passed, ${failed} that failed, and ${inconclusive} without a result`,
    );
}

/** Slots with the revision of the rollout. */
function having(entries: readonly RosterEntry[], revision: number): RosterEntry[] {
  return entries.filter((entry) => entry.phase === 'wanted' && entry.revision === revision);
}

const fi16Canary = ofSteps((view) => ({
  step(step) {
    const { fleet, before, after, record, specs } = step;
    const steps = stepsOf(step);
    const rollouts = rolloutsOf(view, step);
    const known = view.disk.revisions().get(fleet) ?? [];
    const hasHealthy = known.some(({ outcome }) => outcome === 'Healthy');
    const own = known.find(({ number }) => number === rollouts?.is.revision);
    // What is Healthy already is returned to, or moves.
    if (
      !steps ||
      !rollouts ||
      !hasHealthy ||
      own?.outcome === 'Healthy' ||
      (record.kind as Json).update !== rollouts.is.revision
    )
      return;
    const { is } = rollouts;
    if (!['Progressing', 'Paused', 'Analysing'].includes(is.phase) || is.step >= steps.length) return;
    const wants = [...limits(view, step), ...specs.map((spec) => limitsOf(spec, view.wallMs))].map(
      ({ want }) => want,
    );
    const goals = steps.slice(0, is.step + 1).flatMap(({ replicas, weight }) => {
      if (replicas !== undefined) return [replicas];
      return weight === undefined
        ? []
        : [Math.max(...wants.map((want) => Math.ceil((weight * want) / 100)), 1)];
    });
    const most: number = goals.at(-1) ?? 0;
    const news = having(after, is.revision).filter(({ slot }) => {
      const was = entryOf(before, slot);
      return was ? was.revision !== undefined && was.revision !== is.revision : true;
    });
    const all = having(after, is.revision);
    if (news.length > 0 && all.length > most)
      view.violated(
        'FI16',
        `${fleet} has ${slotsOf(all)} at r${is.revision} in step ${is.step + 1}, which is for ${most}`,
      );
  },
}));

export const contestInvariants: readonly Invariant[] = [
  fi9FailedStays,
  fi14Places,
  fi15Measured,
  fi16Canary,
  ...priceInvariants,
  ...moveInvariants,
];
