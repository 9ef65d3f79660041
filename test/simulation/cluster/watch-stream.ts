/**
 * One watch: what changed since a version, and what changes from then on, each event some time after its change and in their order.
 * It may be cut, tell that its version has expired, lag, repeat itself, or fall silent while its connection looks well.
 */
import {
  KubernetesError,
  type KubernetesObject,
  type ResourceType,
  type Scope,
  type WatchEvent,
} from '../../../src/kubernetes/index.ts';
import type { Change } from '../../support/kubernetes/store.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { Life, Scheduler } from '../scheduler.ts';
import { shown, type ApiServer } from './api-server.ts';
import type { ApiFault } from './faults.ts';

export interface WatchStreamOptions {
  readonly server: ApiServer;
  readonly type: ResourceType;
  readonly scope: Scope & { readonly resourceVersion: string; readonly silenceMs: number };
  readonly scheduler: Scheduler;
  readonly life: Life;
  readonly random: SeededRandom;
  readonly draws: (kind: ApiFault) => boolean;
  readonly show: (object: KubernetesObject) => KubernetesObject;
}

const bookmarkMs = 60_000;
const expired = { type: 'ERROR', status: 410, message: 'too old resource version' } as const;

export class WatchStream {
  readonly #options: WatchStreamOptions;
  readonly #unsubscribe: () => void;
  readonly #arrived: WatchEvent[] = [];
  #wake = Promise.withResolvers<void>();
  /** What is on its way, in its order, and when the last of it is due. */
  readonly #travelling: (() => void)[] = [];
  #lastAtMs = 0;
  #isSilent = false;
  #end: 'ended' | KubernetesError | undefined;

  /** Throws when the version has expired. */
  constructor(options: WatchStreamOptions) {
    const { server, type, scope, draws } = options;
    this.#options = options;
    const { storage } = server.kindOf(type);
    const missed = server.store.changesSince(storage, Number(scope.resourceVersion));
    this.#unsubscribe = server.store.subscribe(storage, (change) => this.#take(change));
    for (const change of missed) this.#take(change);
    this.#isSilent = draws('watch-silent');
    this.#bookmarkLater();
  }

  async *events(signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const { scope, life } = this.#options;
    const onAbort = () => this.#wake.resolve();
    const ignore = this.#options.scheduler.onAbort(signal, onAbort);
    let silence = life.after(scope.silenceMs, () => this.break('nothing came for 70 s'));
    try {
      for (;;) {
        for (const event of this.#arrived.splice(0)) {
          silence.cancel();
          silence = life.after(scope.silenceMs, () => this.break('nothing came for 70 s'));
          yield event;
        }
        if (signal.aborted || this.#end === 'ended') return;
        if (this.#end) throw this.#end;
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
      }
    } finally {
      silence.cancel();
      ignore();
      this.#unsubscribe();
      this.#end ??= 'ended';
    }
  }

  break(why: string): void {
    this.#over(new KubernetesError(`watch ${this.#options.type.plural}: ${why}`, {}));
  }

  #take({ type, entry }: Change): void {
    const { server, life, scope, draws, random, show, type: resource } = this.#options;
    if (life.isOver || this.#end) return this.#unsubscribe();
    const { namespace } = entry.object.metadata;
    if (this.#isSilent || (scope.namespace !== undefined && namespace !== scope.namespace)) return;
    const event = { type, object: show(shown(server.kindOf(resource), entry)) };
    const lateMs = draws('watch-late') ? random.between(200, 10_000) : 0;
    this.#later(random.between(1, 30) + lateMs, () => this.#push(event));
    if (draws('watch-twice')) this.#later(random.between(0, 2000), () => this.#push(event));
    if (draws('watch-expired')) this.#later(0, () => this.#push(expired));
    if (draws('watch-cut')) this.#later(0, () => this.#over(random.chance(0.5) ? 'ended' : this.#reset()));
  }

  /** Not before what came before it: each moment at which something is due brings the next one. */
  #later(delayMs: number, run: () => void): void {
    const { life } = this.#options;
    const nowMs = life.clock.monotonicMs();
    this.#lastAtMs = Math.max(this.#lastAtMs, nowMs + delayMs);
    this.#travelling.push(run);
    life.after(this.#lastAtMs - nowMs, () => this.#travelling.shift()?.());
  }

  #push(event: WatchEvent): void {
    if (this.#end) return;
    this.#arrived.push(event);
    this.#wake.resolve();
  }

  #over(end: 'ended' | KubernetesError): void {
    this.#end ??= end;
    this.#wake.resolve();
  }

  #reset(): KubernetesError {
    return new KubernetesError(`watch ${this.#options.type.plural}: read ECONNRESET`, {});
  }

  #bookmarkLater(): void {
    const { life, server } = this.#options;
    life.after(bookmarkMs, () => {
      if (this.#end) return;
      const resourceVersion = String(server.store.revision);
      if (!this.#isSilent) this.#later(0, () => this.#push({ type: 'BOOKMARK', resourceVersion }));
      this.#bookmarkLater();
    });
  }
}
