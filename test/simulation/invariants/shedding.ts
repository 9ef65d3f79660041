/**
 * BI3: what is stopped for a budget is stopped, and never deleted; nothing that is protected, exempt or never to be shed is; no replica is, because a
 * fleet gets a limit on its number, which is never below its least number; nor a fleet whose replicas would lose data. No more than
 * `maxPerMinute` in any minute; none before a limit was seen passed for `graceMinutes`; none for a budget that asks for no stops.
 *
 *     a read within the limit ──> (none may be stopped) ── graceMinutes of reads beyond it ──> stops ── a read within it ──> …
 *
 * BI4: what is stopped for a budget comes back, or says so: while it is paused, it is not Ready; a fleet that has fewer replicas than its document
 * asks for names the budget, and the budget names all that it has stopped. It comes back when there has been room for
 * `resumeAfterMinutes`, or somebody has asked for it, and not before. In the end, with room for all or without a budget, none is left.
 *
 * What the limit was when a read came is not always known to a process: of the limits of the last minutes the one counts that is in favour of it.
 */
import { annotations, parseObjectKey, type ObjectKey } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import {
  belongs,
  budgetKey,
  budgetNames,
  charged,
  documentsAt,
  recentlyWanted,
  unheardMs,
} from '../budgets.ts';
import { leastCount, ownerOf, wantedCount } from '../fleets.ts';
import type { BudgetEdit } from '../script.ts';
import { unreleasedSince } from './deletion.ts';
import {
  idIn,
  isActivity,
  type Exchange,
  type Invariant,
  type Json,
  type View,
  type Wanted,
} from '../watch.ts';

const minuteMs = 60_000;
/** So old may be the activities that a stop rests on. */
const freshMs = 60_000;
/** What arrives while a request leaves may not have been taken in. */
const arrivingMs = 50;
/** The clocks of two replicas of the operator. */
const clocksDifferMs = 10_000;
/** As many are shown. */
const mostShown = 50;

/** Something that is stopped for a budget, and could come back. */
export function stillShed({ disk }: Pick<View, 'disk'>): string | undefined {
  const record = disk.records().find(isShed);
  const { reason, message } = record?.status?.conditions[0] ?? {};
  const limited = disk.records().find((each) => ordersOf(each).length > 0);
  return (
    (record &&
      `${record.key} is still stopped for a budget (${reason}: ${message}), and there is room for all`) ??
    (limited && `${limited.key} still sheds ${ordersOf(limited)[0]?.object}, and there is room for all`)
  );
}

function isShed(record: Pick<ObjectRecord, 'kind'> | undefined): boolean {
  return (record?.kind as Json)?.pausedFor === 'Budget';
}

interface Order {
  readonly object: ObjectKey;
  readonly askedAt: number;
  readonly phase: 'asked' | 'done';
  readonly replicas?: number;
}

function ordersOf(record: Pick<ObjectRecord, 'kind'> | undefined): readonly Order[] {
  return (record?.kind as Json)?.shedding?.orders ?? [];
}

function shedTerms(view: View, name: string): BudgetEdit[] {
  return documentsAt(view, name, view.nowMs).flatMap((edit) => (edit?.mode === 'Shed' ? edit : []));
}

/** Budgets that may ask for a stop of the object, with what they may ask for. */
function askers(
  view: View,
  key: ObjectKey,
): { readonly name: string; readonly terms: readonly BudgetEdit[] }[] {
  return budgetNames(view)
    .map((name) => ({ name, terms: shedTerms(view, name) }))
    .filter(({ terms }) => terms.some((each) => belongs(view, each, key) !== 'no'));
}

/** By all that its author may have asked for in the last minutes. */
function mustNotBeShed(view: View, wanted: readonly Wanted[]): boolean {
  const isSpared = ({ annotations: own = {}, spec }: Wanted) => {
    const given = { ...spec.template?.metadata?.annotations, ...own };
    const until = given[annotations.exemptFromSheddingUntil];
    const isExempt = until !== undefined && Date.parse(until) > view.wallMs + clocksDifferMs;
    return given[annotations.shedPriority] === 'never' || isExempt;
  };
  return wanted.length > 0 && wanted.every(isSpared);
}

