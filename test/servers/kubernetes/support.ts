/** A Kubernetes API made by hand, in this process and on a manual clock: it fails in the ways that tests ask for. */
import pino from 'pino';
import type { Clock, Random } from '../../../src/base/index.ts';
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
  type WatchScope,
} from '../../../src/kubernetes/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import type { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

export const widgets: ResourceType = {
  group: 'example.com',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};

export function seeded(seed: number): Random {
  const random = new SeededRandom(seed);
  return {
    fraction: () => random.fraction(),
    uuid: () => random.uuid(),
    bytes: (length) => Buffer.from(Array.from({ length }, () => random.between(0, 255))),
  };
}

/** What everything in this room is made with. */
export function surroundings<Time extends Clock>(clock: Time, seed = 1) {
  return { clock, random: seeded(seed), logger: pino({ level: 'silent' }), metrics: createMetrics() };
}

export function failure(status: number | undefined, reason = '', retryAfterMs?: number): KubernetesError {
  return new KubernetesError(`scripted ${status ?? 'connection reset'} ${reason}`, {
    status,
    reason,
    retryAfterMs,
  });
}

type Verb = 'list' | 'watch' | 'get' | 'create' | 'replace' | 'patch';

interface Call {
  readonly verb: Verb;
  readonly atMs: number;
  readonly continueToken?: string | undefined;
  readonly resourceVersion?: string;
  readonly limit?: number | undefined;
  readonly object?: object;
}

interface Watcher {
  send(event: WatchEvent): void;
  end(error?: Error): void;
}

export class FakeApi implements KubernetesApi {
  readonly description = 'a Kubernetes API made by hand';
  readonly namespace = 'default';
  readonly clock: ManualClock;
  readonly calls: Call[] = [];
  readonly objects = new Map<string, KubernetesObject>();
  /** What the next calls of a verb are answered with: a failure, 'hang' for never. */
  readonly script: Partial<Record<Verb, (Error | 'hang')[]>> = {};
  /** Answers for as long as it is set. */
  always: Partial<Record<Verb, Error | 'hang'>> = {};
  /** Watches deliver nothing any more, and don't say so. */
  silent = false;
  /** Whether a watch ends when it asked for that. */
  endsWatches = false;
  /** Whether a watch shows what happened since its version, before it was opened. */
  remembers = true;
  /** Called before an object is written. */
  beforeWrite: () => void = () => {};
  revision = 100;
  /** Versions before this one are forgotten. */
  oldest = 0;
  #uids = 0;
  #history: { readonly revision: number; readonly event: WatchEvent }[] = [];
  readonly #watchers = new Set<Watcher>();

  constructor(clock: ManualClock) {
    this.clock = clock;
  }

  count(verb: Verb): number {
    return this.calls.filter((call) => call.verb === verb).length;
  }

  get openWatches(): number {
    return this.#watchers.size;
  }

