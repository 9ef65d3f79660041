/** The objects of a fleet as `status` and `describe` show them, and which of them a command is about. */
import { UserError, rfc3339 } from '../../base/index.ts';
import { nearest } from '../../desired/index.ts';
import { isReason, reasonNames } from '../../reasons/index.ts';
import {
  apiVersion,
  kindCalled,
  parseObjectKey,
  type Condition,
  type ManagedKind,
  type ObjectKey,
} from '../../resources/index.ts';
import type { ObjectRecord, PlanFileRecord } from '../../state/index.ts';
import {
  Selection,
  namedTarget,
  unknownKind,
  type namespaceOfNames,
  type SelectionFlags,
} from '../selection.ts';
import { managerItem, type ManagerState } from './manager-state.ts';

export interface StatusEntry {
  readonly record: ObjectRecord;
  readonly kind: ManagedKind;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Unix milliseconds. Undefined for an object that 0.1.0 took in. */
  readonly createdAt: number | undefined;
}

/** In the order of their keys. `createdAt`: of an object in a cluster. */
export function statusEntries(
  records: Iterable<ObjectRecord>,
  createdAt: (key: ObjectKey) => number | undefined = () => undefined,
): StatusEntry[] {
  return [...records]
    .sort((left, right) => (left.key < right.key ? -1 : 1))
    .map((record) => {
      const { kind, namespace, name } = parseObjectKey(record.key);
      const { labels } = record.manifest;
      return { record, kind, namespace, name, labels, createdAt: createdAt(record.key) ?? record.createdAt };
    });
}

export function conditionOf({ record }: StatusEntry, type: string): Condition | undefined {
  return record.status?.conditions.find((condition) => condition.type === type);
}

/** The state at the provider, or that the object is being deleted. */
export function stateOf({ record }: StatusEntry): string | undefined {
  return record.deletionRequestedAt === undefined ? textOf(record.status?.['state']) : 'Terminating';
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export interface EntryFlags extends Pick<SelectionFlags, 'selector' | 'namespace' | typeof namespaceOfNames> {
  readonly kind?: readonly string[];
  readonly reason?: string;
}

/** `names`: `NAME` or `KIND/NAME`, or as kubectl takes them. Throws a `UserError` for one that is not there, unless it may be gone. */
export function selectedEntries(
  entries: readonly StatusEntry[],
  names: readonly string[],
  { selector, namespace, namespaceOfNames, kind, reason }: EntryFlags,
  mayBeGone = false,
): StatusEntry[] {
  const { given, ofKind } = asKubectl(entries, names);
  const selection = new Selection({
    ...(given.length === 0 ? {} : { target: given.map(namedTarget) }),
    ...(selector === undefined ? {} : { selector }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(namespaceOfNames === undefined ? {} : { namespaceOfNames }),
  });
  const wantedKinds = ofKind === undefined ? kind : [ofKind];
  const kinds = wantedKinds && new Set(wantedKinds.map(kindNamed));
  const wanted = reason === undefined ? undefined : reasonNamed(reason);
  const selected = mayBeGone ? entries.filter((entry) => selection.matches(entry)) : selection.among(entries);
  return selected
    .filter((entry) => kinds === undefined || kinds.has(entry.kind))
    .filter(
      ({ record }) => wanted === undefined || record.status?.conditions.some((one) => one.reason === wanted),
    );
}

/** `KIND NAME...` and `KIND`, as kubectl takes them, unless an object has that name. */
function asKubectl(
  entries: readonly StatusEntry[],
  names: readonly string[],
): { readonly given: readonly string[]; readonly ofKind: string | undefined } {
  const [first = '', ...rest] = names;
  const isKind = kindCalled(first) !== undefined && !entries.some(({ name }) => name === first);
  if (!isKind) return { given: names, ofKind: undefined };
  if (rest.length === 0) return { given: [], ofKind: first };
  return { given: rest.map((name) => (name.includes('/') ? name : `${first}/${name}`)), ofKind: undefined };
}

function kindNamed(called: string): ManagedKind {
  const kind = kindCalled(called);
  if (kind === undefined) throw new UserError(unknownKind(called), 'correct --kind');
  return kind;
}

function reasonNamed(called: string): string {
  if (isReason(called)) return called;
  const named = reasonNames.find((name) => name.toLowerCase() === called.toLowerCase());
  if (named) return named;
  const meant = nearest(called, reasonNames);
  throw new UserError(
    `there is no reason ${called}`,
    `${meant === undefined ? '' : `did you mean ${meant}? `}\`fleetkeeper explain\` lists all reasons`,
  );
}

/** The plan file that was begun last and is not completed. It may continue until it expires. */
export function planFileInProgress(files: readonly PlanFileRecord[]): PlanFileRecord | undefined {
  const last = files.at(-1);
  return last?.completedAt === undefined ? last : undefined;
}

function planFileItem({ digest, startedAt, done, left }: PlanFileRecord): object {
  return { digest, startedAt: rfc3339(startedAt), done, left };
}

/** As `kubectl get -o json` prints a list. */
export function statusList(
  entries: readonly StatusEntry[],
  manager: ManagerState | undefined,
  planFile?: PlanFileRecord,
): object {
  return {
    apiVersion: 'v1',
    kind: 'List',
    ...(manager ? { manager: managerItem(manager) } : {}),
    ...(planFile ? { planFile: planFileItem(planFile) } : {}),
    items: entries.map(statusItem),
  };
}

export function statusItem({ record, kind, namespace, name, createdAt }: StatusEntry): object {
  const { annotations, labels, spec } = record.manifest;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      uid: record.uid,
      generation: record.generation,
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      ...(createdAt === undefined ? {} : { creationTimestamp: rfc3339(createdAt) }),
      ...(record.deletionRequestedAt === undefined
        ? {}
        : { deletionTimestamp: rfc3339(record.deletionRequestedAt) }),
    },
    spec,
    status: record.status ?? { observedGeneration: 0, conditions: [] },
  };
}
