/**
 * What happens in one run, drawn from its seed before it begins: who does what when, and which faults there are. A
 * script can be made smaller, and still be run: that is how a failing seed is shrunk.
 */
import { apiFaults, clusterDeeds, drawClusterFaults, isolation, type ClusterDeed } from './cluster/faults.ts';
import {
  aimedCrash,
  allFaults,
  drawCreationFaults,
  drawFaults,
  forgery,
  truncation,
  uncertainFaults,
  hostileEdit,
  worldFaults,
  type FaultKind,
  type WorldFault,
} from './faults.ts';
import type { AttackDeed } from './attacks.ts';
import { attackActions } from './contested.ts';
import { plain as plainDialect } from '../dialects/dialect.ts';
import { answerDialects, dialectNamed } from '../dialects/index.ts';
import { stream } from './random-port.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { fleetActions, fleetSlots, rareEdits, type FleetDeed } from './fleet-script.ts';
import { sheddingScript } from './shedding-script.ts';
import { neighbourDeeds, type NeighbourDeed } from './neighbours.ts';
import type { UserKind } from './documents.ts';

export type Deed = 'write' | 'remove' | WorldFault | ClusterDeed | NeighbourDeed | FleetDeed | AttackDeed;

/** Where the fleet is declared and its state kept. */
export const places = ['folder', 'cluster'] as const;
export type PlaceName = (typeof places)[number];

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
  readonly place: PlaceName;
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly slots: readonly Slot[];
  readonly actions: readonly Action[];
  /** From then on nothing goes wrong, and nobody wants anything new. */
  readonly healAtMs: number;
  readonly pollSeconds: number;
  /** How the control plane puts its answers (test/dialects/), by name. */
  readonly dialect: string;
  readonly rateLimitPerSecond: number | undefined;
  /** Undefined: there is plenty, but for the moments of `poor`, and then nothing may be spent. */
  readonly money: Money | undefined;
  /** Whether there is trouble from outside (neighbours.ts). */
  readonly hasNeighbours: boolean;
  /** Whether there are times without capacity (shortage.ts). */
  readonly hasShortages: boolean;
  /** Whether there are ServiceFleets (fleets.ts). */
  readonly hasFleets: boolean;
  /** Whether ServiceFleets refer to ServiceTemplates. */
  readonly hasTemplates: boolean;
  /** Whether these choose among places and measure their rollouts, and what they rest on changes (attacks.ts). */
  readonly isContested: boolean;
  /** They may be in four regions, of which one at a time has capacity. */
  readonly isRoaming: boolean;
  /** Objects have what budgets ask for: labels of teams, priorities, exemptions; and fleets have a least number of replicas. */
  readonly hasTeams: boolean;
  /** Documents of budgets, one after the other; in a world with one, it is there from the start. */
  readonly budgets: readonly BudgetEdit[];
  /** When what runs becomes more expensive, and how: all of it costs so many per cent of what it did. */
  readonly priceRises: readonly { readonly atMs: number; readonly percent: number }[];
}

export interface BudgetEdit {
  readonly atMs: number;
  /** Undefined: `team`. */
  readonly name?: string;
  /** It is removed then. */
  readonly isRemoved?: true;
  /** Of the account, with all that is in it; of what is declared in the namespace; or of what has the label of a team. */
  readonly scope: 'account' | 'namespace' | 'labels';
  /** That team. */
  readonly team?: string;
  readonly hourlyMicros: number;
  readonly mode: 'Gate' | 'Shed';
  readonly shed: {
    readonly graceMinutes: number;
    readonly maxPerMinute: number;
    readonly resumeBelowPercent: number;
    readonly resumeAfterMinutes: number;
  };
}

/** There is little to spend while the fleet is made, for `poorMs`; and so much above the floor, as at any moment of `poor`. */
interface Money {
  readonly poorMs: number;
  readonly aboveFloorMicros: number;
  /** The catalog tells no prices. */
  readonly hidesPrices: boolean;
}

