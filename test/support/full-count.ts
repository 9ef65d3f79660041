/** EI1 and EI2: what is kept up to date with each change, held against a count of everything. */
import { isDeepStrictEqual } from 'node:util';
import { desiredObjects, type DesiredObjects, type DesiredSnapshot } from '../../src/desired/index.ts';
import { Admission } from '../../src/engine/index.ts';
import { managedKinds, parseObjectKey, type ObjectKey } from '../../src/resources/index.ts';
import { MemoryStore, type GaugeValue, type ObjectRecord, type StateStore } from '../../src/state/index.ts';
import { ManualClock } from './manual-clock.ts';

/** What a process has in memory. */
export interface Memory {
  readonly store: StateStore;
  /** The one that was admitted last. */
  readonly snapshot: DesiredSnapshot | undefined;
}

/** What admission of everything would still change after admission of changes, once all is quiet; undefined when nothing. */
export function admissionMistake({ store, snapshot }: Memory): string | undefined {
  if (!snapshot) return undefined;
  const records = [...store.records()];
  const intents = records.flatMap(({ key }) => store.lastIntent(key) ?? []);
  const admission = new Admission({
    store: new MemoryStore(store, records, intents),
    clock: new ManualClock(),
    grace: { goneMs: Infinity, partlyMs: Infinity, whollyMs: Infinity, lostMs: Infinity },
    massChangeAllowed: () => false,
  });
  const [missed] = admission.admit(snapshot).admitted.changed;
  if (missed !== undefined) return `${missed} is not as admission of everything would have it`;
  return objectsMistake(snapshot.objects);
}

/** The first index of a snapshot's objects that is not as one made anew; undefined when all are. */
export function objectsMistake(objects: DesiredObjects): string | undefined {
  const groups = (of: DesiredObjects) =>
    Object.fromEntries([...of.terms()].map(([term, keys]) => [term, [...keys.keys()].toSorted()]));
  const [full, reported] = [groups(desiredObjects(objects)), groups(objects)];
  for (const term of new Set([...Object.keys(full), ...Object.keys(reported)])) {
    if (isDeepStrictEqual(full[term], reported[term])) continue;
    return `"${term}" is ${JSON.stringify(reported[term])}, and ${JSON.stringify(full[term])} by a full count`;
  }
  return undefined;
}

/** The first index that is not as a full count; undefined when all are. */
export function indexMistake(store: StateStore): string | undefined {
  const records = [...store.records()];
  for (const [index, full, reported] of comparisons(store, records)) {
    if (isDeepStrictEqual(full, reported)) continue;
    return `${index} is ${JSON.stringify(reported)}, and ${JSON.stringify(full)} by a full count`;
  }
  return undefined;
}

function* comparisons(
  store: StateStore,
  records: readonly ObjectRecord[],
): Iterable<readonly [index: string, counted: unknown, reported: unknown]> {
  const kindOf = ({ key }: ObjectRecord) => parseObjectKey(key).kind;
  yield ['everyKey', keysOf(records), [...store.everyKey()].toSorted()];
  const accounts = Map.groupBy(records, ({ account }) => account);
  for (const [account, members] of accounts) {
    if (account === undefined) continue;
    yield [`recordsOf ${account}`, keysOf(members), keysOf(store.recordsOf(account))];
    for (const kind of managedKinds) {
      const { length } = members.filter((record) => kindOf(record) === kind);
      yield [`count ${account} ${kind}`, length, store.count(account, kind)];
    }
  }
  for (const [namespace, members] of Map.groupBy(records, ({ key }) => parseObjectKey(key).namespace))
    yield [`recordsIn ${namespace}`, keysOf(members), keysOf(store.recordsIn(namespace))];
  for (const kind of managedKinds) {
    const members = records.filter((record) => kindOf(record) === kind);
    yield [`recordsOfKind ${kind}`, keysOf(members), keysOf(store.recordsOfKind(kind))];
  }
  for (const [id, members] of Map.groupBy(records, ({ externalId }) => externalId))
    if (id !== undefined) yield [`recordsWithId ${id}`, keysOf(members), keysOf(store.recordsWithId(id))];
  yield* gauges(store, records);
}

function* gauges(
  store: StateStore,
  records: readonly ObjectRecord[],
): Iterable<readonly [string, unknown, unknown]> {
  const reported = store.gauges;
  const conditionsOf = ({ status }: ObjectRecord) => status?.conditions ?? [];
  const kindOf = ({ key }: ObjectRecord) => parseObjectKey(key).kind;
  const ready = (record: ObjectRecord) =>
    conditionsOf(record).find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
  yield [
    'objects',
    counted(records.map((record) => [kindOf(record), ready(record)])),
    asCounted(reported.objects),
  ];
  const conditions = records.flatMap((record) =>
    conditionsOf(record).map(({ type, status, reason }) => [kindOf(record), type, status, reason]),
  );
  yield ['conditions', counted(conditions), asCounted(reported.conditions)];
  const unknown = records.filter(({ key }) => store.lastIntent(key)?.outcome === 'unknown');
  yield [
    'unknownOutcomes',
    counted(unknown.map((record) => [kindOf(record)])),
    asCounted([...reported.unknownOutcomes].map(([kind, value]) => ({ labels: [kind], value }))),
  ];
  for (const kind of managedKinds) {
    const drift = records
      .filter((record) => kindOf(record) === kind)
      .flatMap(({ status }) => (status?.drift ?? []).map(({ since }) => Date.parse(since)));
    yield [`driftSince ${kind}`, earliest(drift), reported.driftSince.get(kind)];
  }
  const waits = records.flatMap((record) =>
    conditionsOf(record).filter(({ type, status }) => type === 'Protected' && status === 'True'),
  );
  const since = waits.map(({ lastTransitionTime }) => Date.parse(lastTransitionTime));
  yield ['protectedSince', earliest(since), reported.protectedSince];
}

function keysOf(records: readonly ObjectRecord[]): ObjectKey[] {
  return records.map(({ key }) => key).toSorted();
}

function earliest(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : Math.min(...times);
}

function counted(labels: readonly (readonly string[])[]): [string, number][] {
  const groups = Map.groupBy(labels, (each) => each.join(' '));
  return asSorted([...groups].map(([name, { length }]) => [name, length]));
}

function asCounted(values: Iterable<GaugeValue>): [string, number][] {
  return asSorted([...values].map(({ labels, value }) => [labels.join(' '), value]));
}

function asSorted(values: [string, number][]): [string, number][] {
  return values.toSorted(([left], [right]) => (left < right ? -1 : 1));
}
