/**
 * ServiceFleets as people write them, and what follows from that for their replicas: by the words of the design, and without the code of
 * the planner. A replica is the service `FLEET-SLOT`; no other object of the simulation has such a name, but for a document that takes it.
 */
import { annotations, objectKey, parseObjectKey, type ObjectKey } from '../../src/resources/index.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { withoutContest } from './contested.ts';
import { environment, images, sizes, type Document } from './documents.ts';
import type { OwnerRevision } from '../../src/state/index.ts';
import type { DurableState } from './state.ts';
import type { Json, View } from './watch.ts';

/** In the roster, as far as the checker looks at it. */
export interface RosterEntry {
  readonly slot: number;
  readonly phase: 'wanted' | 'draining' | 'retiring';
  /** Unix milliseconds by the clock of the manager. */
  readonly since: number;
  /** The number of the revision that it is to have; undefined: found again, and not compared yet. */
  readonly revision?: number;
  /** The number of the one before. */
  readonly earlier?: number;
  /** When somebody's work in it was found. */
  readonly spared?: number;
  /** Since when it may be interrupted to correct drift. */
  readonly corrects?: number;
  /** Why it leaves. */
  readonly cause?: string;
}

const replicaName = /^(fleet\d+)-(\d+)$/;

/** Of a name that a replica has; undefined: it is the name of something else. */
export function placeInFleet(
  key: ObjectKey,
): { readonly fleet: ObjectKey; readonly slot: number } | undefined {
  const { kind, namespace, name } = parseObjectKey(key);
  const [, fleet, slot] = replicaName.exec(name) ?? [];
  return kind === 'ContainerService' && fleet !== undefined
    ? { fleet: objectKey('ServiceFleet', namespace, fleet), slot: Number(slot) }
    : undefined;
}

const volumePattern = /^(fleet\d+)-data-(\d+)$/;

/** Of the name of a volume that a replica has; undefined: it is the name of something else. */
export function volumeInFleet(key: ObjectKey): ReturnType<typeof placeInFleet> {
  const { kind, namespace, name } = parseObjectKey(key);
  const [, fleet, slot] = volumePattern.exec(name) ?? [];
  return kind === 'StorageVolume' && fleet !== undefined
    ? { fleet: objectKey('ServiceFleet', namespace, fleet), slot: Number(slot) }
    : undefined;
}

/** Of a replica or its volume. */
export function fleetOf(key: ObjectKey): ObjectKey | undefined {
  return (placeInFleet(key) ?? volumeInFleet(key))?.fleet;
}

export function volumeKey(fleet: ObjectKey, slot: number): ObjectKey {
  const { namespace, name } = parseObjectKey(fleet);
  return objectKey('StorageVolume', namespace, `${name}-data-${slot}`);
}

/** Slots whose volumes are recorded with the fleet. */
export function volumesOf(state: Pick<DurableState, 'record'>, fleet: ObjectKey): readonly number[] {
  const { volumes = [] }: Json = state.record(fleet)?.kind ?? {};
  return volumes.map(({ slot }: Json) => slot);
}

export function replicaKey(fleet: ObjectKey, slot: number): ObjectKey {
  const { namespace, name } = parseObjectKey(fleet);
  return objectKey('ContainerService', namespace, `${name}-${slot}`);
}

/** Undefined: none is known, because the fleet is new, or its state was lost. */
export function rosterOf(
  state: Pick<DurableState, 'record'>,
  fleet: ObjectKey,
): readonly RosterEntry[] | undefined {
  return (state.record(fleet)?.kind as Json)?.roster;
}

/** As the process that leads knows it. A write of which it got no answer may have been made; it goes on from what it knows. */
export function rosterInMemory(
  view: Pick<View, 'inMemory'>,
  fleet: ObjectKey,
): readonly RosterEntry[] | undefined {
  return rosterOf({ record: (key) => view.inMemory(key) }, fleet);
}

/** What a replica with this entry is to have. */
export function revisionOf(
  state: Pick<DurableState, 'revisions'>,
  fleet: ObjectKey,
  { revision }: Pick<RosterEntry, 'revision'>,
): OwnerRevision | undefined {
  return state
    .revisions()
    .get(fleet)
    ?.find(({ number }) => number === revision);
}

