/** Which entry is an object's: there is no room for a mark in it. */
import type { wire } from '../../api/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import { parseBeacon, readTemplateMark, type Owner } from '../../engine/plan/index.ts';
import { conflict, identify, shownTo, type Identity, type Marks, type Observed } from '../../engine/index.ts';
import { shownRepository, type ObjectKey } from '../../resources/index.ts';

export const registryMarks: Marks<wire.Registry> = {
  of: () => [],
  own: () => '',
  ownerIn: () => '',
  byKey: () => false,
  keyIds: () => [],
};

/**
 * A registry is recognised by its id and, since an account has one entry for a repository, by its repository. An
 * unmanaged entry for it blocks the object. `isAwaited`: a creation is under way or lost its answer, and the entry
 * counts as its result. `isLost`: the status was wiped, and it is not known what existed. `stateLost`: the account
 * shows things of this owner from a lost state; then the entry counts as the owner's.
 */
export function identifyRegistry(
  identity: Identity,
  items: ReadonlyMap<string, wire.Registry>,
  repository: string,
  {
    isAwaited,
    isLost,
    stateLost,
    holderOf,
  }: {
    readonly isAwaited: boolean;
    readonly isLost: boolean;
    readonly stateLost: boolean;
    readonly holderOf: (id: string) => ObjectKey | undefined;
  },
): Observed<wire.Registry> {
  const byId = identify(identity, items, registryMarks);
  if (byId.observation.kind !== 'absent') return byId;
  const entry = [...items.values()].find((item) => shownRepository(item.repository) === repository);
  if (!entry) return byId;
  const holder = holderOf(entry.id);
  if (holder !== undefined && holder !== identity.record.key) {
    return conflict(
      'AlreadyExists',
      `access to ${repository} is managed as ${shownTo(identity, holder)} already, and an account has it once; remove one of the documents`,
    );
  }
  if (isAwaited || stateLost) {
    return { observation: { kind: 'present', value: entry }, found: entry.id, byMark: !isAwaited };
  }
  if (isLost) {
    return conflict(
      'OwnershipUnproven',
      `there is access to ${repository} already (${entry.id}), and the status of this object was wiped, which would say whether it was made by it; to manage it, ` +
        `and to delete it with the document, say \`adopt: {id: ${entry.id}}\`; to leave it, say \`deletionPolicy: Retain\``,
    );
  }
  return conflict(
    'AlreadyExists',
    `there is access to ${repository} already (${entry.id}), and it was not made by this object; to take it over, and to overwrite its credentials, say \`adopt: {id: ${entry.id}}\``,
  );
}

/** Whether marks of this owner were made with another key: the state that made them is no more. */
export function showsLostState({ services, templates }: AccountSnapshot, { id, digestKey }: Owner): boolean {
  const isLost = (mark: { readonly ownerId: string; readonly keyId: string } | undefined) =>
    mark !== undefined && mark.ownerId === id && mark.keyId !== digestKey.id;
  const names = [...services.values()].flatMap(({ environmentNames }) => environmentNames ?? []);
  const described = templates.kind === 'read' ? [...templates.items.values()] : [];
  return (
    names.some((name) => isLost(parseBeacon(name))) ||
    described.some(({ description }) => isLost(readTemplateMark(description)))
  );
}
