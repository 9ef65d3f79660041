/**
 * A snapshot that is made from changes is the one that would be made anew from a list of everything, whatever has happened: events, relists,
 * watches that break, Secrets that go or can't be read, restarts. `DRAWS` histories are drawn.
 */
import * as fc from 'fast-check';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { sleep, systemRandom } from '../../../../src/base/index.ts';
import {
  changedKeys,
  createClusterSource,
  type ClusterDesiredSource,
  type DesiredSnapshot,
  type Shard,
} from '../../../../src/desired/index.ts';
import { KubernetesError, type WatchEvent } from '../../../../src/kubernetes/index.ts';
import { createMetrics } from '../../../../src/telemetry/index.ts';
import { objectsMistake } from '../../../support/full-count.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryCluster, base64, serviceSpec } from '../../../support/memory-cluster.ts';

const numRuns = Number(process.env['DRAWS'] ?? 40);

// ---- what happens -------------------------------------------------------------------------------------

type Drawn<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;

const anyNamespace = fc.constantFrom('default', 'team');
const anyName = fc.constantFrom('a', 'b', 'c', 'd');
const anyData = fc.constantFrom('token', 'login', 'settings');

const anyService = fc.record({
  is: fc.constant('service' as const),
  namespace: anyNamespace,
  name: anyName,
  image: fc.nat(2),
  account: fc.constantFrom('default', 'other', undefined),
  secret: fc.option(anyData, { nil: undefined }),
  configMap: fc.option(anyData, { nil: undefined }),
  note: fc.option(fc.nat(2), { nil: undefined }),
  /** The schema refuses it. */
  isBroken: chance(6),
  isDeleting: chance(6),
});

const anyChange = fc.oneof(
  { weight: 8, arbitrary: anyService },
  fc.record({
    is: fc.constant('account' as const),
    namespace: anyNamespace,
    name: fc.constantFrom('default', 'other'),
    secret: fc.option(anyData, { nil: undefined }),
  }),
  fc.record({
    is: fc.constant('task' as const),
    namespace: anyNamespace,
    name: anyName,
    service: anyName,
  }),
  // The object is as it was, and its status is another one.
  fc.record({
    is: fc.constant('status' as const),
    namespace: anyNamespace,
    name: anyName,
    revision: fc.nat(9),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      is: fc.constant('gone' as const),
      kind: fc.constantFrom('ContainerService', 'Account', 'ProtectedTask', 'Secret', 'ConfigMap'),
      namespace: anyNamespace,
      name: fc.oneof(anyName, anyData, fc.constantFrom('default', 'other')),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      is: fc.constant('data' as const),
      kind: fc.constantFrom('Secret' as const, 'ConfigMap' as const),
      namespace: anyNamespace,
      name: anyData,
      value: fc.nat(2),
      /** No text. */
      isBroken: chance(6),
    }),
  },
);
type Change = Drawn<typeof anyChange>;

const anyStep = fc.record({
  changes: fc.array(anyChange, { maxLength: 4 }),
  trouble: fc.constantFrom(
    ...Array<'nothing'>(8).fill('nothing'),
    'cut' as const,
    'lists fail' as const,
    'reads fail' as const,
    'read anew' as const,
    'restart' as const,
  ),
  waitMs: fc.constantFrom(0, 50, 50, 50, 1000, 20_000, 700_000),
  isCompared: chance(3),
});
type Step = Drawn<typeof anyStep>;

function chance(oneIn: number) {
  return fc.nat(oneIn - 1).map((drawn) => drawn === 0);
}

// ---- the cluster ----------------------------------------------------------------------------------------

/** Watches can be ended, with the version that they would go on from; each minute they give a sign of life. */
class CutCluster extends MemoryCluster {
  readonly #clock: ManualClock;
  readonly #watches = new Set<AbortController>();

  constructor(clock: ManualClock) {
    super();
    this.#clock = clock;
  }

