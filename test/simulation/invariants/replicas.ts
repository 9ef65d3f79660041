/** FI3 and FI11 of fleets: what may be done in a replica, and when it may be removed. */
import type { ObjectKey } from '../../../src/resources/index.ts';
import { sameValue } from '../../../src/base/index.ts';
import {
  ownerOf,
  placeInFleet,
  replicaKey,
  revisionOf,
  rosterInMemory,
  rosterOf,
  type RosterEntry,
} from '../fleets.ts';
import {
  idIn,
  isActivity,
  isMutation,
  type Exchange,
  type Invariant,
  type Json,
  type View,
  type Watcher,
} from '../watch.ts';
import { unreleasedSince } from './deletion.ts';

/** So old may be what a disruption rests on. */
const freshMs = 60_000;
/** In a stall of a minute people write several times, and what was planned before it is sent first. */
const recentEdits = 6;

/** In a service that runs. */
function disrupts({ method, path, body }: Exchange): boolean {
  const interrupts = ['stop', 'restart', 'resize', 'delete'].includes(body?.action);
  return interrupts || (method === 'PATCH' && body?.patch !== undefined && !path.endsWith('/sleep'));
}

/** When activities of each service were read last, in milliseconds since the beginning of the run: when the request for them was sent. */
function activityReads(): {
  readonly atMs: Map<string, number>;
  readonly watcher: Pick<ReturnType<Invariant>, 'started' | 'received'>;
} {
  const atMs = new Map<string, number>();
  return {
    atMs,
    watcher: {
      started: () => atMs.clear(),
      received({ method, path, sentAtMs }, { verdict }) {
        const id = idIn(path);
        if (method === 'GET' && id !== undefined && isActivity({ path }) && verdict === 'done')
          atMs.set(id, sentAtMs);
      },
    },
  };
}

/** The state of each service, as the manager was shown it last. */
function statesShown(): {
  readonly get: (id: string) => string | undefined;
  readonly received: NonNullable<Watcher['received']>;
} {
  const states = new Map<string, string>();
  return {
    get: (id) => states.get(id),
    received({ method }, { verdict, body }) {
      if (method !== 'GET' || verdict !== 'done') return;
      const { service, services = service ? [service] : [] }: Json = body ?? {};
      for (const { id, state } of services) states.set(id, state);
    },
  };
}

function maybeForced(view: View, key: ObjectKey): boolean {
  const recent = view.history(key).slice(-recentEdits);
  return recent.some(({ spec }) => spec.disruption === 'Always');
}

/** Nothing interrupts a replica in which somebody is at work, and had been when it was looked for. */
const fi3Protected: Invariant = (view) => {
  const reads = activityReads();
  const states = statesShown();
  return {
    ...reads.watcher,
    received(exchange, answer) {
      reads.watcher.received?.(exchange, answer);
      states.received(exchange, answer);
    },
    sent(exchange) {
      const { object, path, body, method } = exchange;
      const id = idIn(path);
      if (object === undefined || id === undefined || !disrupts(exchange)) return;
      if (ownerOf(view.disk, object) === undefined || states.get(id) !== 'running') return;
      if (maybeForced(view, object)) return;
      const reported = `${method} ${body?.action ?? ''} of ${object}`;
      const readAtMs = reads.atMs.get(id) ?? Number.NEGATIVE_INFINITY;
      if (readAtMs < view.nowMs - freshMs)
        return view.violated('FI3', `${reported}: nobody has just looked for activities in it`);
      const unreleased = unreleasedSince(view, id, readAtMs);
      if (unreleased !== undefined)
        view.violated('FI3', `${reported}: the activity ${unreleased} goes on in it`);
    },
  };
};

