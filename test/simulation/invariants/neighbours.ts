/**
 * S22 to S26: what is told of trouble from outside, and what is not done about it (neighbours.ts). They are judged in a world that has such
 * trouble.
 */
import { massChangeLimit } from '../../../src/engine/plan/index.ts';
import { annotations, objectKey, parseObjectKey, type ObjectKey } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { addedVariable, longAtWorkMs } from '../neighbours.ts';
import { idIn, type Exchange, type Invariant, type Json, type View } from '../watch.ts';

/** In a stall of a minute people write several times, and what was planned before it is sent first. */
const recentEdits = 6;
/** So long before a deletion somebody has to have begun, for it to be known to whoever decides: a stall, and what is believed of others for a minute. */
const knownMs = longAtWorkMs - 20_000;

/** All that a document says now, as far as it has been taken in, and has said a moment ago. */
function recentSpecs(view: View, { key, manifest }: ObjectRecord): Json[] {
  return [
    manifest.spec,
    ...view
      .history(key)
      .slice(-recentEdits)
      .map(({ spec }) => spec),
  ];
}

function volumeOf({ disk }: View, { key }: ObjectRecord, spec: Json): string | undefined {
  const { namespace } = parseObjectKey(key);
  const name: string | undefined = spec.storage?.volumeRef?.name;
  return name === undefined
    ? undefined
    : disk.record(objectKey('StorageVolume', namespace, name))?.externalId;
}

/** Nothing that only a creation can set is otherwise than the document says. */
function isInPlace(view: View, record: ObjectRecord, spec: Json, id: string): boolean {
  const service: Json = view.plane.store?.services.get(id);
  if (!service) return false;
  const { region, geography = 'auto', storage } = spec;
  const place = geography === 'auto' || geography === service.geography;
  const has: Json = view.plane.store?.volumes.get(service.volumeId ?? '');
  const isStored = storage?.volumeRef
    ? volumeOf(view, record, spec) === service.volumeId
    : storage?.volumeGb === undefined
      ? !service.volumeId
      : has?.mode === 'service' && has.requestedSizeGb === storage.volumeGb;
  const isLeft = ['httpPort', 'command'].some(
    (name) => spec[name] === undefined && service[name] !== null && service[name]?.length !== 0,
  );
  return region === service.region && place && isStored && !isLeft;
}

/** Who is at work in a service, for long. */
function atWorkIn({ plane, epochMs, nowMs }: View, serviceId: string): string | undefined {
  const row = plane.store?.database.get(
    'SELECT id FROM activities WHERE service_id = $serviceId AND released_at_ms IS NULL AND registered_at_ms < $atMs',
    { serviceId, atMs: epochMs + nowMs - knownMs },
  );
  return row === undefined ? undefined : String(row['id']);
}

/**
 * Nothing is deleted to be replaced that is in place (what is written as it is shown is), nor before what it needs is free, or can be: a volume that
 * another service keeps, or in which somebody is at work who has it.
 */
const s23NothingReplacedInVain: Invariant = (view) => ({
  sent({ body, path }) {
    const id = idIn(path);
    if (body?.action !== 'delete' || id === undefined || !view.neighbours) return;
    const record = view.disk.records().find(({ externalId }) => externalId === id);
    if (!record || record.deletionRequestedAt !== undefined || view.wasRemoved(record.key)) return;
    const specs = recentSpecs(view, record);
    if (view.isPlain && specs.every((spec) => isInPlace(view, record, spec, id)))
      view.violated('S23', `${record.key} is deleted to be replaced, and all of it is as its document says`);
    const wanted = volumeOf(view, record, record.manifest.spec);
    // Once more edited, and not taken in yet.
    if (wanted === undefined || volumeOf(view, record, specs.at(-1)) !== wanted) return;
    const user = view.plane.store?.volumes.get(wanted)?.serviceId ?? id;
    const other = view.disk.records().find(({ externalId }) => externalId === user);
    const state = view.plane.store?.services.get(user)?.state;
    if (user === id || !other || state === undefined || state === 'deleting') return;
    const reported = `${record.key} is deleted for the volume ${wanted}, and ${other.key} has it`;
    const others = recentSpecs(view, other);
    const isLeaving = other.deletionRequestedAt !== undefined || view.wasRemoved(other.key);
    if (!isLeaving && others.every((each) => volumeOf(view, other, each) === wanted))
      view.violated('S23', `${reported}, and keeps it`);
    const isForced = others.some(({ disruption }) => disruption === 'Always');
    const activity = isForced ? undefined : atWorkIn(view, user);
    if (activity !== undefined) view.violated('S23', `${reported}, in which ${activity} goes on`);
  },
});

