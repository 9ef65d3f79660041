/**
 * What the processes of B4 and B5 tell each other: the API (`object-server.ts`), a cache of it, and who measures
 * (`cache-world.ts`). Nothing is imported that the cache would have to have in memory.
 */
import { flushCompileCache } from 'node:module';

export const watched = {
  group: 'fleetkeeper.dev',
  version: 'v1alpha1',
  apiVersion: 'fleetkeeper.dev/v1alpha1',
  plural: 'containerservices',
  kind: 'ContainerService',
  namespaced: true,
} as const;

/** Microseconds of the monotonic clock, which processes of one machine share. */
export const writtenAtAnnotation = 'bench.fleetkeeper.dev/written-at';

/** Events to write; without a rate, all at once. */
export interface Stream {
  readonly events: number;
  readonly perSecond: number | undefined;
}

/** To `watch` the answer is first `counting`: events from then on count. */
export type Question = { readonly ask: 'sync' } | { readonly ask: 'watch'; readonly events: number };

export interface Synced {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

export interface Watched {
  /** From the write at the server to the handler. */
  readonly medianMs: number;
  readonly p99Ms: number;
  /** From the question to the last event. */
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** Fills its cache; `onChange` is called for every object that is new in it or has changed. */
export type StartCache = (server: string, onChange: (object: Stamped) => void) => Promise<void>;

export interface Stamped {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
}

/** The side of the cache: `process.argv[2]` is the address of the API. */
export function serveCache(startCache: StartCache): void {
  let onEvent: ((object: Stamped) => void) | undefined;
  const sync = async (): Promise<Synced> => {
    const cost = startCost();
    await startCache(process.argv[2] ?? '', (object) => onEvent?.(object));
    return cost();
  };
  const watch = async (events: number): Promise<Watched> => {
    const latenciesMs: number[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const cost = startCost();
    onEvent = (object) => {
      const writtenAtUs = Number(object.metadata?.annotations?.[writtenAtAnnotation]);
      latenciesMs.push(Number(process.hrtime.bigint()) / 1e6 - writtenAtUs / 1000);
      if (latenciesMs.length === events) resolve();
    };
    process.send?.('counting');
    await promise;
    const spent = cost();
    latenciesMs.sort((left, right) => left - right);
    const [medianMs = Number.NaN, p99Ms = Number.NaN] = [0.5, 0.99].map(
      (share) => latenciesMs[Math.floor(events * share)],
    );
    return { medianMs, p99Ms, ...spent };
  };
  process.on('message', (question: Question) => {
    const answer = question.ask === 'sync' ? sync() : watch(question.events);
    void answer.then((result) => process.send?.(result));
  });
  flushCompileCache();
  process.send?.('ready');
}

function startCost(): () => Synced {
  const startedCpu = process.cpuUsage();
  const startedNs = process.hrtime.bigint();
  return () => {
    const { user, system } = process.cpuUsage(startedCpu);
    const seconds = Number(process.hrtime.bigint() - startedNs) / 1e9;
    return { seconds, cpuSeconds: (user + system) / 1e6 };
  };
}
