/**
 * Connects the passes of Notifications with the trouble of all objects, and with the delivery of messages.
 *
 *     trouble moves, or a message was answered ──> the pass of the Notification: what is announced, saved ──> its messages are sent
 *
 * A message is sent only when the state that asks for it is saved. After a restart or a takeover, the saved state asks for what was not
 * accepted. The text of an occurrence is in memory only: after a restart, its message has the object and the reason.
 */
import type { SinkTerms, SinkTransport } from '../../api/index.ts';
import { digestOf, type Clock, type Random } from '../../base/index.ts';
import type { DesiredSnapshot } from '../../desired/index.ts';
import {
  accountOfRecord,
  dueMessages,
  mistakesOfNobody,
  eventWithoutAmounts,
  notificationsAtMost,
  problemHash,
  resolveSink,
  type AnnouncementEvent,
  type NoticeView,
  type Notices,
  type ObjectNews,
  type PassResult,
  type Sink,
  type SinkProblem,
  type Trouble,
  knownSpec,
} from '../../engine/index.ts';
import { reasons } from '../../reasons/index.ts';
import {
  managedKinds,
  parseObjectKey,
  selects,
  traitsOf,
  type Announcing,
  type NotificationMatch,
  type ObjectKey,
  type StoredNotification,
} from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import { Deliveries } from './deliveries.ts';
import { messageOf, namesOf, type Occurrence } from './messages.ts';
import { TroubleWatch } from './trouble-watch.ts';

/** What the person who starts the process decides. */
export interface NoticeTerms extends SinkTerms {
  /** Where the page of this fleet is, for links. */
  readonly pageUrl: string | undefined;
  /** A simulation provides its own network. */
  readonly createSinkTransport: (clock: Clock, terms: SinkTerms) => SinkTransport;
  /** In a cluster. */
  readonly operatorNamespace?: string;
}

export interface AnnouncerOptions extends NoticeTerms {
  readonly store: StateStore;
  readonly snapshot: () => DesiredSnapshot | undefined;
  readonly recheck: (key: ObjectKey) => void;
  /** How many things impair the manager itself. */
  readonly impairments: () => number;
  readonly mayAct?: (() => boolean) | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Of a Notification, what its last look was made of. */
interface Seen {
  /** How many events of the deliveries, and of occurrences, it had. */
  readonly delivered: number;
  readonly happened: number;
}

interface Concerned {
  readonly key: ObjectKey;
  readonly reason: string;
  readonly severity: Trouble['severity'];
  readonly labels: Readonly<Record<string, string>>;
}

/** Occurrences whose message waits, of a Notification. */
const rememberedAtMost = 200;
const kindsThatAnnounce = managedKinds.filter((kind) => 'announces' in traitsOf(kind));

export class Announcer implements Notices {
  readonly #options: AnnouncerOptions;
  readonly #watch: TroubleWatch;
  readonly #deliveries: Deliveries;
  readonly #seen = new Map<ObjectKey, Seen>();
  readonly #happened = new Map<ObjectKey, Occurrence[]>();
  /** Of what is open, for the message about its end. */
  readonly #names = new Map<string, ObjectKey>();
  /** Hashes of stored occurrences whose objects were searched. */
  readonly #sought = new Set<string>();