  /** Creates or changes an object, as somebody else does. */
  put(name: string, spec: object = {}): KubernetesObject {
    const known = this.objects.get(name);
    return this.#store(known ? 'MODIFIED' : 'ADDED', {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: {
        name,
        namespace: 'default',
        uid: known?.metadata.uid ?? `uid-${(this.#uids += 1)}`,
        resourceVersion: '',
      },
      spec,
    });
  }

  delete(name: string): void {
    const object = this.objects.get(name);
    if (!object) return;
    this.objects.delete(name);
    this.#happen('DELETED', object);
  }

  bookmark(): void {
    this.send({ type: 'BOOKMARK', resourceVersion: String(this.revision) });
  }

  /** To all open watches, whatever it is. */
  send(event: WatchEvent): void {
    for (const watcher of this.#watchers) watcher.send(event);
  }

  endWatches(error?: Error): void {
    for (const watcher of this.#watchers) watcher.end(error);
  }

  /** Forgets history, as etcd does after five minutes. */
  compact(): void {
    this.oldest = this.revision;
    this.#history = [];
  }

  async list(
    _type: ResourceType,
    { limit = Infinity, continueToken }: Scope & { limit?: number; continueToken?: string | undefined },
    signal?: AbortSignal,
  ): Promise<ListPage> {
    await this.#answer({ verb: 'list', continueToken, limit }, signal);
    const [revision, after] =
      continueToken === undefined ? [this.revision, ''] : (JSON.parse(continueToken) as [number, string]);
    if (revision < this.oldest) throw failure(410, 'Expired');
    const rest = [...this.objects.entries()]
      .filter(([name]) => name > after)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    const page = rest.slice(0, limit);
    const last = page.at(-1)?.[0];
    return {
      items: page.map(([, object]) => structuredClone(object)),
      resourceVersion: String(revision),
      continueToken: page.length < rest.length ? JSON.stringify([revision, last]) : undefined,
    };
  }

  async *watch(
    _type: ResourceType,
    { resourceVersion, silenceMs, endMs }: WatchScope,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent> {
    await this.#answer({ verb: 'watch', resourceVersion }, signal);
    if (Number(resourceVersion) < this.oldest) throw failure(410, 'Expired');
    const queue = (this.remembers ? this.#history : [])
      .filter(({ revision }) => revision > Number(resourceVersion))
      .map(({ event }) => event);
    let ended: { readonly error: Error | undefined } | undefined;
    let wake = () => {};
    const watcher: Watcher = {
      send: (event) => {
        if (this.silent) return;
        queue.push(event);
        wake();
      },
      end: (error) => {
        this.#watchers.delete(watcher);
        ended ??= { error };
        wake();
      },
    };
    this.#watchers.add(watcher);
    const end = this.endsWatches && endMs !== undefined && this.clock.after(endMs, () => watcher.end());
    const onAbort = () => watcher.end();
    signal.addEventListener('abort', onAbort);
    try {
      for (;;) {
        const event = queue.shift();
        if (event) {
          yield structuredClone(event);
          continue;
        }
        if (ended?.error) throw ended.error;
        if (ended || signal.aborted) return;
        const silence = this.clock.after(silenceMs, () => watcher.end(failure(undefined, 'nothing came')));
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        silence.cancel();
      }
    } finally {
      if (end) end.cancel();
      this.#watchers.delete(watcher);
      signal.removeEventListener('abort', onAbort);
    }
  }

  async get({ name }: Target, signal?: AbortSignal): Promise<KubernetesObject | undefined> {
    await this.#answer({ verb: 'get' }, signal);
    return structuredClone(this.objects.get(name));
  }

  async create(_type: ResourceType, object: object, signal?: AbortSignal): Promise<KubernetesObject> {
    await this.#answer({ verb: 'create', object }, signal);
    this.beforeWrite();
    const given = object as KubernetesObject;
    if (this.objects.has(given.metadata.name)) throw failure(409, 'AlreadyExists');
    const metadata = { ...given.metadata, uid: `uid-${(this.#uids += 1)}` };
    return structuredClone(this.#store('ADDED', { ...given, metadata }));
  }

  async replace(
    _type: ResourceType,
    object: KubernetesObject,
    signal?: AbortSignal,
  ): Promise<KubernetesObject> {
    await this.#answer({ verb: 'replace', object }, signal);
    this.beforeWrite();
    const known = this.objects.get(object.metadata.name);
    if (!known) throw failure(404, 'NotFound');
    if (known.metadata.resourceVersion !== object.metadata.resourceVersion) throw failure(409, 'Conflict');
    return structuredClone(this.#store('MODIFIED', object));
  }

  async patch({ name }: Target, { body }: Patch, signal?: AbortSignal): Promise<KubernetesObject> {
    await this.#answer({ verb: 'patch', object: body as object }, signal);
    const known = this.objects.get(name);
    if (!known) throw failure(404, 'NotFound');
    return structuredClone(this.#store('MODIFIED', { ...known, ...(body as object) }));
  }

  async remove({ name }: Target): Promise<void> {
    this.delete(name);
  }

  async close(): Promise<void> {
    this.endWatches();
  }

  async #answer(call: Omit<Call, 'atMs'>, signal: AbortSignal | undefined): Promise<void> {
    this.calls.push({ ...call, atMs: this.clock.monotonicMs() });
    const answer = this.script[call.verb]?.shift() ?? this.always[call.verb];
    if (answer === 'hang') {
      await new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(failure(undefined, 'aborted')));
      });
    }
    if (answer instanceof Error) throw answer;
  }

  #store(type: 'ADDED' | 'MODIFIED', object: KubernetesObject): KubernetesObject {
    const stored = this.#happen(type, object);
    this.objects.set(object.metadata.name, stored);
    return stored;
  }

  #happen(type: 'ADDED' | 'MODIFIED' | 'DELETED', given: KubernetesObject): KubernetesObject {
    this.revision += 1;
    const object = { ...given, metadata: { ...given.metadata, resourceVersion: String(this.revision) } };
    const event: WatchEvent = { type, object };
    this.#history.push({ revision: this.revision, event });
    this.send(event);
    return object;
  }
}
