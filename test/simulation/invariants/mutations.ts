/** S1 to S4, S6, S7, S9: what may be sent, and when. */
import { parseObjectKey, type ObjectKey } from '../../../src/resources/index.ts';
import { marked } from '../truth.ts';
import { idIn, isActivity, isMutation, type Exchange, type Invariant, type Json } from '../watch.ts';
import { taskPart } from '../../support/kind-state.ts';

/** At most one thing at the provider for each object; but for what it has let go where nobody can see whose it was. */
const s1AtMostOne: Invariant = (view) => {
  const letGo = new Set<string>();
  /** Objects that were let go while the control plane was down. */
  const unread = new Set<ObjectKey>();
  return {
    durable(write) {
      if (write.kind !== 'remove' || view.showsMarks) return;
      if (!view.plane.store) unread.add(write.key);
      for (const id of marked(view, write.key, 'alive')) letGo.add(id);
    },
    recovered() {
      for (const key of unread) for (const id of marked(view, key, 'alive')) letGo.add(id);
      unread.clear();
    },
    delivered({ method, path, reply, isForeign }) {
      // A copy is known as one when it has been answered.
      if (method !== 'POST' || reply.status !== 201 || isForeign) return;
      const creates = ['/api/services', '/api/volumes', '/api/templates'].includes(path);
      for (const key of creates ? keysEver(view) : []) {
        const isCopy = (id: string) => view.neighbours?.copies.has(id) ?? false;
        const alive = marked(view, key, 'alive').filter((id) => !letGo.has(id) && !isCopy(id));
        if (alive.length > 1)
          view.violated('S1', `${alive.length} things carry the mark of ${key}: ${alive.join(', ')}`);
      }
    },
  };
};

function keysEver({ disk, wanted }: Parameters<Invariant>[0]): Iterable<ObjectKey> {
  return new Set([...disk.records().map(({ key }) => key), ...wanted.keys()]);
}

/** The intent is on the disk before its request is sent; so is the id under which an activity is registered. */
const s2IntentBeforeEffect: Invariant = (view) => {
  /** Activities and keys of their releases that were on the disk: an object that is gone may be seen for a moment longer. */
  const registrations = new Set<string>();
  return {
    durable(write) {
      for (const record of write.kind === 'save' ? write.records : []) {
        const { registration } = taskPart(record);
        if (registration) registrations.add(`${registration.activityId} ${registration.releaseKey}`);
      }
    },
    sent(exchange) {
      const { disk } = view;
      const { method, path, key, body } = exchange;
      const reported = `${method} ${path} with the key ${key}`;
      if (isActivity(exchange) && method === 'POST') {
        if (body.release && registrations.has(`${body.id} ${key}`)) return;
        const registration = disk
          .records()
          .map((record) => taskPart(record).registration)
          .find((kept) => kept?.activityId === body.id);
        if (!registration) view.violated('S2', `${reported}: the activity ${body.id} is not on the disk`);
        else if (body.release && registration.releaseKey !== key)
          view.violated('S2', `${reported}: the key of the release is not on the disk`);
        return;
      }
      if (!isMutation(exchange)) return;
      const intent = disk.intents().find(({ idempotencyKey }) => idempotencyKey === key);
      if (!intent) view.violated('S2', `${reported}: there is no such intent on the disk`);
      else if (intent.outcome !== 'pending')
        view.violated('S2', `${reported}: its intent is ${intent.outcome} already`);
    },
  };
};

/** A key has one request, and is not sent again once its outcome is written down. */
const s3KeyDiscipline: Invariant = (view) => {
  const requests = new Map<string, string>();
  const closed = new Set<string>();
  return {
    sent({ method, path, key, text }) {
      if (key === undefined) return;
      const request = `${method} ${path} ${text ?? ''}`;
      const before = requests.get(key) ?? request;
      requests.set(key, request);
      if (before !== request)
        view.violated('S3', `the key ${key} was used for\n${before}\nand then for\n${request}`);
      if (closed.has(key))
        view.violated('S3', `the key ${key} is sent again, after its outcome was known: ${request}`);
    },
    durable(write) {
      if (write.kind !== 'save' || !write.intent) return;
      const { outcome, idempotencyKey } = write.intent;
      if (outcome === 'applied' || outcome === 'refused') closed.add(idempotencyKey);
    },
  };
};

interface Unresolved {
  readonly sinceMs: number;
  /** What is in doubt. */
  readonly exchange: number;
  isSettled: boolean;
}

/** Whether an answered read shows what became of the object's last request. */
function shows({ disk }: Parameters<Invariant>[0], object: ObjectKey, path: string): boolean {
  const { kind } = parseObjectKey(object);
  const lists: Partial<Record<string, string>> = {
    ServiceTemplate: '/api/templates',
    ImageRegistry: '/api/registries',
  };
  const id = disk.intent(object)?.targetId ?? disk.record(object)?.externalId;
  return (
    path === (lists[kind] ?? '/api/account') ||
    (id !== undefined && idIn(path) === id && !isActivity({ path }))
  );
}

