/**
 * The seeds that are run each time. They are counted, and not as many as fit into some seconds: each machine runs the same ones. `SEED` begins
 * elsewhere.
 */
import { openViolations } from './open-violations.ts';
import type { PlaceName } from './script.ts';

/** A run in a cluster takes as long as two in a folder. */
const counts: Readonly<Record<PlaceName, { readonly first: number; readonly all: number }>> = {
  folder: { first: 4, all: 40 },
  cluster: { first: 2, all: 20 },
};

const beginning = Number(process.env['SEED'] ?? 1001);

export function firstSeeds(place: PlaceName): readonly number[] {
  return seedsOf(place, 0, counts[place].first);
}

export function furtherSeeds(place: PlaceName): readonly number[] {
  return seedsOf(place, counts[place].first, counts[place].all);
}

/** Without those of open-violations.ts. */
function seedsOf(place: PlaceName, from: number, to: number): number[] {
  const isOpen = (seed: number) => openViolations.some((open) => open.seed === seed && open.place === place);
  return Array.from({ length: to - from }, (_, index) => beginning + from + index).filter(
    (seed) => !isOpen(seed),
  );
}