/** When each budget was certainly within its limit last, and when it certainly was not. */
function passedLimits(view: View) {
  const withinAtMs = new Map<string, number>();
  const beyondAtMs = new Map<string, number>();
  const burnOf = (charges: ReturnType<typeof charged>, terms: readonly BudgetEdit[], atLeast: boolean) => {
    const isCounted = (key: ObjectKey | undefined) =>
      terms.some((each) => {
        if (each.scope === 'account') return true;
        if (each.scope === 'namespace') return !atLeast || key !== undefined;
        const answer = key === undefined ? 'maybe' : belongs(view, each, key);
        return answer === 'yes' || (answer === 'maybe' && !atLeast);
      });
    return charges.reduce((sum, { key, micros }) => sum + (isCounted(key) ? micros : 0), 0);
  };
  return {
    withinAtMs: (name: string) => withinAtMs.get(name) ?? 0,
    beyondAtMs: (name: string) => beyondAtMs.get(name) ?? Number.NEGATIVE_INFINITY,
    read(body: Json): void {
      if (view.budgetEdits.length === 0) return;
      const charges = charged(body, view);
      for (const name of budgetNames(view)) {
        const documents = documentsAt(view, name, view.nowMs);
        const terms = documents.flatMap((edit) => edit ?? []);
        const all = documents.map((edit) => edit?.hourlyMicros ?? Number.POSITIVE_INFINITY);
        if (terms.length === 0 || burnOf(charges, terms, false) <= Math.min(...all))
          withinAtMs.set(name, view.nowMs);
        if (terms.length > 0 && burnOf(charges, terms, true) > Math.max(...all))
          beyondAtMs.set(name, view.nowMs);
      }
    },
  };
}

const graceOf = (terms: readonly BudgetEdit[]) =>
  Math.min(...terms.map(({ shed }) => shed.graceMinutes)) * minuteMs;
const paceOf = (terms: readonly BudgetEdit[]) => Math.max(...terms.map(({ shed }) => shed.maxPerMinute));

const bi3: Invariant = (view) => {
  const passed = passedLimits(view);
  const activities = new Map<string, number>();
  /** By object: a request that is repeated, or was refused, is one stop. */
  const stops = new Map<ObjectKey, number>();
  const sentKeys = new Set<string>();

  const checkWhether = (what: string, { object, path }: Exchange, record: ObjectRecord) => {
    const asking = askers(view, record.key);
    if (asking.length === 0) return view.violated('BI3', `${what}: no budget asks for that`);
    if (ownerOf(view.disk, record.key) !== undefined)
      return view.violated('BI3', `${what}: it is a replica, of which its fleet is to have fewer`);
    if (mustNotBeShed(view, recentlyWanted(view, record.key)))
      return view.violated('BI3', `${what}: it is exempt, or never to be shed`);
    const { disruption }: Json = record.manifest.spec;
    if (disruption === 'Never') view.violated('BI3', `${what}: it is never to be interrupted`);
    const id = idIn(path) ?? '';
    const readAtMs = activities.get(id);
    if (readAtMs === undefined || readAtMs < view.nowMs - freshMs)
      return view.violated('BI3', `${what}: nobody has just looked for activities in it`);
    const unreleased = unreleasedSince(view, id, readAtMs);
    if (unreleased !== undefined) view.violated('BI3', `${what}: the activity ${unreleased} goes on in it`);
    // Time that this process has not lived through is taken from the clock.
    if (view.jumpsClock) return;
    const early = asking.map(
      ({ name, terms }) => graceOf(terms) - arrivingMs - (view.nowMs - passed.withinAtMs(name)),
    );
    if (Math.min(...early) > 0) view.violated('BI3', `${what}: the time of grace of no budget has passed`);
    const most = asking.reduce((sum, { terms }) => sum + paceOf(terms), 0);
    const recent = [...stops].filter(([key, atMs]) => key !== object && atMs > view.nowMs - minuteMs);
    if (recent.length >= most)
      view.violated(
        'BI3',
        `${what}: ${recent.length} were stopped in the last minute; ${most} may be (${object})`,
      );
  };

  return {
    received({ method, path, sentAtMs }, { verdict, body }) {
      if (verdict !== 'done' || method !== 'GET') return;
      const id = idIn(path);
      if (id !== undefined && isActivity({ path })) activities.set(id, sentAtMs);
      if (path === '/api/account' && view.isPlain) passed.read(body);
    },
    sent(exchange) {
      const { object, body, method, path, key = '' } = exchange;
      const record = object && view.disk.record(object);
      if (!record || !isShed(record)) return;
      const what = `${method} ${path} of ${object}`;
      const isDeletion = method === 'DELETE' || body?.action === 'delete';
      const isWanted = view.wanted.has(record.key) && !view.wasRemoved(record.key);
      if (
        isDeletion &&
        isWanted &&
        record.deletionRequestedAt === undefined &&
        !mayBeReplaced(view, record.key)
      )
        view.violated('BI3', `${what}: it is stopped for a budget, and deleted`);
      if (body?.action !== 'stop' || sentKeys.has(key)) return;
      checkWhether(what, exchange, record);
      sentKeys.add(key);
      stops.set(record.key, view.nowMs);
    },
  };
};

