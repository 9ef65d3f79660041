/**
 * The Secrets and ConfigMaps that objects of a cluster refer to. Each is read by `get`, so no permission to list them is needed.
 *
 *     unread ── get ──> there | absent | failing
 *
 * | read | when |
 * |---|---|
 * | requested | when an object first refers to it, or an object that refers to it is edited: at once, four at a time |
 * | periodic | within 15 s: spread over those of its namespace, at most ten per second of it |
 * | after a failure | sooner, then with growing pauses: it is absent or can't be read |
 *
 * Namespaces take turns (`read-turns.ts`). What was never read has a fault (`DataFault`): it counts neither as missing nor, where it is
 * optional, as left out.
 * - After a failed read, the last known value stays, and a problem reports it.
 * - A deleted Secret is gone. But if an object that refers to it is being deleted, this process keeps the last known value until
 *   that object is gone, too. A terminating namespace loses its Secrets first, and the things at the provider could not be
 *   deleted without them.
 * - An unchanged value keeps its identity. Values that nothing refers to any more are forgotten.
 */
import { VersionedMap, backoffMs, messageOf, type Clock, type Random, type Timer } from '../../base/index.ts';
import type { KubernetesApi, KubernetesObject } from '../../kubernetes/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { DataId, DataKind, Referred } from '../references.ts';
import { configMapData, faulty, secretData, type DataFault, type SecretData } from '../data-documents.ts';
import { PeriodicReads, RequestedReads, paceMs } from './read-turns.ts';
import type { Finding } from '../explain.ts';
import { pathText } from '../problem.ts';
import type { Problem } from '../source.ts';

export interface ClusterDataOptions {
  readonly api: Pick<KubernetesApi, 'get'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Something has changed. */
  readonly onChange: () => void;
}

interface Item {
  referred: Referred;
  state: 'unread' | 'there' | 'absent' | 'failing';
  /** As last read. It is kept while absent, because a deletion may need it. */
  data: SecretData | undefined;
  /** In place of `data` while that is not known. Not kept with what is absent: anybody may refer to as many as they like. */
  blank: SecretData | undefined;
  /** Of the object, and of the keys that `data` was taken from. */
  version: string;
  /** Problems of what was read. */
  findings: readonly Problem[];
  /** Why it can't be read. */
  failure: Problem | undefined;
  /** Consecutive reads that did not find it. */
  misses: number;
  /** Monotonic. */
  dueAtMs: number;
  asked: boolean;
  reading: boolean;
  reportedAsKept: boolean;
}

const concurrency = 4;
const periodMs = 15_000;
/** What was just read is not read again at once. */
const againMs = 1000;
const missBackoff = { firstMs: 2000, longestMs: 60_000 };

const types = {
  Secret: { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true },
  ConfigMap: { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true },
} as const;

