/** Which documents an import writes. Pure. */
import { sameValue } from '../../base/index.ts';
import type { AccountContents, ImportContext, Place } from '../../engine/index.ts';
import {
  accountKind,
  annotations,
  apiVersion,
  documents as schemas,
  parseObjectKey,
  traitsOf,
  type AccountSpec,
  type ManagedKind,
  type ObjectKey,
} from '../../resources/index.ts';
import { brief, writeDocument, type Draft, type WrittenDocument } from './draft.ts';
import { Names } from './names.ts';
import { isAbandoned } from '../account/inventory.ts';
import { oneLine } from '../output/terminal-text.ts';
import type { Holding } from '../../shown/survey.ts';

export interface ImportedAccount {
  readonly account: { readonly namespace: string; readonly name: string; readonly spec: AccountSpec };
  readonly contents: AccountContents;
  readonly holdings: readonly Holding[];
}

export interface ImportScope {
  /** Also what somebody manages. */
  readonly all: boolean;
  /** Of the folder that the documents become a part of: its Accounts serve them, and its objects are not written twice. */
  readonly existing: ReadonlySet<ObjectKey> | undefined;
}

export interface ImportPlan {
  readonly documents: readonly WrittenDocument[];
  /** Why something is not imported. */
  readonly left: readonly string[];
}

export function planImport(accounts: readonly ImportedAccount[], scope: ImportScope): ImportPlan {
  const names = new NameBook(scope.existing ?? new Set());
  const drafts: Draft[] = [];
  const left: string[] = [];
  left.push(
    ...othersLeft(accounts.flatMap(({ holdings }) => holdings).filter((each) => !isWanted(each, scope))),
  );
  for (const { account, contents, holdings } of accounts) {
    if (!scope.existing) drafts.push(accountDraft(account));
    const wanted = holdings.filter((holding) => isWanted(holding, scope));
    drafts.push(...objectDrafts(account, contents, wanted, names));
    for (const { kind, id, name } of wanted.filter(isGoing)) {
      left.push(`${kind} ${oneLine(name ?? id)}: it is being deleted`);
    }
  }
  return { documents: drafts.map(writeDocument), left };
}

function isWanted(holding: Holding, { all, existing }: ImportScope): boolean {
  if (isAbandoned(holding)) return true;
  return all && !(holding.managedBy.is === 'fleet' && existing !== undefined);
}

/** What has the mark of others, a line for each owner: how much of what, and how to get it all the same. */
function othersLeft(unwanted: readonly Holding[]): string[] {
  const counted = new Map<string, Map<string, number>>();
  for (const holding of unwanted) {
    const { managedBy, kind } = holding;
    if (managedBy.is !== 'owner' || isPartOfService(holding)) continue;
    const kinds = counted.get(managedBy.owner) ?? new Map<string, number>();
    counted.set(managedBy.owner, kinds.set(kind, (kinds.get(kind) ?? 0) + 1));
  }
  return [...counted]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([owner, kinds]) => {
      const parts = [...kinds].map(([kind, count]) => `${count} ${kind}`).join(', ');
      const total = [...kinds.values()].reduce((sum, count) => sum + count, 0);
      return (
        `${total} ${total === 1 ? 'object' : 'objects'} with the mark of the owner ${owner} (${parts}), which manages them, or left them with ` +
        '`deletionPolicy: Retain`: the mark stays then. Once its folder has no documents of them, import with --all, which overrides the mark ' +
        '(docs/how-to/import.md#--all)'
      );
    });
}

function isGoing({ things, value }: Holding): boolean {
  return things.isGoing?.(value) ?? false;
}