function mayBeReplaced(view: View, key: ObjectKey): boolean {
  return view.history(key).some(({ spec }) => spec.replacement === 'Recreate');
}

/** Orders of budgets, as they become durable: BI3 of those that are new, and BI4 of those that end. */
const orders: Invariant = (view) => {
  const passed = passedLimits(view);
  /** By budget: when each order was given, by the clock of its process. */
  const given = new Map<string, Set<string>>();

  const checkFleet = (name: string, { object, replicas = 0 }: Order) => {
    const what = `Budget ${name} limits ${object} to ${replicas}`;
    const wanted = recentlyWanted(view, object);
    if (wanted.length === 0) return;
    if (mustNotBeShed(view, wanted)) view.violated('BI3', `${what}: it is exempt, or never to be shed`);
    const least = Math.min(
      ...wanted.flatMap(({ spec }) => [0, minuteMs].map((ago) => leastCount(spec, view.wallMs - ago))),
    );
    if (replicas < least) view.violated('BI3', `${what}, and it has to have ${least}`);
    const losesData = wanted.every(
      ({ spec }) => spec.storage?.scratch || spec.storage?.perReplica?.retire === 'Delete',
    );
    if (losesData) view.violated('BI3', `${what}: its replicas lose data when they are removed`);
    if (wanted.every(({ spec }) => spec.template.spec.disruption === 'Never'))
      view.violated('BI3', `${what}: its replicas are never to be interrupted`);
  };

  const checkNew = (name: string, order: Order) => {
    const { object, askedAt, replicas } = order;
    const what = `Budget ${name} sheds ${object}`;
    const terms = shedTerms(view, name);
    if (terms.length === 0) return view.violated('BI3', `${what}, and does not ask for that`);
    if (terms.every((each) => belongs(view, each, object) === 'no'))
      view.violated('BI3', `${what}, which it is not about`);
    if (replicas !== undefined) checkFleet(name, order);
    if (view.jumpsClock) return;
    const passedMs = view.nowMs - passed.withinAtMs(name);
    if (passedMs < graceOf(terms) - arrivingMs)
      view.violated('BI3', `${what}: ${passedMs} ms ago all was within its limit`);
    const all = given.get(name) ?? new Set<string>();
    given.set(name, all.add(`${askedAt} ${object}`));
    const slackMs = view.isCluster ? clocksDifferMs : 0;
    const recent = [...all].filter((each) => Number(each.split(' ')[0]) > askedAt - minuteMs + slackMs);
    if (recent.length > paceOf(terms))
      view.violated('BI3', `${what}: ${recent.length} orders in a minute; ${paceOf(terms)} may be`);
  };

  /** Somebody has asked for something else, of the object or of the budget, or has started it. */
  const hasReason = (name: string, object: ObjectKey): boolean => {
    const isNews = (atMs: number) => atMs >= view.nowMs - unheardMs;
    const isEdited = view.history(object).some(({ atMs }) => isNews(atMs)) || !view.wanted.has(object);
    const isOther = view.budgetEdits.some((each) => each.name === name && isNews(each.atMs));
    const { externalId = '', deletionRequestedAt } = view.disk.record(object) ?? {};
    const state = view.plane.store?.services.get(externalId)?.state;
    const isStarted = parseObjectKey(object).kind === 'ContainerService' && state !== 'paused';
    const wasExempt = recentlyWanted(view, object).some(({ annotations: own = {}, spec }) =>
      [own, spec.template?.metadata?.annotations ?? {}].some(
        (each: Json) => each[annotations.exemptFromSheddingUntil] !== undefined,
      ),
    );
    return (
      isEdited ||
      isOther ||
      isStarted ||
      wasExempt ||
      deletionRequestedAt !== undefined ||
      view.wasRemoved(object)
    );
  };

  const checkEnded = (name: string, was: Order, is: Order | undefined) => {
    const hasEnded = !is || (is.replicas ?? 0) > (was.replicas ?? 0);
    if (!hasEnded || was.phase !== 'done' || view.jumpsClock || hasReason(name, was.object)) return;
    const terms = shedTerms(view, name);
    const waitsMs = Math.min(...terms.map(({ shed }) => shed.resumeAfterMinutes)) * minuteMs;
    const sinceMs = view.nowMs - passed.beyondAtMs(name);
    if (sinceMs < waitsMs)
      view.violated(
        'BI4',
        `Budget ${name} lets ${was.object} go, and its limit was passed ${sinceMs} ms ago`,
      );
  };

  const checkShown = (name: string, { status, kind }: ObjectRecord) => {
    const { shedding = [] }: Json = status ?? {};
    const shown = new Set(shedding.map(({ object }: Json) => object));
    const hidden = ordersOf({ kind }).find(({ object }) => {
      const { kind: of, name: named } = parseObjectKey(object);
      return !shown.has(`${of} ${named}`);
    });
    if (status && hidden && shedding.length < mostShown)
      view.violated('BI4', `Budget ${name} sheds ${hidden.object}, and does not show it`);
  };

  return {
    lost: () => given.clear(),
    received({ method, path }, { verdict, body }) {
      if (verdict === 'done' && method === 'GET' && path === '/api/account' && view.isPlain)
        passed.read(body);
    },
    durable(write) {
      for (const record of write.kind === 'save' ? write.records : []) {
        const { kind, name } = parseObjectKey(record.key);
        if (kind !== 'Budget' || budgetKey(name) !== record.key) continue;
        const was = new Map(ordersOf(view.disk.record(record.key)).map((each) => [each.object, each]));
        const is = new Map(ordersOf(record).map((each) => [each.object, each]));
        for (const order of is.values())
          if (order.askedAt !== was.get(order.object)?.askedAt) checkNew(name, order);
        if (record.deletionRequestedAt !== undefined) continue;
        for (const order of was.values()) checkEnded(name, order, is.get(order.object));
        checkShown(name, record);
      }
    },
  };
};