export class ClusterData {
  readonly #options: ClusterDataOptions;
  readonly #items = new Map<DataId, Item>();
  /** Requested and unanswered, by namespace. */
  readonly #asked = new Map<string, Set<DataId>>();
  readonly #requested = new RequestedReads();
  /** The number of items by namespace. */
  readonly #counts = new Map<string, number>();
  /** The published values, by `namespace/name`. */
  readonly #values: Record<DataKind, VersionedMap<string, SecretData>> = {
    Secret: VersionedMap.of(),
    ConfigMap: VersionedMap.of(),
  };
  /** The problems of those that have any. */
  readonly #wrong = new Map<DataId, readonly Problem[]>();
  /** All problems. Undefined: to be computed again. */
  #problems: readonly Problem[] | undefined;
  readonly #stopping = new AbortController();
  readonly #waiting = new Set<() => void>();
  /** What is being read, or is about to be, gets another turn after that. */
  readonly #periodic = new PeriodicReads<Item>(
    ({ id, item, atMs }) =>
      !item.reading && !item.asked && item.dueAtMs === atMs && this.#items.get(id) === item,
  );
  #reading = 0;
  #pacer: { readonly timer: Timer; readonly atMs: number } | undefined;
  #pacedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ClusterDataOptions) {
    this.#options = options;
  }

  /** Updates how these are referred to. Undefined: nothing refers to it any more. */
  refer(referred: ReadonlyMap<DataId, Referred | undefined>): void {
    if (referred.size === 0) return;
    for (const [id, now] of referred) {
      const known = this.#items.get(id);
      if (!now) this.#forget(id);
      else if (known) known.referred = now;
      else this.#know(id, now);
      if (now && (!known || now.edited)) this.#ask(id);
      this.#show(id);
    }
    this.#pump();
    this.#schedule();
  }

  /** Whether a requested read is unanswered: of any of these namespaces, or of all. */
  isPending(namespaces?: ReadonlySet<string>): boolean {
    if (!namespaces) return this.#asked.size > 0;
    return [...namespaces].some((namespace) => this.#asked.has(namespace));
  }

  /** Resolves when nothing is pending in one more namespace, after `limitMs`, or when stopped. */
  answered(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      if (!this.isPending() || this.#stopping.signal.aborted) return resolve();
      const done = () => {
        timer.cancel();
        this.#waiting.delete(done);
        resolve();
      };
      const timer = this.#options.clock.after(limitMs, done);
      this.#waiting.add(done);
    });
  }

  /** By `namespace/name`. The same version as long as nothing changes. */
  values(kind: DataKind): VersionedMap<string, SecretData> {
    return this.#values[kind];
  }

  /** The same list as long as nothing changes. */
  problems(): readonly Problem[] {
    return (this.#problems ??= [...this.#wrong.values()].flat());
  }

  stop(): void {
    this.#pacer?.timer.cancel();
    this.#stopping.abort();
    this.#notifyAnswered();
  }

  /** Called after each change of an item. */
  #show(id: DataId): void {
    const item = this.#items.get(id);
    this.#reportKept(id);
    const [kind, ...name] = id.split('/') as [DataKind, string, string];
    const isShown = item && (item.state !== 'absent' || item.referred.deleting);
    this.#values[kind] = this.#values[kind].with([
      [name.join('/'), isShown ? (item.data ?? blankOf(item)) : undefined],
    ]);
    const wrong = item ? problemsOf(item) : [];
    if (wrong.length === 0 && !this.#wrong.has(id)) return;
    if (wrong.length === 0) this.#wrong.delete(id);
    else this.#wrong.set(id, wrong);
    this.#problems = undefined;
  }

  #know(id: DataId, referred: Referred): void {
    this.#items.set(id, unread(referred));
    this.#count(referred.namespace, 1);
  }

  #forget(id: DataId): void {
    const item = this.#items.get(id);
    if (!item) return;
    const { namespace } = item.referred;
    this.#items.delete(id);
    this.#answered(namespace, id);
    this.#requested.delete(namespace, id);
    this.#count(namespace, -1);
  }

  #count(namespace: string, by: 1 | -1): void {
    const count = (this.#counts.get(namespace) ?? 0) + by;
    if (count === 0) this.#counts.delete(namespace);
    else this.#counts.set(namespace, count);
  }

  #ask(id: DataId): void {
    const item = this.#items.get(id);
    if (!item) return;
    const { namespace, isKey } = item.referred;
    item.asked = true;
    this.#asked.set(namespace, (this.#asked.get(namespace) ?? new Set()).add(id));
    if (!item.reading) this.#requested.add(namespace, id, isKey);
  }

  #answered(namespace: string, id: DataId): void {
    const asked = this.#asked.get(namespace);
    if (!asked?.delete(id) || asked.size > 0) return;
    this.#asked.delete(namespace);
    this.#notifyAnswered();
  }

  /** Starts requested reads while there are free slots. */
  #pump(): void {
    while (this.#reading < concurrency) {
      const id = this.#requested.take();
      if (id === undefined) return;
      this.#read(id);
    }
  }

  /** Sets a timer for the next periodic read, which then has its turn among the requested ones. */
  #schedule(): void {
    const dueAtMs = this.#periodic.nextAtMs();
    if (dueAtMs === undefined || this.#stopping.signal.aborted) return;
    const { clock } = this.#options;
    const atMs = Math.max(dueAtMs, this.#pacedAtMs + paceMs.inAll);
    if (this.#pacer && this.#pacer.atMs <= atMs) return;
    this.#pacer?.timer.cancel();
    const timer = clock.after(Math.max(0, atMs - clock.monotonicMs()), () => {
      this.#pacer = undefined;
      const due = this.#periodic.take(clock.monotonicMs());
      if (due) {
        this.#pacedAtMs = clock.monotonicMs();
        this.#requested.add(due.namespace, due.id, due.item.referred.isKey);
        this.#pump();
      }
      this.#schedule();
    });
    this.#pacer = { timer, atMs };
  }

  #read(id: DataId): void {
    const item = this.#items.get(id);
    if (!item || item.reading || this.#stopping.signal.aborted) return;
    item.reading = true;
    item.asked = false;
    this.#reading += 1;
    void this.#conclude(id, item);
  }

  /** Never rejects. */
  async #conclude(id: DataId, item: Item): Promise<void> {
    const changed = await this.#get(item);
    const { namespace, isKey } = item.referred;
    this.#reading -= 1;
    item.reading = false;
    if (this.#items.get(id) === item) {
      this.#show(id);
      // Requested again meanwhile: the response may be older than the edit.
      if (!item.asked) {
        this.#periodic.add({ namespace, id, item, atMs: item.dueAtMs });
        this.#answered(namespace, id);
      } else this.#requested.add(namespace, id, isKey);
      if (changed) this.#options.onChange();
    }
    this.#pump();
    this.#schedule();
  }

  #notifyAnswered(): void {
    for (const done of this.#waiting) done();
  }

  /** True if something has changed. Never rejects. */
  async #get(item: Item): Promise<boolean> {
    const { api } = this.#options;
    const { kind, namespace, name } = item.referred;
    try {
      const object = await api.get({ type: types[kind], namespace, name }, this.#stopping.signal);
      return object ? this.#found(item, object) : this.#missed(item, undefined);
    } catch (error) {
      if (this.#stopping.signal.aborted) return false;
      const remedy = `check that fleetkeeper may \`get\` ${types[kind].plural} in the namespace ${namespace}`;
      const problem = problemOf(item.referred, `can't be read: ${messageOf(error)}`, remedy);
      if (item.state !== 'failing') this.#options.logger.warn({ note: problem.message }, 'data not readable');
      return this.#missed(item, problem);
    }
  }

  #found(item: Item, object: KubernetesObject): boolean {
    const { clock, random } = this.#options;
    const { uid, resourceVersion } = object.metadata;
    const version = [uid, resourceVersion, ...[...item.referred.keys].sort()].join(' ');
    const changed = item.version !== version || item.state !== 'there';
    const isFirst = item.state === 'unread';
    if (item.version !== version) Object.assign(item, dataOf(item.referred, object), { version });
    item.state = 'there';
    item.blank = undefined;
    item.failure = undefined;
    item.misses = 0;
    // The first reads come together. The second ones are spread over the whole period.
    const count = this.#counts.get(item.referred.namespace) ?? 0;
    const share = isFirst ? random.fraction() : 0.75 + 0.25 * random.fraction();
    const spreadMs = Math.max(periodMs, count * paceMs.inOne) * share;
    item.dueAtMs = clock.monotonicMs() + Math.max(againMs, spreadMs);
    return changed;
  }

  #missed(item: Item, failure: Problem | undefined): boolean {
    const { clock, random } = this.#options;
    const state = failure ? 'failing' : 'absent';
    const changed = item.state !== state || item.failure?.message !== failure?.message;
    item.state = state;
    item.failure = failure;
    if (changed) item.blank = failure && blank(item.referred, failure);
    item.dueAtMs = clock.monotonicMs() + backoffMs(item.misses, missBackoff, random);
    item.misses += 1;
    return changed;
  }

  #reportKept(id: DataId): void {
    const item = this.#items.get(id);
    if (!item) return;
    const isKept = item.state === 'absent' && item.data !== undefined && item.referred.deleting;
    if (isKept && !item.reportedAsKept) {
      const note =
        'objects that refer to it are being deleted; its last known value is used until they are gone';
      this.#options.logger.warn({ data: id, note }, 'data gone before its users');
    }
    item.reportedAsKept = isKept;
  }
}

