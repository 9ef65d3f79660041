/**
 * A Kubernetes API as the source of desired state. It has one reflector for each kind and namespace, and reads the Secrets
 * and ConfigMaps that objects refer to with `get`.
 *
 * States: **new** → `start`: reflectors list → **syncing**: every kind is listed (`cluster-scopes.ts`), Secrets and ConfigMaps are
 * being read → **watching** → `stop` → **stopped**.
 *
 * - The first snapshot is made when everything has been read. Secrets and ConfigMaps have 30 s for that.
 * - While watching, a change makes a new snapshot 50 ms later, with all changes until then. A change is one of an object,
 *   of a Secret or ConfigMap, or of whether a watch is silent. If objects of its namespace refer to something unread, up to 5 s are spent on reading that.
 * - A snapshot is published if its content differs from the last one.
 * - Only changed objects are parsed (`cluster-object.ts`). An unchanged one is the same JavaScript object as before.
 * - Objects that are being deleted stay in the snapshot until they are gone.
 */
import {
  UserError,
  VersionedMap,
  invariant,
  sameValue,
  sleep,
  type Clock,
  type Random,
  type Timer,
} from '../../base/index.ts';
import { Reflector, type Change, type KubernetesApi, type ResourceType } from '../../kubernetes/index.ts';
import {
  managedKinds,
  objectKey,
  parseObjectKey,
  resourceTypes,
  type ManagedKind,
  type ObjectKey,
} from '../../resources/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import { ClusterData } from './cluster-data.ts';
import { isEdit, readClusterObject } from './cluster-object.ts';
import { ClusterScopes, type Blindness } from './cluster-scopes.ts';
import { keptObject } from './kept-object.ts';
import { ListProbe } from './list-probe.ts';
import { DataUsers } from '../references.ts';
import { ShardedEntries, type Shard } from './cluster-shard.ts';
import { limits } from '../limits.ts';
import { desiredObjects } from '../objects.ts';
import { compareProblems } from '../problem.ts';
import { sameContent } from '../snapshots.ts';
import type { ClusterFacts, DesiredSnapshot, DesiredSource, Problem } from '../source.ts';

export interface ClusterSourceOptions {
  readonly api: KubernetesApi;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly shard: Shard | undefined;
  /**
   * What else has to be listed in a namespace before anything of it is shown, if several are read, and one of its objects needs that by its
   * status. Default: nothing.
   */
  readonly alsoListed?: readonly {
    readonly type: ResourceType;
    readonly isNeededWith: (status: unknown) => boolean;
  }[];
  /** Only the status of an object changed. That makes no snapshot, but its facts show it already. */
  readonly onStatus?: (key: ObjectKey, facts: ClusterFacts) => void;
  /** `start` rejects with a `UserError` if not every kind was listed after this time. Undefined: it waits forever. */
  readonly giveUpAfterMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const coalesceMs = 50;
const firstReadsMs = 30_000;
const laterReadsMs = 5000;
/** Interval of the check for silent watches. */
const reviewMs = 10_000;

export function createClusterSource(options: ClusterSourceOptions): ClusterDesiredSource {
  return new ClusterSource(options);
}

export interface ClusterDesiredSource extends DesiredSource {
  readonly reflectors: readonly Reflector[];
  /** What is listed beside the kinds could not be listed in the namespace. Of several namespaces, nothing new of this one is shown until it can. */
  leaveAlone(namespace: string, reason: string): void;
  /** Lists everything again. Resolves when the snapshot that shows it has been published. */
  readAnew(): Promise<void>;
}

class ClusterSource implements ClusterDesiredSource {
  readonly description: string;
  readonly #options: ClusterSourceOptions;
  readonly reflectors: readonly Reflector[];
  readonly #probes: readonly ListProbe[];
  readonly #scopes: ClusterScopes;
  readonly #data: ClusterData;
  readonly #stopping = new AbortController();
  readonly #entries: ShardedEntries;
  readonly #users = new DataUsers();
  /** Objects whose entry may differ from that in the last snapshot. */
  #changed = new Set<ObjectKey>();
  /** Since their references were last resolved: objects that changed, and those that were edited. */
  #moved = new Set<ObjectKey>();
  #edited = new Set<ObjectKey>();
  #state: 'new' | 'syncing' | 'watching' | 'stopped' = 'new';
  #snapshot: DesiredSnapshot | undefined;
  /** Problems of the last snapshot that don't concern its objects. */
  #reported: { readonly ofData: readonly Problem[]; readonly blind: readonly Problem[] } = {
    ofData: [],
    blind: [],
  };
  #onChange: (snapshot: DesiredSnapshot) => void = () => {};
  /** The next snapshot is published in any case: what was left of the last one can be taken in with it. */
  #isAwaited = false;
  /** A snapshot in preparation. */
  #making: Promise<void> | undefined;
  #review: Timer | undefined;

