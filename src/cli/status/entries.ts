/** Which objects of a fleet a command is about, and how `status` prints them for programs. */
import { UserError, rfc3339 } from '../../base/index.ts';
import { nearest } from '../../desired/index.ts';
import { isReason, reasonNames } from '../../reasons/index.ts';
import { kindCalled, type ManagedKind } from '../../resources/index.ts';
import { statusItem, type StatusEntry } from '../../shown/entries.ts';
import { managerItem, type ManagerState } from '../../shown/manager-state.ts';
import type { PlanFileRecord } from '../../state/index.ts';
import {
  Selection,
  namedTarget,
  unknownKind,
  type namespaceOfNames,
  type SelectionFlags,
} from '../selection.ts';

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