/** The fleet that owns it now; undefined: a document does, or nobody. */
export function ownerOf(state: Pick<DurableState, 'record'>, key: ObjectKey): ObjectKey | undefined {
  return state.record(key)?.derived?.owner;
}

/** What each replica is to be, as the document of a service would give it. */
export function replicaSpec(key: ObjectKey, { template, storage, deletionPolicy }: Json): Json {
  const { fleet, slot } = placeInFleet(key) ?? { fleet: key, slot: 0 };
  const { name } = parseObjectKey(volumeKey(fleet, slot));
  const volume = storage?.perReplica ? { volumeRef: { name } } : { volumeGb: storage?.scratch.volumeGb };
  return {
    ...template.spec,
    ...(storage ? { storage: volume } : {}),
    desiredState: 'Running',
    replacement: 'Never',
    deletionPolicy: deletionPolicy ?? 'Delete',
  };
}

export function replicaDocument(key: ObjectKey, fleetSpec: Json): Document {
  const { name } = parseObjectKey(key);
  return { kind: 'ContainerService', name, annotations: {}, spec: replicaSpec(key, fleetSpec) };
}

/** What its volume is to be. It is deleted with its object only where `retire` has asked for that. */
export function volumeSpec({ template, storage }: Json): Json {
  const { sizeGb = 10, expansion = 'Never', retire = 'Keep' } = storage?.perReplica ?? {};
  const deletionPolicy = retire === 'Delete' ? 'Delete' : 'Retain';
  return { region: template.spec.region, sizeGb, expansion, deletionPolicy };
}

/** One that no replica has may be of any size. */
export function volumeDocument(key: ObjectKey, fleetSpec: Json, isUsed: boolean): Document {
  const { name } = parseObjectKey(key);
  const spec = { ...volumeSpec(fleetSpec), ...(isUsed ? {} : { sizeGb: 10 }) };
  return { kind: 'StorageVolume', name, annotations: {}, spec };
}

// ---- templates ---------------------------------------------------------------------------------------

/** Section 2, rule 4: what the document of a fleet does not give, its ServiceTemplate does. `template`: of that one. */
export function withTemplate(spec: Json, template: Json): Json {
  const { templateRef, ...own } = spec.template.spec;
  if (!templateRef || !template) return spec;
  const { image, resources } = template;
  return { ...spec, template: { ...spec.template, spec: { image, resources, ...own } } };
}

/** As it is to be now. Under `Ignore`, what it has of its template depends on what has happened. */
export function asAsked(spec: Json, wanted: Pick<View, 'wanted'>['wanted']): Json {
  const key = templateOf(spec);
  const isFollowed = spec.template.spec.templateUpdates === 'Apply';
  return key !== undefined && isFollowed ? withTemplate(spec, wanted.get(key)?.spec) : spec;
}

/** The one that the document of a fleet refers to. */
export function templateOf({ template }: Json): ObjectKey | undefined {
  const name: string | undefined = template.spec.templateRef?.name;
  return name === undefined ? undefined : objectKey('ServiceTemplate', 'default', name);
}

/** Now and then somebody has the image and the size from a template, or writes them down again. */
export function editTemplateRef(spec: Json, random: SeededRandom): void {
  if (!random.chance(0.35)) return;
  const own = spec.template.spec;
  own.templateUpdates = random.pick(['Ignore', 'Apply', 'Apply']);
  if (own.templateRef && random.chance(0.3)) {
    delete own.templateRef;
    own.image = random.pick(images);
    own.resources = random.pick(sizes);
    return;
  }
  own.templateRef = { name: random.pick(['base0', 'base0', 'base1']) };
  if (random.chance(0.8)) delete own.image;
  if (random.chance(0.8)) delete own.resources;
}

// ---- how many ----------------------------------------------------------------------------------------

const hourMs = 3_600_000;

/** The schedules of the simulation begin once an hour, at a minute. */
function isOpen({ cron, durationMinutes }: Json, wallMs: number): boolean {
  const startMs = Number(cron.split(' ')[0]) * 60_000;
  const sinceMs = (((wallMs - startMs) % hourMs) + hourMs) % hourMs;
  return sinceMs < durationMinutes * 60_000;
}