function objectDrafts(
  { namespace, name: account }: ImportedAccount['account'],
  contents: AccountContents,
  wanted: readonly Holding[],
  names: NameBook,
): Draft[] {
  const objects = new Map<string, string>();
  const context = { contents, objectOf: (id: string) => objects.get(id), quote: brief };
  const ordered = wanted
    .filter((holding) => !isGoing(holding) && !isPartOfService(holding))
    .sort((left, right) => (orderOf(left) < orderOf(right) ? -1 : 1));
  return ordered.map((holding) => {
    const place = { namespace, account, name: names.give(namespace, holding) };
    if (holding.things.imported === 'first') objects.set(holding.id, place.name);
    return draftOf(holding, place, context);
  });
}

function draftOf(holding: Holding, place: Place, context: ImportContext): Draft {
  const { kind, things, value } = holding;
  return { kind, ...headOf(holding, place), ...things.draft(value, place, context) };
}

/** Storage of a service is written with it. */
function isPartOfService({ things, value }: Holding): boolean {
  return things.isPart?.(value) ?? false;
}

/** Volumes first: services refer to them. The rest is for names that are the same each time. */
function orderOf({ things, kind, name, id }: Holding): string {
  return [things.imported === 'first' ? 0 : 1, kind, name ?? '', id].join('\u0000');
}

function headOf(
  { kind, id, markedBy }: Holding,
  { namespace, name, account }: Place,
): Pick<Draft, 'namespace' | 'name' | 'notes' | 'annotations'> {
  const { noun } = traitsOf(kind);
  const stays = `If this document is removed, the ${noun} stays (deletionPolicy: Retain).`;
  const foreign =
    markedBy === undefined
      ? []
      : [
          `It carries the mark of the owner ${markedBy}, whose documents may differ: two owners undo each`,
          `other's changes. Remove it there before you change it here. ${annotations.adoptFrom} overrides the mark.`,
        ];
  return {
    namespace,
    name,
    notes: [`Imported from the ${noun} ${id} of the account ${account}. ${stays}`, ...foreign],
    annotations: markedBy === undefined ? {} : { [annotations.adoptFrom]: markedBy },
  };
}

/** What the schema would fill in by itself is not written. */
function accountDraft({ namespace, name, spec }: ImportedAccount['account']): Draft {
  const { url, insecure, credentialsSecretRef: ref } = spec;
  const bare = { apiVersion, kind: accountKind, metadata: { name }, spec: { url, insecure } };
  const defaults: Readonly<Record<string, unknown>> = schemas[accountKind].parse(bare).spec;
  const given = Object.entries(spec).filter(
    ([field, value]) =>
      field !== 'credentialsSecretRef' && (field === 'url' || !sameValue(value, defaults[field])),
  );
  const example = ref ? `{name: ${ref.name}, key: ${ref.key}}` : '{name: FILL-IN, key: apiKey}';
  return {
    kind: accountKind,
    namespace,
    name,
    notes: [],
    annotations: {},
    spec: { ...Object.fromEntries(given), ...(insecure ? { insecure } : {}) },
    needed: ['url'],
    gaps: [
      {
        field: 'credentialsSecretRef',
        why: 'secrets are not written. Without it the key is taken from FLEETKEEPER_API_KEY or FLEETKEEPER_API_KEY_FILE',
        example: [`credentialsSecretRef: ${example}`],
      },
    ],
  };
}

const longestName = 63;

class NameBook {
  readonly #existing: ReadonlySet<ObjectKey>;
  readonly #names = new Map<string, Names>();

  constructor(existing: ReadonlySet<ObjectKey>) {
    this.#existing = existing;
  }

  give(namespace: string, { kind, things, name, id }: Holding): string {
    const group = `${namespace}/${kind}`;
    const names = this.#names.get(group) ?? this.#open(namespace, kind, things.longestName ?? longestName);
    this.#names.set(group, names);
    const best = name === undefined ? undefined : (things.bestName?.(name) ?? name);
    return names.give(best, traitsOf(kind).noun, id);
  }

  #open(namespace: string, kind: ManagedKind, longest: number): Names {
    const taken = [...this.#existing].map(parseObjectKey);
    return new Names(
      taken.filter((id) => id.kind === kind && id.namespace === namespace).map(({ name }) => name),
      longest,
    );
  }
}
