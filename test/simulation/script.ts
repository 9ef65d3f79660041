/**
 * What happens in one run, drawn from its seed before it begins: who does what when, and which faults there are. A
 * script can be made smaller, and still be run: that is how a failing seed is shrunk.
 */
import { drawFaults, worldFaults, type FaultKind, type WorldFault } from './faults.ts';
import { stream } from './random-port.ts';
import type { UserKind } from './documents.ts';

export type Deed = 'write' | 'remove' | WorldFault;

export interface Action {
  readonly atMs: number;
  readonly do: Deed;
  /** Whom it concerns, as a place in `slots`. */
  readonly slot: number;
  /** Everything else that it has to choose. */
  readonly seed: number;
}

export interface Slot {
  readonly kind: UserKind;
  readonly name: string;
}

export interface Script {
  readonly seed: number;
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly slots: readonly Slot[];
  readonly actions: readonly Action[];
  /** From then on nothing goes wrong, and nobody wants anything new. */
  readonly healAtMs: number;
  readonly pollSeconds: number;
  readonly rateLimitPerSecond: number | undefined;
}

export function scriptOf(seed: number): Script {
  const random = stream(seed, 'script');
  const faults = drawFaults(random);
  const slots = slotsOf(
    random.between(2, 16),
    random.between(0, 5),
    random.between(0, 4),
    random.between(0, 2),
  );
  const healAtMs = random.pick([5, 10, 20, 40]) * 60_000;
  const actions: Action[] = [];
  const add = (deed: Deed, count: number) => {
    for (let each = 0; each < count; each += 1) {
      const slot = random.between(0, slots.length - 1);
      actions.push({
        atMs: random.between(0, healAtMs - 1),
        do: deed,
        slot,
        seed: random.between(0, 2 ** 30),
      });
    }
  };
  // Most of the fleet is there from the start.
  for (const slot of slots.keys()) {
    if (random.chance(0.8))
      actions.push({ atMs: random.between(0, 20_000), do: 'write', slot, seed: random.between(0, 2 ** 30) });
  }
  const perMinute = random.pick([2, 6, 12]);
  add('write', Math.ceil((perMinute * healAtMs) / 60_000));
  add('remove', Math.ceil((perMinute * healAtMs) / 100_000));
  for (const deed of worldFaults) if (faults.has(deed)) add(deed, random.between(1, 6));
  return {
    seed,
    faults,
    slots,
    actions: actions.sort((left, right) => left.atMs - right.atMs),
    healAtMs,
    pollSeconds: random.pick([2, 5, 15]),
    rateLimitPerSecond: random.chance(0.2) ? random.pick([3, 10]) : undefined,
  };
}

function slotsOf(services: number, volumes: number, templates: number, registries: number): Slot[] {
  const numbered = (count: number, kind: UserKind, prefix: string): Slot[] =>
    Array.from({ length: count }, (_, index) => ({ kind, name: `${prefix}${index}` }));
  return [
    ...numbered(volumes, 'StorageVolume', 'data'),
    ...numbered(services, 'ContainerService', 'web'),
    ...Array.from({ length: Math.ceil(services / 3) }, (_, index) => ({
      kind: 'ProtectedTask' as const,
      name: `web${index}.task`,
    })),
    ...numbered(templates, 'ServiceTemplate', 'base'),
    ...numbered(registries, 'ImageRegistry', 'images'),
  ];
}
