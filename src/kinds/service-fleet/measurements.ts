/** The requests of a measurement that is recorded (measuring.ts): which replicas are asked what. */
import { uuidOf } from '../../base/index.ts';
import type { AskedMeasurement, Check, MeasuredReplica } from '../../observed/index.ts';
import { isLoopback, parseObjectKey } from '../../resources/index.ts';
import { provingIn } from './failure.ts';
import type { Measured } from './inputs.ts';
import type { FleetView } from './look.ts';
import { replicaKey } from './roster.ts';
import { accountOf, readCatalogs } from './markets.ts';
import { revisionOf } from './revisions.ts';
import type { Analysis, AnalysisCheck } from './schema-analysis.ts';
import type { AnalysisRecord, FleetState, RolloutRecord } from './state.ts';
import { serviceOf } from './whereabouts.ts';

export async function observeFleet(view: FleetView): Promise<Measured> {
  await readCatalogs(view);
  return measured(view);
}

/** What is asked is recorded by now. What another process has asked is not asked again. */
function measured(view: FleetView): Measured {
  const { key, record, measurements, store } = view;
  const update = revisionOf(store.revisions(key), record.kind.update);
  const rollout = provingIn(record.kind, update);
  const analyses = rollout?.analyses ?? [];
  const by = analyses.length === 0 ? undefined : measurements.by;
  const mine = analyses.filter(({ asked }) => asked !== undefined && asked.by === by);
  const named = mine.map((analysis) => ({ analysis, id: idOf(rollout, analysis) }));
  const finished = measurements.take(
    key,
    named.map(({ analysis, id }) => asking(view, analysis, id)),
  );
  const results = named.flatMap(({ analysis: { step }, id }) => {
    const found = finished.get(id);
    return found ? [[step, found] as const] : [];
  });
  return { by, results: new Map(results) };
}

function idOf(rollout: RolloutRecord | undefined, { step, checks, at, asked }: AnalysisRecord): string {
  return [rollout?.revision, rollout?.attempt, step, checks, at, asked?.by].join('/');
}

function asking(view: FleetView, analysis: AnalysisRecord, id: string): AskedMeasurement {
  const { object, record, key, store } = view;
  const spec: Analysis | undefined = object.spec.update.steps?.[analysis.step]?.analysis;
  const sign = (parts: object) =>
    uuidOf(store.digestKey.sign({ uid: record.uid, measurement: id, ...parts }));
  const isMeant = () => {
    // The object may be gone by then.
    const { rollout }: FleetState = store.record(key)?.kind ?? {};
    return rollout?.analyses?.some((other) => other.asked && idOf(rollout, other) === id) === true;
  };
  return {
    id,
    begin: () => ({
      checks: (spec?.checks ?? []).map(checkOf),
      replicas: (analysis.asked?.slots ?? []).map((slot) => measuredReplica(view, slot)),
      isMeant,
      keyOf: (check, replica) => sign({ check, replica }),
    }),
  };
}

function checkOf({ http, exec, prometheus }: AnalysisCheck): Check {
  if (http) {
    const { path, status, maxSeconds, contains } = http;
    const expects = { from: Number(status.slice(0, 3)), to: Number(status.slice(-3)), contains };
    return { kind: 'http', path, timeoutMs: maxSeconds * 1000, expects };
  }
  if (exec) return { kind: 'exec', ...exec };
  const { query = '', min, max } = prometheus ?? {};
  return { kind: 'prometheus', query, min, max };
}

/** As its account shows it now. */
function measuredReplica(view: FleetView, slot: number): MeasuredReplica {
  const { key, record, store } = view;
  const entry = record.kind.roster?.find((each) => each.slot === slot);
  const child = store.record(replicaKey(key, slot));
  const own = child?.derived?.owner === key ? child : undefined;
  const handle = entry && accountOf(view, entry.place.account).handle;
  const service = entry && serviceOf(view, entry, own);
  return {
    name: String(slot),
    id: service?.id,
    isRunning: service?.state === 'running',
    endpoint: service?.endpoint ?? undefined,
    loopback: handle !== undefined && isLoopback(handle.spec.url),
    namespace: parseObjectKey(key).namespace,
    api: handle?.api,
  };
}