/** How many objects of a kind there may be, and how often people write and remove them. */
interface Crowd {
  readonly services: number;
  readonly volumes: number;
  readonly templates: number;
  readonly registries: number;
  readonly writesPerMinute: readonly number[];
  /** Of writes for each removal, roughly. */
  readonly writesPerRemoval: number;
  /** Whether processes die of their intents, too. */
  readonly aimsCrashes: boolean;
  /** Whether files lose what they say. */
  readonly truncates: boolean;
  /** Whether somebody edits Accounts who means harm. */
  readonly isHostile: boolean;
  /** Whether leaders are without API server for long. */
  readonly isolates: boolean;
  /** Whether there may be too little money for all that is wanted at once. */
  readonly countsMoney: boolean;
  /** Whether creations take effect late, and are shown late. */
  readonly delaysCreations: boolean;
  /** Whether somebody writes into statuses. */
  readonly forges: boolean;
  /** Whether there is trouble from outside (neighbours.ts). */
  readonly hasNeighbours?: boolean;
  /** Whether there are times without capacity (shortage.ts). */
  readonly hasShortages?: boolean;
  /** At most so many ServiceFleets, and all that goes with them (fleet-script.ts). In half of the runs there are times without capacity. */
  readonly fleets?: number;
  /** Whether these refer to ServiceTemplates. */
  readonly hasTemplates?: boolean;
  /** Whether there is a budget (budgets.ts). */
  readonly hasBudgets?: boolean;
  /** Whether there are several, and all that goes with them (shedding-script.ts). */
  readonly hasTeams?: boolean;
  /** Whether they choose among places, and what they rest on changes (contested.ts, attacks.ts). */
  readonly isContested?: boolean;
  /** Whether they may be in four regions, of which one at a time has capacity. */
  readonly isRoaming?: boolean;
  /** For how many minutes people want new things, and everything may go wrong. */
  readonly turmoilMinutes?: readonly number[];
  /** Of every kind there is at least one object. */
  readonly hasEveryKind?: boolean;
}

const usualTurmoilMinutes = [5, 10, 20, 40];

/** `few` is how seeds were drawn at first, and `many` to `priced` were next: regressions from then mean those. */
const many: Crowd = {
  services: 16,
  volumes: 5,
  templates: 4,
  registries: 2,
  writesPerMinute: [2, 6, 12],
  writesPerRemoval: 5 / 3,
  aimsCrashes: false,
  truncates: false,
  isHostile: false,
  isolates: false,
  countsMoney: false,
  delaysCreations: false,
  forges: false,
};
const fleets: Crowd = {
  ...many,
  services: 3,
  volumes: 2,
  templates: 1,
  // An entry has no mark: a state that is lost loses it.
  registries: 0,
  writesPerMinute: [1, 2],
  aimsCrashes: true,
  truncates: true,
  isolates: true,
  delaysCreations: true,
  fleets: 2,
  turmoilMinutes: [5, 10, 20],
};
const crowds = {
  few: {
    services: 9,
    volumes: 3,
    templates: 2,
    registries: 1,
    writesPerMinute: [1, 3, 6],
    writesPerRemoval: 10 / 3,
    aimsCrashes: false,
    truncates: false,
    isHostile: false,
    isolates: false,
    countsMoney: false,
    delaysCreations: false,
    forges: false,
  },
  many,
  aimed: { ...many, aimsCrashes: true },
  truncated: { ...many, aimsCrashes: true, truncates: true },
  hostile: { ...many, aimsCrashes: true, truncates: true, isHostile: true },
  isolated: { ...many, aimsCrashes: true, truncates: true, isHostile: true, isolates: true },
  priced: {
    ...many,
    aimsCrashes: true,
    truncates: true,
    isHostile: true,
    isolates: true,
    countsMoney: true,
  },
  late: {
    ...many,
    aimsCrashes: true,
    truncates: true,
    isHostile: true,
    isolates: true,
    countsMoney: true,
    delaysCreations: true,
  },
  forged: {
    ...many,
    aimsCrashes: true,
    truncates: true,
    isHostile: true,
    isolates: true,
    countsMoney: true,
    delaysCreations: true,
    forges: true,
  },
  neighbours: {
    ...many,
    services: 20,
    volumes: 8,
    writesPerMinute: [1, 3],
    writesPerRemoval: 10 / 3,
    aimsCrashes: true,
    truncates: true,
    isHostile: true,
    isolates: true,
    countsMoney: true,
    hasNeighbours: true,
  },
  scarce: {
    ...many,
    services: 24,
    writesPerMinute: [2, 6],
    aimsCrashes: true,
    truncates: true,
    isolates: true,
    delaysCreations: true,
    hasShortages: true,
    turmoilMinutes: [5, 10, 20],
  },
  fleets,
  templated: { ...fleets, templates: 2, hasTemplates: true },
  budgeted: {
    ...many,
    writesPerMinute: [1, 3],
    aimsCrashes: true,
    truncates: true,
    isolates: true,
    delaysCreations: true,
    hasBudgets: true,
    turmoilMinutes: [5, 10, 20],
  },
  shedding: { ...fleets, services: 4, hasBudgets: true, hasTeams: true, turmoilMinutes: [10, 20] },
  contested: { ...fleets, isContested: true, turmoilMinutes: [10, 20, 40] },
  roaming: { ...fleets, hasShortages: false, isContested: true, isRoaming: true, turmoilMinutes: [20, 40] },
  // A quarter of the computing: for many seeds of each dialect.
  small: {
    ...many,
    services: 3,
    volumes: 2,
    templates: 1,
    registries: 1,
    writesPerMinute: [2, 4],
    aimsCrashes: true,
    truncates: true,
    isHostile: true,
    countsMoney: true,
    delaysCreations: true,
    turmoilMinutes: [2, 4, 6],
    hasEveryKind: true,
  },
} as const satisfies Record<string, Crowd>;
export type CrowdName = keyof typeof crowds;
export const crowdNames = Object.keys(crowds) as CrowdName[];

