/** S5, S13, S20: what may be destroyed, and when something may be forgotten. */
import { massChangeLimit } from '../../../src/engine/plan/index.ts';
import { parseObjectKey, type ObjectKey } from '../../../src/resources/index.ts';
import type { Intent, ObjectRecord } from '../../../src/state/index.ts';
import { marked } from '../truth.ts';
import { idIn, isActivity, isMutation, type Exchange, type Invariant, type Json } from '../watch.ts';

/** In a stall of a minute people write several times, and what was planned before it is sent first. */
const recentEdits = 6;
/** So old may be what the deletion of a service rests on. */
const freshMs = 60_000;

function destroys({ method, body }: Exchange): boolean {
  return method === 'DELETE' || body?.action === 'delete';
}

/** Only what is ours is touched, and only what is ours is deleted, when its people want that, and nobody's work is going on in it. */
const s5DeleteOnlyOurs: Invariant = (view) => {
  const activities = new Map<string, { readonly startedMs: number }>();
  const made = new Set<string>();
  return {
    started: () => activities.clear(),
    delivered({ method, reply, isForeign }) {
      if (method === 'POST' && reply.status === 201 && !isForeign) made.add(JSON.parse(reply.body).id);
    },
    received({ method, path, sentAtMs }, { verdict }) {
      const id = idIn(path);
      if (method === 'GET' && id !== undefined && isActivity({ path }) && verdict === 'done') {
        activities.set(id, { startedMs: sentAtMs });
      }
    },
    sent(exchange) {
      const id = idIn(exchange.path);
      if (!isMutation(exchange) || id === undefined) return;
      if (!made.has(id))
        return view.violated('S5', `${exchange.method} ${exchange.path}, which others have made`);
      if (!destroys(exchange)) return;
      const reported = `the deletion of ${id} (${exchange.path})`;
      const record = view.disk.records().find(({ externalId }) => externalId === id);
      if (!record) return view.violated('S5', `${reported}: no object has it`);
      const { key, deletionRequestedAt, manifest } = record;
      if (deletionRequestedAt !== undefined && (manifest.spec as Json).deletionPolicy === 'Retain')
        view.violated('S5', `${reported}: ${key} is to be left there`);
      const recent: Json[] = [
        manifest.spec,
        ...view
          .history(key)
          .slice(-recentEdits)
          .map(({ spec }) => spec),
      ];
      const isReplaced = recent.some(({ replacement }) => replacement === 'Recreate');
      if (deletionRequestedAt === undefined && !isReplaced && !view.wasRemoved(key))
        view.violated('S5', `${reported}: ${key} is to stay`);
      if (view.wanted.has(key) && !isReplaced && !view.wasRemoved(key))
        view.violated('S5', `${reported}: ${key} was never removed by anybody`);
      const isService = parseObjectKey(key).kind === 'ContainerService';
      const isForced = recent.some(({ disruption }) => disruption === 'Always');
      if (!isService || isForced) return;
      const read = activities.get(id);
      if (!read || read.startedMs < view.nowMs - freshMs)
        return view.violated('S5', `${reported}: nobody has just looked for activities in it`);
      const unreleased = unreleasedSince(view, id, read.startedMs);
      if (unreleased !== undefined)
        view.violated('S5', `${reported}: the activity ${unreleased} goes on in it`);
    },
  };
};

/** An activity that had been registered when the activities were read, and is not released yet. */
export function unreleasedSince(
  { plane, epochMs }: Parameters<Invariant>[0],
  serviceId: string,
  sinceMs: number,
): string | undefined {
  const row = plane.store?.database.get(
    'SELECT id FROM activities WHERE service_id = $serviceId AND released_at_ms IS NULL AND registered_at_ms < $atMs',
    { serviceId, atMs: epochMs + sinceMs },
  );
  return row === undefined ? undefined : String(row['id']);
}

/**
 * An object is forgotten only when nothing of it is left, or it is to be left, or its deletion was accepted and then neither the account
 * nor a read by id showed it. Such reads may lag; what was accepted goes all the same. What became of a creation is known when the record has
 * the id of what its key has made: a repetition of it that still travels makes nothing else. In a cluster the record may be in memory only,
 * because the API server refused the status; a successor that finds the object still there settles the creation anew.
 */