const bi4: Invariant = (view) => ({
  durable(write) {
    if (write.kind !== 'save') return;
    for (const record of write.records) {
      const { key, kind, status, seen, manifest, deletionRequestedAt } = record;
      const isStopped = isShed({ kind }) && seen?.state === 'paused' && deletionRequestedAt === undefined;
      const { desiredState }: Json = manifest.spec;
      const ready = status?.conditions.find(({ type }) => type === 'Ready');
      if (isStopped && desiredState !== 'Stopped' && ready?.status === 'True')
        view.violated('BI4', `${key} is paused for a budget, and Ready (${ready.reason})`);
      if (parseObjectKey(key).kind === 'ServiceFleet') checkFewer(view, record);
    }
  },
  finished() {
    const forgotten = stillShed(view);
    if (forgotten !== undefined) view.violated('BI4', forgotten);
  },
});

/** A fleet that wants fewer replicas than any of its documents names the budget. */
function checkFewer(view: View, { key, status, deletionRequestedAt }: ObjectRecord): void {
  const { desiredReplicas, limitedBy, scaled }: Json = status ?? {};
  const wanted = recentlyWanted(view, key);
  if (desiredReplicas === undefined || scaled || deletionRequestedAt !== undefined || view.jumpsClock) return;
  const least = Math.min(
    ...wanted.flatMap(({ spec }) => [0, minuteMs].map((ago) => wantedCount(spec, view.wallMs - ago))),
  );
  if (wanted.length > 0 && desiredReplicas < least && limitedBy === undefined)
    view.violated('BI4', `${key} wants ${desiredReplicas} replicas of ${least}, and does not say why`);
}

export const sheddingInvariants = [bi3, orders, bi4];
