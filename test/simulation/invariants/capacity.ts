/**
 * EI6: what was refused for want of capacity is asked for by one at a time, until it is granted; so is what needs at least as much at the same
 * place. Creations only: what a start needs is not in its request.
 */
import type { ObjectKey } from '../../../src/resources/index.ts';
import { capacityCodes } from '../shortage.ts';
import { ourAddress } from '../plane.ts';
import { hasOpenOutcome } from '../state.ts';
import type { Exchange, Invariant, Json } from '../watch.ts';

/** A probe of which nobody knows what became of it may keep others waiting so long. */
const longestMs = 30 * 60_000;

interface Demand {
  /** Region and geography, as they are asked for; storage alone is compared with storage alone. */
  readonly place: string;
  /** GPUs, CPUs, memory, storage. */
  readonly sizes: readonly number[];
}

interface Known extends Demand {
  refusedAtMs: number;
  /** The next process finds the refusal. */
  isDurable: boolean;
  grantedAtMs: number;
}

interface Request {
  readonly exchange: Exchange;
  readonly demand: Demand;
  /** Its client does not know what became of it. */
  isOpen: boolean;
}

function demandOf({ method, path, body }: Exchange): Demand | undefined {
  if (method !== 'POST' || (path !== '/api/services' && path !== '/api/volumes')) return undefined;
  const { region, geography = 'auto', resources, volumeGb = 0, sizeGb }: Json = body;
  const sizes = resources
    ? [resources.gpuCount, resources.cpu, resources.memoryGb, volumeGb]
    : [0, 0, 0, sizeGb];
  return { place: `${path} ${region} ${geography}`, sizes };
}

function isAtLeast(one: Demand, other: Demand): boolean {
  return one.place === other.place && one.sizes.every((size, part) => size >= (other.sizes[part] ?? 0));
}

const ei6OneProbe: Invariant = (view) => {
  const known = new Map<string, Known>();
  let requests: Request[] = [];
  /** What each object was refused last. */
  const refusals = new Map<ObjectKey, Known>();
  const knownOf = (demand: Demand): Known => {
    const name = JSON.stringify(demand);
    const found = known.get(name) ?? { ...demand, refusedAtMs: -1, isDurable: false, grantedAtMs: -1 };
    known.set(name, found);
    return found;
  };
  /** The demands that make it scarce. What was answered this moment has not been taken in. */
  const scarceFor = (demand: Demand) => {
    const { grantedAtMs } = knownOf(demand);
    return [...known.values()].filter(
      (one) =>
        isAtLeast(demand, one) &&
        one.refusedAtMs > Math.max(grantedAtMs, one.grantedAtMs) &&
        one.refusedAtMs < view.nowMs,
    );
  };
  const forget = () => {
    known.clear();
    requests = [];
  };
  /** In a cluster nobody can tell what of it was written down. */
  const restarted = () => {
    if (view.isCluster) forget();
    for (const one of known.values()) if (!one.isDurable) one.refusedAtMs = -1;
    requests = requests.filter(({ exchange: { object, key } }) => {
      const intent = object && view.disk.intent(object);
      return intent !== undefined && intent.idempotencyKey === key && hasOpenOutcome(intent);
    });
    for (const request of requests) request.isOpen = true;
  };
  return {
    started: restarted,
    unled: forget,
    lost: forget,
    sent(exchange) {
      if (exchange.origin !== ourAddress) forget();
      const demand = demandOf(exchange);
      // Elsewhere the manager may not know a refusal for what it is, or not in which order things happened.
      if (!demand || !view.isPlain || view.jumpsClock) return;
      requests = requests.filter(
        (each) => each.exchange.key !== exchange.key && view.nowMs - each.exchange.sentAtMs < longestMs,
      );
      const rival = requests.find((each) =>
        scarceFor(demand).some((one) => isAtLeast(each.demand, one) && scarceFor(each.demand).length > 0),
      );
      if (rival) {
        view.violated(
          'EI6',
          `${JSON.stringify(demand)} is scarce, and ${exchange.object} asks for it while the request of ${rival.exchange.object} is under way`,
        );
      }
      requests.push({ exchange, demand, isOpen: false });
    },
    received(exchange, { verdict, code }) {
      const request = requests.find((each) => each.exchange.number === exchange.number);
      if (!request) return;
      request.isOpen = verdict === 'uncertain';
      // In a cluster it is settled in memory some time before that is written.
      if (request.isOpen && view.isCluster) forget();
      if (request.isOpen) return;
      requests = requests.filter((each) => each !== request);
      if (verdict === 'done') knownOf(request.demand).grantedAtMs = view.nowMs;
      if (verdict !== 'rejected' || !capacityCodes.has(code)) return;
      const refused = knownOf(request.demand);
      Object.assign(refused, { refusedAtMs: view.nowMs, isDurable: false });
      if (exchange.object) refusals.set(exchange.object, refused);
    },
    durable(write) {
      if (write.kind === 'remove') {
        requests = requests.filter(({ exchange, isOpen }) => !isOpen || exchange.object !== write.key);
        return;
      }
      for (const { key, refusal } of write.kind === 'save' ? write.records : []) {
        const refused = refusals.get(key);
        if (refused && refusal?.scarcity?.reason === 'CapacityUnavailable') refused.isDurable = true;
      }
      const intent = write.kind === 'save' ? write.intent : undefined;
      const request = requests.find(({ exchange }) => exchange.key === intent?.idempotencyKey);
      if (!request?.isOpen || !intent || intent.outcome === 'pending' || intent.outcome === 'unknown') return;
      requests = requests.filter((each) => each !== request);
      if (intent.outcome === 'applied') knownOf(request.demand).grantedAtMs = view.nowMs;
    },
  };
};

export const capacityInvariants = [ei6OneProbe];
