/** A fleet in memory for the read API, and a reader of its streams. */
import { digestKey, systemRandom } from '../../../src/base/index.ts';
import type { EngagedBrake } from '../../../src/engine/index.ts';
import type { Impairment } from '../../../src/manager/index.ts';
import { open, type Access } from '../../../src/read-api/access/access.ts';
import { hostRule } from '../../../src/read-api/access/hosts.ts';
import { readsAll, seesKey, type Reader } from '../../../src/read-api/fleet/reader.ts';
import type {
  AccountNow,
  DocumentProblem,
  FleetSource,
  Gap,
  Holdings,
} from '../../../src/read-api/fleet/source.ts';
import type { ApiRequest, StreamSink } from '../../../src/read-api/message.ts';
import { ReadApi, type ReadApiOptions } from '../../../src/read-api/read-api.ts';
import type { Condition, ObjectKey } from '../../../src/resources/index.ts';
import {
  MemoryStore,
  newRecord,
  type Intent,
  type NumberedIntent,
  type ObjectRecord,
} from '../../../src/state/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** What has to wait for nothing is done in the next turn of the event loop. */
export class PromptClock extends ManualClock {
  override after(delayMs: number, run: () => void): { cancel(): void } {
    if (delayMs > 0) return super.after(delayMs, run);
    const handle = setImmediate(run);
    return { cancel: () => clearImmediate(handle) };
  }
}

export const startMs = Date.UTC(2026, 10, 27, 14);

export const ago = (seconds: number) => new Date(startMs - seconds * 1000).toISOString();

export const condition = (
  type: Condition['type'],
  status: Condition['status'],
  reason: string,
  more: Partial<Condition> = {},
): Condition => ({
  type,
  status,
  reason,
  message: `${reason} is so`,
  lastTransitionTime: ago(600),
  observedGeneration: 1,
  ...more,
});

export const ready = [condition('Ready', 'True', 'Running')];
export const waiting = (reason: string, more: Partial<Condition> = {}) => [
  condition('Ready', 'False', reason, more),
  condition('Reconciling', 'True', reason, more),
];
export const held = (reason: string, more: Partial<Condition> = {}) => [
  condition('Ready', 'False', reason, more),
  condition('Stalled', 'True', reason, more),
];

export interface Described extends Omit<Partial<ObjectRecord>, 'status' | 'manifest'> {
  readonly conditions?: readonly Condition[];
  readonly status?: Readonly<Record<string, unknown>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export function recordOf(key: ObjectKey, described: Described = {}): ObjectRecord {
  const { conditions = ready, status, spec = {}, labels = {}, annotations = {}, ...rest } = described;
  const [, namespace = ''] = key.split('/');
  return {
    ...newRecord(key, `uid-${key}`),
    account: `${namespace}/default`,
    file: 'fleet.yaml',
    ...rest,
    manifest: { spec, labels, annotations },
    status: { observedGeneration: 1, conditions, ...status },
  };
}

export function intentOf(object: ObjectKey, more: Partial<Intent> = {}): Intent {
  return {
    idempotencyKey: `key-${object}`,
    object,
    action: 'create-service',
    targetId: undefined,
    bodyDigest: '',
    baseRevision: undefined,
    baseState: undefined,
    generation: 1,
    restartToken: undefined,
    digests: undefined,
    createdAt: startMs - 5000,
    finishedAt: startMs - 4000,
    outcome: 'applied',
    note: undefined,
    ...more,
  };
}

export const readAccount = (name: string, more: Partial<AccountNow> = {}): AccountNow => ({
  name,
  isShared: false,
  pollSeconds: 15,
  longestPollSeconds: 15,
  readAt: startMs - 3000,
  ageMs: 3000,
  failure: undefined,
  requests: { perSecond: 5, limitPerSecond: 10, waiting: 0, throttled: 2, closedForMs: 0 },
  balanceMicros: 5_000_000,
  burnMicrosPerHour: 100,
  reservedMicrosPerHour: 0,
  runwaySeconds: 3600,
  quotas: [{ resource: 'volumes', used: 1, limit: 50 }],
  ...more,
});

export class FakeSource implements FleetSource {
  readonly place = 'folder';
  readonly version = '1.2.3';
  readonly commandFlags = '--source fleet';
  readonly notes = [];
  readonly timelineLimits = 'all';
  readonly store: MemoryStore;
  accountsNow: readonly AccountNow[];
  unusable: readonly DocumentProblem[] = [];
  engaged: readonly EngagedBrake[] = [];
  impaired: readonly Impairment[] = [];
  gaps: readonly Gap[] = [];
  readonly intents: NumberedIntent[] = [];
  readonly stale = new Set<ObjectKey>();
  readonly heartbeats = new Map<ObjectKey, number>();

  constructor(records: readonly ObjectRecord[], accounts: readonly AccountNow[] = []) {
    this.store = new MemoryStore({ digestKey: digestKey(Buffer.alloc(32)), ownerName: 'fleet' }, records, []);
    this.accountsNow = accounts;
  }

  listen(onMoved: (key: ObjectKey) => void): void {
    this.store.listen(onMoved);
  }

  isCurrent(key: ObjectKey): boolean {
    return !this.stale.has(key);
  }

  createdAt(): undefined {
    // As in a folder.
  }

  labelsOf(key: ObjectKey) {
    return this.store.record(key)?.manifest.labels ?? {};
  }

  accounts(): readonly AccountNow[] {
    return this.accountsNow;
  }