/** A replica is deleted when its roster has said so. It retires when its activities were read since it began to drain, and showed nothing. */
const fi3Drained: Invariant = (view) => {
  const reads = activityReads();
  /** Things that the API has answered 404 for since it showed them last: nobody can read what goes on in them. */
  const absent = new Set<string>();
  /** When each replica began to drain, in milliseconds since the beginning of the run. */
  const draining = new Map<ObjectKey, number>();
  const retires = (fleet: ObjectKey, { slot }: RosterEntry, wallSinceMs: number, graceMs: number) => {
    const key = replicaKey(fleet, slot);
    const { externalId: id, manifest }: Partial<NonNullable<ReturnType<typeof view.disk.record>>> =
      view.disk.record(key) ?? {};
    const sinceMs = draining.get(key) ?? 0;
    draining.delete(key);
    if (id === undefined || manifest === undefined) return;
    const reported = `${key} retires`;
    if (!view.jumpsClock && view.wallMs - wallSinceMs < graceMs)
      return view.violated('FI3', `${reported} ${view.wallMs - wallSinceMs} ms after it began to drain`);
    const isThere = view.plane.store?.services.get(id)?.state === 'running' && !absent.has(id);
    const readAtMs = reads.atMs.get(id) ?? Number.NEGATIVE_INFINITY;
    if (isThere && readAtMs < sinceMs)
      return view.violated('FI3', `${reported}: its activities were not read since it began to drain`);
    const unreleased = isThere ? unreleasedSince(view, id, readAtMs) : undefined;
    if (unreleased !== undefined)
      view.violated('FI3', `${reported}: the activity ${unreleased} goes on in it`);
  };
  return {
    ...reads.watcher,
    received(exchange, answer) {
      reads.watcher.received?.(exchange, answer);
      const id = idIn(exchange.path);
      if (exchange.method === 'GET' && id !== undefined && answer.status === 404) absent.add(id);
      if (exchange.method !== 'GET' || answer.verdict !== 'done') return;
      const { service, services = service ? [service] : [] }: Json = answer.body ?? {};
      for (const shown of services) absent.delete(shown.id);
    },
    // What was read before a restart is on the disk.
    started: () => {},
    lost: () => draining.clear(),
    durable(write) {
      for (const record of write.kind === 'save' ? write.records : []) {
        const before = rosterInMemory(view, record.key);
        const { roster: after }: Json = record.kind;
        const spec: Json = record.manifest.spec;
        if (!before || !after || !placeOfFleet(record.key)) continue;
        const askedAtMs = write.kind === 'save' ? (write.askedAtMs ?? view.nowMs) : view.nowMs;
        // A process follows what it has planned while that is on its way to the API server.
        const plannedAtMs = ({ since }: RosterEntry) =>
          view.isCluster ? view.nowMs - Math.max(0, view.wallMs - since) : askedAtMs;
        for (const entry of after as readonly RosterEntry[]) {
          const was = before.find(({ slot }) => slot === entry.slot);
          const isNew = was?.phase !== entry.phase;
          if (isNew && entry.phase === 'draining')
            draining.set(replicaKey(record.key, entry.slot), plannedAtMs(entry));
          if (isNew && was?.phase === 'draining' && entry.phase === 'retiring')
            retires(record.key, entry, was.since, (spec.drain?.graceSeconds ?? 30) * 1000);
        }
      }
    },
    sent(exchange) {
      const { object, method, body } = exchange;
      const place = object && placeInFleet(object);
      const owner = object && ownerOf(view.disk, object);
      if (!place || owner === undefined || (method !== 'DELETE' && body?.action !== 'delete')) return;
      const entry = rosterOf(view.disk, owner)?.find(({ slot }) => slot === place.slot);
      if (entry && entry.phase !== 'retiring')
        view.violated('FI3', `${object} is deleted, and its roster has it as ${entry.phase}`);
    },
  };
};

function placeOfFleet(key: ObjectKey): boolean {
  return key.startsWith('ServiceFleet');
}

const contentFields = ['image', 'command', 'httpPort', 'resources'] as const;

/** The values of a revision reach a replica when its turn has come, which its roster says; so does a restart that it asks for. */
const fi11Turn: Invariant = (view) => {
  const states = statesShown();
  return {
    received: states.received,
    sent(exchange) {
      const { object, body } = exchange;
      const place = object && placeInFleet(object);
      const owner = object && ownerOf(view.disk, object);
      const id = idIn(exchange.path);
      if (!place || owner === undefined || !isMutation(exchange) || id === undefined) return;
      const values: Json = body?.patch ?? (body?.action === 'resize' ? { resources: body.resources } : {});
      const changed = contentFields.filter((field) => values[field] !== undefined);
      const isRestart = body?.action === 'restart' && states.get(id) === 'running';
      if (changed.length === 0 && !isRestart) return;
      const entry = rosterOf(view.disk, owner)?.find(({ slot }) => slot === place.slot);
      const content: Json = entry && revisionOf(view.disk, owner, entry)?.content;
      const early = changed.find(
        (field) => !content || !sameValue(normal(field, content[field]), normal(field, values[field])),
      );
      if (early !== undefined)
        view.violated(
          'FI11',
          `${early} of ${object} becomes ${JSON.stringify(values[early])} before its turn`,
        );
      const { restartToken }: Json = view.inMemory(object)?.manifest.spec ?? {};
      if (isRestart && (!content || content.restartToken !== restartToken))
        view.violated('FI11', `${object} is restarted for the token ${restartToken} before its turn`);
    },
  };
};

function normal(field: string, value: Json): Json {
  return field === 'resources' ? { gpuCount: 0, ...value } : value;
}

export const replicaInvariants: readonly Invariant[] = [fi3Protected, fi3Drained, fi11Turn];