/** After an uncertain outcome nothing is sent for the object before a read of it that began a settle window later. */
const s4NoBlindRepeat: Invariant = (view) => {
  const unresolvedByKey = new Map<ObjectKey, Unresolved>();
  const open = new Map<number, ObjectKey>();
  return {
    sent(exchange) {
      const { object, method, path } = exchange;
      if (!isMutation(exchange) || object === undefined) return;
      const unresolved = unresolvedByKey.get(object);
      if (unresolved && !unresolved.isSettled) {
        view.violated(
          'S4',
          `${method} ${path} for ${object}, whose last outcome is uncertain since ${view.nowMs - unresolved.sinceMs} ms and was not looked into`,
        );
      }
      unresolvedByKey.delete(object);
      open.set(exchange.number, object);
    },
    received(exchange, { verdict }) {
      const { number } = exchange;
      const object = open.get(number);
      open.delete(number);
      if (object !== undefined && verdict === 'uncertain')
        unresolvedByKey.set(object, { sinceMs: view.nowMs, exchange: number, isSettled: false });
      // A process that leads no more, and lives on, is answered all the same.
      const reported = [...unresolvedByKey].find(([, unresolved]) => unresolved.exchange === number);
      if (reported && verdict !== 'uncertain') unresolvedByKey.delete(reported[0]);
      if (exchange.method !== 'GET' || verdict !== 'done') return;
      for (const [unresolvedKey, unresolved] of unresolvedByKey) {
        const isLater = exchange.sentAtMs >= unresolved.sinceMs + view.settleMs;
        if (isLater && shows(view, unresolvedKey, exchange.path)) unresolved.isSettled = true;
      }
    },
    /** Whatever was under way when the process died is uncertain for the next one. */
    started() {
      for (const [exchange, object] of open)
        unresolvedByKey.set(object, { sinceMs: view.nowMs, exchange, isSettled: false });
      open.clear();
    },
  };
};

const knownStates = new Set([
  'running',
  'sleeping',
  'paused',
  'error',
  'provisioning',
  'deleting',
  'ready',
  'expanding',
]);

/**
 * Nothing is done in a state that is not known, or on a read that is older than one before it. What counts is the read that was
 * made for the request, and what had been seen when it was made: another one may come in while either waits.
 */
const s6UnknownMeansHandsOff: Invariant = (view) => {
  const read = new Map<string, { readonly state: string; readonly atLeast: number }>();
  const highest = new Map<string, number>();
  const seenBefore = new Map<number, number>();
  return {
    started() {
      for (const memory of [read, highest, seenBefore]) memory.clear();
    },
    received({ number, method, path }, { verdict, body }) {
      const atLeast = seenBefore.get(number) ?? 0;
      seenBefore.delete(number);
      if (method !== 'GET' || verdict !== 'done') return;
      const one: Json = body.service ?? body.volume;
      for (const { id, revision } of path === '/api/account'
        ? [...body.services, ...body.volumes]
        : one
          ? [one]
          : []) {
        highest.set(id, Math.max(highest.get(id) ?? 0, revision));
      }
      if (one) read.set(one.id, { state: one.state ?? one.status, atLeast });
    },
    sent(exchange) {
      const id = idIn(exchange.path);
      if (id === undefined) return;
      if (exchange.method === 'GET') seenBefore.set(exchange.number, highest.get(id) ?? 0);
      const seen = isMutation(exchange) ? read.get(id) : undefined;
      if (!seen) return;
      const reported = `${exchange.method} ${exchange.path}`;
      if (!knownStates.has(seen.state)) view.violated('S6', `${reported} in the state ${seen.state}`);
      const revision: unknown = exchange.body?.revision;
      if (typeof revision === 'number' && revision < seen.atLeast) {
        view.violated('S6', `${reported} rests on revision ${revision}, and ${seen.atLeast} was seen before`);
      }
    },
  };
};

/** A revision that is sent is not older than our own last accepted change, and never lower than one sent before. */
const s7FreshRevision: Invariant = (view) => {
  const acknowledged = new Map<string, number>();
  const used = new Map<string, number>();
  return {
    received(exchange, { verdict, body }) {
      if (!isMutation(exchange) || verdict !== 'done' || typeof body.revision !== 'number') return;
      acknowledged.set(body.id, Math.max(acknowledged.get(body.id) ?? 0, body.revision));
    },
    sent({ method, path, body }) {
      const id = idIn(path);
      const revision: unknown = body?.revision;
      if (id === undefined || typeof revision !== 'number') return;
      const lowest = Math.max(acknowledged.get(id) ?? 0, used.get(id) ?? 0);
      if (revision < lowest)
        view.violated('S7', `${method} ${path} with the revision ${revision}, after ${lowest}`);
      used.set(id, revision);
    },
  };
};

/** One request at a time for each object. */
const s9OneWriter: Invariant = (view) => {
  const flying = new Map<ObjectKey, Exchange>();
  return {
    started: () => flying.clear(),
    sent(exchange) {
      const { object, method, path } = exchange;
      if (!isMutation(exchange) || object === undefined) return;
      const other = flying.get(object);
      if (other)
        view.violated(
          'S9',
          `${method} ${path} for ${object} while ${other.method} ${other.path} is under way`,
        );
      flying.set(object, exchange);
    },
    received({ object, number }) {
      if (object !== undefined && flying.get(object)?.number === number) flying.delete(object);
    },
  };
};

export const mutationInvariants: readonly Invariant[] = [
  s1AtMostOne,
  s2IntentBeforeEffect,
  s3KeyDiscipline,
  s4NoBlindRepeat,
  s6UnknownMeansHandsOff,
  s7FreshRevision,
  s9OneWriter,
];
