/**
 * A cluster for whoever only shows it: objects with their status, and Events, by list and watch. Nothing is written, no Secret and no
 * ConfigMap is read, and no provider is asked. It works while no operator runs.
 *
 *     new ── start ──> listing ── every kind was listed ──> listed ── stop ──> stopped
 *                         └── a kind can't be listed: `unread` has the reason, and the list is tried again without end
 *
 * Once it is listed it stays so: while the API server is down, the last state is shown, and `silence` has the reason.
 */
import { provisionalKey, type Clock, type Random } from '../../base/index.ts';
import {
  keptObject,
  readClusterObject,
  shardOfAccount,
  type ClusterEntry,
  type ShardBy,
} from '../../desired/index.ts';
import {
  eventType,
  Reflector,
  setWatchSilence,
  type Change,
  type KubernetesApi,
} from '../../kubernetes/index.ts';
import {
  accountPlaceOf,
  apiVersion,
  managedKinds,
  objectKey,
  parseObjectKey,
  resourceTypes,
  type ManagedKind,
  type ObjectKey,
} from '../../resources/index.ts';
import { MemoryStore, type WrittenState } from '../../state/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import { leaseName } from '../divisions.ts';
import { LeaseWatch, type SeenLease } from './lease-watch.ts';
import { leastOfEvent, shownState } from './shown-object.ts';
import { ClusterTimeline, type ClusterEvent } from './timeline.ts';

export interface ShownClusterOptions {
  readonly api: Pick<KubernetesApi, 'list' | 'watch' | 'get' | 'namespace'>;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  /** How many operators share the accounts (`--shard` of theirs). */
  readonly shards: number;
  /** How they share them (`--shard-by`). */
  readonly shardBy: ShardBy;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

interface Informer {
  readonly kind: ManagedKind;
  readonly reflector: Reflector;
}

export class ShownCluster {
  readonly store: ShownStore;
  readonly timeline: ClusterTimeline = new ClusterTimeline();
  readonly shards: number;
  readonly #options: ShownClusterOptions;
  readonly #informers: readonly Informer[];
  readonly #events: readonly Reflector[];
  readonly #leases: LeaseWatch;
  readonly #entries = new Map<ObjectKey, ClusterEntry>();
  /** Objects in each namespace. */
  readonly #namespaces = new Map<string, number>();
  readonly #onRound: (() => void)[] = [];