/** In the dialect that is drawn with the seed, unless one is given. */
export function scriptOf(
  seed: number,
  place: PlaceName = 'folder',
  { crowd = 'forged', dialect = drawnDialect(seed) }: { crowd?: CrowdName; dialect?: string } = {},
): Script {
  const script = { ...folderScript(seed, crowds[crowd]), dialect };
  const { hides } = dialectNamed(dialect);
  const isCalm = (script.isContested || script.hasTeams) && stream(seed, 'calm').chance(0.6);
  // A cluster kills processes at any moment.
  if (place === 'cluster') {
    const inCluster = clusterScript(
      hides ? { ...script, dialect: plainDialect.name } : script,
      crowds[crowd],
    );
    return isCalm ? calm(inCluster) : inCluster;
  }
  const inFolder = hides ? withoutUncertainty(script) : script;
  return isCalm ? calm(inFolder) : inFolder;
}

/** But for attacks and the end of processes, all goes well: rollouts come to their analyses, and to their end. */
function calm(script: Script): Script {
  const all: ReadonlySet<string> = new Set(faultsOf(script.place));
  const faults = new Map([...script.faults].filter(([kind]) => lethal.has(kind)));
  const actions = script.actions.filter(({ do: deed }) => lethal.has(deed) || !all.has(deed));
  return { ...script, faults, actions };
}

const lethal: ReadonlySet<string> = new Set<Deed>([
  'crash-manager',
  'crash-at-intent',
  'stop-manager',
  'kill-leader',
  'stop-leader',
]);

/** Nobody is at hand who would look, and say what became of a request. */
function withoutUncertainty(script: Script): Script {
  const faults = new Map([...script.faults].filter(([kind]) => !uncertainFaults.has(kind)));
  const actions = script.actions.filter(({ do: deed }) => !uncertainFaults.has(deed as FaultKind));
  return { ...script, faults, actions };
}

/** Of a stream of its own: everything else of a seed is as it was before there were dialects. */
function drawnDialect(seed: number): string {
  const random = stream(seed, 'dialect');
  return random.chance(0.2) ? plainDialect.name : random.pick(answerDialects).name;
}

/** The same fleet and the same people, and what else goes wrong in a cluster. */
function clusterScript(script: Script, { isolates, forges }: Crowd): Script {
  const random = stream(script.seed, 'cluster script');
  const drawn = drawClusterFaults(random);
  const actions: Action[] = script.actions.filter(({ do: deed }) => !folderDeeds.has(deed));
  for (const deed of clusterDeeds) {
    const count = drawn.has(deed) ? random.between(1, 6) : 0;
    for (let each = 0; each < count; each += 1) {
      const slot = random.between(0, script.slots.length - 1);
      const atMs = random.between(0, script.healAtMs - 1);
      actions.push({ atMs, do: deed, slot, seed: random.between(0, 2 ** 30) });
    }
  }
  const own = stream(script.seed, 'isolations');
  const isolations = isolates && own.chance(0.4) ? own.between(1, 2) : 0;
  if (isolations > 0) drawn.set(isolation, 1);
  for (let each = 0; each < isolations; each += 1) {
    const atMs = own.between(0, script.healAtMs - 1);
    actions.push({ atMs, do: isolation, slot: 0, seed: own.between(0, 2 ** 30) });
  }
  const forgeries = stream(script.seed, 'forgeries');
  const count = forges && forgeries.chance(0.4) ? forgeries.between(1, 3) : 0;
  for (let each = 0; each < count; each += 1) {
    const atMs = forgeries.between(0, script.healAtMs - 1);
    actions.push({ atMs, do: forgery, slot: 0, seed: forgeries.between(0, 2 ** 30) });
  }
  return {
    ...script,
    place: 'cluster',
    faults: new Map<FaultKind, number>([
      ...script.faults,
      ...drawn,
      ...(count > 0 ? [[forgery, 1] as const] : []),
    ]),
    actions: actions.sort((left, right) => left.atMs - right.atMs),
  };
}

