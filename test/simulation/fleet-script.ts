/**
 * What people do with fleets, and what befalls them, in a world that has fleets. All of it is drawn from streams of its own, so that other
 * worlds stay as they were.
 *
 * | deed           | what happens                                                                                     |
 * |----------------|--------------------------------------------------------------------------------------------------|
 * | rename-fleet   | its document gets another name, at once                                                          |
 * | break-document | the document of a fleet has a mistake for a while (in a folder; a cluster refuses it)            |
 * | lose-state     | the process is killed, and its state file is lost, when only marks are needed to find all again |
 */
import type { SeededRandom } from '../support/seeded-random.ts';
import { stream } from './random-port.ts';
import type { Action, Slot } from './script.ts';

export const fleetDeeds = ['rename-fleet', 'break-document', 'lose-state'] as const;
export type FleetDeed = (typeof fleetDeeds)[number];

/** Slots of replicas that a task may name, or a document take. */
const highestNamed = 3;

/** Fleets, names for those that are renamed, tasks in replicas, and now and then a document with the name of one. */
export function fleetSlots(seed: number, most: number): Slot[] {
  const random = stream(seed, 'fleets');
  const count = random.between(1, most);
  const named = (fleet: number) => `fleet${fleet}-${random.between(0, highestNamed)}`;
  const tasks = Array.from({ length: 2 }, () => `${named(random.between(0, count - 1))}.task`);
  const taken = random.chance(0.2) ? [named(0)] : [];
  return [
    ...Array.from({ length: count + 1 }, (_, index) => ({
      kind: 'ServiceFleet' as const,
      name: `fleet${index}`,
    })),
    ...[...new Set(tasks)].map((name) => ({ kind: 'ProtectedTask' as const, name })),
    ...taken.map((name) => ({ kind: 'ContainerService' as const, name })),
  ];
}

const usualEdits = [0.3, 1, 3];
/** Between two edits a rollout may come to its analysis. */
export const rareEdits = [0.1, 0.2, 0.4, 1];

/** Of these slots, whose numbers begin with `first`. */
export function fleetActions(
  seed: number,
  slots: readonly Slot[],
  first: number,
  healAtMs: number,
  editsPerMinute: readonly number[] = usualEdits,
): Action[] {
  const random = stream(seed, 'deeds with fleets');
  const numbered = slots.map(({ kind }, index) => ({ kind, slot: first + index }));
  // The last name is for whoever is renamed.
  const fleets = numbered.filter(({ kind }) => kind === 'ServiceFleet').slice(0, -1);
  const others = numbered.filter(({ kind }) => kind !== 'ServiceFleet');
  const minutes = healAtMs / 60_000;
  const actions: Action[] = [];
  const add = (
    deed: Action['do'],
    count: number,
    among: readonly { readonly slot: number }[],
    untilMs = healAtMs,
  ) => {
    for (let each = 0; each < count && among.length > 0; each += 1) {
      const { slot } = random.pick(among);
      const atMs = random.between(0, untilMs - 1);
      actions.push({ atMs, do: deed, slot, seed: random.between(0, 2 ** 30) });
    }
  };
  for (const fleet of fleets) add('write', random.chance(0.9) ? 1 : 0, [fleet], 20_000);
  const perMinute = random.pick(editsPerMinute);
  add('write', Math.ceil(perMinute * minutes * fleets.length), fleets);
  add('remove', Math.floor((perMinute * minutes) / 8), fleets);
  add('write', random.between(0, 4 * others.length), others);
  add('remove', random.between(0, 2 * others.length), others);
  add('rename-fleet', occasional(random, 0.2, 1), fleets);
  add('break-document', occasional(random, 0.4, 4), fleets);
  add('lose-state', occasional(random, 0.4, 4), fleets);
  return actions;
}

function occasional(random: SeededRandom, probability: number, most: number): number {
  return random.chance(probability) ? random.between(1, most) : 0;
}
