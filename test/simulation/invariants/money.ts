/**
 * S15: nothing that costs more is asked for unless the balance, read a minute ago or later, less an hour of all that is in flight, stays at or
 * above the floor.
 *
 *     sent ──> in flight ── refused, not sent, shown not to have happened ──> over
 *                  └── an account read begun after the answer shows it with its price ──> over
 *
 * What a request costs is what the provider of the simulation charges (`prices`), whatever the manager believes. A price that this life of the
 * manager was never shown, and no life before it has left to it, it can't count: one request for it may be under way, which then counts nothing. In a dialect that puts things in
 * another way nothing is said of what the manager reads there, and only the balance itself is held against the floor.
 */
import type { ObjectKey } from '../../../src/resources/index.ts';
import { providerPrices } from '../plane.ts';
import { idIn, isMutation, type Exchange, type Invariant, type Json, type View } from '../watch.ts';

const freshMs = 60_000;
/** Of several reads in so short a time any may have been the latest when it was decided. */
const togetherMs = 1000;
/** What arrives while a request leaves may not have been taken in. */
const arrivingMs = 50;

/** What is asked for, and what it adds to the charges of an hour. */
interface Increase {
  /** What has to be known to know its price; empty: it shows that itself. */
  readonly shapes: readonly string[];
  readonly micros: number;
}

interface InFlight extends Increase {
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

/** Undefined when it costs nothing more. */
function increaseOf({ method, path, body }: Exchange, { plane }: View): Increase | undefined {
  const id = idIn(path) ?? '';
  if (method === 'POST' && path === '/api/services') {
    const { region, resources, volumeGb = 0 } = body;
    const shapes = [computeShape(region, resources), ...(volumeGb > 0 ? [storageShape(region)] : [])];
    return { shapes, micros: computeMicros(resources) + storageMicros(volumeGb) };
  }
  if (method === 'POST' && path === '/api/volumes')
    return { shapes: [storageShape(body.region)], micros: storageMicros(body.sizeGb) };
  const service = plane.store?.services.get(id);
  if (body?.action === 'start') return { shapes: [], micros: service?.hourlyMicros ?? 0 };
  if (body?.action === 'resize' && service) {
    const more = computeMicros(body.resources) - service.hourlyMicros;
    const isCharged = !['paused', 'sleeping'].includes(service.state);
    return more > 0 && isCharged
      ? { shapes: [computeShape(service.region, body.resources)], micros: more }
      : undefined;
  }
  const volume = plane.store?.volumes.get(id);
  const more = volume ? storageMicros(body?.sizeGb ?? 0) - volume.hourlyMicros : 0;
  return method === 'PATCH' && more > 0 ? { shapes: [], micros: more } : undefined;
}

/** What one life of the manager was shown. */
class Knowledge {
  readonly #shapes = new Set<string>();
  #hasCatalog = false;

  tell(path: string, body: Json): void {
    if (path === '/api/catalog' && body.regions.some((region: Json) => region.prices !== undefined))
      this.#hasCatalog = true;
    if (path !== '/api/account') return;
    for (const { region, resources } of body.services) this.#shapes.add(computeShape(region, resources));
    for (const { region } of body.volumes) this.#shapes.add(storageShape(region));
  }

  has(shape: string): boolean {
    return this.#hasCatalog || this.#shapes.has(shape);
  }
}

/** It costs nothing any more, whatever the account was shown of it. */
function isFree({ id, isDelivered }: InFlight, { plane: { store } }: View): boolean {
  if (!isDelivered || id === undefined || !store) return false;
  const service = store.services.get(id);
  if (service) return ['paused', 'sleeping', 'deleting'].includes(service.state);
  const status = store.volumes.get(id)?.status;
  return status === undefined || status === 'deleting';
}

export const s15Money: Invariant = (view) => {
  let balances: { readonly atMs: number; readonly micros: number }[] = [];
  let known = new Knowledge();
  /** By idempotency key: a request that is repeated has one effect. */
  const inFlight = new Map<string, InFlight>();

  const balanceNow = () => {
    const fresh = balances.filter(({ atMs }) => atMs >= view.nowMs - freshMs);
    const together = fresh.filter(({ atMs }) => atMs >= view.nowMs - togetherMs);
    const takenIn = fresh.filter(({ atMs }) => atMs < view.nowMs - arrivingMs);
    const counted = [...together, ...takenIn.slice(-1)];
    return Math.max(Number.NEGATIVE_INFINITY, ...counted.map(({ micros }) => micros));
  };

  const check = ({ key = '', method, path, object }: Exchange, increase: Increase) => {
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
    const micros = isProbe || !view.isPlain ? 0 : increase.micros;
    const committed = others.reduce((sum, [, each]) => sum + each.micros, micros);
    const balance = balanceNow();
    if (balance - committed < view.minimumBalanceMicros)
      view.violated(
        'S15',
        `${method} ${path}: of a balance of ${balance} micro-USD, ${committed} an hour are committed in ${others.length + 1} request(s); the floor is ${view.minimumBalanceMicros}`,
      );
    return { ...increase, micros, isProbe };
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
      inFlight.set(key, { ...counted, object, id, isDelivered, heardAtMs: undefined });
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
      if (each && (verdict === 'rejected' || verdict === 'not-sent')) inFlight.delete(key);
      if (verdict !== 'done') return;
      known.tell(path, body);
      if (path !== '/api/account') return;
      balances = [
        ...balances.filter(({ atMs }) => atMs >= view.nowMs - freshMs),
        { atMs: view.nowMs, micros: body.balanceMicros },
      ];
      const shown = new Set([...body.services, ...body.volumes].map(({ id }: Json) => id));
      for (const [other, { id, heardAtMs = Number.POSITIVE_INFINITY }] of inFlight)
        if (sentAtMs >= heardAtMs && shown.has(id)) inFlight.delete(other);
    },
    durable(write) {
      if (write.kind === 'save' && write.intent) {
        const { outcome, idempotencyKey } = write.intent;
        if (['refused', 'not-sent', 'not-applied'].includes(outcome)) inFlight.delete(idempotencyKey);
      }
      if (write.kind !== 'remove') return;
      for (const [key, { object }] of inFlight) if (object === write.key) inFlight.delete(key);
    },
  };
};
