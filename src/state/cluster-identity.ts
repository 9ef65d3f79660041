/**
 * The identity of this operator: the owner that its marks carry, and its digest key. All replicas and shards share it.
 * It is in a Secret in the operator's namespace.
 *
 * If the Secret is lost, a new one is made. The owner is the same as before: it is derived from the uid of kube-system
 * unless `--owner` names it, so managed things are found again by their marks. The digest key is new: old digests prove
 * nothing, and don't count as drift.
 */
import { UserError, digestKey, type DigestKey, type Random } from '../base/index.ts';
import { KubernetesError, type KubernetesApi, type KubernetesObject } from '../kubernetes/index.ts';

export interface ClusterIdentity {
  readonly ownerName: string;
  readonly digestKey: DigestKey;
}

export const identitySecretName = 'fleetkeeper-state';

const secrets = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true } as const;
const namespaces = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
} as const;

export interface IdentityOptions {
  readonly api: Pick<KubernetesApi, 'get' | 'create' | 'namespace'>;
  readonly random: Random;
  /** From `--owner`. */
  readonly owner: string | undefined;
}

/** Reads the identity. The first start creates it. */
export async function openClusterIdentity(options: IdentityOptions): Promise<ClusterIdentity> {
  const { api, random, owner } = options;
  const found = await readClusterIdentity(options);
  if (found) return found;
  const key = random.bytes(32);
  const ownerName = owner ?? (await defaultOwner(api));
  try {
    await api.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: identitySecretName,
        namespace: api.namespace,
        labels: { 'app.kubernetes.io/managed-by': 'fleetkeeper' },
      },
      type: 'Opaque',
      data: { owner: encode(ownerName), digestKey: encode(key.toString('hex')) },
    });
    return { ownerName, digestKey: digestKey(key) };
  } catch (error) {
    // Another replica was faster. Its Secret counts.
    const made =
      error instanceof KubernetesError && error.status === 409 && (await readClusterIdentity(options));
    if (made) return made;
    throw error;
  }
}

/** Undefined before the operator has run for the first time. */
export async function readClusterIdentity({
  api,
  owner,
}: Pick<IdentityOptions, 'owner'> & {
  readonly api: Pick<IdentityOptions['api'], 'get' | 'namespace'>;
}): Promise<ClusterIdentity | undefined> {
  const secret = await api.get({ type: secrets, namespace: api.namespace, name: identitySecretName });
  if (!secret) return undefined;
  const where = `the Secret ${api.namespace}/${identitySecretName}`;
  const ownerName = decode(secret, 'owner');
  const key = decode(secret, 'digestKey');
  if (!ownerName || !key || !/^[0-9a-f]{64}$/.test(key)) {
    throw new UserError(
      `${where} holds no owner or no digest key`,
      'it was edited, or not written by fleetkeeper: restore it, or delete it and let a new one be made',
    );
  }
  if (owner !== undefined && owner !== ownerName) {
    throw new UserError(
      `${where} was made for the owner "${ownerName}", not "${owner}"`,
      'leave --owner out; to change the owner, delete the Secret, and take over what carries the old mark with adopt and adopt-from',
    );
  }
  return { ownerName, digestKey: digestKey(Buffer.from(key, 'hex')) };
}

async function defaultOwner(api: IdentityOptions['api']): Promise<string> {
  const target = { type: namespaces, namespace: undefined, name: 'kube-system' };
  const uid = (await api.get(target))?.metadata.uid;
  if (uid !== undefined) return `cluster-${uid}`;
  throw new UserError(
    'the cluster shows no namespace kube-system to tell its identity by',
    'name the owner of what is made here with --owner',
  );
}

const encode = (text: string) => Buffer.from(text).toString('base64');

function decode(secret: KubernetesObject, name: string): string | undefined {
  const data = secret['data'] as Readonly<Record<string, unknown>> | undefined;
  const value = data?.[name];
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : undefined;
}