/** A cluster has no disk of ours to be full, and shows all or nothing. */
const folderDeeds: ReadonlySet<string> = new Set<Deed>(['fill-disk', 'lose-source', truncation]);

/** All kinds of faults that there are in a place. */
export function faultsOf(place: PlaceName): readonly FaultKind[] {
  if (place === 'folder') return allFaults;
  return [
    ...allFaults.filter((kind) => !folderDeeds.has(kind)),
    ...apiFaults,
    ...clusterDeeds,
    isolation,
    forgery,
  ];
}

function folderScript(seed: number, crowd: Crowd): Script {
  const random = stream(seed, 'script');
  const faults = drawFaults(random);
  const fewest = crowd.hasEveryKind ? 1 : 0;
  const plain = slotsOf(
    random.between(crowd.hasEveryKind ? 1 : 2, crowd.services),
    random.between(fewest, crowd.volumes),
    random.between(fewest, crowd.templates),
    random.between(fewest, crowd.registries),
  );
  const { isContested = false, isRoaming = false } = crowd;
  const hasFleets = (crowd.fleets ?? 0) > 0;
  const ofFleets = hasFleets ? fleetSlots(seed, crowd.fleets ?? 0) : [];
  const slots = [...plain, ...ofFleets];
  const healAtMs = random.pick(crowd.turmoilMinutes ?? usualTurmoilMinutes) * 60_000;
  const actions: Action[] = [];
  const add = (deed: Deed, count: number) => {
    for (let each = 0; each < count; each += 1) {
      const slot = random.between(0, plain.length - 1);
      actions.push({
        atMs: random.between(0, healAtMs - 1),
        do: deed,
        slot,
        seed: random.between(0, 2 ** 30),
      });
    }
  };
  // Most of the fleet is there from the start.
  for (const slot of plain.keys()) {
    if (random.chance(0.8))
      actions.push({ atMs: random.between(0, 20_000), do: 'write', slot, seed: random.between(0, 2 ** 30) });
  }
  const perMinute = random.pick(crowd.writesPerMinute);
  add('write', Math.ceil((perMinute * healAtMs) / 60_000));
  add('remove', Math.ceil((perMinute * healAtMs) / 60_000 / crowd.writesPerRemoval));
  for (const deed of worldFaults) if (faults.has(deed)) add(deed, random.between(1, 6));
  /** Each from a stream of its own, so that the rest of a seed stays as it was before there was such a deed. */
  const addOwn = (
    deed: typeof aimedCrash | typeof truncation | typeof hostileEdit,
    name: string,
    most: number,
  ) => {
    const own = stream(seed, name);
    const count = own.chance(0.5) ? own.between(1, most) : 0;
    if (count > 0) faults.set(deed, 1);
    for (let each = 0; each < count; each += 1) {
      const atMs = own.between(0, healAtMs - 1);
      actions.push({ atMs, do: deed, slot: 0, seed: own.between(0, 2 ** 30) });
    }
  };
  if (crowd.aimsCrashes) addOwn(aimedCrash, 'aimed crashes', 4);
  if (crowd.truncates) addOwn(truncation, 'truncations', 8);
  if (crowd.isHostile) addOwn(hostileEdit, 'hostile edits', 3);
  if (crowd.hasNeighbours) {
    const own = stream(seed, 'neighbours');
    for (const deed of neighbourDeeds) {
      const count = own.chance(0.6) ? own.between(1, 3) : 0;
      for (let each = 0; each < count; each += 1) {
        const drawnMs = own.between(0, healAtMs - 1);
        // Who edits a document afterwards has its values sent: late ones meet nobody.
        const atMs = deed === 'change-values' ? Math.ceil(healAtMs * 0.8 + drawnMs / 5) - 1 : drawnMs;
        actions.push({ atMs, do: deed, slot: 0, seed: own.between(0, 2 ** 30) });
      }
    }
  }
  if (hasFleets)
    actions.push(
      ...fleetActions(seed, ofFleets, plain.length, healAtMs, isContested ? rareEdits : undefined),
    );
  if (isContested) {
    const numbered = slots.map(({ kind }, slot) => ({ kind, slot }));
    const of = (wanted: UserKind) => numbered.filter(({ kind }) => kind === wanted).map(({ slot }) => slot);
    const inReplicas = of('ProtectedTask').filter((slot) => slot >= plain.length);
    const contest = stream(seed, 'attacks');
    actions.push(...attackActions(contest, of('ServiceFleet').slice(0, -1), inReplicas, healAtMs, isRoaming));
  }
  if (crowd.delaysCreations) {
    for (const [kind, probability] of drawCreationFaults(stream(seed, 'creation faults'))) {
      faults.set(kind, probability);
    }
  }
  return {
    seed,
    place: 'folder',
    faults,
    slots,
    actions: actions.sort((left, right) => left.atMs - right.atMs),
    healAtMs,
    pollSeconds: random.pick([2, 5, 15]),
    dialect: plainDialect.name,
    rateLimitPerSecond: random.chance(0.2) ? random.pick([3, 10]) : undefined,
    hasNeighbours: crowd.hasNeighbours ?? false,
    hasShortages: crowd.hasShortages ?? (hasFleets && stream(seed, 'shortages of fleets').chance(0.5)),
    hasFleets,
    hasTemplates: crowd.hasTemplates ?? false,
    hasTeams: crowd.hasTeams ?? false,
    ...(crowd.hasTeams
      ? sheddingScript(seed, healAtMs)
      : {
          budgets: crowd.hasBudgets ? drawBudgets(seed, healAtMs) : [],
          priceRises: crowd.hasBudgets ? drawRises(stream(seed, 'rises of prices'), healAtMs) : [],
        }),
    isContested,
    isRoaming,
    money: crowd.countsMoney ? drawMoney(stream(seed, 'money')) : undefined,
  };
}

