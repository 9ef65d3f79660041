/** S8, S11, S14 to S19, L5: the pace of requests, whole environments, money, activities, and changes that lead nowhere. */
import { sameValue } from '../../../src/base/index.ts';
import { parseObjectKey, type ObjectKey } from '../../../src/resources/index.ts';
import { canary, environmentOf, withoutBeacon } from '../documents.ts';
import { operatorsAddress, operatorsKey, ourAddress, ourKey } from '../plane.ts';
import { s15Money } from './money.ts';
import { idIn, isActivity, type Exchange, type Invariant, type Json } from '../watch.ts';
import { servicePart, taskPart } from '../../support/kind-state.ts';

/** Of one API: what one address says of its pace is nothing to another one, which has another account of another key. */
interface Pace {
  level: number;
  atMs: number;
}

/** Never more than burst and rate allow; nothing but heartbeats while the door is shut, and what these can't go on without: whose key it is. */
const s8Rate: Invariant = (view) => {
  /** By origin. */
  const paces = new Map<string, Pace>();
  const paceOf = (origin: string): Pace => {
    const pace = paces.get(origin) ?? { level: 0, atMs: 0 };
    paces.set(origin, pace);
    return pace;
  };
  /** By process and origin: two processes do not know what the other was answered. */
  const shutUntilMs = new Map<string, number>();
  return {
    started() {
      paces.clear();
    },
    sent(exchange) {
      const { perSecond, burst } = view.requests;
      const pace = paceOf(exchange.origin);
      pace.level = Math.max(0, pace.level - ((view.nowMs - pace.atMs) / 1000) * perSecond) + 1;
      pace.atMs = view.nowMs;
      const reported = `${exchange.method} ${exchange.path}`;
      if (pace.level > burst + 0.5)
        view.violated('S8', `${reported} is one of ${pace.level.toFixed(1)} at once; the burst is ${burst}`);
      // Who can't renew its Lease reads the list of activities before each heartbeat, in the same lane.
      if (isActivity(exchange)) return;
      const isHeld = view.disk
        .records()
        .map(taskPart)
        .some((part) => part.registration && part.releasedAt === undefined);
      if (exchange.path === '/api/me' && isHeld) return;
      const leftMs = (shutUntilMs.get(`${exchange.life} ${exchange.origin}`) ?? 0) - view.nowMs;
      if (leftMs > 0) view.violated('S8', `${reported}, ${leftMs} ms before Retry-After has passed`);
    },
    received({ origin, life }, { verdict, status, retryAfter }) {
      const seconds = Number(retryAfter);
      if (verdict !== 'rejected' || status !== 429 || !(seconds > 0)) return;
      const own = `${life} ${origin}`;
      shutUntilMs.set(own, Math.max(shutUntilMs.get(own) ?? 0, view.nowMs + seconds * 1000));
    },
  };
};

/**
 * The key of each account goes to its address, and with what is anybody's no key goes at all. Where a key goes is written down before anything is
 * sent with it (engine/plan/origin.ts): whoever leads next has to know. What the Account says then is believed, whoever has edited it; once that
 * was the account's own address, the key goes nowhere else. In a cluster that is known from the Account itself, and goes with it: of one that is made
 * anew it is known to the process only that has used the key before.
 */
const s11Tenancy: Invariant = (view) => {
  let pinned: string | undefined;
  let wasOurs = false;
  /** Processes that have used it with its own address. */
  const users = new Set<number>();
  return {
    durable(write) {
      if (write.kind === 'remove') {
        wasOurs &&= !view.isCluster || parseObjectKey(write.key).kind !== 'Account';
        return;
      }
      if (write.kind === 'revisions' || write.pin?.origin === undefined) return;
      pinned = write.pin.origin;
      wasOurs ||= pinned === ourAddress;
    },
    sent({ life, method, origin, path, authorization }) {
      const isOfNobody = path === '/api/catalog';
      const isOurs = authorization === `Bearer ${ourKey}`;
      const reported = `${method} ${origin}${path} has the credential ${authorization}`;
      const isKnown = wasOurs || users.has(life);
      if (isOurs && origin === ourAddress) users.add(life);
      if (isOurs && !isOfNobody && !isKnown && origin !== operatorsAddress) {
        if (origin !== pinned) view.violated('S11', `${reported}, whose origin is written down nowhere`);
        return;
      }
      const owned = origin === operatorsAddress ? operatorsKey : origin === ourAddress ? ourKey : undefined;
      const credential = isOfNobody ? undefined : `Bearer ${owned}`;
      if (owned === undefined || authorization !== credential) view.violated('S11', reported);
    },
  };
};

/** A request that has an environment has all of it, with the values that somebody wanted together. */
const s14WholeEnvironment: Invariant = (view) => ({
  sent({ method, path, body, object }) {
    const environment: Json = method === 'PATCH' ? body?.patch?.environment : body?.environment;
    if (environment === undefined || object === undefined) return;
    const sent = withoutBeacon(environment);
    const isWhole = view.history(object).some(({ spec }) => sameValue(environmentOf(spec) ?? {}, sent));
    if (!isWhole)
      view.violated('S14', `${method} ${path} would make the environment ${JSON.stringify(sent)}`);
  },
});

