/** `/api/v1/objects/KIND/NS/NAME`: all that is known of one object, without values of environments and Secrets. */
import { stringify } from 'yaml';
import type { z } from 'zod';
import { elapsedMs, parseRfc3339, rfc3339 } from '../../base/index.ts';
import { isReason, reasons } from '../../reasons/index.ts';
import { annotations as names, type ObjectKey } from '../../resources/index.ts';
import { describe, type Described } from '../../shown/description.ts';
import { statusEntries, statusItem, type StatusEntry } from '../../shown/entries.ts';
import type { DriftEntry, Intent, ObjectRecord } from '../../state/index.ts';
import { commandsFor } from '../fleet/commands.ts';
import { seesKey } from '../fleet/reader.ts';
import type { object } from '../schemas/answers.ts';
import { absent, shownRecord, shownRow, type Absent, type AnswerContext } from './context.ts';
import { shownIntent } from './intents.ts';
import { parentIn } from './tree.ts';

export type ObjectAnswer = z.infer<typeof object>;

/** Things directly below an object that are asked whether they protect it. */
const mostTasks = 1000;

/** Those of other tools may have whole documents in them, with values of environments. */
const ownAnnotation = /^(fleetkeeper\.dev|[a-z0-9.-]*\.fleetkeeper\.dev)\//;

export function objectAnswer(context: AnswerContext, key: ObjectKey): ObjectAnswer | Absent {
  const { index, source, reader } = context;
  const indexed = index.rows.get(key);
  const recorded = source.store.record(key);
  if (!indexed || !recorded || !seesKey(reader, key)) return absent;
  const [record, row] = [shownRecord(context, recorded), shownRow(context, indexed)];
  const [entry] = statusEntries([record], (each) => source.createdAt(each));
  if (!entry) return absent;
  const journal = source.journal(key);
  const { account } = row;
  const shown = (intent: Intent) => shownIntent(intent, account ?? undefined);
  const open = source.store.openIntent(key);
  const described = describedWith(context, entry, journal);
  const annotations = ownAnnotations(record);
  return {
    object: row,
    uid: record.uid,
    generation: record.generation,
    observedGeneration: record.status?.observedGeneration ?? 0,
    createdAt: entry.createdAt === undefined ? null : rfc3339(entry.createdAt),
    deletionRequestedAt:
      record.deletionRequestedAt === undefined ? null : rfc3339(record.deletionRequestedAt),
    labels: { ...record.manifest.labels },
    annotations,
    document: { file: record.file, line: record.line ?? null },
    spec: { ...record.manifest.spec },
    observed: observedIn(record),
    conditions: (record.status?.conditions ?? []).map(
      ({ type, status, reason, message, lastTransitionTime }) => ({
        type,
        status,
        reason,
        message,
        lastTransitionTime,
      }),
    ),
    drift: (record.status?.drift ?? []).map((drift) => driftOf(drift, record, described, context.nowMs)),
    plan: planOf(described),
    intents: { open: open ? shown(open) : null, newest: journal.slice(0, 20).map(shown) },
    activities: activitiesOf(described, source.place),
    cost: {
      hourlyMicros: row.hourlyMicros,
      basis: row.hourlyMicros === null ? 'unknown' : 'observed',
    },
    commands: commandsFor(entry, source.commandFlags, indexed.row.reason),
    parent: parentIn(context, key) ?? null,
    yaml: yamlOf(entry, annotations),
  };
}

/** Protection is that of the object, and of the tasks that name it. */
function describedWith(
  { index, source }: AnswerContext,
  entry: StatusEntry,
  journal: readonly Intent[],
): Described {
  const tasks = tasksOf({ index, source }, entry.record.key);
  const all = [entry, ...statusEntries(tasks)];
  const heartbeats = Object.fromEntries(
    all.flatMap(({ record: { key } }) => {
      const at = source.heartbeatAt(key);
      return at === undefined ? [] : [[key, at] as const];
    }),
  );
  const sign = { command: 'run', pid: 0, host: '', startedAt: 0, seenAt: 0, heartbeats };
  return describe(entry, all, journal, sign);
}