  override async *watch(
    ...[type, scope, signal]: Parameters<MemoryCluster['watch']>
  ): AsyncIterable<WatchEvent> {
    const cut = new AbortController();
    this.#watches.add(cut);
    let { resourceVersion } = scope;
    const events = super.watch(type, scope, AbortSignal.any([signal, cut.signal]))[Symbol.asyncIterator]();
    try {
      for (let next = events.next(); ;) {
        const event = await Promise.race([next, sleep(this.#clock, 60_000)]);
        if (event?.done) break;
        if (event) next = events.next();
        const told = event?.value ?? { type: 'BOOKMARK', resourceVersion };
        if ('object' in told) ({ resourceVersion } = told.object.metadata);
        yield told;
      }
    } finally {
      this.#watches.delete(cut);
      await events.return?.();
    }
    if (cut.signal.aborted) throw new KubernetesError('too old', { status: 410, reason: 'Expired' });
  }

  cut(): void {
    for (const watch of this.#watches) watch.abort();
  }
}

function apply(cluster: MemoryCluster, change: Change): void {
  const { namespace, name } = change;
  const metadata = { namespace, name };
  switch (change.is) {
    case 'service': {
      const { image, account, secret, configMap, note, isBroken, isDeleting } = change;
      const env = [
        ...(secret ? [{ name: 'A', valueFrom: { secretKeyRef: { name: secret, key: 'key' } } }] : []),
        ...(configMap
          ? [{ name: 'B', valueFrom: { configMapKeyRef: { name: configMap, key: 'key' } } }]
          : []),
      ];
      const deletion = isDeleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
      cluster.put('ContainerService', {
        metadata: {
          ...metadata,
          ...deletion,
          finalizers: ['fleetkeeper.dev/cleanup'],
          annotations: note === undefined ? {} : { note: String(note) },
        },
        spec: serviceSpec({
          image: `ghcr.io/acme/web:${image}`,
          env,
          ...(account === undefined ? {} : { accountRef: { name: account } }),
          ...(isBroken ? { colour: 'blue' } : {}),
        }),
      });
      return;
    }
    case 'account': {
      const { secret } = change;
      const reference = secret ? { credentialsSecretRef: { name: secret, key: 'key' } } : {};
      cluster.put('Account', { metadata, spec: { url: 'https://api.example.com', ...reference } });
      return;
    }
    case 'task':
      cluster.put('ProtectedTask', { metadata, spec: { serviceRef: { name: change.service } } });
      return;
    case 'status': {
      const object = cluster.read('ContainerService', name, namespace);
      if (!object) return;
      const { finalizers, annotations, deletionTimestamp } = object.metadata;
      const kept = { ...metadata, finalizers, annotations: annotations ?? {}, deletionTimestamp };
      cluster.put('ContainerService', { ...object, metadata: kept, status: { revision: change.revision } });
      return;
    }
    case 'gone':
      if (cluster.read(change.kind, name, namespace)) cluster.drop(change.kind, name, namespace);
      return;
    case 'data': {
      const { kind, value, isBroken } = change;
      const text = kind === 'Secret' ? base64(`value ${value}`) : `value ${value}`;
      const key = isBroken ? (kind === 'Secret' ? '/w==' : 7) : text;
      cluster.put(kind, { metadata, data: { key, other: text } });
    }
  }
}

// ---- what is made of it -----------------------------------------------------------------------------------

class World {
  readonly clock = new ManualClock();
  readonly cluster = new CutCluster(this.clock);
  readonly #shard: Shard | undefined;
  readonly mistakes: string[] = [];
  latest: DesiredSnapshot | undefined;
  #before: { readonly snapshot: DesiredSnapshot; readonly portrait: Portrait } | undefined;
  #source: ClusterDesiredSource | undefined;

  constructor(shard: Shard | undefined) {
    this.#shard = shard;
  }

  #newSource(): ClusterDesiredSource {
    return createClusterSource({
      api: this.cluster,
      namespaces: [],
      shard: this.#shard,
      clock: this.clock,
      random: systemRandom,
      logger: pino({ level: 'silent' }),
      metrics: createMetrics(),
    });
  }

  async start(): Promise<void> {
    await this.stop();
    this.#before = undefined;
    const source = (this.#source = this.#newSource());
    const starting = source.start((snapshot) => this.#take(snapshot));
    await this.clock.advance(0);
    this.#take(await starting);
  }

  async stop(): Promise<void> {
    await this.#source?.stop();
  }

  /** Whoever takes in changes only hears of each change. */
  #take(snapshot: DesiredSnapshot): void {
    const portrait = portraitOf(snapshot);
    if (this.#before) {
      const changed = changedKeys(snapshot, this.#before.snapshot);
      const isTold = (key: string) => changed !== 'all' && new Set<string>(changed).has(key);
      const missed = differing(this.#before.portrait, portrait).filter((key) => !isTold(key));
      if (missed.length > 0) this.mistakes.push(`nobody is told of ${missed.join(', ')}`);
    }
    this.#before = { snapshot, portrait };
    this.latest = snapshot;
    const mistake = objectsMistake(snapshot.objects);
    if (mistake !== undefined) this.mistakes.push(mistake);
  }

  async meet({ trouble }: Step): Promise<void> {
    const { cluster } = this;
    const failing = new KubernetesError('out of order', { status: 503 });
    if (trouble === 'cut') cluster.cut();
    if (trouble === 'lists fail') {
      cluster.fault = (request) => (request.startsWith('list') ? failing : undefined);
      cluster.cut();
    }
    if (trouble === 'reads fail') {
      cluster.fault = (request) => (request.startsWith('get') ? failing : undefined);
    }
    if (trouble === 'read anew') void this.#source?.readAnew();
    if (trouble === 'restart') {
      cluster.fault = () => undefined;
      await this.start();
    }
  }

  /** Everything works again, and has been read since. */
  async heal(): Promise<void> {
    this.cluster.fault = () => undefined;
    await this.clock.advance(130_000);
  }

  async anew(): Promise<Portrait> {
    const source = this.#newSource();
    const starting = source.start(() => {});
    await this.clock.advance(0);
    const snapshot = await starting;
    await source.stop();
    return portraitOf(snapshot);
  }
}

type Portrait = ReturnType<typeof portraitOf>;

/** As it is now: facts are live. */
function portraitOf({ objects, unusable, cluster, secrets, configMaps, ...rest }: DesiredSnapshot) {
  const { problems, complete, empty } = rest;
  const byName = <Key, Value>(entries: Iterable<readonly [Key, Value]>) =>
    [...entries].toSorted(([left], [right]) => (String(left) < String(right) ? -1 : 1));
  const data = (values: DesiredSnapshot['secrets']) =>
    byName(values).map(([name, keys]) => [name, [...keys].map(([key, value]) => [key, value.reveal()])]);
  return {
    objects: byName(objects).map(([key, { spec, annotations, labels, namespace, name }]) => ({
      key,
      text: JSON.stringify({ spec, annotations, labels, namespace, name }),
    })),
    unusable: byName(unusable).map(([key, problem]) => ({ key, text: JSON.stringify(problem) })),
    facts: byName(cluster ?? []).map(([key, facts]) => {
      const { uid, generation, resourceVersion, deletionRequestedAt, finalizers, status } = facts;
      return {
        key,
        text: JSON.stringify({ uid, generation, deletionRequestedAt }),
        live: { resourceVersion, finalizers, status },
      };
    }),
    live: byName(objects).map(([key, object]) => ({ key, status: object.cluster?.status })),
    data: { secrets: data(secrets), configMaps: data(configMaps) },
    problems,
    complete,
    empty,
  };
}

function differing(before: Portrait, now: Portrait): string[] {
  const changed: string[] = [];
  for (const part of ['objects', 'unusable', 'facts'] as const) {
    const [left, right] = [before, now].map(
      (portrait) => new Map<string, string>(portrait[part].map(({ key, text }) => [key, text])),
    );
    for (const key of new Set([...(left?.keys() ?? []), ...(right?.keys() ?? [])]))
      if (left?.get(key) !== right?.get(key)) changed.push(key);
  }
  return changed;
}

/** What was known of a Secret is kept for those who are being deleted: it is not there for who starts later. */
function withoutKept({ data, ...rest }: Portrait, cluster: MemoryCluster): unknown {
  const isThere = (kind: string) => (entry: readonly unknown[]) => {
    const [namespace = '', name = ''] = String(entry[0]).split('/');
    return cluster.read(kind, name, namespace) !== undefined;
  };
  const [secrets, configMaps] = [
    data.secrets.filter(isThere('Secret')),
    data.configMaps.filter(isThere('ConfigMap')),
  ];
  return { ...rest, data: { secrets, configMaps } };
}

async function follow(steps: readonly Step[], shard: Shard | undefined): Promise<void> {
  const world = new World(shard);
  try {
    await world.start();
    for (const step of [...steps, { ...lastStep }]) {
      for (const change of step.changes) apply(world.cluster, change);
      await world.meet(step);
      await world.clock.advance(step.waitMs);
      expect(world.mistakes).toEqual([]);
      if (!step.isCompared || !world.latest) continue;
      await world.heal();
      const [told, anew] = [portraitOf(world.latest), await world.anew()];
      expect(withoutKept(told, world.cluster)).toEqual(withoutKept(anew, world.cluster));
    }
  } finally {
    await world.stop();
  }
}

const lastStep: Step = { changes: [], trouble: 'nothing', waitMs: 0, isCompared: true };

const anyHistory = fc.array(anyStep, { minLength: 1, maxLength: 25, size: 'max' });

describe('a snapshot made from changes is the one made anew', () => {
  test.each([
    ['of the whole cluster', undefined],
    ['of one shard of two', { index: 0, count: 2, by: 'account' as const }],
    ['of one shard of two, by namespace', { index: 0, count: 2, by: 'namespace' as const }],
  ])('%s', async (_name, shard) => {
    await fc.assert(
      fc.asyncProperty(anyHistory, (steps) => follow(steps, shard)),
      { numRuns },
    );
  });
});
