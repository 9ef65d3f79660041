import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemHeap } from '../../../src/base/index.ts';
import type { KubernetesObject } from '../../../src/kubernetes/index.ts';
import { SharedParts } from '../../../src/kubernetes/shared-parts.ts';

interface Service extends KubernetesObject {
  readonly status: { readonly id: string; readonly conditions: readonly unknown[] };
}

/** Parsed anew each time. */
function service(name: string, status: object = {}): Service {
  const object = {
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'ContainerService',
    metadata: { name, uid: `uid of ${name}`, resourceVersion: '1', labels: { app: 'web' } },
    spec: { image: 'nginx', env: [{ name: 'TOKEN', value: 'withdrawn' }] },
    status: { id: name, conditions: [{ type: 'Ready', status: 'True' }], ...status },
  };
  return JSON.parse(JSON.stringify(object)) as Service;
}

test('equal parts of two objects are one', () => {
  const parts = new SharedParts();
  const [one, other] = [service('one'), service('other')];
  parts.share(one, undefined);
  parts.share(other, undefined);
  expect(other.spec).toBe(one.spec);
  expect(other.metadata.labels).toBe(one.metadata.labels);
  expect(other.status.conditions).toBe(one.status.conditions);
});

test('a change leaves the parts that it does not change', () => {
  const parts = new SharedParts();
  const [before, after] = [service('one'), service('one', { conditions: [] })];
  parts.share(before, undefined);
  parts.share(after, before);
  expect(after.spec).toBe(before.spec);
  expect(after.status.conditions).toEqual([]);
});

test('an object is what it was, whatever others were before', () => {
  const parts = new SharedParts();
  const anything = fc.jsonValue({ maxDepth: 3 });
  const objects = fc.array(fc.record({ metadata: anything, spec: anything, status: anything }));
  fc.assert(
    fc.property(objects, (all) => {
      let previous: KubernetesObject | undefined;
      for (const each of all) {
        const text = JSON.stringify(each);
        previous = parts.share(JSON.parse(text) as KubernetesObject, previous);
        expect(previous).toEqual(JSON.parse(text));
      }
    }),
  );
});

test('what no object has any more is not kept', async () => {
  const parts = new SharedParts();
  const spec = () => new WeakRef(parts.share(service('one'), undefined).spec as object);
  const shared = spec();
  const isKept = () => {
    systemHeap.collect();
    return shared.deref() !== undefined;
  };
  await expect.poll(isKept).toBe(false);
  expect(parts.share(service('one'), undefined)).toEqual(service('one'));
});

test('no more than some thousand parts are remembered', () => {
  const parts = new SharedParts();
  const alive = Array.from({ length: 10_000 }, (_, index) => {
    const object = { ...service('one'), spec: { index } };
    return parts.share(object, undefined);
  });
  const [first, last] = [0, 9999].map((index) =>
    parts.share({ ...service('other'), spec: { index } }, undefined),
  );
  expect(first?.spec).not.toBe(alive[0]?.spec);
  expect(last?.spec).toBe(alive[9999]?.spec);
});