/** A task keeps its id until that is released, which happens once, after its end; then it is not beaten for any more. */
const s16Activity: Invariant = (view) => {
  const ids = new Map<ObjectKey, string>();
  /** All that it ever had. */
  const everHad = new Map<ObjectKey, Set<string>>();
  const released = new Set<string>();
  /** Released by somebody, as the server says. */
  const spent = new Set<string>();
  const flying = new Map<number, boolean>();
  return {
    /** An acknowledgement that a crash kept from being written down was none. */
    started() {
      const kept = view.disk.records().map(taskPart);
      const over = kept.filter(({ releasedAt }) => releasedAt !== undefined);
      const ended = new Set(over.map(({ registration }) => registration?.activityId));
      for (const id of released) if (!ended.has(id)) released.delete(id);
    },
    sent(exchange) {
      if (!isActivity(exchange) || exchange.method !== 'POST') return;
      const { id, release } = exchange.body;
      const record = view.disk.records().find((each) => taskPart(each).registration?.activityId === id);
      flying.set(exchange.number, release);
      if (!record) return;
      const { key } = record;
      const before = ids.get(key) ?? id;
      ids.set(key, id);
      everHad.set(key, (everHad.get(key) ?? new Set()).add(id));
      if (before !== id && !released.has(before) && !spent.has(before))
        view.violated('S16', `${key} takes the activity ${id}, and ${before} was not released`);
      if (!release && released.has(id))
        view.violated('S16', `a heartbeat of ${id}, whose release was acknowledged`);
      const wanted = view.wanted.get(key);
      // Of a lost source it knows what that last said.
      const isReportedOver =
        (record.manifest.spec as Json).released === true || record.deletionRequestedAt !== undefined;
      const isOver = wanted === undefined || wanted.spec.released === true || isReportedOver;
      if (release && !isOver && !view.wasRemoved(key))
        view.violated('S16', `${id} is released, and ${key} is not over`);
    },
    received({ number, body }, { verdict, status }) {
      const release = flying.get(number);
      flying.delete(number);
      if (release && verdict === 'done') released.add(body.id);
      if (release === false && status === 409) spent.add(body.id);
    },
    /** A task that is written anew under the same name begins with the same id, and takes another one when that is refused. */
    durable(write) {
      if (write.kind !== 'remove' || parseObjectKey(write.key).kind !== 'ProtectedTask') return;
      for (const id of everHad.get(write.key) ?? []) {
        released.delete(id);
        spent.delete(id);
      }
      everHad.delete(write.key);
      ids.delete(write.key);
    },
  };
};

export function isHeartbeat(exchange: Exchange): boolean {
  return isActivity(exchange) && exchange.method === 'POST' && exchange.body.release !== true;
}

/** Of one heartbeat, and the read before it. */
const heartbeatMs = 10_000;

/** Who does not lead keeps fresh only what it has just seen: the leader of now may have released it. */
export const s16HeartbeatsOfOthers: Invariant = (view) => {
  const seenAtMs = new Map<string, number>();
  return {
    received({ method, path, life, sentAtMs }, { verdict, body }) {
      if (method !== 'GET' || !isActivity({ path }) || verdict !== 'done') return;
      for (const { id, released } of body?.activities ?? [])
        if (released !== true) seenAtMs.set(`${life} ${id}`, sentAtMs);
        else seenAtMs.delete(`${life} ${id}`);
    },
    sent(exchange) {
      const { life, path } = exchange;
      if (!isHeartbeat(exchange) || view.leads(life)) return;
      const atMs = seenAtMs.get(`${life} ${exchange.body.id}`) ?? Number.NEGATIVE_INFINITY;
      if (view.nowMs - atMs > heartbeatMs)
        view.violated(
          'S16',
          `${path}: manager ${life} does not lead, and beats for what it has not just seen`,
        );
    },
  };
};

/** Who stops a service that should run has written down why; who wants it stopped is not overruled. */
const s17Saga: Invariant = (view) => ({
  sent({ path, body, object }) {
    if (object === undefined) return;
    const record = view.disk.record(object);
    const wanted: Json = record?.manifest.spec;
    // What was planned before an edit may be sent after it.
    if (record?.generation !== view.disk.intent(object)?.generation) return;
    const isToRun = wanted?.desiredState !== 'Stopped';
    if (body?.action === 'start' && !isToRun) {
      view.violated('S17', `${path}: ${object} is started, and is to be stopped`);
    }
    if (body?.action === 'stop' && isToRun && servicePart(record).pausedFor === undefined) {
      view.violated('S17', `${path}: ${object} is stopped, and nothing on the disk says why`);
    }
  },
});

const mostPatches = 3;

