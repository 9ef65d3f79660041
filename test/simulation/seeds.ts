/**
 * The seeds that are run each time: the first few with every `npm test`, the others before a change lands. They are counted, and not as many as fit
 * into some seconds: each machine runs the same ones. `SEED` begins elsewhere.
 */
import { openViolations } from './open-violations.ts';
import type { PlaceName } from './script.ts';

/** A run in a cluster takes as long as two in a folder. */
const counts: Readonly<Record<PlaceName, { readonly everyday: number; readonly all: number }>> = {
  folder: { everyday: 10, all: 40 },
  cluster: { everyday: 5, all: 20 },
};

const first = Number(process.env['SEED'] ?? 1000);

export function everydaySeeds(place: PlaceName): readonly number[] {
  return seedsOf(place, 0, counts[place].everyday);
}

export function furtherSeeds(place: PlaceName): readonly number[] {
  return seedsOf(place, counts[place].everyday, counts[place].all);
}

/** Without those of open-violations.ts. */
function seedsOf(place: PlaceName, from: number, to: number): number[] {
  const isOpen = (seed: number) => openViolations.some((open) => open.seed === seed && open.place === place);
  return Array.from({ length: to - from }, (_, index) => first + from + index).filter(
    (seed) => !isOpen(seed),
  );
}