function tasksOf({ index, source }: Pick<AnswerContext, 'index' | 'source'>, key: ObjectKey): ObjectRecord[] {
  const parts = index.hierarchy.parts(key).values();
  return Array.from(parts, ({ children }) => [...children])
    .flat()
    .slice(0, mostTasks)
    .flatMap((child) => source.store.record(child) ?? []);
}

function ownAnnotations({ manifest }: ObjectRecord): Record<string, string> {
  return Object.fromEntries(
    Object.entries(manifest.annotations).filter(([name]) => ownAnnotation.test(name)),
  );
}

/** Parts of the status that have a place of their own, or that are for the manager alone. */
const elsewhere = new Set(['conditions', 'drift', 'bookkeeping', 'pricesSignature', 'capacitySignature']);

function observedIn({ status }: ObjectRecord): Record<string, unknown> {
  return Object.fromEntries(Object.entries(status ?? {}).filter(([field]) => !elsewhere.has(field)));
}

function driftOf(
  { path, kind, desired, observed, since, cause }: DriftEntry,
  record: ObjectRecord,
  { next }: Described,
  nowMs: number,
): ObjectAnswer['drift'][number] {
  const will = correctionOf(record, next, nowMs);
  return { path, kind, wanted: desired ?? null, actual: observed ?? null, since, cause: cause ?? null, will };
}

function correctionOf(
  { manifest: { annotations, spec } }: ObjectRecord,
  next: Described['next'],
  nowMs: number,
): ObjectAnswer['drift'][number]['will'] {
  const acceptedUntil = parseRfc3339(annotations[names.acceptDriftUntil] ?? '');
  if (acceptedUntil !== undefined && elapsedMs(acceptedUntil, nowMs) === Infinity)
    return { what: 'it is left until then, and corrected after it', at: rfc3339(acceptedUntil) };
  if (annotations[names.paused] === 'true') return { what: 'nothing, while the object is paused', at: null };
  if (spec['driftPolicy'] === 'Report') return { what: 'it stays (driftPolicy: Report)', at: null };
  const kind = isReason(next.reason) ? reasons[next.reason].kind : 'ready';
  const [first] = next.times.flatMap(({ at }) => (at === undefined ? [] : [at]));
  if (kind === 'held' || kind === 'waiting')
    return {
      what: `it is corrected when ${next.reason} is over`,
      at: first === undefined ? null : rfc3339(first),
    };
  return { what: 'it is corrected in the next pass', at: null };
}

function planOf({ next }: Described): ObjectAnswer['plan'] {
  const { reason, message, since, turn, remedy, times, docs } = next;
  return {
    reason,
    message,
    since: since ?? null,
    turn: turn ?? null,
    meaning: isReason(reason) ? reasons[reason].meaning : '',
    remedy,
    docs: docs ?? null,
    times: times.map(({ at, what }) => ({ at: at === undefined ? null : rfc3339(at), what })),
  };
}

function activitiesOf({ protection }: Described, place: 'folder' | 'cluster'): ObjectAnswer['activities'] {
  const renewedBy = place === 'folder' ? 'this manager' : 'the leader of the operator';
  return protection.map(({ task, key, activityId, state, isReleased, ready, heartbeatAt }) => ({
    task,
    key,
    activityId: activityId ?? null,
    state: state ?? null,
    isReleased,
    reason: ready?.reason ?? null,
    message: ready?.message ?? null,
    heartbeatAt: heartbeatAt === undefined ? null : rfc3339(heartbeatAt),
    renewedBy,
  }));
}

function yamlOf(entry: StatusEntry, annotations: Readonly<Record<string, string>>): string {
  const { record } = entry;
  const shown = { ...record, manifest: { ...record.manifest, annotations } };
  const { status, ...item } = statusItem({ ...entry, record: shown }) as { status: object };
  const kept = Object.entries(status).filter(
    ([field]) => field !== 'bookkeeping' && !field.endsWith('Signature'),
  );
  return stringify({ ...item, status: Object.fromEntries(kept) }, { aliasDuplicateObjects: false });
}
