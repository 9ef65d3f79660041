/**
 * The Kubernetes API as one process of the operator reaches it: a request takes its time on the way there and back, may be refused, lose
 * its answer, or find the API server failing. What was sent arrives although its sender dies meanwhile.
 */
import {
  KubernetesError,
  type KubernetesApi,
  type KubernetesObject,
  type ListPage,
  type Patch,
  type ResourceType,
  type Scope,
  type Target,
  type WatchEvent,
} from '../../../src/kubernetes/index.ts';
import { ApiError } from '../../support/kubernetes/errors.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { FaultKind } from '../faults.ts';
import type { Life, Scheduler } from '../scheduler.ts';
import type { ApiServer, Author } from './api-server.ts';
import type { ApiFault } from './faults.ts';
import { WatchStream } from './watch-stream.ts';

export interface ReplicaApiOptions {
  readonly server: ApiServer;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly life: Life;
  readonly lifeNumber: number;
  readonly faults: ReadonlyMap<FaultKind, number>;
  /** Faults happen until then. */
  readonly healAtMs: number;
  readonly onFault: (kind: string, request: string) => void;
  /** Somebody else changes the object, and is faster. */
  readonly touch: (target: Target) => void;
  /** The API server can't be reached now. */
  readonly isDown: () => boolean;
}

/** As of the real client (`src/kubernetes/connection.ts`). */
const totalMs = 30_000;
/** Versions by which a server lags behind. */
const longestLag = 12;

export class ReplicaApi implements KubernetesApi {
  readonly description = 'the simulated cluster';
  readonly namespace = 'fleetkeeper';
  readonly #options: ReplicaApiOptions;
  readonly #author: Author;
  readonly #streams = new Set<WatchStream>();

  constructor(options: ReplicaApiOptions) {
    this.#options = options;
    this.#author = { life: options.lifeNumber };
  }