const windowMs = 600_000;

/** What appears on many services at once is told, and is not corrected, unless a person says so. */
const s24MassDrift: Invariant = (view) => {
  let corrected: { readonly object: ObjectKey; readonly atMs: number }[] = [];
  /** The object that is corrected: it may have been created anew since the last time. */
  const correctedIn = ({ method, path, body, object }: Exchange): ObjectKey | undefined => {
    const id = idIn(path) ?? '';
    const generation = view.neighbours?.added.get(id);
    const patch: Json = method === 'PATCH' ? body?.patch : undefined;
    if (generation === undefined || object === undefined || !patch?.environment) return undefined;
    if (Object.keys(patch).length > 1 || view.disk.record(object)?.generation !== generation)
      return undefined;
    return addedVariable in (view.plane.store?.environmentOf(id) ?? {}) ? object : undefined;
  };
  return {
    started: () => {
      corrected = [];
    },
    sent(exchange) {
      const object = correctedIn(exchange);
      if (object === undefined || view.massChangeAllowed) return;
      corrected = corrected.filter((each) => each.object !== object && each.atMs > view.nowMs - windowMs);
      corrected.push({ object, atMs: view.nowMs });
      const objects = view.disk.records().length;
      if (corrected.length > massChangeLimit(objects))
        view.violated(
          'S24',
          `${exchange.path}: ${corrected.length} of ${objects} objects are rid of a variable that somebody has added to all`,
        );
    },
  };
};

/** What was taken out of a document, and is still there, is not said to be in sync. In a cluster a status that was wiped knows nothing of it. */
const s25TakenOut: Invariant = (view) => ({
  durable(write) {
    for (const record of write.kind === 'save' && !view.isCluster ? write.records : []) {
      const { key, externalId, generation, status, manifest } = record;
      const taken = view.neighbours?.takenOut.get(key);
      if (!taken || taken.id !== externalId) continue;
      const { field, id } = taken;
      if ((manifest.spec as Json)[field] !== undefined) continue;
      if (manifest.annotations[annotations.leaveFields] !== undefined) continue;
      const synced = status?.conditions.find(({ type }) => type === 'Synced');
      const still = (view.plane.store?.services.get(id) as Json)?.[field];
      const isThere = still !== undefined && still !== null && still.length !== 0;
      if (synced?.status === 'True' && status?.observedGeneration === generation && isThere)
        view.violated(
          'S25',
          `${key} is said to be in sync; ${field} was taken out, and the service has ${JSON.stringify(still)}`,
        );
    }
  },
});

/** With these nobody can look at an object: its account, or its document, is not there. */
const blind = new Set(['AccountNotFound', 'AccountInvalid', 'SourceIncomplete', 'Leaving']);

/** Drift that was told is not over before somebody has looked. */
const s26DriftStays: Invariant = (view) => ({
  durable(write) {
    for (const { key, status } of write.kind === 'save' && view.neighbours ? write.records : []) {
      const conditions = status?.conditions ?? [];
      const reason = conditions.find((each) => each.type !== 'Drifted' && blind.has(each.reason))?.reason;
      if (reason === undefined) continue;
      const drifted = conditions.find(({ type }) => type === 'Drifted');
      if (drifted?.status === 'False')
        view.violated('S26', `${key} is said to have no drift, and ${reason}: nobody can look at it`);
      const before = view.disk.record(key)?.status?.drift ?? [];
      const lost = before.find(({ path }) => !status?.drift?.some((each) => each.path === path));
      if (lost && view.keepsEveryStatus)
        view.violated(
          'S26',
          `the drift of ${lost.path} of ${key} is told no more, and ${reason}: nobody can look at it`,
        );
    }
  },
});

export const neighbourInvariants: readonly Invariant[] = [
  s23NothingReplacedInVain,
  s24MassDrift,
  s25TakenOut,
  s26DriftStays,
];
