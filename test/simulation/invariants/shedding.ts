/**
 * BI3: what is stopped for a budget is stopped, and never deleted; nothing that is protected, or may not be interrupted, is; no more than
 * `maxPerMinute` in any minute; none before a limit was seen passed for `graceMinutes`; none for a budget that asks for no stops.
 *
 *     a read within the limit ──> (none may be stopped) ── graceMinutes of reads beyond it ──> stops ── a read within it ──> …
 *
 * BI4: what is stopped for a budget comes back, or says so: while it is paused, it is not Ready; and in the end, with room for all or without a
 * budget, none is left.
 *
 * What the limit was when a read came is not always known to a process: of the limits of the last minutes the one counts that is in favour of it.
 */
import type { ObjectKey } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { unreleasedSince } from './deletion.ts';
import { idIn, isActivity, type Exchange, type Invariant, type Json, type View } from '../watch.ts';

const minuteMs = 60_000;
/** After an edit, processes may decide by what there was before. */
const unheardMs = 240_000;
/** So old may be the activities that a stop rests on. */
const freshMs = 60_000;
/** What arrives while a request leaves may not have been taken in. */
const arrivingMs = 50;

type Edit = NonNullable<View['budgetEdits'][number]['edit']>;

/** All that processes may go by at that time. */
function editsAt({ budgetEdits }: View, atMs: number): (Edit | undefined)[] {
  const isRecent = (index: number) =>
    (budgetEdits[index + 1]?.atMs ?? Number.POSITIVE_INFINITY) >= atMs - unheardMs;
  return budgetEdits.filter((each, index) => each.atMs <= atMs && isRecent(index)).map(({ edit }) => edit);
}

const withoutCompute = new Set(['paused', 'sleeping', 'deleting']);

function burnOf({ services, volumes }: Json): number {
  const costs = [
    ...services.filter(({ state }: Json) => !withoutCompute.has(state)),
    ...volumes.filter(({ status }: Json) => status !== 'deleting'),
  ];
  return costs.reduce((sum: number, { hourlyMicros }: Json) => sum + hourlyMicros, 0);
}

/** Something that is stopped for a budget, and could come back. */
export function stillShed({ disk }: Pick<View, 'disk'>): string | undefined {
  const record = disk.records().find(isShed);
  const { reason, message } = record?.status?.conditions[0] ?? {};
  return (
    record && `${record.key} is still stopped for a budget (${reason}: ${message}), and there is room for all`
  );
}

function isShed(record: Pick<ObjectRecord, 'kind'> | undefined): boolean {
  return (record?.kind as Json)?.pausedFor === 'Budget';
}

const bi3: Invariant = (view) => {
  /** Of the newest read that was certainly within all limits. */
  let withinAtMs = 0;
  const activities = new Map<string, number>();
  /** By idempotency key: a request that is repeated is one stop. */
  const stops = new Map<string, number>();

  const checkWhether = (what: string, { object, path }: Exchange, record: ObjectRecord) => {
    const edits = editsAt(view, view.nowMs).flatMap((edit) => edit ?? []);
    const sheds = edits.filter(({ mode }) => mode === 'Shed');
    if (sheds.length === 0) return view.violated('BI3', `${what}: no budget asks for that`);
    const { disruption }: Json = record.manifest.spec;
    if (disruption === 'Never') view.violated('BI3', `${what}: it is never to be interrupted`);
    const id = idIn(path) ?? '';
    const readAtMs = activities.get(id);
    if (readAtMs === undefined || readAtMs < view.nowMs - freshMs)
      return view.violated('BI3', `${what}: nobody has just looked for activities in it`);
    const unreleased = unreleasedSince(view, id, readAtMs);
    if (unreleased !== undefined) view.violated('BI3', `${what}: the activity ${unreleased} goes on in it`);
    // Time that this process has not lived through is taken from the clock.
    if (view.jumpsClock) return;
    const graceMs = Math.min(...sheds.map(({ shed }) => shed.graceMinutes)) * minuteMs;
    const passedMs = view.nowMs - withinAtMs;
    if (passedMs < graceMs - arrivingMs)
      view.violated(
        'BI3',
        `${what}: ${passedMs} ms ago all was within the limit, and ${graceMs} are to pass`,
      );
    const most = Math.max(...sheds.map(({ shed }) => shed.maxPerMinute));
    const recent = [...stops.values()].filter((atMs) => atMs > view.nowMs - minuteMs);
    if (recent.length >= most)
      view.violated(
        'BI3',
        `${what}: ${recent.length} were stopped in the last minute; ${most} may be (${object})`,
      );
  };

  return {
    received({ method, path, sentAtMs }, { verdict, body }) {
      if (verdict !== 'done' || method !== 'GET') return;
      const id = idIn(path);
      if (id !== undefined && isActivity({ path })) activities.set(id, sentAtMs);
      if (path !== '/api/account' || !view.isPlain) return;
      const limits = editsAt(view, view.nowMs).map((edit) => edit?.hourlyMicros ?? Number.POSITIVE_INFINITY);
      if (limits.length === 0 || burnOf(body) <= Math.min(...limits)) withinAtMs = view.nowMs;
    },
    sent(exchange) {
      const { object, body, method, path, key = '' } = exchange;
      const record = object && view.disk.record(object);
      if (!record || !isShed(record)) return;
      const what = `${method} ${path} of ${object}`;
      const isDeletion = method === 'DELETE' || body?.action === 'delete';
      const isWanted = view.wanted.has(record.key) && !view.wasRemoved(record.key);
      if (
        isDeletion &&
        isWanted &&
        record.deletionRequestedAt === undefined &&
        !mayBeReplaced(view, record.key)
      )
        view.violated('BI3', `${what}: it is stopped for a budget, and deleted`);
      if (body?.action !== 'stop' || stops.has(key)) return;
      checkWhether(what, exchange, record);
      stops.set(key, view.nowMs);
    },
  };
};

function mayBeReplaced(view: View, key: ObjectKey): boolean {
  return view.history(key).some(({ spec }) => spec.replacement === 'Recreate');
}

const bi4: Invariant = (view) => ({
  durable(write) {
    if (write.kind !== 'save') return;
    for (const { key, kind, status, seen, manifest, deletionRequestedAt } of write.records) {
      const isStopped = isShed({ kind }) && seen?.state === 'paused' && deletionRequestedAt === undefined;
      const { desiredState }: Json = manifest.spec;
      const ready = status?.conditions.find(({ type }) => type === 'Ready');
      if (isStopped && desiredState !== 'Stopped' && ready?.status === 'True')
        view.violated('BI4', `${key} is paused for a budget, and Ready (${ready.reason})`);
    }
  },
  finished() {
    const forgotten = stillShed(view);
    if (forgotten !== undefined) view.violated('BI4', forgotten);
  },
});

export const sheddingInvariants = [bi3, bi4];