const s13NothingIsLeftBehind: Invariant = (view) => {
  const accepted = new Set<string>();
  const notFound = new Set<string>();
  /** By key, what a creation has made. */
  const made = new Map<string, string>();
  const isKnown = ({ idempotencyKey, object }: Intent, record: ObjectRecord | undefined) => {
    const id = made.get(idempotencyKey);
    return id !== undefined && (record?.externalId === id || view.knowsMade(object, idempotencyKey, id));
  };
  let inAccount = '';
  const isConfirmed = (id: string) => accepted.has(id) && notFound.has(id) && !inAccount.includes(id);
  return {
    delivered({ method, key, reply, isForeign }) {
      if (method === 'POST' && reply.status === 201 && !isForeign && key !== undefined)
        made.set(key, JSON.parse(reply.body).id);
    },
    received(exchange, { verdict, status, body }) {
      const id = idIn(exchange.path);
      if (exchange.path === '/api/account' && verdict === 'done') inAccount = JSON.stringify(body);
      if (id === undefined) return;
      if (destroys(exchange) && verdict === 'done') accepted.add(id);
      if (exchange.method !== 'GET' || isActivity(exchange)) return;
      if (status === 404) notFound.add(id);
      else if (verdict === 'done') notFound.delete(id);
    },
    durable(write) {
      if (write.kind !== 'remove' || !view.plane.isUp) return;
      const { key } = write;
      const record = view.disk.record(key);
      const spec: Json = record?.manifest.spec;
      const isKept = [spec, ...view.history(key).map((each) => each.spec)].some(
        (each) => each?.deletionPolicy === 'Retain',
      );
      const isCopy = (id: string) => view.neighbours?.copies.has(id) ?? false;
      const there = isKept ? [] : marked(view, key, 'any');
      const left = there.filter((id) => !isConfirmed(id) && !isCopy(id));
      if (left.length > 0) view.violated('S13', `${key} is forgotten, and ${left.join(', ')} is still there`);
      const intent = view.disk.intent(key);
      if (intent && view.isOpen(intent) && !isKnown(intent, record)) {
        view.violated('S13', `${key} is forgotten, and what became of ${intent.action} is not known`);
      }
    },
  };
};

const windowMs = 60_000;

/**
 * A source that loses much at once deletes nothing. What counts is when that was decided, which a stall may keep from the disk for long. In a
 * cluster what destroys nothing is not counted, nor what is gone: who deletes the next one then means it.
 */
const s20PruneGuard: Invariant = (view) => {
  let marks: { readonly key: ObjectKey; readonly atMs: number }[] = [];
  const isHarmless = ({ key, externalId, manifest }: ObjectRecord) => {
    const { kind } = parseObjectKey(key);
    if (kind === 'Account' || kind === 'ProtectedTask') return true;
    const isMade = externalId !== undefined || view.disk.intent(key) !== undefined;
    return (manifest.spec as Json).deletionPolicy === 'Retain' || !isMade;
  };
  return {
    started: () => {
      marks = [];
    },
    durable(write) {
      if (write.kind === 'remove' && view.isCluster) marks = marks.filter(({ key }) => key !== write.key);
      if (write.kind !== 'save' || view.massChangeAllowed) return;
      const { askedAtMs = view.nowMs } = write;
      // A replica goes because its fleet has decided it, which is counted itself.
      const gone = write.records.filter(
        ({ key, deletionRequestedAt, derived }) =>
          !derived &&
          deletionRequestedAt !== undefined &&
          view.disk.record(key)?.deletionRequestedAt === undefined,
      );
      for (const { key } of gone) {
        if (view.wanted.has(key) && !view.wasRemoved(key))
          view.violated('S20', `${key} is taken as gone, and nobody removed it`);
      }
      for (const record of gone)
        if (!view.isCluster || !isHarmless(record)) marks.push({ key: record.key, atMs: askedAtMs });
      if (gone.length === 0) return;
      marks = marks.filter(({ atMs }) => atMs > askedAtMs - windowMs);
      const total =
        view.disk
          .records()
          .filter(({ deletionRequestedAt, derived }) => deletionRequestedAt === undefined && !derived)
          .length + marks.length;
      if (marks.length > massChangeLimit(total))
        view.violated('S20', `${marks.length} of ${total} objects are taken as gone within a minute`);
    },
  };
};

export const deletionInvariants: readonly Invariant[] = [
  s5DeleteOnlyOurs,
  s13NothingIsLeftBehind,
  s20PruneGuard,
];
