/** In a cluster, whose marks a resource has that names an owner: those of its name only if that owner exists, and controls it. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { VersionedMap } from '../../../../src/base/index.ts';
import { desiredObjects, type ClusterFacts, type Controller } from '../../../../src/desired/index.ts';
import { DerivedObjects } from '../../../../src/engine/fleet/derived.ts';
import { derivedUid } from '../../../../src/engine/plan/index.ts';
import { kinds } from '../../../../src/kinds/index.ts';
import { apiVersion, objectKey, type ObjectKey } from '../../../../src/resources/index.ts';
import { MemoryStore, newRecord } from '../../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../../support/desired.ts';
import { stateIdentity } from '../../../support/scripted-fleet.ts';

const fleet = objectKey('ServiceFleet', 'default', 'llm');
const replica = objectKey('ContainerService', 'default', 'llm-0');
const uid = 'uid of the fleet';

function markedAs(controller: Controller | undefined, hasFleet = true): string | undefined {
  const template = {
    spec: { region: 'standard', image: 'a:1', resources: { gpuCount: 0, cpu: 1, memoryGb: 1 } },
  };
  const document = stringify({
    apiVersion,
    kind: 'ServiceFleet',
    metadata: { name: 'llm' },
    spec: { template },
  });
  const { objects: documents, ...rest } = desiredOf({
    ...(hasFleet ? { 'llm.yaml': document } : {}),
    'llm-0.yaml': serviceDocument('llm-0'),
  });
  const factsOf = (key: ObjectKey): ClusterFacts => ({
    uid: key === fleet ? uid : 'uid of the resource',
    generation: 1,
    resourceVersion: '1',
    deletionRequestedAt: undefined,
    finalizers: [],
    status: undefined,
    ...(key === replica ? { controller } : {}),
  });
  const objects = new Map([...documents].map(([key, object]) => [key, { ...object, cluster: factsOf(key) }]));
  const facts = VersionedMap.of([...objects.keys()].map((key) => [key, factsOf(key)] as const));
  const store = new MemoryStore(stateIdentity, hasFleet ? [newRecord(fleet, uid)] : [], []);
  const merged = new DerivedObjects({ store, kinds }).merge({
    ...rest,
    objects: desiredObjects(objects),
    cluster: facts,
  });
  return merged.objects.get(replica)?.derived?.markedAs;
}

test('one that its owner controls has the marks of its name, whether its owner wants it or not', () => {
  expect(markedAs({ key: fleet, uid })).toBe(derivedUid(stateIdentity.ownerName, replica));
});

test.each<[string, Controller | undefined, boolean]>([
  ['has no owner', undefined, true],
  ['names its owner with another uid', { key: fleet, uid: 'another' }, true],
  ['names an owner that is not there', { key: fleet, uid }, false],
])('one that %s has marks of its own', (_, controller, hasFleet) => {
  expect(markedAs(controller, hasFleet)).toBeUndefined();
});
