import { beforeEach, expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/index.ts';
import { KubernetesError, type KubernetesObject, type Target } from '../../../src/kubernetes/index.ts';
import { identitySecretName, openClusterIdentity, readClusterIdentity } from '../../../src/state/index.ts';

type Body = KubernetesObject & { readonly data?: Readonly<Record<string, string>> };

/** Secrets and namespaces, by kind and name. */
let objects: Map<string, Body>;

const api = {
  namespace: 'operators',
  async get({ type, namespace = '', name }: Target) {
    return objects.get(`${type.kind}/${namespace}/${name}`);
  },
  async create(_type: unknown, object: object) {
    const body = object as Body;
    const key = `${body.kind}/${body.metadata.namespace}/${body.metadata.name}`;
    if (objects.has(key)) throw new KubernetesError('it is there', { status: 409, reason: 'AlreadyExists' });
    objects.set(key, body);
    return body;
  },
};

const open = (owner?: string) => openClusterIdentity({ api, random: systemRandom, owner });
const secretKey = `Secret/operators/${identitySecretName}`;

beforeEach(() => {
  const kubeSystem = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid: 'uid-1' } };
  objects = new Map([['Namespace//kube-system', kubeSystem as unknown as Body]]);
});

test('the first start makes an identity, and every other one finds it', async () => {
  const made = await open();
  const found = await open();
  expect(made.ownerName).toBe('cluster-uid-1');
  expect([found.ownerName, found.digestKey.id]).toEqual([made.ownerName, made.digestKey.id]);
  expect(found.digestKey.digest('x')).toBe(made.digestKey.digest('x'));
});

test('of two replicas that start at once, both have the identity of the faster one', async () => {
  const raced = await Promise.all([open(), open(), open()]);
  expect(new Set(raced.map(({ digestKey }) => digestKey.id)).size).toBe(1);
});

test('a lost Secret costs the key, and not the name', async () => {
  const before = await open();
  objects.delete(secretKey);
  const after = await open();
  expect(after.ownerName).toBe(before.ownerName);
  expect(after.digestKey.id).not.toBe(before.digestKey.id);
});

test('before the first start there is none, and looking makes none', async () => {
  expect(await readClusterIdentity({ api, owner: undefined })).toBeUndefined();
  expect(objects.has(secretKey)).toBe(false);
});

test('another owner than it was made for is refused, with both names', async () => {
  await open('ours');
  await expect(open('theirs')).rejects.toThrow('was made for the owner "ours", not "theirs"');
});

test('a Secret that holds nonsense is refused, and is not overwritten', async () => {
  const metadata = { name: identitySecretName, namespace: 'operators' };
  const nonsense = { apiVersion: 'v1', kind: 'Secret', metadata, data: { owner: 'eA==', digestKey: 'eA==' } };
  objects.set(secretKey, nonsense as unknown as Body);
  await expect(open()).rejects.toThrow('holds no owner or no digest key');
  expect(objects.get(secretKey)).toEqual(nonsense);
});

test('without kube-system the owner has to be named', async () => {
  objects.clear();
  await expect(open()).rejects.toThrow('no namespace kube-system');
  expect((await open('ours')).ownerName).toBe('ours');
});
