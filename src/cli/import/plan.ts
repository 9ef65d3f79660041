/** Which documents an import writes. Pure. */
import { sameValue } from '../../base/index.ts';
import type { wire } from '../../api/index.ts';
import {
  apiVersion,
  documents as schemas,
  parseObjectKey,
  type AccountSpec,
  type ManagedKind,
  type ObjectKey,
} from '../../resources/index.ts';
import { readVolumeMark } from '../../engine/plan/index.ts';
import { writeDocument, type Draft, type WrittenDocument } from './draft.ts';
import { Names } from './names.ts';
import { isAbandoned } from '../inventory.ts';
import {
  registryDraft,
  serviceDraft,
  templateDraft,
  volumeDraft,
  type Place,
  type StorageDraft,
} from './objects.ts';
import { isServiceOwned, type HeldKind, type Holding } from '../survey.ts';
import { oneLine } from '../output/terminal-text.ts';

export interface ImportedAccount {
  readonly account: { readonly namespace: string; readonly name: string; readonly spec: AccountSpec };
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
  for (const { account, holdings } of accounts) {
    if (!scope.existing) drafts.push(accountDraft(account));
    const wanted = holdings.filter((holding) => isWanted(holding, scope));
    drafts.push(...objectDrafts(account, holdings, wanted, names));
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

/** What others manage, a line for each owner: how much of what, and how to get it all the same. */
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
        `${total} ${total === 1 ? 'object' : 'objects'} that the owner ${owner} manages (${parts}). To take over, let that owner drop its documents ` +
        'with `deletionPolicy: Retain`, or import with --all, which overrides its mark (docs/how-to/import.md#--all)'
      );
    });
}

function isGoing({ kind, value }: Holding): boolean {
  if (kind === 'ContainerService') return value.state === 'deleting';
  return kind === 'StorageVolume' && value.status === 'deleting';
}

function objectDrafts(
  account: ImportedAccount['account'],
  holdings: readonly Holding[],
  wanted: readonly Holding[],
  names: NameBook,
): Draft[] {
  const volumes = holdings.flatMap((holding) => (holding.kind === 'StorageVolume' ? holding.value : []));
  const volumeNames = new Map<string, string>();
  const ordered = wanted
    .filter((holding) => !isGoing(holding) && !isPartOfService(holding))
    .sort((left, right) => (orderOf(left) < orderOf(right) ? -1 : 1));
  return ordered.map((holding) => {
    const name = names.give(account.namespace, holding);
    if (holding.kind === 'StorageVolume') volumeNames.set(holding.id, name);
    const place = { namespace: account.namespace, account: account.name, name };
    return draftOf(holding, place, (service) => storageOf(service, volumes, volumeNames));
  });
}

/** Storage of a service is written with it. */
function isPartOfService(holding: Holding): boolean {
  return holding.kind === 'StorageVolume' && isServiceOwned(holding.value);
}

/** Volumes first: services refer to them. The rest is for names that are the same each time. */
function orderOf({ kind, name, id }: Holding): string {
  return [kind === 'StorageVolume' ? 0 : 1, kind, name ?? '', id].join('\u0000');
}

function draftOf(holding: Holding, place: Place, storage: (service: wire.Service) => StorageDraft): Draft {
  switch (holding.kind) {
    case 'ContainerService':
      return serviceDraft(holding, place, storage(holding.value));
    case 'StorageVolume':
      return volumeDraft(holding, place);
    case 'ServiceTemplate':
      return templateDraft(holding, place);
    case 'ImageRegistry':
      return registryDraft(holding, place);
  }
}

/** By reference where the volume is imported, too; by size where it belongs to the service; else by id. */
function storageOf(
  { id, volumeId }: wire.Service,
  volumes: readonly wire.Volume[],
  volumeNames: ReadonlyMap<string, string>,
): StorageDraft {
  // It shows that there is none.
  if (volumeId === null) return undefined;
  const volume =
    volumes.find((candidate) => candidate.id === volumeId) ??
    volumes.find((candidate) => candidate.serviceId === id);
  const used = volume?.id ?? volumeId;
  if (used === undefined) return undefined;
  const imported = volumeNames.get(used);
  if (imported !== undefined) return { volumeRef: { name: imported } };
  const sizeGb = volume?.requestedSizeGb ?? volume?.sizeGb;
  const owned = volume?.mode && isServiceOwned(volume);
  return owned && sizeGb ? { volumeGb: sizeGb } : { volumeId: used };
}

/** What the schema would fill in by itself is not written. */
function accountDraft({ namespace, name, spec }: ImportedAccount['account']): Draft {
  const { url, insecure, credentialsSecretRef: ref } = spec;
  const bare = { apiVersion, kind: 'Account', metadata: { name }, spec: { url, insecure } };
  const defaults: Readonly<Record<string, unknown>> = schemas.Account.parse(bare).spec;
  const told = Object.entries(spec).filter(
    ([field, value]) =>
      field !== 'credentialsSecretRef' && (field === 'url' || !sameValue(value, defaults[field])),
  );
  const example = ref ? `{name: ${ref.name}, key: ${ref.key}}` : '{name: FILL-IN, key: apiKey}';
  return {
    kind: 'Account',
    namespace,
    name,
    notes: [],
    annotations: {},
    spec: { ...Object.fromEntries(told), ...(insecure ? { insecure } : {}) },
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

const nouns: Readonly<Record<HeldKind, string>> = {
  ContainerService: 'service',
  StorageVolume: 'volume',
  ServiceTemplate: 'template',
  ImageRegistry: 'registry',
};
const longestName = 63;
/** Without a `volumeName` the object's name is the volume's, and has to leave room for the mark. */
const longestVolumeName = 48;

class NameBook {
  readonly #existing: ReadonlySet<ObjectKey>;
  readonly #names = new Map<string, Names>();

  constructor(existing: ReadonlySet<ObjectKey>) {
    this.#existing = existing;
  }

  give(namespace: string, { kind, name, id }: Holding): string {
    const shelf = `${namespace}/${kind}`;
    const names = this.#names.get(shelf) ?? this.#open(namespace, kind);
    this.#names.set(shelf, names);
    return names.give(withoutMark(kind, name), nouns[kind], id);
  }

  #open(namespace: string, kind: ManagedKind): Names {
    const taken = [...this.#existing].map(parseObjectKey);
    return new Names(
      taken.filter((id) => id.kind === kind && id.namespace === namespace).map(({ name }) => name),
      kind === 'StorageVolume' ? longestVolumeName : longestName,
    );
  }
}

/** The last part of a repository identifies it best. */
function withoutMark(kind: HeldKind, name: string | undefined): string | undefined {
  if (kind === 'ImageRegistry') return name?.split('/').slice(-2).join('-');
  if (kind !== 'StorageVolume' || name === undefined) return name;
  const mark = readVolumeMark(name);
  return mark === undefined ? name : name.slice(0, -mark.length);
}