/** Enough for none, for a few, or for most of what people want; the scope of a budget never changes. */
function drawBudgets(seed: number, healAtMs: number): BudgetEdit[] {
  const random = stream(seed, 'budgets');
  const scope = random.pick(['account', 'namespace'] as const);
  const count = random.between(0, 3);
  const times = [0, ...Array.from({ length: count }, () => random.between(1, healAtMs - 1))];
  const limits = [5000, 30_000, 60_000, 200_000, 1_000_000, 3_000_000];
  const edits = times
    .toSorted((left, right) => left - right)
    .map((atMs) => ({
      atMs,
      scope,
      hourlyMicros: random.pick(limits),
      mode: 'Gate' as const,
      shed: usualShed,
    }));
  const own = stream(seed, 'shedding');
  return own.chance(0.5) ? withShedding(own, edits, healAtMs) : edits;
}

const usualShed = { graceMinutes: 15, maxPerMinute: 1, resumeBelowPercent: 90, resumeAfterMinutes: 30 };

/** There is much at first, and then less than what there is; some of its documents only make wait. */
function withShedding(random: SeededRandom, edits: readonly BudgetEdit[], healAtMs: number): BudgetEdit[] {
  const [first] = edits;
  if (!first) return [];
  const limits = [15_000, 30_000, 60_000, 120_000, 500_000, 3_000_000];
  const times = Array.from({ length: random.between(1, 5) }, () => random.between(30_000, healAtMs - 1));
  const { scope } = first;
  const more = times.map((atMs) => ({ atMs, scope, hourlyMicros: random.pick(limits) }));
  const shed = {
    graceMinutes: random.between(1, 2),
    maxPerMinute: random.between(1, 3),
    resumeBelowPercent: random.pick([50, 90, 100]),
    resumeAfterMinutes: random.between(1, 2),
  };
  return [{ ...first, hourlyMicros: 10 ** 9 }, ...edits.slice(1), ...more]
    .toSorted((left, right) => left.atMs - right.atMs)
    .map(({ atMs, hourlyMicros }) => ({
      atMs,
      scope,
      hourlyMicros,
      mode: random.chance(0.9) ? 'Shed' : 'Gate',
      shed,
    }));
}

function drawRises(random: SeededRandom, healAtMs: number): Script['priceRises'] {
  return Array.from({ length: random.between(0, 4) }, () => ({
    atMs: random.between(1, healAtMs - 1),
    percent: random.pick([120, 200, 500, 2000]),
  }));
}

/** From less than the smallest thing costs to more than a service with a GPU does. */
function drawMoney(random: SeededRandom): Money {
  return {
    poorMs: random.chance(0.5) ? random.between(30_000, 180_000) : 0,
    aboveFloorMicros: random.pick([-1, 1000, 20_000, 50_000, 1_000_000]),
    hidesPrices: random.chance(0.5),
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
