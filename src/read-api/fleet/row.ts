/**
 * An object in a list, from its record. Pure.
 *
 * | health      | the first that applies                                                                           |
 * |-------------|--------------------------------------------------------------------------------------------------|
 * | `Deleting`  | its document was removed, and nothing holds that up                                              |
 * | `Unknown`   | it has no status yet                                                                             |
 * | `Suspended` | its reason is that a person, a window or a brake keeps it (`suspends` in the table of reasons)   |
 * | `Held`      | `Stalled` is True                                                                                |
 * | `Stale`     | its account was not read lately, or no process has observed the object since its start; of a Budget, `WithinBudget` is Unknown |
 * | `Down`      | `Reconciling` is True for a critical reason                                                      |
 * | `Waiting`, `Working` | `Reconciling` is True, by the kind of its reason                                        |
 * | `Healthy`, `Down`, `Waiting`, `Unknown` | `Ready`: True; False and not usable; False; Unknown                    |
 */
import { aboutReason, accountOfRecord, isTroubled, withoutAmounts } from '../../engine/index.ts';
import type { ReasonEntry } from '../../reasons/index.ts';
import {
  accountPlaceOf,
  objectKey,
  parseObjectKey,
  traitsOf,
  type ObjectKey,
} from '../../resources/index.ts';
import { nextStep } from '../../shown/description.ts';
import { conditionOf, stateOf, statusEntries, textOf, type StatusEntry } from '../../shown/entries.ts';
import type { Intent, ObjectRecord } from '../../state/index.ts';
import type { Health, Row } from '../schemas/parts.ts';
import { refusalsOf, sentenceOf } from './sentence.ts';

export type LabelSet = Readonly<Record<string, string>>;

/** What the row of an object is made of. */
export interface RowInputs {
  readonly record: ObjectRecord;
  readonly open: Intent | undefined;
  readonly isStale: boolean;
  readonly createdAt: number | undefined;
}

/** A row, with what lists are filtered and sorted by. */
export interface IndexedRow {
  /** For whoever sees the namespace. */
  readonly row: Row;
  /** The same with the amounts of its account, for who sees that (amounts.ts); undefined: there is no difference. */
  readonly full: Row | undefined;
  readonly labels: LabelSet;
  /** Unix milliseconds; 0 if it is not known. */
  readonly sinceMs: number;
  /** Something to do for a person, or to know of. */
  readonly isTrouble: boolean;
  /** Its parent in the tree, and where that does not exist, its account. */
  readonly parent: ObjectKey | undefined;
  /** Volumes that it refers to, which are below it in the tree. */
  readonly volumes: readonly ObjectKey[];
  /** In lower case: what `q` is searched in. */
  readonly searched: string;
}

export function indexedRow(inputs: RowInputs): IndexedRow {
  const { record } = inputs;
  const limited = withoutAmounts(record);
  const { row, about, since } = rowOf({ ...inputs, record: limited ?? record });
  return {
    row,
    full: limited && rowOf(inputs).row,
    labels: record.manifest.labels,
    sinceMs: since === undefined ? 0 : Date.parse(since),
    isTrouble: about.severity !== 'info' && isTroubled(record, row),
    parent: parentOf(record),
    volumes: volumesOf(record),
    searched: [row.key, row.reason, row.sentence.text, row.state, row.account, record.manifest.spec['image']]
      .map((part) => textOf(part) ?? '')
      .join(' ')
      .toLowerCase(),
  };
}

function rowOf({ record, open, isStale, createdAt }: RowInputs) {
  const [entry] = statusEntries([record], () => createdAt);
  if (!entry) throw new Error('one record has one entry');
  const step = nextStep(entry, open ? [open] : []);
  const about = aboutReason(step.reason);
  const health = healthOf(entry, about, isStale);
  const [region, geography] = [placeOf(record, 'region'), placeOf(record, 'geography')];
  const row: Row = {
    key: record.key,
    kind: entry.kind,
    namespace: entry.namespace,
    name: entry.name,
    health,
    severity: about.severity,
    reason: step.reason,
    since: step.since ?? null,
    turn: step.turn ?? null,
    sentence: sentenceOf(entry, health, step, geography ?? region),
    state: stateOf(entry) ?? null,
    account: accountOfRecord(record) ?? null,
    fleet: record.derived?.owner ?? null,
    region,
    geography,
    hourlyMicros: numberIn(record.status, 'hourlyMicros') ?? null,
    protected: isTrue(entry, 'Protected'),
    drift: record.status?.drift?.length ?? 0,
    refusals: refusalsOf(entry),
    replicas: replicasOf(record.status),
  };
  return { row, about, since: step.since };
}

function healthOf(
  entry: StatusEntry,
  about: Pick<ReasonEntry, 'kind' | 'severity' | 'suspends' | 'isDown'>,
  isStale: boolean,
): Health {
  const { record } = entry;
  const isStalled = isTrue(entry, 'Stalled');
  if (record.deletionRequestedAt !== undefined && !isStalled) return 'Deleting';
  if (!record.status || record.status.conditions.length === 0) return 'Unknown';
  if (about.suspends) return 'Suspended';
  if (isStalled) return 'Held';
  if (isStale || conditionOf(entry, 'WithinBudget')?.status === 'Unknown') return 'Stale';
  if (isTrue(entry, 'Reconciling') && about.severity === 'critical') return 'Down';
  if (isTrue(entry, 'Reconciling')) return about.kind === 'doing' ? 'Working' : 'Waiting';
  const ready = conditionOf(entry, 'Ready')?.status ?? 'Unknown';
  if (ready === 'Unknown') return 'Unknown';
  if (ready === 'True') return 'Healthy';
  return about.kind === 'unusable' || about.isDown ? 'Down' : 'Waiting';
}

function isTrue(entry: StatusEntry, type: string): boolean {
  return conditionOf(entry, type)?.status === 'True';
}

function placeOf({ status, manifest }: ObjectRecord, field: 'region' | 'geography'): string | null {
  return textOf(status?.[field]) ?? textOf(manifest.spec[field]) ?? null;
}

function replicasOf(status: ObjectRecord['status']): Row['replicas'] {
  const desired = numberIn(status, 'desiredReplicas');
  if (desired === undefined) return null;
  return {
    desired,
    ready: numberIn(status, 'readyReplicas') ?? 0,
    available: numberIn(status, 'availableReplicas') ?? 0,
  };
}

export function numberIn(status: ObjectRecord['status'], field: string): number | undefined {
  const value = status?.[field];
  return typeof value === 'number' ? value : undefined;
}

function parentOf({ key, derived, manifest }: ObjectRecord): ObjectKey | undefined {
  if (derived) return derived.owner;
  const place = accountPlaceOf(key, manifest.spec);
  return 'with' in place ? place.with : undefined;
}

function volumesOf({ key, manifest: { spec } }: ObjectRecord): ObjectKey[] {
  const { kind, namespace } = parseObjectKey(key);
  const traits = traitsOf(kind);
  // What is below something is known of services only. A record may have no document yet.
  if (traits.list !== 'services') return [];
  return (traits.references?.(spec) ?? [])
    .filter((reference) => traitsOf(reference.kind).list === 'volumes')
    .map((reference) => objectKey(reference.kind, namespace, reference.name));
}