/** Section 8: the effective number, and the one below which no budget brings it. */
function countsOf(spec: Json, wallMs: number): { readonly want: number; readonly least: number } {
  const { replicas = 1, minReplicas = 0, maxReplicas = 1000, schedules = [] } = spec;
  const open: Json = schedules.find((schedule: Json) => isOpen(schedule, wallMs)) ?? {};
  const most = open.maxReplicas ?? Math.max(maxReplicas, open.minReplicas ?? 0);
  const least = Math.min(open.minReplicas ?? minReplicas, most);
  return { want: Math.max(Math.min(open.replicas ?? replicas, most), least), least };
}

/** But for budgets. */
export function wantedCount(spec: Json, wallMs: number): number {
  return countsOf(spec, wallMs).want;
}

export function leastCount(spec: Json, wallMs: number): number {
  return countsOf(spec, wallMs).least;
}

function share(value: number | string, of: number): number {
  return typeof value === 'number' ? value : (Number(value.replace('%', '')) / 100) * of;
}

export interface Limits {
  readonly want: number;
  readonly surge: number;
  /** The least number of available replicas. */
  readonly floor: number;
}

/** `cap`: a budget wants no more. */
export function limitsOf(spec: Json, wallMs: number, cap = Number.POSITIVE_INFINITY): Limits {
  const { maxSurge = 1, maxUnavailable = 0 } = spec.update ?? {};
  const { want: asked, least } = countsOf(spec, wallMs);
  const want = Math.min(asked, Math.max(cap, least));
  const surge = Math.ceil(share(maxSurge, want));
  // Rounded, both may be 0. Then nothing could ever be updated.
  const unavailable = Math.max(Math.floor(share(maxUnavailable, want)), surge === 0 ? 1 : 0);
  return { want, surge, floor: Math.max(0, want - unavailable) };
}

/** How many may begin to drain in a minute, of so many at its start. */
export function paceOf({ scaleIn }: Json, count: number): number {
  return Math.max(1, Math.ceil(share(scaleIn?.maxPerMinute ?? '25%', count)));
}

// ---- documents ---------------------------------------------------------------------------------------

const updates: readonly object[] = [
  { maxSurge: 1, maxUnavailable: 0 },
  { maxSurge: 1, maxUnavailable: 0 },
  { maxSurge: 2, maxUnavailable: 0 },
  { maxSurge: '50%', maxUnavailable: 0 },
  { maxSurge: 0, maxUnavailable: 1 },
  { maxSurge: 1, maxUnavailable: 1 },
  { maxSurge: '25%', maxUnavailable: '50%' },
  { maxSurge: 0, maxUnavailable: '50%' },
];

/** `schedules`: whether it may have any. */
export function newFleet(name: string, random: SeededRandom, schedules: boolean): Document {
  const own: Json = {
    region: 'standard',
    image: random.pick(images),
    resources: random.pick(sizes),
    httpPort: 8080,
  };
  if (random.chance(0.5)) own.env = environment(random);
  if (random.chance(0.15)) own.disruption = 'Always';
  const spec: Json = {
    replicas: random.between(1, 5),
    template: { spec: own },
    update: {
      ...random.pick(updates),
      mode: random.pick(['Auto', 'Auto', 'Replace']),
      minReadySeconds: random.pick([0, 5, 30]),
    },
    scaleIn: { maxPerMinute: random.pick([1, '25%', '50%', 1000]) },
    drain: { graceSeconds: random.pick([0, 5, 30]) },
  };
  if (random.chance(0.2)) spec.storage = { scratch: { volumeGb: 10 } };
  if (random.chance(0.1)) spec.deletionPolicy = 'Retain';
  if (schedules && random.chance(0.3)) spec.schedules = [anySchedule(random)];
  if (!spec.storage && random.chance(0.3)) {
    spec.storage = {
      perReplica: { sizeGb: 10, retire: random.pick(['Keep', 'Delete']), expansion: random.pick(expansions) },
    };
    asVolumesRequire(spec, random);
  }
  return { kind: 'ServiceFleet', name, annotations: {}, spec };
}

