/** Which of the documents that adopt one thing comes first. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { desiredObjects, type DesiredSnapshot } from '../../../../src/desired/index.ts';
import { rivalsOf } from '../../../../src/engine/fleet/adopters.ts';
import { apiVersion, objectKey, type ObjectKey } from '../../../../src/resources/index.ts';
import { newRecord, type IdentityPin, type ObjectRecord } from '../../../../src/state/index.ts';
import { desiredOf, inCluster } from '../../../support/desired.ts';

const id = '0b9c0f0e-7c2d-4a51-8f1e-5a2c5d0a7a11';
const shop = objectKey('ContainerService', 'shop', 'web');
const evil = objectKey('ContainerService', 'evil', 'web');
const url = 'https://api.example.com';

function documentsOf(namespace: string, address = url) {
  const metadata = (name: string) => ({ apiVersion, metadata: { name, namespace } });
  const place = { region: 'standard', image: 'a:1', resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } };
  return [
    { ...metadata('default'), kind: 'Account', spec: { url: address } },
    { ...metadata('web'), kind: 'ContainerService', spec: { ...place, adopt: { id } } },
  ];
}

const folder = (address?: string) =>
  desiredOf({
    'all.yaml': [...documentsOf('shop'), ...documentsOf('evil', address)]
      .map((document) => stringify(document))
      .join('---\n'),
  });

/** The ages of both, in the order of their creation. */
function aged(snapshot: DesiredSnapshot, older: ObjectKey): DesiredSnapshot {
  const objects = [...snapshot.objects].map(([key, object]) => {
    const { cluster } = object;
    return [
      key,
      cluster ? { ...object, cluster: { ...cluster, createdAt: key === older ? 1 : 2 } } : object,
    ] as const;
  });
  return { ...snapshot, objects: desiredObjects(objects) };
}

interface Known {
  readonly pins?: Readonly<Record<string, string>>;
  readonly records?: readonly ObjectRecord[];
}

function rivals(key: ObjectKey, snapshot: DesiredSnapshot, { pins = {}, records = [] }: Known = {}) {
  const identityPin = (account: string): IdentityPin | undefined => {
    const pinned = pins[account];
    return pinned === undefined ? undefined : { id: pinned, emailDigest: undefined, origin: url };
  };
  const record = (wanted: ObjectKey) => records.find((each) => each.key === wanted);
  return rivalsOf(key, id.toUpperCase(), snapshot, { record, identityPin }).map((rival) => rival.key);
}

test('in a folder it is the one with the smallest key', () => {
  expect([rivals(shop, folder()), rivals(evil, folder())]).toEqual([[evil], []]);
});

test('one with another thing, one that is being deleted, and one of another account is no rival', () => {
  const other = { ...newRecord(evil, 'uid'), externalId: 'another' };
  const leaving = { ...newRecord(evil, 'uid'), deletionRequestedAt: 1 };
  expect(rivals(shop, folder(), { records: [other] })).toEqual([]);
  expect(rivals(shop, folder(), { records: [leaving] })).toEqual([]);
  expect(rivals(shop, folder('https://other.example.com'))).toEqual([]);
  expect(rivals(shop, folder(), { pins: { 'shop/default': 'one', 'evil/default': 'two' } })).toEqual([]);
});

test('in a cluster it is the older one of two that are known to be in one account', () => {
  const pins = { 'shop/default': 'one', 'evil/default': 'one' };
  const [first, second] = [evil, shop].map((older) => aged(inCluster(folder()), older));
  expect(first && rivals(shop, first, { pins })).toEqual([evil]);
  expect(second && rivals(shop, second, { pins })).toEqual([]);
});

test('in a cluster, an Account that nobody has seen to be the same one blocks nothing in another namespace', () => {
  const older = aged(inCluster(folder()), evil);
  expect(rivals(shop, older)).toEqual([]);
  expect(rivals(shop, older, { pins: { 'shop/default': 'one' } })).toEqual([]);
});
