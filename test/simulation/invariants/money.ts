/**
 * S15: nothing that costs more is asked for unless the balance, read a minute ago or later, less an hour of all that is in flight, stays at or
 * above the floor.
 *
 *     sent ──> in flight ── refused, not sent, shown not to have happened ──> over; a creation, only when it can't take effect any more
 *                  └── an account read begun after the answer shows it with its price ──> over
 *
 * What a request costs is what the provider of the simulation charges (`prices`), whatever the manager believes. A price that this life of the
 * manager was never shown, and no life before it has left to it, it can't count: one request for it may be under way, which then counts nothing. In a dialect that puts things in
 * another way nothing is said of what the manager reads there, and only the balance itself is held against the floor.
 *
 * BI1: with a budget, what runs by the latest read, and all that is in flight, stays within its limit; but for what makes anew, or starts again, what
 * cost as much within the last hour. A limit counts for a while after it was lowered: nobody may have heard of it yet.
 *
 * BI2: what is in flight for an object is in the estimate of its newest intent, before the request is sent and as long as no read shows it. So
 * the next process reserves it, too. An intent whose price nobody knows has it in the list of what is unknown.
 */
import type { ObjectKey } from '../../../src/resources/index.ts';
import type { Intent, IntentOutcome } from '../../../src/state/index.ts';
import { providerPrices } from '../plane.ts';
import { belongs, budgetKey, budgetNames, charged, documentsAt } from '../budgets.ts';
import type { BudgetEdit } from '../script.ts';
import { idIn, isMutation, type Exchange, type Invariant, type Json, type View } from '../watch.ts';

const freshMs = 60_000;
/** Of several reads in so short a time any may have been the latest when it was decided. */
const togetherMs = 1000;
/** What arrives while a request leaves may not have been taken in. */
const arrivingMs = 50;

/** For so long the room of what is lost is kept. */
const keptMs = 3_600_000;

const withoutCompute = new Set(['paused', 'sleeping', 'deleting']);

/** What is asked for, and what it adds to the charges of an hour. */
interface Increase {
  /** What has to be known to know its price; empty: it shows that itself. */
  readonly shapes: readonly string[];
  readonly micros: number;
  /** What that is at least for who may have seen other prices. */
  readonly leastMicros: number;
}

interface InFlight extends Increase {
  readonly isCreation: boolean;
  readonly object: ObjectKey | undefined;
  readonly isProbe: boolean;
  id: string | undefined;
  isDelivered: boolean;
  /** When it was answered, or lost for good. */
  heardAtMs: number | undefined;
}

const computeShape = (region: string, { gpuCount = 0, cpu, memoryGb }: Json) =>
  `compute ${region} ${gpuCount}/${cpu}/${memoryGb}`;
const storageShape = (region: string) => `storage ${region}`;

function computeMicros({ gpuCount = 0, cpu, memoryGb }: Json): number {
  const { gpuHourMicros, cpuHourMicros, memoryGbHourMicros } = providerPrices;
  return Math.ceil(gpuCount * gpuHourMicros + cpu * cpuHourMicros + memoryGb * memoryGbHourMicros);
}

const storageMicros = (sizeGb: number) => sizeGb * providerPrices.storageGbHourMicros;

/** Where prices change, those of what exists and of what is asked for may have been seen at different times. */
function from(before: number, after: number, cheapest: number): Pick<Increase, 'micros' | 'leastMicros'> {
  return { micros: after - before, leastMicros: Math.max(0, after * cheapest - before / cheapest) };
}