  brakes(): readonly EngagedBrake[] {
    return this.engaged;
  }

  documentProblems(): readonly DocumentProblem[] {
    return this.unusable;
  }

  manager() {
    return { phase: 'Running', host: 'host-1', pid: 7, startedAt: startMs, seenAt: startMs } as const;
  }

  readonly impairments = () => this.impaired;

  heartbeatAt(key: ObjectKey): number | undefined {
    return this.heartbeats.get(key);
  }

  journal(key: ObjectKey): Intent[] {
    return this.timeline(readsAll, undefined, 1000).flatMap(({ intent }) =>
      intent.object === key ? [intent] : [],
    );
  }

  timeline(reader: Reader, before = Infinity, limit = 200): NumberedIntent[] {
    return this.intents
      .filter(({ number, intent }) => number < before && seesKey(reader, intent.object))
      .toReversed()
      .slice(0, limit);
  }

  holdings(): Holdings {
    return { accounts: [], fleet: { snapshot: { objects: new Map() as never }, store: this.store } };
  }
}

export interface World {
  readonly source: FakeSource;
  readonly clock: PromptClock;
  readonly api: ReadApi;
  readonly counts: {
    streams: number;
    readonly resets: string[];
    readonly denied: string[];
    readonly defects: unknown[];
  };
  readonly requests: string[];
}

export function createWorld(
  source: FakeSource,
  {
    access = open,
    process = 'p1',
    ...more
  }: Partial<Pick<ReadApiOptions, 'hosts' | 'files' | 'streamLimits' | 'process'>> & {
    access?: Access;
  } = {},
): World {
  const clock = new PromptClock(startMs);
  const counts = { streams: 0, resets: [] as string[], denied: [] as string[], defects: [] as unknown[] };
  const requests: string[] = [];
  const api = new ReadApi({
    source,
    access,
    hosts: hostRule('127.0.0.1', []),
    clock,
    process,
    random: systemRandom,
    metrics: {
      request: (path, code) => requests.push(`${path} ${code}`),
      streams: (count) => (counts.streams = count),
      reset: (reason) => counts.resets.push(reason),
      denied: (reason) => counts.denied.push(reason),
    },
    onDefect: (error) => counts.defects.push(error),
    ...more,
  });
  return { source, clock, api, counts, requests };
}

export function asking(target: string, more: Partial<ApiRequest> = {}): ApiRequest {
  const [path = '', query = ''] = target.split('?', 2);
  const headers = { host: '127.0.0.1:8080', ...more.headers };
  return { method: 'GET', path, query: new URLSearchParams(query), isLoopback: true, ...more, headers };
}

// biome-ignore lint: bodies of any shape
// eslint-disable-next-line typescript/no-explicit-any
export type Json = any;

export async function ask(
  { api }: Pick<World, 'api'>,
  target: string,
  more: Partial<ApiRequest> = {},
): Promise<{ status: number; headers: Readonly<Record<string, string>>; body: Json; text: string }> {
  const { status, headers, body } = await api.handle(asking(target, more));
  const text = body.toString();
  return {
    status,
    headers,
    text,
    body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text,
  };
}

/** A browser: it applies the events that it gets. */
export class StreamReader implements StreamSink {
  readonly texts: string[] = [];
  head: Json;
  readonly items = new Map<string, Json>();
  order: string[] = [];
  lastEventId: string | undefined;
  readonly kinds: string[] = [];
  comments = 0;
  isClosed = false;
  /** Bytes that it does not take. */
  waiting = 0;
  isSlow = false;
  #onClosed: (() => void)[] = [];

  write(text: string): number {
    this.texts.push(text);
    if (this.isSlow) this.waiting += text.length;
    for (const block of text.split('\n\n')) this.#take(block);
    return this.waiting;
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const onClosed of this.#onClosed) onClosed();
  }

  onClosed(onClosed: () => void): void {
    this.#onClosed.push(onClosed);
  }

  /** What it shows. */
  get view(): object {
    const items = this.order.map((id) => [id, this.items.get(id)]);
    return { head: this.head, items, known: [...this.items.keys()].toSorted() };
  }

  #take(block: string): void {
    if (block.startsWith(':')) this.comments += 1;
    const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2)));
    if (fields['event'] === undefined) return;
    this.kinds.push(fields['event']);
    this.lastEventId = fields['id'];
    const data = JSON.parse(fields['data'] ?? '');
    if (fields['event'] === 'state') {
      this.items.clear();
      this.head = data.head;
      for (const { id, value } of data.items) this.items.set(id, value);
      this.order = data.items.map(({ id }: Json) => id);
      return;
    }
    if (data.head !== undefined) this.head = data.head;
    for (const { id, value } of data.changed ?? []) this.items.set(id, value);
    for (const id of data.removed ?? []) this.items.delete(id);
    if (data.order) this.order = data.order;
    else this.order = this.order.filter((id) => this.items.has(id));
  }
}

/** Opens a stream; a reader that was there before continues. */
export async function openStream(
  { api }: Pick<World, 'api'>,
  query: string,
  reader = new StreamReader(),
  headers: Readonly<Record<string, string>> = {},
): Promise<StreamReader> {
  const last = reader.lastEventId === undefined ? {} : { 'last-event-id': reader.lastEventId };
  const answer = await api.handle(asking(`/api/v1/stream?${query}`, { headers: { ...headers, ...last } }));
  if (!answer.stream) throw new Error(`${answer.status}: ${answer.body.toString()}`);
  answer.stream(reader);
  return reader;
}
