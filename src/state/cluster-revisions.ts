/**
 * Revisions of what an object gives to the objects that it owns, in a cluster. Each one is a ControllerRevision with its content,
 * which is too large for a status and never changes. All that changes is in the signed bookkeeping of the owner, and a digest there
 * proves the content.
 *
 *     create what is new ──> status of the owner ──> remove what it has no more
 *
 * | after a crash                                 | what follows                                                        |
 * |-----------------------------------------------|---------------------------------------------------------------------|
 * | created, and not in the status                | it is not read; its name is used again for the next one of the number |
 * | not in the status any more, and not removed   | it is removed with the next one                                     |
 * | somebody deleted or forged it                 | the revision is not known any more, as with a lost state             |
 *
 * The garbage collector of the cluster removes them with their owner.
 */
import { sameValue, type DigestKey } from '../base/index.ts';
import {
  KubernetesError,
  type KubernetesApi,
  type KubernetesObject,
  type ResourceType,
  type Target,
} from '../kubernetes/index.ts';
import {
  apiVersion,
  ownerLabel,
  parseObjectKey,
  type DataReference,
  type ObjectKey,
} from '../resources/index.ts';
import type { RevisionMark } from './bookkeeping.ts';
import type { OwnerRevision } from './revisions.ts';

export const controllerRevisionType: ResourceType = {
  group: 'apps',
  version: 'v1',
  plural: 'controllerrevisions',
  kind: 'ControllerRevision',
  namespaced: true,
};

export type RevisionsApi = Pick<KubernetesApi, 'list' | 'get' | 'create' | 'remove'>;

interface Content {
  readonly content: Readonly<Record<string, unknown>>;
  readonly data: readonly DataReference[];
}

export interface RevisionsOptions {
  /** Undefined for commands that only read. */
  readonly api: RevisionsApi | undefined;
  /** Of such a command. Not everybody who may read the objects may read their revisions. */
  readonly reader?: Pick<KubernetesApi, 'list'> | undefined;
  readonly digestKey: DigestKey;
}

export class ClusterRevisions {
  readonly #options: RevisionsOptions;
  /** Of those that exist, by their owner: their numbers, with a digest of what is in them. */
  readonly #existing = new Map<ObjectKey, Map<number, string>>();
  /** By content, which is large and never changes. */
  readonly #digests = new WeakMap<object, string>();

  constructor(options: RevisionsOptions) {
    this.#options = options;
  }

  marksOf(revisions: readonly OwnerRevision[]): RevisionMark[] {
    return revisions.map(({ content, data, ...rest }) => ({
      ...rest,
      contentDigest: this.#digestOf({ content, data }),
    }));
  }