/** Undefined when it costs nothing more. */
function increaseOf({ method, path, body }: Exchange, { plane, cheapest }: View): Increase | undefined {
  const id = idIn(path) ?? '';
  if (method === 'POST' && path === '/api/services') {
    const { region, resources, volumeGb = 0 } = body;
    const shapes = [computeShape(region, resources), ...(volumeGb > 0 ? [storageShape(region)] : [])];
    return { shapes, ...from(0, computeMicros(resources) + storageMicros(volumeGb), cheapest) };
  }
  if (method === 'POST' && path === '/api/volumes')
    return { shapes: [storageShape(body.region)], ...from(0, storageMicros(body.sizeGb), cheapest) };
  const service = plane.store?.services.get(id);
  if (body?.action === 'start') return { shapes: [], ...from(0, service?.hourlyMicros ?? 0, cheapest) };
  if (body?.action === 'resize' && service) {
    const more = from(service.hourlyMicros, computeMicros(body.resources), cheapest);
    const isCharged = !['paused', 'sleeping'].includes(service.state);
    return more.micros > 0 && isCharged
      ? { shapes: [computeShape(service.region, body.resources)], ...more }
      : undefined;
  }
  const volume = plane.store?.volumes.get(id);
  const more = volume && from(volume.hourlyMicros, storageMicros(body?.sizeGb ?? 0), cheapest);
  return method === 'PATCH' && more && more.micros > 0 ? { shapes: [], ...more } : undefined;
}

/** What one life of the manager was shown. */
class Knowledge {
  readonly #shapes = new Set<string>();
  #hasCatalog = false;

  tell(path: string, body: Json): void {
    if (path === '/api/catalog' && body.regions.some((region: Json) => region.prices !== undefined))
      this.#hasCatalog = true;
    if (path !== '/api/account') return;
    // What a service that does not run shows is no price of one that does.
    for (const { region, resources, state } of body.services)
      if (!withoutCompute.has(state)) this.#shapes.add(computeShape(region, resources));
    for (const { region } of body.volumes) this.#shapes.add(storageShape(region));
  }

  has(shape: string): boolean {
    return this.#hasCatalog || this.#shapes.has(shape);
  }
}

interface Read {
  readonly atMs: number;
  /** The balance. */
  readonly micros: number;
  readonly charges: ReturnType<typeof charged> | undefined;
  /** Ids of what it shows with a price. */
  readonly priced: ReadonlySet<string>;
}

/** It costs nothing any more, whatever the account was shown of it. */
function isFree({ id, isDelivered }: InFlight, { plane: { store } }: View): boolean {
  if (!isDelivered || id === undefined || !store) return false;
  const service = store.services.get(id);
  if (service) return ['paused', 'sleeping', 'deleting'].includes(service.state);
  const status = store.volumes.get(id)?.status;
  return status === undefined || status === 'deleting';
}

const isCreatedIn = (priced: ReadonlySet<string>, { isCreation, id }: InFlight): boolean =>
  isCreation && id !== undefined && priced.has(id);

interface KnownBudget {
  readonly name: string;
  readonly about: BudgetEdit;
  readonly limit: number;
}

/** Those that all processes know of, with the highest limit that any of them may go by. */
function knownBudgets(view: View): KnownBudget[] {
  if (!view.isPlain) return [];
  return budgetNames(view).flatMap((name) => {
    const record = view.disk.record(budgetKey(name));
    if (!record || record.deletionRequestedAt !== undefined) return [];
    const documents = documentsAt(view, name, view.nowMs);
    const edits = documents.flatMap((edit) => edit ?? []);
    const [about] = edits;
    if (!about || edits.length < documents.length) return [];
    return { name, about, limit: Math.max(...edits.map(({ hourlyMicros }) => hourlyMicros)) };
  });
}

const withoutEffect: ReadonlySet<IntentOutcome> = new Set(['refused', 'not-sent', 'not-applied']);

/** What certainly counts for the budget, by the rule of burn. */
function burnFor(view: View, about: BudgetEdit, all: ReturnType<typeof charged>): number {
  const own = all.filter(
    ({ key }) => about.scope === 'account' || (key !== undefined && belongs(view, about, key) === 'yes'),
  );
  return own.reduce((sum, { micros }) => sum + micros, 0);
}

