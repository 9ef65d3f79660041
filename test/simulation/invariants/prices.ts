/**
 * FI17 of fleets: no replica is placed, or made, where its known price is above the highest one that its candidate allows. Known is what the API has shown to
 * the process that leads, of the same size in the same region (and geography, if the candidate has one):
 *
 * | shown                                   | known price                                                     |
 * |-----------------------------------------|-----------------------------------------------------------------|
 * | running services                        | the lowest that the last answer has of them, until another one  |
 * | none ever, and a catalog with prices    | that of the catalog                                             |
 * | neither                                 | none                                                            |
 *
 * Another process begins with nothing. Of a price that was shown only just now, nothing is said.
 */
import type { ObjectKey } from '../../../src/resources/index.ts';
import { placeInFleet, revisionOf, rosterInMemory, ownerOf, type RosterEntry } from '../fleets.ts';
import type { Exchange, Invariant, Json, View } from '../watch.ts';
import { entryOf, leftAtProvider, longestWriteMs, ofSteps, plannedMs, recentSpecs } from './steps.ts';

/** A replica that is placed already may be on its way for so long. */
const makingMs = 60_000;

interface Placed extends RosterEntry {
  readonly candidate?: string;
  readonly place?: Json;
}

interface Shown {
  readonly atMs: number;
  readonly micros: number;
}

interface Place {
  readonly region: string;
  readonly geography?: string | undefined;
  readonly resources: Json;
}

const sizeText = (region: string, { gpuCount = 0, cpu, memoryGb }: Json) =>
  `${region} ${gpuCount}/${cpu}/${memoryGb}`;

/** What the process that leads was shown of prices. */
class KnownPrices {
  readonly #view: View;
  /** By size and region, or geography as well. The latest last. */
  readonly #services = new Map<string, Shown[]>();
  /** Sizes that running services have shown at any time. */
  readonly #everShown = new Set<string>();
  /** By region. */
  readonly #catalog = new Map<string, { readonly atMs: number; readonly prices: Json }[]>();

  constructor(view: View) {
    this.#view = view;
  }

  forget(): void {
    this.#services.clear();
    this.#catalog.clear();
  }

  tell({ path }: Exchange, body: Json): void {
    const atMs = this.#view.nowMs;
    if (path === '/api/catalog')
      for (const { name, prices } of body.regions)
        this.#catalog.set(name, [...(this.#catalog.get(name) ?? []), { atMs, prices }].slice(-100));
    if (path !== '/api/account') return;
    const lowest = new Map<string, number>();
    for (const { state, region, geography, resources, hourlyMicros } of body.services) {
      if (state !== 'running') continue;
      const size = sizeText(region, resources);
      this.#everShown.add(size);
      for (const key of [size, `${size} ${geography}`])
        lowest.set(key, Math.min(hourlyMicros, lowest.get(key) ?? Number.POSITIVE_INFINITY));
    }
    for (const [key, micros] of lowest) {
      const known = this.#services.get(key) ?? [];
      if (known.at(-1)?.micros !== micros) this.#services.set(key, [...known, { atMs, micros }].slice(-100));
    }
  }

  /** The lowest one that was known at any time since then. */
  since(atMs: number, { region, geography, resources }: Place): number | undefined {
    const size = sizeText(region, resources);
    const shown = this.#services.get(geography === undefined ? size : `${size} ${geography}`);
    if (shown || this.#everShown.has(size)) return lowestSince(shown ?? [], atMs);
    const { gpuCount = 0, cpu, memoryGb } = resources;
    const listed = (this.#catalog.get(region) ?? []).map(({ atMs: shownAtMs, prices }) => {
      const { gpuHourMicros, cpuHourMicros, memoryGbHourMicros } = prices ?? {};
      const micros = gpuCount * gpuHourMicros + cpu * cpuHourMicros + memoryGb * memoryGbHourMicros;
      return { atMs: shownAtMs, micros: prices ? micros : 0 };
    });
    return lowestSince(listed, atMs);
  }
}

function lowestSince(shown: readonly Shown[], atMs: number): number | undefined {
  const before = shown.findLast((each) => each.atMs <= atMs);
  if (!before) return undefined;
  return Math.min(before.micros, ...shown.filter((each) => each.atMs > atMs).map(({ micros }) => micros));
}

/** The highest price that any of the documents allows there. */
function ceilingOf(entry: Placed, specs: readonly Json[]): number {
  const ceilings = specs.map(({ placement }) => {
    const candidate = placement?.candidates.find(({ name }: Json) => name === entry.candidate);
    return candidate?.maxHourlyMicros ?? placement?.maxHourlyMicros ?? Number.POSITIVE_INFINITY;
  });
  return Math.max(...ceilings);
}

const fi17Prices: Invariant = (view) => {
  const prices = new KnownPrices(view);
  const left = leftAtProvider(view);
  const plannedSinceMs = () => view.nowMs - (view.isCluster ? longestWriteMs : plannedMs);
  const judge = (fleet: ObjectKey, entry: Placed, sinceMs: number, deed: string) => {
    const ceiling = ceilingOf(entry, recentSpecs(view, fleet, sinceMs));
    const content: Json = revisionOf(view.disk, fleet, entry)?.content;
    const resources = entry.place.resources ?? content?.resources;
    if (!resources || !view.isPlain) return;
    const { region, geography } = entry.place;
    const price = prices.since(sinceMs, { region, geography, resources });
    if (price !== undefined && price > ceiling)
      view.violated(
        'FI17',
        `${fleet} ${deed} slot ${entry.slot} at ${entry.candidate}, where the price is ${price}: at most ${ceiling} may be`,
      );
  };
  const placed = ofSteps(() => ({
    forgotten: (key) => left.forgotten(key),
    step(step) {
      left.note(step);
      const { fleet, before, after } = step;
      for (const entry of after as readonly Placed[]) {
        const was: Json = entryOf(before, entry.slot);
        const isPlaced = !was || was.candidate !== entry.candidate;
        if (entry.phase === 'wanted' && isPlaced && !left.has(fleet, entry.slot))
          judge(fleet, entry, plannedSinceMs(), 'places');
      }
    },
  }))(view);
  return {
    ...placed,
    started: () => prices.forget(),
    unled: () => prices.forget(),
    lost: () => prices.forget(),
    received(exchange, { verdict, body }) {
      if (exchange.method === 'GET' && verdict === 'done' && view.leads(exchange.life))
        prices.tell(exchange, body);
    },
    sent({ method, path, object }) {
      const place = object && placeInFleet(object);
      const owner = object && ownerOf(view.disk, object);
      if (!place || owner === undefined || method !== 'POST' || path !== '/api/services') return;
      const entry = entryOf(rosterInMemory(view, owner) ?? [], place.slot);
      if (entry) judge(owner, entry, view.nowMs - makingMs, 'makes');
    },
  };
};

export const priceInvariants: readonly Invariant[] = [fi17Prices];