/** The same change is not made for ever. */
const s18DriftBound: Invariant = (view) => {
  const counts = new Map<string, number>();
  const bodies = new Map<number, string>();
  const about = ({ object, path }: Exchange, patch: unknown) =>
    `${object} ${path} ${view.history(object as ObjectKey).length} ${JSON.stringify(patch)}`;
  return {
    meddled: () => counts.clear(),
    sent(exchange) {
      if (exchange.method === 'PATCH' && exchange.object !== undefined && exchange.body.patch) {
        bodies.set(exchange.number, about(exchange, exchange.body.patch));
      }
    },
    received({ number }, { verdict }) {
      const body = bodies.get(number);
      bodies.delete(number);
      if (body === undefined || verdict !== 'done') return;
      const count = (counts.get(body) ?? 0) + 1;
      counts.set(body, count);
      if (count > mostPatches) view.violated('S18', `applied ${count} times: ${body.replaceAll(canary, '')}`);
    },
  };
};

/** What is under way at once is bounded. */
const s19Bounded: Invariant = (view) => {
  const flying = { ordinary: new Set<number>(), heartbeats: new Set<number>() };
  const most = { ordinary: view.requests.concurrency, heartbeats: 32 };
  return {
    started() {
      flying.ordinary.clear();
      flying.heartbeats.clear();
    },
    sent(exchange) {
      // Whose key it is, is asked in either lane.
      if (exchange.path === '/api/me' || (isActivity(exchange) && exchange.method === 'GET')) return;
      const lane = isActivity(exchange) && exchange.method === 'POST' ? 'heartbeats' : 'ordinary';
      flying[lane].add(exchange.number);
      if (flying[lane].size > most[lane])
        view.violated(
          'S19',
          `${flying[lane].size} requests (${lane}) are under way; at most ${most[lane]} may be`,
        );
    },
    received({ number }) {
      flying.ordinary.delete(number);
      flying.heartbeats.delete(number);
    },
  };
};

/** A record that protects a service is there for so long after its last heartbeat. */
const recordLivesMs = 300_000;

/**
 * Whatever goes wrong, a task that is held is beaten for before its record would go. A 401 stops everything until it is known whose
 * key it is (F20): from the last one on it counts anew.
 */
const l5Heartbeats: Invariant = (view) => {
  const beaten = new Map<string, { readonly path: string; atMs: number }>();
  /** Keys of heartbeats that had their effect: a repetition, which may come after the release, has none. */
  const applied = new Set<string>();
  /** By activity: the service in which it is to be held, or undefined when it is over. A process that is no longer the leader knows an earlier one. */
  const wanted = new Map<string, string | undefined>();
  const overdue = () => {
    for (const [id, { path, atMs }] of beaten) {
      const isThere = view.plane.store?.services.get(idIn(path) ?? '') !== undefined;
      if (isThere && view.nowMs - atMs >= recordLivesMs)
        view.violated('L5', `${path}: ${id} is not beaten for since ${view.nowMs - atMs} ms`);
    }
  };
  return {
    sent: overdue,
    finished: overdue,
    received(_exchange, { status }) {
      if (status === 401) for (const heartbeat of beaten.values()) heartbeat.atMs = view.nowMs;
    },
    unled() {
      for (const heartbeat of beaten.values()) heartbeat.atMs = view.nowMs;
    },
    /** Its end is wanted, although nobody may have been told of it yet. */
    durable(write) {
      if (write.kind === 'remove')
        beaten.delete(taskPart(view.disk.record(write.key)).registration?.activityId ?? '');
      for (const record of write.kind === 'save' ? write.records : []) {
        const { manifest, deletionRequestedAt } = record;
        const { registration } = taskPart(record);
        const isOver = (manifest.spec as Json).released === true || deletionRequestedAt !== undefined;
        if (!registration) continue;
        const { activityId, serviceId } = registration;
        wanted.set(activityId, isOver ? undefined : serviceId);
        const { path } = beaten.get(activityId) ?? {};
        if (path !== undefined && idIn(path) !== wanted.get(activityId)) beaten.delete(activityId);
      }
    },
    delivered({ method, path, key = '', text, reply, isForeign }) {
      if (!isActivity({ path }) || method !== 'POST' || isForeign) return;
      const { id, release }: Json = JSON.parse(text ?? '{}');
      if (reply.status === 200 && applied.has(key)) return;
      if (wanted.has(id) && wanted.get(id) !== idIn(path)) return;
      const before = beaten.get(id);
      beaten.delete(id);
      if (release || reply.status !== 200) return;
      applied.add(key);
      beaten.set(id, { path, atMs: view.nowMs });
      const gapMs = before?.path === path ? view.nowMs - before.atMs : 0;
      if (gapMs >= recordLivesMs) view.violated('L5', `${path}: ${id} was not beaten for in ${gapMs} ms`);
    },
  };
};

export const accountInvariants: readonly Invariant[] = [
  s8Rate,
  s11Tenancy,
  s14WholeEnvironment,
  s15Money,
  s16Activity,
  s17Saga,
  s18DriftBound,
  s19Bounded,
  l5Heartbeats,
];
