/**
 * The source of the read API in a cluster: objects with their status, beside the operators and without them.
 *
 * | state                                      | what is shown                                                                        |
 * |--------------------------------------------|--------------------------------------------------------------------------------------|
 * | an operator renews its Lease               | the status, as it is                                                                 |
 * | none does, or the Lease can't be read      | the last status; every object is Stale; the manager has its state, and since when    |
 * | it has not read the namespace of an object | the last status; the object is Stale, and an Account counts as read when its status shows that |
 * | the API server does not answer             | the same, and the reason                                                             |
 * | a kind was silent for long                 | its objects are Stale, and a note has the reason                                     |
 * | one of several namespaces can't be read    | the same of that namespace alone; what was not listed of it is not there (`gaps`)    |
 * | only an operator knows it                  | null: rates, 429s, heartbeats, what accounts hold beside the objects                 |
 * | a brake stops what no object shows         | nothing of that brake; a note leads to the metrics of the operator                   |
 */
import type { Clock } from '../../base/index.ts';
import type { ShownCluster, TimelineEntry } from '../../manager/index.ts';
import { accountKind, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { isAbsent, isReadBy, managerOfCluster, type ManagerState } from '../../shown/manager-state.ts';
import { seesEvents, seesKey, type Reader } from './reader.ts';
import type { AccountNow, FleetSource, Gap } from './source.ts';
import { accountFromStatus } from './cluster-account.ts';

export interface ClusterSourceOptions {
  readonly cluster: ShownCluster;
  readonly clock: Clock;
  readonly version: string;
  readonly commandFlags: string;
}

const unknownHere =
  'Requests of accounts, 429s, heartbeats, and brakes that no object shows are known to the operator alone: its metrics have them.';

export class ClusterSource implements FleetSource {
  readonly place = 'cluster';
  readonly version: string;
  readonly commandFlags: string;
  readonly timelineLimits: string;
  readonly #options: ClusterSourceOptions;
  readonly #listeners: ((key: ObjectKey) => void)[] = [];
  /** By shard. */
  #managers: readonly ManagerState[];
  /** What decides whether objects are current. */
  #mark = '';

  constructor(options: ClusterSourceOptions) {
    const { cluster, clock, version, commandFlags } = options;
    this.#options = options;
    this.version = version;
    this.commandFlags = commandFlags;
    const since = new Date(clock.wallMs()).toISOString().slice(0, 16).replace('T', ' ');
    this.timelineLimits =
      `the last mutation of each object, those seen since ${since} UTC, when this page started, and Kubernetes Events; ` +
      'at most 10,000 in all';
    this.#managers = this.#readManagers();
    cluster.listenToLeases(() => this.#review());
  }

  get store() {
    return this.#options.cluster.store;
  }

  get unread(): string | undefined {
    return this.#options.cluster.unread;
  }

  get notes(): readonly string[] {
    const { blind, withoutEvents } = this.#options.cluster;
    const silent = blind.filter(isOfAll).map(({ kind, problem }) => `${kind} may be out of date: ${problem}`);
    const events = withoutEvents
      .filter(isOfAll)
      .map(({ problem }) => `Kubernetes Events are not shown: ${problem}`);
    return [...silent, ...events, unknownHere];
  }

  /** One of each namespace. */
  get gaps(): readonly Gap[] {
    const { blind, withoutEvents } = this.#options.cluster;
    const gaps = new Map<string, Gap>();
    for (const { namespace, problem } of blind) {
      if (namespace === undefined || gaps.has(namespace)) continue;
      const note = `${namespace} can't be read now: what is shown of it may be missing or out of date: ${problem}`;
      gaps.set(namespace, { namespace, note, isOfObjects: true });
    }
    for (const { namespace, problem } of withoutEvents) {
      if (namespace === undefined || gaps.has(namespace)) continue;
      const note = `Kubernetes Events of ${namespace} are not shown: ${problem}`;
      gaps.set(namespace, { namespace, note, isOfObjects: false });
    }
    return [...gaps.values()];
  }

  listen(onMoved: (key: ObjectKey) => void): void {
    this.#listeners.push(onMoved);
    this.store.listen(onMoved);
  }

  isCurrent(key: ObjectKey): boolean {
    const { cluster } = this.#options;
    return !cluster.isBlind(key) && this.#managerOf(key)?.phase === 'Running';
  }

  createdAt(key: ObjectKey): number | undefined {
    return this.#options.cluster.createdAt(key);
  }

  labelsOf(key: ObjectKey) {
    return this.store.record(key)?.manifest.labels ?? {};
  }

  accounts(): readonly AccountNow[] {
    const { clock, cluster } = this.#options;
    const nowMs = clock.wallMs();
    return this.store.recordsOfKind(accountKind).map((record) => {
      // Nobody vouches for a status that may be an old one.
      const manager = cluster.isBlind(record.key) ? unknown : (this.#managerOf(record.key) ?? unknown);
      return accountFromStatus(record, manager, nowMs);
    });
  }

  /** Only the operators know of one that no object shows. */
  brakes(): readonly [] {
    return [];
  }

  /** Each document is an object, whose status has its problem. */
  documentProblems(): readonly [] {
    return [];
  }

  /** Of several, one that is not at work; else the one that was seen longest ago. */
  manager(): ManagerState {
    const [first = unknown, ...others] = this.#managers;
    const worst = others.reduce((least, each) => (isWorse(each, least) ? each : least), first);
    if (this.#managers.length === 1) return worst;
    const part = `the operator of part ${this.#managers.indexOf(worst)} of ${this.#managers.length}`;
    return { ...worst, note: worst.note === undefined ? part : `${part}: ${worst.note}` };
  }

  heartbeatAt(): undefined {
    // Only the operator knows when its heartbeats were accepted.
  }

  /** What impairs an operator shows in its Lease, and in the objects. */
  readonly impairments = () => [];

  journal(key: ObjectKey) {
    return this.#options.cluster.timeline.ofObject(key);
  }

  timeline(reader: Reader, before: number | undefined, limit: number) {
    const isSeen = (entry: TimelineEntry) =>
      'event' in entry ? seesEvents(reader, entry.event.object) : seesKey(reader, entry.intent.object);
    return this.#options.cluster.timeline.page(before, limit, isSeen);
  }

  holdings(): undefined {
    // What nobody manages is in no status, but for its sum.
  }

  /** Of the operator that keeps the object's status up to date. */
  #managerOf(key: ObjectKey): ManagerState | undefined {
    const manager = this.#managers[this.#options.cluster.shardOf(key)];
    return manager && isReadBy(manager, parseObjectKey(key).namespace) ? manager : undefined;
  }

  /** An object whose operator came or went is shown in another way. */
  #review(): void {
    this.#managers = this.#readManagers();
    const phases = this.#managers.map(({ phase, reads }) => [phase, reads && [...reads]]);
    const blind = this.#options.cluster.blind.map(({ kind, namespace }) => [kind, namespace]);
    const mark = JSON.stringify([phases, blind]);
    if (mark === this.#mark) return;
    this.#mark = mark;
    for (const key of this.store.everyKey()) for (const onMoved of this.#listeners) onMoved(key);
  }

  #readManagers(): ManagerState[] {
    const { cluster, clock } = this.#options;
    const nowMs = clock.wallMs();
    return Array.from({ length: cluster.shards }, (_, shard) => {
      const { lease, failure, isDenied } = cluster.leaseOf(shard);
      if (lease === undefined) return managerOfCluster(failure, nowMs);
      const known = managerOfCluster(lease, nowMs);
      if (failure === undefined || known.phase === 'Running') return known;
      const why = isDenied ? failure : `the Kubernetes API does not answer: ${failure}`;
      return { ...known, phase: 'Unknown', note: why };
    });
  }
}

const unknown: ManagerState = { phase: 'Unknown' };

function isOfAll({ namespace }: { readonly namespace: string | undefined }): boolean {
  return namespace === undefined;
}

function rankOf(state: ManagerState): number {
  if (isAbsent(state)) return 0;
  return state.phase === 'Impaired' ? 1 : state.phase === 'Unknown' ? 2 : 3;
}

function isWorse(one: ManagerState, other: ManagerState): boolean {
  const difference = rankOf(one) - rankOf(other);
  return difference < 0 || (difference === 0 && (one.seenAt ?? 0) < (other.seenAt ?? 0));
}