  constructor(options: ShownClusterOptions) {
    const { random, namespaces, shards } = options;
    this.#options = options;
    this.shards = shards;
    this.store = new ShownStore({ ownerName: '', digestKey: provisionalKey(random) }, [], []);
    const scopes = namespaces.length === 0 ? [undefined] : namespaces;
    this.#informers = managedKinds.flatMap((kind) => scopes.map((scope) => this.#informer(kind, scope)));
    this.#events = scopes.map((scope) => this.#eventReflector(scope));
    const names = Array.from({ length: shards }, (_, index) => this.#leaseName(index));
    const onRound = () => {
      for (const each of this.#onRound) each();
    };
    this.#leases = new LeaseWatch({ ...options, names, onRound });
  }

  start(): void {
    for (const { reflector } of this.#informers) reflector.start();
    for (const reflector of this.#events) reflector.start();
    this.#leases.start();
  }

  async stop(): Promise<void> {
    const reflectors = [...this.#informers.map(({ reflector }) => reflector), ...this.#events];
    await Promise.all([this.#leases.stop(), ...reflectors.map((reflector) => reflector.stop())]);
  }

  /** Why not everything was listed once; undefined when it was. */
  get unread(): string | undefined {
    const missing = this.#informers.find(({ reflector }) => !reflector.hasSynced);
    if (!missing) return this.#isAsked ? undefined : 'the Lease of the operator has not been read yet';
    const { plural } = resourceTypes[missing.kind];
    return missing.reflector.problem ?? `${plural} have not been listed yet`;
  }

  /** Kinds of which nothing was heard for long, with the reason. */
  get silence(): ReadonlyMap<ManagedKind, string> {
    const silent = this.#informers.flatMap(({ kind, reflector }) =>
      reflector.problem === undefined ? [] : [[kind, reflector.problem] as const],
    );
    return new Map(silent);
  }

  /** Why no Events are shown. */
  get eventProblem(): string | undefined {
    return this.#events.find((reflector) => !reflector.hasSynced)?.problem;
  }

  /** Of the operator that manages this part of the accounts, from 0. */
  leaseOf(shard: number): SeenLease {
    return (
      this.#leases.seen(this.#leaseName(shard)) ?? { lease: undefined, failure: undefined, isDenied: false }
    );
  }

  /** Called every few seconds, when the Leases have been read. */
  listenToLeases(onRound: () => void): void {
    this.#onRound.push(onRound);
  }

  /** Which part of the accounts the object belongs to, as the operators divide them. */
  shardOf(key: ObjectKey): number {
    if (this.shards === 1) return 0;
    return shardOfAccount(this.#accountOf(key), { by: this.#options.shardBy, count: this.shards });
  }

  createdAt(key: ObjectKey): number | undefined {
    return this.#entries.get(key)?.facts.createdAt;
  }

  /** Those that have objects. */
  get namespaces(): Iterable<string> {
    return this.#namespaces.keys();
  }

  /** Sets the gauges of the informers. */
  updateMetrics(): void {
    const reflectors = [...this.#informers.map(({ reflector }) => reflector), ...this.#events];
    setWatchSilence(this.#options.metrics, reflectors);
  }

  #accountOf(key: ObjectKey): string {
    const place = accountPlaceOf(key, this.#entries.get(key)?.spec);
    return 'account' in place ? place.account : this.#accountOf(place.with);
  }

  get #isAsked(): boolean {
    return this.#leases.seen(this.#leaseName(this.shards - 1)) !== undefined;
  }

  #leaseName(index: number): string {
    const { shardBy: by } = this.#options;
    return leaseName(this.shards === 1 ? undefined : { index, count: this.shards, by });
  }

  #informer(kind: ManagedKind, namespace: string | undefined): Informer {
    const onChange = (change: Change) => this.#take(kind, change);
    const type = resourceTypes[kind];
    const reflector = new Reflector({
      ...this.#options,
      type,
      scope: { namespace },
      keep: keptObject,
      onChange,
    });
    return { kind, reflector };
  }

  /** The API server selects those about our objects. */
  #eventReflector(namespace: string | undefined): Reflector {
    const scope = { namespace, fieldSelector: `involvedObject.apiVersion=${apiVersion}` };
    const onChange = ({ kind, object }: Change) => {
      const shown = object['shown'] as ClusterEvent | undefined;
      if (shown && kind !== 'deleted') this.timeline.putEvent(shown, this.#options.clock.wallMs());
    };
    return new Reflector({ ...this.#options, type: eventType, scope, keep: leastOfEvent, onChange });
  }

  #take(kind: ManagedKind, { kind: what, object }: Change): void {
    const { namespace = 'default', name } = object.metadata;
    const key = objectKey(kind, namespace, name);
    const before = this.#entries.get(key);
    if (what === 'deleted') {
      if (this.#entries.delete(key)) this.#count(key, -1);
      this.store.forget(key);
      return;
    }
    const entry = readClusterObject(kind, object, before);
    this.#entries.set(key, entry);
    if (!before) this.#count(key, 1);
    const state = shownState(entry);
    this.store.show(state);
    if (state.intent) this.timeline.putIntent(state.intent, this.#options.clock.wallMs());
  }

  #count(key: ObjectKey, by: number): void {
    const { namespace } = parseObjectKey(key);
    const count = (this.#namespaces.get(namespace) ?? 0) + by;
    if (count === 0) this.#namespaces.delete(namespace);
    else this.#namespaces.set(namespace, count);
  }
}

/** Takes in what is shown. */
class ShownStore extends MemoryStore {
  show({ record, intent, revisions }: WrittenState): void {
    // Its status was wiped: what was known of its mutations is not true any more.
    if (!intent && this.lastIntent(record.key)) this.drop(record.key);
    this.keepRevisions(record.key, revisions);
    this.keep(record, intent);
  }

  forget(key: ObjectKey): void {
    this.keepRevisions(key, []);
    this.drop(key);
  }
}