  constructor(options: ClusterSourceOptions) {
    const { api, namespaces, clock, random, logger } = options;
    const where = namespaces.length === 0 ? 'all namespaces' : `the namespaces ${namespaces.join(', ')}`;
    this.description = `${where} of ${api.description}`;
    this.#options = options;
    this.#entries = new ShardedEntries(options.shard);
    this.#data = new ClusterData({ api, clock, random, logger, onChange: () => this.#touch() });
    const scopes = namespaces.length === 0 ? [undefined] : namespaces;
    this.reflectors = managedKinds.flatMap((kind) => scopes.map((scope) => this.#watch(kind, scope)));
    this.#probes = namespaces.length > 1 ? namespaces.flatMap((namespace) => this.#probesIn(namespace)) : [];
    const watched = [
      ...this.reflectors.map((listing) => ({
        plural: listing.plural,
        namespace: listing.namespace,
        listing,
      })),
      ...this.#probes.map((listing) => ({ plural: listing.plural, namespace: listing.namespace, listing })),
    ];
    this.#scopes = new ClusterScopes(watched, { clock, logger, signal: this.#stopping.signal });
  }

  async start(onChange: (snapshot: DesiredSnapshot) => void): Promise<DesiredSnapshot> {
    invariant(this.#state === 'new', 'a source is started once');
    this.#state = 'syncing';
    this.#onChange = onChange;
    for (const each of [...this.reflectors, ...this.#probes]) {
      each.start();
      void each.whenSynced().then(() => this.#touch());
    }
    await this.#untilListed();
    await this.#untilRead(firstReadsMs, () => undefined);
    const snapshot = this.#assemble();
    this.#snapshot = snapshot;
    if (this.#state === 'syncing') {
      this.#state = 'watching';
      this.#reviewLater();
    }
    return snapshot;
  }

  leaveAlone(namespace: string, reason: string): void {
    const own = this.#probes.filter((probe) => probe.namespace === namespace);
    for (const probe of own) void this.#showAfter(probe.again(reason));
    this.#touch();
  }

  async #showAfter(listed: Promise<void> | undefined): Promise<void> {
    if (!listed) return;
    await listed;
    this.#isAwaited = true;
    this.#touch();
  }

  async readAnew(): Promise<void> {
    await this.#scopes.relist();
    this.#touch();
    await this.#making;
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#review?.cancel();
    this.#stopping.abort();
    this.#data.stop();
    await Promise.all(this.reflectors.map((reflector) => reflector.stop()));
  }

  async #untilListed(): Promise<void> {
    const { clock, giveUpAfterMs, api } = this.#options;
    if (giveUpAfterMs === undefined) {
      await this.#scopes.untilListed();
      return;
    }
    const { watched } = this.#scopes;
    const listed = Promise.all(watched.map(({ listing }) => listing.whenSynced()));
    await Promise.race([listed, sleep(clock, giveUpAfterMs, this.#stopping.signal)]);
    const missing = watched.find(({ listing }) => !listing.hasSynced);
    if (!missing || this.#stopping.signal.aborted) return;
    const { plural, listing } = missing;
    const why = listing.problem ?? 'no answer';
    await this.stop();
    throw new UserError(
      `${plural} could not be listed in ${this.description} within ${giveUpAfterMs / 1000} s: ${why}`,
      `check that ${api.description} is the right cluster, that the CRDs are installed (\`fleetkeeper crds\`), and that you may list and watch them`,
    );
  }

  #probesIn(namespace: string): ListProbe[] {
    const { api, clock, random, logger, alsoListed = [] } = this.#options;
    const shared = { api, namespace, signal: this.#stopping.signal, clock, random, logger };
    return alsoListed.map(({ type, isNeededWith }) => {
      const isNeeded = () => this.#anyIn(namespace, isNeededWith);
      return new ListProbe({ ...shared, type, isNeeded });
    });
  }

  /** Whether the status of an object of the namespace is such. Waits for the first lists. */
  async #anyIn(namespace: string, isSuch: (status: unknown) => boolean): Promise<boolean> {
    const own = this.reflectors.filter((reflector) => reflector.namespace === namespace);
    await Promise.all(own.map((reflector) => reflector.whenSynced()));
    for (const [key, { facts }] of this.#entries.all())
      if (parseObjectKey(key).namespace === namespace && isSuch(facts.status)) return true;
    return false;
  }

  #watch(kind: ManagedKind, namespace: string | undefined): Reflector {
    const { api, clock, random, logger, metrics } = this.#options;
    const onChange = (change: Change) => this.#take(kind, change);
    const type = resourceTypes[kind];
    const scope = { namespace };
    return new Reflector({
      api,
      type,
      scope,
      clock,
      random,
      logger,
      metrics,
      onChange,
      keep: keptObject,
    });
  }

  #take(kind: ManagedKind, { kind: what, object }: Change): void {
    const { namespace = 'default', name } = object.metadata;
    const key = objectKey(kind, namespace, name);
    const previous = this.#entries.get(key);
    const entry = what === 'deleted' ? undefined : readClusterObject(kind, object, previous);
    if (entry && entry === previous) {
      this.#options.onStatus?.(key, entry.facts);
      return;
    }
    if (entry && isEdit(entry, previous)) this.#edited.add(key);
    for (const moved of this.#entries.put(key, entry)) {
      this.#moved.add(moved);
      this.#changed.add(moved);
    }
    this.#touch();
  }

  /** Requests a snapshot. */
  #touch(): void {
    if (this.#state === 'watching') this.#making ??= this.#make();
  }

  async #make(): Promise<void> {
    await sleep(this.#options.clock, coalesceMs, this.#stopping.signal);
    await this.#untilRead(laterReadsMs, () => this.#changedNamespaces());
    this.#making = undefined;
    if (this.#state !== 'watching') return;
    const snapshot = this.#assemble();
    if (!this.#isAwaited && this.#snapshot && sameContent(this.#snapshot, snapshot)) return;
    this.#isAwaited = false;
    this.#snapshot = snapshot;
    this.#onChange(snapshot);
  }

  #changedNamespaces(): ReadonlySet<string> {
    return new Set([...this.#changed].map((key) => parseObjectKey(key).namespace));
  }

  /** Resolves when everything that objects of these namespaces refer to has been read, or `limitMs` have passed. Default: of all. */
  async #untilRead(limitMs: number, namespaces: () => ReadonlySet<string> | undefined): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + limitMs;
    for (;;) {
      this.#refer();
      const leftMs = untilMs - clock.monotonicMs();
      if (!this.#data.isPending(namespaces()) || leftMs <= 0 || this.#stopping.signal.aborted) return;
      await this.#data.answered(leftMs);
    }
  }

  #refer(): void {
    if (this.#moved.size === 0) return;
    const moved = [...this.#moved].map((key) => [key, this.#entries.shown(key)] as const);
    this.#data.refer(this.#users.move(moved, this.#edited));
    this.#edited = new Set();
    this.#moved = new Set();
  }

  /** The last snapshot with the changes since then. */
  #assemble(): DesiredSnapshot {
    const before = this.#snapshot;
    const changed = this.#takeChanged().map((key) => [key, this.#entries.shown(key)] as const);
    const objects = changed.map(
      ([key, entry]) => [key, entry?.read.is === 'object' ? entry.read.object : undefined] as const,
    );
    const unusable = changed.map(
      ([key, entry]) => [key, entry?.read.is === 'unusable' ? entry.read.problems : undefined] as const,
    );
    const facts = changed.map(([key, entry]) => [key, entry?.facts] as const);
    const cluster = (before?.cluster ?? VersionedMap.of<ObjectKey, ClusterFacts>()).with(facts);
    const next = {
      sequence: (before?.sequence ?? 0) + 1,
      objects: (before?.objects ?? desiredObjects()).with(objects),
      unusable: (before?.unusable ?? VersionedMap.of<ObjectKey, readonly Problem[]>()).with(unusable),
      cluster,
      secrets: this.#data.values('Secret'),
      configMaps: this.#data.values('ConfigMap'),
      empty: cluster.size === 0,
    };
    return { ...next, ...this.#problems(next) };
  }

  /** Those of namespaces that are not shown wait. What is gone, or another operator's by now, does not. */
  #takeChanged(): ObjectKey[] {
    const isShown = (key: ObjectKey) =>
      this.#scopes.isShown(parseObjectKey(key).namespace) || !this.#entries.shown(key);
    const { true: shown = [], false: waiting = [] } = Object.groupBy(
      this.#changed,
      (key) => `${isShown(key)}`,
    );
    this.#changed = new Set(waiting);
    return shown;
  }

  /** The previous lists, if nothing of them has changed. */
  #problems({ unusable }: Pick<DesiredSnapshot, 'unusable'>): Blindness {
    const before = this.#snapshot;
    const ofData = this.#data.problems();
    const { problems: blind, ...known } = this.#scopes.blindness();
    const isAsBefore =
      before?.unusable === unusable &&
      ofData === this.#reported.ofData &&
      sameValue(blind, this.#reported.blind);
    this.#reported = { ofData, blind };
    if (isAsBefore) return { problems: before.problems, ...known };
    const problems = [...[...unusable.values()].flat(), ...ofData, ...blind];
    return { problems: bounded(problems.sort(compareProblems), this.description), ...known };
  }

  /** A silent watch sends no event, so this is checked periodically. */
  #reviewLater(): void {
    this.#review = this.#options.clock.after(reviewMs, () => {
      this.#reviewLater();
      this.#touch();
    });
  }
}

/** The first problems, and the number of others. */
function bounded(problems: readonly Problem[], description: string): readonly Problem[] {
  const omitted = problems.length - limits.problemsPerCluster;
  if (omitted <= 0) return problems;
  const more: Problem = {
    file: description,
    line: undefined,
    path: undefined,
    message: `${omitted} more problems`,
    remedy: 'fix the first ones first',
    key: undefined,
  };
  return [...problems.slice(0, limits.problemsPerCluster), more];
}