  async list(type: ResourceType, scope: Scope, signal?: AbortSignal): Promise<ListPage> {
    const { server, random } = this.#options;
    return this.#ask(`list ${type.plural}`, signal, () => {
      const lag = this.draws('list-stale', type.plural) ? random.between(1, longestLag) : 0;
      const revision = Math.max(2, server.store.revision - lag);
      const items = server.list(type, scope.namespace, revision).map((each) => reduced(each, scope));
      return { items, resourceVersion: String(revision), continueToken: undefined };
    });
  }

  async *watch(
    type: ResourceType,
    scope: Scope & { readonly resourceVersion: string; readonly silenceMs: number },
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent> {
    const { server, scheduler, life, random } = this.#options;
    const draws = (kind: ApiFault) => this.draws(kind, `watch ${type.plural}`);
    const stream = await this.#ask(
      `watch ${type.plural}`,
      signal,
      () =>
        new WatchStream({
          server,
          type,
          scope,
          scheduler,
          life,
          random,
          draws,
          show: (object) => reduced(object, scope),
        }),
    );
    this.#streams.add(stream);
    try {
      yield* stream.events(signal);
    } finally {
      this.#streams.delete(stream);
    }
  }

  get(target: Target, signal?: AbortSignal): Promise<KubernetesObject | undefined> {
    return this.#ask(`get ${nameOf(target)}`, signal, () => this.#options.server.get(target));
  }

  create(type: ResourceType, object: object, signal?: AbortSignal): Promise<KubernetesObject> {
    const { server } = this.#options;
    const body = onTheWire(object);
    return this.#ask(`create ${type.plural}`, signal, () => server.create(type, body, this.#author));
  }

  replace(type: ResourceType, object: KubernetesObject, signal?: AbortSignal): Promise<KubernetesObject> {
    const { server } = this.#options;
    const body = onTheWire(object);
    return this.#ask(`replace ${type.plural}`, signal, () => server.replace(type, body, this.#author));
  }

  patch(target: Target, patch: Patch, signal?: AbortSignal): Promise<KubernetesObject> {
    const { server, touch } = this.#options;
    const sent = onTheWire(patch);
    return this.#ask(`patch ${nameOf(target)} ${patch.subresource ?? ''}`, signal, () => {
      if (this.draws('api-conflict', target.type.plural)) touch(target);
      return server.patch(target, sent, this.#author);
    });
  }

  async remove(target: Target, preconditions?: { readonly uid?: string }): Promise<void> {
    const { server } = this.#options;
    await this.#ask(`remove ${nameOf(target)}`, undefined, () => {
      if (server.get(target)) server.remove(target, preconditions?.uid, this.#author);
    });
  }

  async close(): Promise<void> {}

  /** All watches of this process break. */
  breakWatches(): void {
    for (const stream of this.#streams) stream.break('read ECONNRESET');
  }

  /** Whether `kind` hits this request. */
  draws(kind: ApiFault, request: string): boolean {
    const { faults, random, scheduler, healAtMs, onFault } = this.#options;
    const probability = faults.get(kind);
    if (probability === undefined || !random.chance(probability) || scheduler.nowMs >= healAtMs) return false;
    scheduler.trace(`fault ${kind} ${request}`);
    onFault(kind, request);
    return true;
  }

  #ask<Answer>(request: string, signal: AbortSignal | undefined, work: () => Answer): Promise<Answer> {
    const { scheduler, random, life, lifeNumber, isDown } = this.#options;
    const what = request.split(' ').slice(0, 2).join(' ').split('/')[0] ?? '';
    return new Promise((resolve, reject) => {
      if (life.isOver) return;
      let isOver = false;
      const finish = (then: () => void) => {
        if (isOver || life.isOver) return;
        isOver = true;
        deadline.cancel();
        ignore();
        then();
      };
      const fail = (error: KubernetesError) => finish(() => reject(error));
      const deadline = life.after(totalMs, () => fail(broken(request, 'no complete answer within 30 s')));
      const ignore = scheduler.onAbort(signal, () => fail(broken(request, 'aborted')));
      if (signal?.aborted) return fail(broken(request, 'aborted'));
      const soonMs = () => random.between(1, random.chance(0.05) ? 300 : 25);
      if (isDown() || this.draws('api-refuse', what)) {
        if (random.chance(0.7)) life.after(soonMs(), () => fail(broken(request, 'connect ECONNREFUSED')));
        return;
      }
      const made = this.#madeUp(request, what);
      if (made) return void life.after(soonMs(), () => fail(made));
      const slowMs = this.draws('api-slow', what) ? random.between(500, 8000) : 0;
      const losesReply = this.draws('api-lose-reply', what);
      scheduler.after(soonMs() + slowMs, () => {
        const done = attempted(request, work);
        scheduler.trace(`api ${lifeNumber} ${request} -> ${done.error?.status ?? 'ok'}`);
        if (losesReply) {
          const lost = random.pick([broken(request, 'read ECONNRESET'), refused(request, 504, 'Timeout')]);
          if (random.chance(0.8)) life.after(soonMs(), () => fail(lost));
          return;
        }
        life.after(soonMs(), () => {
          if (done.error) fail(done.error);
          else finish(() => resolve(done.answer as Answer));
        });
      });
    });
  }

  /** An answer that is none of the store's. */
  #madeUp(request: string, what: string): KubernetesError | undefined {
    const { random } = this.#options;
    if (this.draws('api-error', what)) {
      const status = random.pick([500, 503, 504]);
      return refused(request, status, 'made up');
    }
    if (!this.draws('api-throttle', what)) return undefined;
    const retryAfterMs = random.pick([undefined, 1000, 5000]);
    return new KubernetesError(`${request}: 429`, { status: 429, reason: 'TooManyRequests', retryAfterMs });
  }
}

function attempted<Answer>(
  request: string,
  work: () => Answer,
): { readonly answer?: Answer; readonly error?: KubernetesError } {
  try {
    return { answer: work() };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, reason, message } = error.refusal;
    return { error: new KubernetesError(`${request}: ${message}`, { status: code, reason }) };
  }
}

function refused(request: string, status: number, reason: string): KubernetesError {
  return new KubernetesError(`${request}: ${status}`, { status, reason });
}

function broken(request: string, why: string): KubernetesError {
  return new KubernetesError(`${request}: ${why}`, {});
}

/** What JSON makes of it. */
function onTheWire<Body>(body: Body): Body {
  return JSON.parse(JSON.stringify(body)) as Body;
}

function reduced(object: KubernetesObject, { metadataOnly = false }: Scope): KubernetesObject {
  const { apiVersion, kind, metadata } = object;
  return metadataOnly ? { apiVersion, kind, metadata } : object;
}

function nameOf({ type, namespace, name }: Target): string {
  return `${type.plural}/${namespace ?? ''}/${name}`;
}
