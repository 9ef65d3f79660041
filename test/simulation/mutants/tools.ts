/** With what a rule is broken from outside; the product has no switch for it. */
import type { HttpReply, HttpRequest, Transport } from '../../../src/api/index.ts';
import type { Clock } from '../../../src/base/index.ts';
import { Fleet } from '../../../src/engine/fleet/fleet.ts';
import type { ObjectRecord, StateStore } from '../../../src/state/index.ts';
import type { Sabotage } from '../folder-place.ts';
import type { CrowdName } from '../script.ts';
import type { Json } from '../watch.ts';

/** `Change`: what is done to that which is handed to a process. */
export interface Mutant<Change = Sabotage> {
  readonly breaks: string;
  /** The invariants that may tell of it. */
  readonly foundBy: readonly string[];
  /** Is tried first: it is known to find it. */
  readonly seed?: number;
  /** That seed takes too long for every day. */
  readonly isLong?: true;
  /** Of the script; `priced` unless given. */
  readonly crowd?: CrowdName;
  /** In a folder: with derived keys of creations. */
  readonly sharedKey?: true;
  readonly sabotage?: Change;
  /** Changes the product for as long as a run lasts; returns how to undo it. */
  readonly patch?: () => () => void;
}

type Exchange = (
  request: HttpRequest,
  next: () => Promise<HttpReply>,
  send: Transport['exchange'],
  signal: AbortSignal | undefined,
) => Promise<HttpReply>;

/** Whatever the manager sends goes through `exchange`. */
export function onTheWire(exchange: Exchange): Sabotage {
  return (options) => ({
    ...options,
    createTransport: (clock: Clock) => {
      const real = options.createTransport?.(clock);
      if (!real) throw new Error('the simulation has its own network');
      return {
        ...real,
        exchange: (request, signal) =>
          exchange(
            request,
            () => real.exchange(request, signal),
            (other) => real.exchange(other, signal),
            signal,
          ),
      };
    },
  });
}

/** The store with some of its methods replaced. */
export function withStore(change: (store: StateStore) => Partial<StateStore>): Sabotage {
  return (options) => {
    const { store } = options;
    return { ...options, store: overlaid(store, change(store)) };
  };
}

/** `target`, whose other methods are its own, private members included. */
export function overlaid<Target extends object>(target: Target, changed: Partial<Target>): Target {
  return new Proxy(target, {
    get: (_, name) => {
      const isChanged = Reflect.get(changed, name) !== undefined;
      const own: unknown = Reflect.get(isChanged ? changed : target, name);
      return typeof own === 'function' ? (own as () => unknown).bind(isChanged ? changed : target) : own;
    },
  });
}

let reached = 0;

/** How often what `replaced` has put there was taken; where that is never, something else runs, such as a module that was loaded twice. */
export const timesReached = () => reached;

/** Another member in place of one of `target`, made from that; returns how to undo it. */
export function replaced<Target extends object, Name extends keyof Target>(
  target: Target,
  name: Name,
  make: (original: Target[Name]) => Target[Name],
): () => void {
  /** Undefined where it is inherited. */
  const original = Object.getOwnPropertyDescriptor(target, name);
  const changed = make(target[name]);
  const get = () => {
    reached += 1;
    return changed;
  };
  Object.defineProperty(target, name, { configurable: true, get });
  return () => void (original ? Object.defineProperty(target, name, original) : delete target[name]);
}

/** Documents as another one than their author reads them. */
export function withSpecs(change: (spec: Json, deleting: boolean) => Json): () => void {
  const target = Fleet.prototype as unknown as { planned: (record: ObjectRecord) => Json };
  return replaced(
    target,
    'planned',
    (planned) =>
      function misread(this: Fleet, record) {
        const object = planned.call(this, record);
        return { ...object, spec: change(object.spec, object.deleting) };
      },
  );
}

export const isMutation = ({ method, url }: HttpRequest) => method !== 'GET' && !url.endsWith('/activity');

export const isHeartbeat = ({ method, url, body }: HttpRequest) =>
  method === 'POST' && url.endsWith('/activity') && !body?.includes('"release":true');

/** With another body, as JSON. */
export function rewritten(request: HttpRequest, change: (body: Json) => void): HttpRequest {
  const body: Json = JSON.parse(request.body ?? '{}');
  change(body);
  return { ...request, body: JSON.stringify(body) };
}

let uuids = 0;
export const newUuid = () => `00000000-0000-4000-8000-${String((uuids += 1)).padStart(12, '0')}`;
