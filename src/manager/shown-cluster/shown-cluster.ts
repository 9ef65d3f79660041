/**
 * A cluster for whoever only shows it: objects with their status, and Events, by list and watch. Nothing is written, no Secret and no
 * ConfigMap is read, and no provider is asked. It works while no operator runs.
 *
 *     new ── start ──> listing ── every kind of a namespace was listed ──> listed ── stop ──> stopped
 *                         └── a kind can't be listed: `unread` has the reason, and the list is tried again without end
 *
 * Once it is listed it stays so: while the API server is down, the last state is shown, and `blind` has the reason. Several namespaces are
 * independent, as for an operator (desired/cluster/cluster-scopes.ts): one that can't be read keeps nobody from seeing the others.
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
  readonly namespace: string | undefined;
  readonly reflector: Reflector;
}

/** What is not known now. */
export interface Blind {
  /** Undefined: it is not one of several. */
  readonly namespace: string | undefined;
  readonly problem: string;
}

export class ShownCluster {
  readonly store: ShownStore;
  readonly timeline: ClusterTimeline = new ClusterTimeline();
  readonly shards: number;
  readonly #options: ShownClusterOptions;
  readonly #informers: readonly Informer[];
  /** The same by namespace; undefined: all of them. */
  readonly #scopes: ReadonlyMap<string | undefined, readonly Informer[]>;
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
    this.#scopes = Map.groupBy(this.#informers, ({ namespace }) => namespace);
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

  /** Why nothing is shown: no namespace was listed completely yet. */
  get unread(): string | undefined {
    const missing = Array.from(this.#scopes.values(), (informers) => informers.find(isUnlisted));
    const [first] = missing;
    if (first && !missing.includes(undefined)) return problemOf(first);
    return this.#isAsked ? undefined : 'the Lease of the operator has not been read yet';
  }

  /** Kinds that were not listed yet, or of which nothing was heard for long. */
  get blind(): readonly (Blind & { readonly kind: ManagedKind })[] {
    return this.#informers
      .filter((each) => isUnlisted(each) || each.reflector.problem !== undefined)
      .map((each) => ({
        kind: each.kind,
        namespace: this.#oneOfSeveral(each.namespace),
        problem: problemOf(each),
      }));
  }

  /** What is shown of it may be old. Half of a namespace would be misunderstood, so until all of it was listed, nothing in it is current. */
  isBlind(key: ObjectKey): boolean {
    const { kind, namespace } = parseObjectKey(key);
    const informers = this.#scopes.get(namespace) ?? this.#scopes.get(undefined) ?? [];
    return informers.some(
      (each) => isUnlisted(each) || (each.kind === kind && each.reflector.problem !== undefined),
    );
  }

  /** Where no Events are shown. */
  get withoutEvents(): readonly Blind[] {
    return this.#events.flatMap(({ hasSynced, problem, namespace }) =>
      hasSynced || problem === undefined ? [] : [{ namespace: this.#oneOfSeveral(namespace), problem }],
    );
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

  /** Those that have objects, and those that are named: what is not known of one concerns who may see it. */
  get namespaces(): Iterable<string> {
    return new Set([...this.#options.namespaces, ...this.#namespaces.keys()]);
  }

  /** Sets the gauges of the informers. */
  updateMetrics(): void {
    const reflectors = [...this.#informers.map(({ reflector }) => reflector), ...this.#events];
    setWatchSilence(this.#options.metrics, reflectors);
  }

  #oneOfSeveral(namespace: string | undefined): string | undefined {
    return this.#scopes.size > 1 ? namespace : undefined;
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
    return { kind, namespace, reflector };
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

function isUnlisted({ reflector }: Informer): boolean {
  return !reflector.hasSynced;
}

function problemOf({ kind, reflector }: Informer): string {
  return reflector.problem ?? `${resourceTypes[kind].plural} have not been listed yet`;
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