  /** Those in the bookkeeping of the owner whose content is there, and as it was. */
  async read(owner: ObjectKey, uid: string, marks: readonly RevisionMark[]): Promise<OwnerRevision[]> {
    const objects = await this.#objectsOf(owner);
    if (!objects)
      return marks.map(({ contentDigest: _digest, ...mark }) => ({ ...mark, content: {}, data: [] }));
    const contents = new Map<number, Content>();
    for (const object of objects) {
      if (isOwnedBy(object, uid)) contents.set(Number(object['revision']), contentOf(object));
    }
    this.#existing.set(
      owner,
      new Map([...contents].map(([number, content]) => [number, this.#digestOf(content)])),
    );
    return marks.flatMap(({ contentDigest, ...mark }) => {
      const found = contents.get(mark.number);
      if (!found || this.#digestOf(found) !== contentDigest) return [];
      return [{ ...mark, content: found.content, data: found.data }];
    });
  }

  /** Resolves when all of them exist. */
  async create(owner: ObjectKey, uid: string, revisions: readonly OwnerRevision[]): Promise<void> {
    const existing = this.#existingOf(owner);
    const { api } = this.#options;
    for (const revision of revisions) {
      const digest = this.#digestOf(revision);
      // One of its number may be left of a process that ended too early, with another content.
      if (existing.get(revision.number) === digest || !api) continue;
      await createOne(api, { owner, uid, revision });
      existing.set(revision.number, digest);
    }
  }

  async removeOthers(owner: ObjectKey, revisions: readonly OwnerRevision[]): Promise<void> {
    const existing = this.#existingOf(owner);
    for (const number of existing.keys()) {
      if (revisions.some((revision) => revision.number === number)) continue;
      await this.#options.api?.remove(targetOf(owner, number));
      existing.delete(number);
    }
  }

  forget(owner: ObjectKey): void {
    this.#existing.delete(owner);
  }

  async #objectsOf(owner: ObjectKey): Promise<KubernetesObject[] | undefined> {
    const { api, reader } = this.#options;
    if (api) return listed(api, owner);
    return reader && listed(reader, owner).catch(() => undefined);
  }

  #digestOf({ content, data }: Content): string {
    const known = this.#digests.get(content);
    if (known !== undefined) return known;
    const digest = this.#options.digestKey.sign({ revision: { content, data } });
    this.#digests.set(content, digest);
    return digest;
  }

  #existingOf(owner: ObjectKey): Map<number, string> {
    const known = this.#existing.get(owner) ?? new Map<number, string>();
    this.#existing.set(owner, known);
    return known;
  }
}

async function listed(api: Pick<KubernetesApi, 'list'>, owner: ObjectKey): Promise<KubernetesObject[]> {
  const { namespace, name } = parseObjectKey(owner);
  const scope = { namespace, labelSelector: `${ownerLabel}=${name}` };
  const objects: KubernetesObject[] = [];
  let continueToken: string | undefined;
  do {
    const page = await api.list(controllerRevisionType, { ...scope, continueToken });
    objects.push(...page.items);
    ({ continueToken } = page);
  } while (continueToken !== undefined);
  return objects;
}

async function createOne(
  api: RevisionsApi,
  { owner, uid, revision }: Readonly<{ owner: ObjectKey; uid: string; revision: OwnerRevision }>,
): Promise<void> {
  const object = objectOf(owner, uid, revision);
  try {
    await api.create(controllerRevisionType, object);
  } catch (error) {
    if (!(error instanceof KubernetesError && error.reason === 'AlreadyExists')) throw error;
    const target = targetOf(owner, revision.number);
    const found = await api.get(target);
    if (found && isOwnedBy(found, uid) && sameValue(contentOf(found), plain(revision))) return;
    // Left by a process that ended before its status was written, or by an earlier owner of that name.
    if (found) await api.remove(target, { uid: found.metadata.uid });
    await api.create(controllerRevisionType, object);
  }
}

function targetOf(owner: ObjectKey, number: number): Target {
  const { namespace, name } = parseObjectKey(owner);
  return { type: controllerRevisionType, namespace, name: `${name}-r${number}` };
}

function objectOf(owner: ObjectKey, uid: string, revision: OwnerRevision): object {
  const { kind, namespace, name } = parseObjectKey(owner);
  return {
    apiVersion: 'apps/v1',
    kind: controllerRevisionType.kind,
    metadata: {
      name: targetOf(owner, revision.number).name,
      namespace,
      labels: { [ownerLabel]: name },
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: false }],
    },
    data: plain(revision),
    revision: revision.number,
  };
}

/** Without what JSON leaves out. */
function plain({ content, data }: Content): Content {
  return JSON.parse(JSON.stringify({ content, data })) as Content;
}

function isOwnedBy({ metadata }: KubernetesObject, uid: string): boolean {
  return (metadata.ownerReferences ?? []).some((owner) => owner.controller === true && owner.uid === uid);
}

function contentOf(object: KubernetesObject): Content {
  const { content, data } = (object['data'] ?? {}) as Partial<Content>;
  return { content: content ?? {}, data: data ?? [] };
}