  constructor(options: AnnouncerOptions) {
    this.#options = options;
    const { recheck, mayAct = () => true, clock } = options;
    this.#watch = new TroubleWatch({
      ...options,
      showsAmounts: () => options.operatorNamespace === undefined,
      onMoved: () => {
        for (const { key } of this.#notifications()) recheck(key);
      },
    });
    this.#deliveries = new Deliveries({
      ...options,
      transport: options.createSinkTransport(clock, options),
      terms: options,
      mayAct,
      sinkOf: (key) => this.#sinkOf(key),
      onEvent: recheck,
    });
  }

  start(): void {
    this.#watch.start();
  }

  async stop(): Promise<void> {
    this.#watch.stop();
    await this.#deliveries.stop();
  }

  setMetrics(): void {
    const { metrics, snapshot, store, impairments } = this.#options;
    const { critical, warning, info } = this.#watch.counts();
    const mistakes = mistakesOfNobody(snapshot()?.problems ?? [], (key) => store.record(key) !== undefined);
    const counts = { critical: critical + impairments(), warning: warning + mistakes.length, info };
    for (const [severity, count] of Object.entries(counts)) metrics.problemsOpen.set({ severity }, count);
  }

  of(key: ObjectKey): NoticeView | undefined {
    const { troubles } = this.#watch;
    const announcing = this.#announcing(key);
    if (!troubles || !announcing) return undefined;
    const { namespace } = parseObjectKey(key);
    const happened = this.#happened.get(key) ?? [];
    const delivered = this.#deliveries.events(key);
    this.#seen.set(key, { delivered: delivered.length, happened: happened.length });
    const events: AnnouncementEvent[] = [
      ...delivered,
      ...happened.map(({ id, at, reason, account, key: about }) => ({
        kind: 'happened' as const,
        id,
        at,
        reason,
        account,
        hash: problemHash(about, reason),
      })),
    ];
    return {
      troubles: this.#concerning(key, announcing.match, troubles.values()),
      events,
      seesTooMuch:
        !this.#seesAll(namespace) && (announcing.match.namespaces ?? []).some((each) => each !== namespace),
      isCrowded: this.#isCrowded(key),
      addressProblem: this.#deliveries.addressProblem(key),
    };
  }

  /** After the pass of any object. */
  passed(key: ObjectKey, { removed, news = [] }: Pick<PassResult, 'removed' | 'news'>): void {
    for (const each of news) this.#note(key, each);
    if (!('announces' in traitsOf(parseObjectKey(key).kind))) return;
    if (removed) return this.#forget(key);
    const record = this.#options.store.record(key);
    if (!record || !this.#watch.troubles) return;
    const { delivered, happened } = this.#seen.get(key) ?? { delivered: 0, happened: 0 };
    this.#seen.delete(key);
    this.#deliveries.taken(key, delivered);
    const taken = (this.#happened.get(key) ?? []).splice(0, happened);
    this.#offer(key, record.kind, new Map(taken.map((each) => [each.id, each])));
  }

  #offer(key: ObjectKey, state: StoredNotification, happened: ReadonlyMap<string, Occurrence>): void {
    const due = dueMessages(state);
    const { pageUrl, store } = this.#options;
    const { troubles = new Map<string, Trouble>() } = this.#watch;
    this.#rememberNames(state, troubles);
    this.#findStored(key, state, happened);
    const names = (reason: string, hashes: readonly string[]) =>
      namesOf(reason, hashes, this.#names, () => this.#visible(key, store.everyKey()));
    const objectOf = (hash: string) => this.#names.get(hash);
    this.#deliveries.offer(key, due, (each) =>
      messageOf(each, { state, troubles, names, objectOf, pageUrl, occurrence: happened.get(each.id) }),
    );
  }

  /** Of all that is open: those that end have no trouble by which to find them. */
  #rememberNames({ announcements = [] }: StoredNotification, troubles: ReadonlyMap<string, Trouble>): void {
    for (const hash of announcements.flatMap(({ open }) => open)) {
      const found = troubles.get(hash);
      if (found) this.#names.set(hash, found.key);
    }
    if (this.#names.size <= namesAtMost) return;
    for (const hash of this.#names.keys()) if (!troubles.has(hash)) this.#names.delete(hash);
  }

  /** The objects of what an earlier process saved: all of them by one walk, and each is searched once. */
  #findStored(
    key: ObjectKey,
    { happened: stored = [] }: StoredNotification,
    happened: ReadonlyMap<string, Occurrence>,
  ): void {
    const sought = stored.filter(
      ({ id, hash }) =>
        hash !== undefined && !happened.has(id) && !this.#names.has(hash) && !this.#sought.has(hash),
    );
    if (sought.length === 0) return;
    if (this.#sought.size > namesAtMost) this.#sought.clear();
    const hashes = new Set(sought.flatMap(({ hash }) => hash ?? []));
    const about = new Set(sought.flatMap(({ reason }) => reason ?? []));
    for (const hash of hashes) this.#sought.add(hash);
    for (const each of this.#visible(key, this.#options.store.everyKey())) {
      for (const reason of about) {
        const hash = problemHash(each, reason);
        if (hashes.delete(hash)) this.#names.set(hash, each);
      }
      if (hashes.size === 0) return;
    }
  }

  #forget(key: ObjectKey): void {
    this.#seen.delete(key);
    this.#happened.delete(key);
    this.#deliveries.forget(key);
  }

  /** News of an object that Notifications announce. */
  #note(key: ObjectKey, { reason, message }: ObjectNews): void {
    const entry = reasons[reason];
    const { store, clock, recheck, operatorNamespace } = this.#options;
    const record = store.record(key);
    if (!entry.announced || !record) return;
    const at = clock.wallMs();
    const isLimited = operatorNamespace !== undefined;
    const occurrence: Occurrence = {
      id: digestOf([record.uid, reason, at]).slice(0, 32),
      key,
      reason,
      severity: entry.severity,
      account: accountOfRecord(record),
      labels: record.manifest.labels,
      message: isLimited ? eventWithoutAmounts(key, record, { reason, message }) : message,
      at,
    };
    for (const { key: to } of this.#notifications()) {
      const announcing = this.#announcing(to);
      if (!announcing || !this.#concerns(to, announcing.match, occurrence)) continue;
      const all = this.#happened.get(to) ?? [];
      if (all.length < rememberedAtMost) this.#happened.set(to, [...all, occurrence]);
      recheck(to);
    }
  }

  #concerning(key: ObjectKey, match: NotificationMatch, troubles: Iterable<Trouble>): Map<string, Trouble> {
    const found = new Map<string, Trouble>();
    for (const each of troubles) if (this.#concerns(key, match, each)) found.set(each.hash, each);
    return found;
  }

  /** AI5: in a cluster, nothing of another namespace, unless it is in that of the operator. It does not announce itself. */
  #concerns(key: ObjectKey, match: NotificationMatch, about: Concerned): boolean {
    if (about.key === key || !this.#isVisible(key, match, about.key)) return false;
    const { kind } = parseObjectKey(about.key);
    const { kinds, reasons: wanted, severities, labels } = match;
    if (kinds && !kinds.includes(kind)) return false;
    if (wanted && !wanted.includes(about.reason)) return false;
    if (severities && !severities.includes(about.severity)) return false;
    return labels === undefined || selects(labels, about.labels);
  }

  #isVisible(key: ObjectKey, match: NotificationMatch, other: ObjectKey): boolean {
    const { namespace: own } = parseObjectKey(key);
    const { namespace } = parseObjectKey(other);
    const wanted = this.#seesAll(own) ? (match.namespaces ?? [own]) : [own];
    const isWanted = match.namespaces === undefined || match.namespaces.includes(namespace);
    return isWanted && wanted.includes(namespace);
  }

  *#visible(key: ObjectKey, keys: Iterable<ObjectKey>): Iterable<ObjectKey> {
    const match = this.#announcing(key)?.match ?? {};
    for (const each of keys) if (this.#isVisible(key, match, each)) yield each;
  }

  #seesAll(namespace: string): boolean {
    const { operatorNamespace } = this.#options;
    return operatorNamespace === undefined || operatorNamespace === namespace;
  }

  #notifications(): readonly ObjectRecord[] {
    return kindsThatAnnounce.flatMap((kind) => this.#options.store.recordsOfKind(kind));
  }

  #isCrowded(key: ObjectKey): boolean {
    const { namespace } = parseObjectKey(key);
    const near = this.#notifications().filter((each) => parseObjectKey(each.key).namespace === namespace);
    if (near.length <= notificationsAtMost) return false;
    return near.toSorted(byAge).findIndex((each) => each.key === key) >= notificationsAtMost;
  }

  #announcing(key: ObjectKey): Announcing | undefined {
    const { snapshot, store } = this.#options;
    const record = store.record(key);
    const spec = record && knownSpec(record, snapshot());
    return spec && traitsOf(parseObjectKey(key).kind).announces?.(spec);
  }

  #sinkOf(key: ObjectKey): Sink | SinkProblem | undefined {
    const announcing = this.#announcing(key);
    const snapshot = this.#options.snapshot();
    return announcing && snapshot && resolveSink(announcing.sink, parseObjectKey(key).namespace, snapshot);
  }
}

const namesAtMost = 10_000;

function byAge(left: ObjectRecord, right: ObjectRecord): number {
  return (left.createdAt ?? 0) - (right.createdAt ?? 0) || (left.key < right.key ? -1 : 1);
}