function anySchedule(random: SeededRandom): object {
  const most = random.between(0, 3);
  return {
    name: 'now and then',
    cron: `${random.between(0, 59)} * * * *`,
    durationMinutes: random.between(2, 20),
    ...random.pick([{ replicas: most }, { minReplicas: most + 1 }, { maxReplicas: most }]),
  };
}

type Edit = (spec: Json, random: SeededRandom) => void;

const scale: Edit = (spec, random) => (spec.replicas = random.between(0, 6));
const edits: readonly Edit[] = [
  scale,
  scale,
  scale,
  (spec, random) => (spec.template.spec.image = random.pick(images)),
  (spec, random) => (spec.template.spec.image = random.pick(images)),
  (spec, random) => (spec.template.spec.env = environment(random)),
  (spec, random) => (spec.template.spec.resources = random.pick(sizes)),
  (spec, random) => (spec.template.spec.restartToken = String(random.between(1, 9))),
  (spec, random) => (spec.template.spec.httpPort = random.pick([80, 8080])),
  (spec, random) => (spec.template.spec.command = ['run', String(random.between(1, 3))]),
  (spec, random) => (spec.template.spec.sleepAfterMinutes = random.pick([0, 60, 1440])),
  (spec, random) => (spec.template.spec.region = random.pick(['standard', 'economy'])),
  (spec, random) => (spec.storage = { scratch: { volumeGb: random.pick([10, 20]) } }),
  (spec, random) => Object.assign(spec.update, random.pick(updates)),
  (spec, random) => (spec.update.mode = random.pick(['Auto', 'Replace'])),
  (spec, random) => (spec.minReplicas = random.between(1, 2)),
  (spec, random) => (spec.maxReplicas = random.between(2, 6)),
];

const expansions = ['PauseService', 'PauseService', 'Never'] as const;
const volumeEdits: readonly Edit[] = [
  ({ storage }, random) => (storage.perReplica.sizeGb = random.pick([10, 20, 30])),
  ({ storage }, random) => (storage.perReplica.retire = random.pick(['Keep', 'Delete'])),
  ({ storage }, random) => (storage.perReplica.expansion = random.pick(expansions)),
  (spec) => delete spec.storage,
];

export function editFleet(spec: Json, random: SeededRandom): void {
  const { region } = spec.template.spec;
  random.pick(edits)(spec, random);
  if (!spec.storage?.perReplica) return;
  if (random.chance(0.4)) random.pick(volumeEdits)(spec, random);
  // A volume can't move, so replicas would have to be retired by hand.
  if (spec.storage) spec.template.spec.region = region;
  if (spec.storage) asVolumesRequire(spec, random);
}

function asVolumesRequire(spec: Json, random: SeededRandom): void {
  const { maxUnavailable } = spec.update;
  Object.assign(spec.update, {
    maxSurge: 0,
    maxUnavailable:
      maxUnavailable === 0 || maxUnavailable === undefined ? random.pick([1, '50%']) : maxUnavailable,
  });
  spec.maxReplicas ??= 6;
}

/** At the end nobody wants another number at another time, and the template is there, and followed. */
export function mendedFleet(
  document: Document,
  hidden: object,
  { isDeclared, isContested }: { isDeclared: (key: ObjectKey) => boolean; isContested: boolean },
): Document {
  const {
    schedules: _schedules,
    template: given,
    ...spec
  }: Json = isContested ? withoutContest(document.spec) : document.spec;
  const template = { ...given, spec: withTemplateMended({ template: given }, isDeclared) };
  const { perReplica } = spec.storage ?? {};
  if (perReplica) spec.storage = { perReplica: { ...perReplica, expansion: 'PauseService' } };
  const fields = 'httpPort,command,sleepAfterMinutes,env';
  const { labels } = given.metadata ?? {};
  const metadata = { ...(labels ? { labels } : {}), annotations: { [annotations.leaveFields]: fields } };
  return { ...document, spec: { ...spec, template: { metadata, spec: { ...template.spec, ...hidden } } } };
}

function withTemplateMended(spec: Json, isDeclared: (key: ObjectKey) => boolean): Json {
  const key = templateOf(spec);
  const { templateRef, ...own } = spec.template.spec;
  if (key === undefined) return own;
  return isDeclared(key)
    ? { ...own, templateRef, templateUpdates: 'Apply' }
    : { image: images[0], resources: sizes[0], ...own };
}