function problemsOf({ state, findings, failure, referred }: Item): readonly Problem[] {
  if (failure) return [failure];
  if (state === 'unread') return [problemOf(referred, notYet.message, notYet.remedy)];
  return state === 'there' ? findings : [];
}

const notYet = {
  message: 'has not been read yet',
  remedy: 'wait for the API server',
  isUnread: true,
} as const;

function blank(
  { kind, namespace, name }: Referred,
  { message, remedy, isUnread }: Omit<DataFault, 'reason'>,
): SecretData {
  const whole = `the ${kind} ${name} in the namespace ${namespace} ${message}`;
  return faulty({ reason: 'InvalidReference', message: whole, remedy, ...(isUnread && { isUnread }) });
}

/** Whether it exists is not known. */
function blankOf({ state, blank: unknown }: Item): SecretData | undefined {
  return state === 'unread' || state === 'failing' ? unknown : undefined;
}

function unread(referred: Referred): Item {
  return {
    referred,
    state: 'unread',
    data: undefined,
    blank: blank(referred, notYet),
    version: '',
    findings: [],
    failure: undefined,
    misses: 0,
    dueAtMs: 0,
    asked: false,
    reading: false,
    reportedAsKept: false,
  };
}

/** Only the keys that are referred to. Others are not kept, and their problems are not reported. */
function dataOf(referred: Referred, object: KubernetesObject): Pick<Item, 'data' | 'findings'> {
  const found: Finding[] = [];
  const data = Object.fromEntries(
    Object.entries((object['data'] ?? {}) as Record<string, unknown>).filter(([key]) =>
      referred.keys.has(key),
    ),
  );
  const { apiVersion, kind, metadata } = object;
  const document = { apiVersion, kind, metadata, data };
  const values = kind === 'Secret' ? secretData(document, found) : configMapData(document, found);
  const findings = found.map(({ path, message, remedy }) =>
    problemOf(referred, message, remedy, pathText(path)),
  );
  return { data: values, findings };
}

function problemOf(
  { kind, namespace, name }: Referred,
  message: string,
  remedy: string,
  path?: string,
): Problem {
  const file = `${types[kind].plural}/${namespace}/${name}`;
  return { file, line: undefined, path, message, remedy, key: undefined };
}
