/** A ServiceFleet on the API server that there is: its scale, its replicas, its revisions, and what the garbage collector does. */
import { expect, test } from 'vitest';
import type { ResourceType } from '../../../src/kubernetes/index.ts';
import { resourceTypes } from '../../../src/resources/index.ts';
import type { Json } from '../../support/processes/fleet.ts';
import { createWorld, namesAt, type World } from '../../support/processes/operator.ts';
import { eventually } from '../../support/processes/processes.ts';
import { fleetOf, template } from '../../support/processes/replicas.ts';

const revisions: ResourceType = {
  group: 'apps',
  version: 'v1',
  plural: 'controllerrevisions',
  kind: 'ControllerRevision',
  namespaced: true,
};

async function runningWorld(): Promise<World & { readonly at: (kind: Kind, name: string) => Target }> {
  const world = await createWorld();
  await world.fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2 })]);
  world.fleet.run();
  await world.fleet.until('ServiceFleet/llm', 'Ready', 'True', undefined, 60_000);
  const { namespace } = world.fleet;
  return { ...world, at: (kind, name) => ({ type: resourceTypes[kind], namespace, name }) };
}

type Kind = 'ServiceFleet' | 'ContainerService';
type Target = { readonly type: ResourceType; readonly namespace: string; readonly name: string };

test('its size is read and written at /scale, and the selector finds its replicas', async () => {
  const { plane, fleet, at } = await runningWorld();
  const { api } = fleet.cluster;
  const patch = (replicas: number) =>
    api.patch(at('ServiceFleet', 'llm'), {
      kind: 'merge',
      body: { spec: { replicas } },
      subresource: 'scale',
    });
  const scale = await patch(3);
  expect(scale).toMatchObject({
    spec: { replicas: 3 },
    status: { replicas: 2, selector: 'fleetkeeper.dev/fleet=llm' },
  });
  await eventually('three', async () => (await namesAt(plane)).length === 3, 60_000);
  const labelSelector = (scale.status as Json).selector;
  const { items } = await api.list(resourceTypes.ContainerService, {
    namespace: fleet.namespace,
    labelSelector,
  });
  expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(['llm-0', 'llm-1', 'llm-2']);
  await expect(patch(-1)).rejects.toThrow(/servicefleets|whole number/);
  await patch(1);
  await eventually('one', async () => (await namesAt(plane)).length === 1, 60_000);
});

test('an edit of a replica is undone, and fields of others stay', async () => {
  const { fleet, at } = await runningWorld();
  const { api } = fleet.cluster;
  const target = at('ContainerService', 'llm-0');
  const body = {
    metadata: { annotations: { 'example.com/note': 'mine' } },
    spec: { image: 'ghcr.io/acme/other:1', restartToken: 'again' },
  };
  await api.patch(target, { kind: 'merge', body });
  const child = await eventually('as it was', async () => {
    const shown = await api.get(target);
    const { image, restartToken } = (shown?.spec ?? {}) as Json;
    return image === 'ghcr.io/acme/llm:1' && restartToken === undefined && shown;
  });
  expect(child.metadata.annotations).toMatchObject({ 'example.com/note': 'mine' });
});

test('revisions are its own, and all that it owns goes with it', async () => {
  const { plane, fleet, at } = await runningWorld();
  const { api } = fleet.cluster;
  const next = template({ image: 'ghcr.io/acme/llm:2' });
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, template: next })]);
  await eventually(
    'the second revision',
    async () => {
      const { currentRevision } = ((await api.get(at('ServiceFleet', 'llm')))?.status ?? {}) as Json;
      return currentRevision === 'r2';
    },
    60_000,
  );
  const owner = await api.get(at('ServiceFleet', 'llm'));
  const { items } = await api.list(revisions, { namespace: fleet.namespace });
  expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(['llm-r1', 'llm-r2']);
  for (const { metadata } of items)
    expect(metadata.ownerReferences).toMatchObject([{ uid: owner?.metadata.uid, controller: true }]);
  await api.remove(at('ServiceFleet', 'llm'));
  await eventually('its end', async () => (await api.get(at('ServiceFleet', 'llm'))) === undefined, 60_000);
  expect(await namesAt(plane)).toEqual([]);
  const left = await api.list(resourceTypes.ContainerService, { namespace: fleet.namespace });
  expect(left.items).toEqual([]);
});