export const s15Money: Invariant = (view) => {
  let balances: Read[] = [];
  /** What the things of an object cost, and when they were last seen to. */
  const costs = new Map<ObjectKey, { readonly micros: number; readonly atMs: number }>();
  let known = new Knowledge();
  /** By idempotency key: a request that is repeated has one effect. */
  const inFlight = new Map<string, InFlight>();

  const latestReads = () => {
    const fresh = balances.filter(({ atMs }) => atMs >= view.nowMs - freshMs);
    const together = fresh.filter(({ atMs }) => atMs >= view.nowMs - togetherMs);
    const takenIn = fresh.filter(({ atMs }) => atMs < view.nowMs - arrivingMs);
    return [...together, ...takenIn.slice(-1)];
  };
  const balanceNow = () => Math.max(Number.NEGATIVE_INFINITY, ...latestReads().map(({ micros }) => micros));

  const checkBudgets = (
    { method, path, object }: Exchange,
    { micros, leastMicros }: Pick<Increase, 'micros' | 'leastMicros'>,
    others: readonly InFlight[],
  ) => {
    const reads = latestReads().flatMap(({ charges, priced }) => (charges ? [{ charges, priced }] : []));
    if (object === undefined || reads.length === 0 || micros === 0) return;
    const before = costs.get(object);
    if (before && before.micros >= micros && before.atMs >= view.nowMs - keptMs) return;
    for (const { name, about, limit } of knownBudgets(view)) {
      const isMember = (key: ObjectKey | undefined) =>
        about.scope === 'account' || (key !== undefined && belongs(view, about, key) === 'yes');
      if (!isMember(object)) continue;
      const sums = reads.map(({ charges, priced }) => {
        // A creation without an answer may be shown already. It is among what runs then, if it is known whose it is.
        const isShown = (each: InFlight) =>
          isCreatedIn(priced, each) &&
          (about.scope === 'account' || charges.some(({ key }) => key === each.object));
        const counted = others.filter((each) => isMember(each.object) && !isShown(each));
        const inFlightMicros = counted.reduce((sum, each) => sum + each.leastMicros, leastMicros);
        return { burn: burnFor(view, about, charges), inFlightMicros };
      });
      const { burn, inFlightMicros } = sums.reduce((least, each) =>
        each.burn + each.inFlightMicros < least.burn + least.inFlightMicros ? each : least,
      );
      if (burn + inFlightMicros > limit)
        view.violated(
          'BI1',
          `${method} ${path}: ${burn} micro-USD an hour run in the ${about.scope}, and ${inFlightMicros} are in flight; Budget ${name} is ${limit}`,
        );
    }
  };
  const checkReserved = (object: ObjectKey, intent: Intent | undefined) => {
    const open = [...inFlight.values()].filter(
      (each) => each.object === object && !each.isProbe && !isFree(each, view),
    );
    const micros = open.reduce((sum, each) => sum + each.leastMicros, 0);
    const { estimateMicros = 0, unknown = [] } = intent?.estimate ?? {};
    if (estimateMicros < micros && unknown.length === 0)
      view.violated(
        'BI2',
        `${object}: ${micros} micro-USD an hour are in flight, and its newest intent has ${estimateMicros}`,
      );
  };
  const remember = ({ services, volumes }: Json) => {
    const byId = new Map([...services, ...volumes].map((thing: Json) => [thing.id, thing]));
    for (const { key, externalId } of view.disk.records()) {
      const { state, hourlyMicros: micros } = byId.get(externalId) ?? {};
      if (micros > 0 && !withoutCompute.has(state)) costs.set(key, { micros, atMs: view.nowMs });
    }
  };

  const check = (exchange: Exchange, increase: Increase) => {
    const { key = '', method, path, object } = exchange;
    const others = [...inFlight].filter(([other, each]) => other !== key && !isFree(each, view));
    const estimate = object && view.disk.intent(object)?.estimate;
    // Prices are written down: a life may know what it was not shown itself. What it counts itself is counted here, too.
    const isCounted = estimate !== undefined && estimate.unknown.length === 0;
    const unknown = isCounted ? [] : increase.shapes.filter((shape) => !known.has(shape));
    const isProbe = unknown.length > 0;
    // In a cluster it is saved with the next status that it did not happen; a successor counts it until then.
    const isUndone = (other: string, { object: of }: InFlight) =>
      of !== undefined && view.knowsUndone(of, other);
    const rival = others.find(
      ([other, each]) =>
        each.isProbe && unknown.some((shape) => each.shapes.includes(shape)) && !isUndone(other, each),
    );
    if (rival && view.isPlain)
      view.violated(
        'S15',
        `${method} ${path}: ${unknown.join(', ')} has no known price, and ${rival[0]} asks for it`,
      );
    const isNothing = isProbe || !view.isPlain;
    const micros = isNothing ? 0 : increase.micros;
    const leastMicros = isNothing ? 0 : increase.leastMicros;
    const committed = others.reduce((sum, [, each]) => sum + each.micros, micros);
    const balance = balanceNow();
    if (balance - committed < view.minimumBalanceMicros)
      view.violated(
        'S15',
        `${method} ${path}: of a balance of ${balance} micro-USD, ${committed} an hour are committed in ${others.length + 1} request(s); the floor is ${view.minimumBalanceMicros}`,
      );
    checkBudgets(
      exchange,
      { micros, leastMicros },
      others.map(([, each]) => each),
    );
    return { ...increase, micros, leastMicros, isProbe };
  };

  return {
    started: () => {
      balances = [];
      known = new Knowledge();
      for (const each of inFlight.values()) each.heardAtMs ??= view.nowMs;
    },
    sent(exchange) {
      const { key, path, object } = exchange;
      const increase = isMutation(exchange) ? increaseOf(exchange, view) : undefined;
      if (key === undefined || !increase) return;
      const counted = check(exchange, increase);
      // A repetition does not undo what an earlier copy has done.
      const { id = idIn(path), isDelivered = false } = inFlight.get(key) ?? {};
      const isCreation = idIn(path) === undefined;
      inFlight.set(key, { ...counted, object, isCreation, id, isDelivered, heardAtMs: undefined });
      if (object) checkReserved(object, view.disk.intent(object));
    },
    delivered({ key = '', reply }) {
      const each = inFlight.get(key);
      if (!each || reply.status >= 300) return;
      each.isDelivered = true;
      each.id ??= JSON.parse(reply.body).id;
    },
    received({ path, key = '', sentAtMs }, { verdict, body }) {
      const each = inFlight.get(key);
      if (each) each.heardAtMs ??= view.nowMs;
      const isInDoubt = each?.object && view.disk.record(each.object)?.creationInDoubt !== undefined;
      if ((verdict === 'rejected' || verdict === 'not-sent') && !isInDoubt) inFlight.delete(key);
      if (verdict !== 'done') return;
      known.tell(path, body);
      if (path !== '/api/account') return;
      balances = [
        ...balances.filter(({ atMs }) => atMs >= view.nowMs - freshMs),
        {
          atMs: view.nowMs,
          micros: body.balanceMicros,
          charges: view.isPlain && view.budgetEdits.length > 0 ? charged(body, view) : undefined,
          priced: new Set(
            [...body.services, ...body.volumes].flatMap(({ id, hourlyMicros }: Json) =>
              hourlyMicros > 0 ? [id] : [],
            ),
          ),
        },
      ];
      if (view.isPlain && view.budgetEdits.length > 0) remember(body);
      const shown = new Set([...body.services, ...body.volumes].map(({ id }: Json) => id));
      // What a creation has made that arrived late is known by the mark.
      for (const [other, { id, object, heardAtMs = Number.POSITIVE_INFINITY }] of inFlight)
        if (sentAtMs >= heardAtMs && shown.has(id ?? (object && view.disk.record(object)?.externalId)))
          inFlight.delete(other);
    },
    durable(write) {
      if (write.kind === 'save') {
        for (const { key, creationInDoubt } of write.records) {
          const { outcome = 'pending', idempotencyKey = '' } = view.disk.intent(key) ?? {};
          if (!creationInDoubt && withoutEffect.has(outcome)) inFlight.delete(idempotencyKey);
        }
        if (write.intent) checkReserved(write.intent.object, write.intent);
      }
      if (write.kind !== 'remove') return;
      for (const [key, { object }] of inFlight) if (object === write.key) inFlight.delete(key);
    },
  };
};
