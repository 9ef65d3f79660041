/** In a cluster, an owned object whose resource goes leaves its thing (`Retain`) to the next one of its name, which finds it by its marks. */
import { expect, test } from 'vitest';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import {
  access,
  knownService,
  scriptedFleet,
  serviceId,
  shownService,
  stoppedAfterEach,
  web,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const running = stoppedAfterEach();

/** It was made a moment ago. Its document is gone. */
async function leaving(more: Partial<ObjectRecord>): Promise<ScriptedFleet> {
  const { spec } = desiredOf({ 'web.yaml': serviceDocument('web') }).objects.get(web) ?? {};
  const manifest = { annotations: {}, labels: {}, spec: { ...spec, deletionPolicy: 'Retain' } };
  const fleet = await scriptedFleet(desiredOf(access), {
    records: [knownService(web, { deletionRequestedAt: 1, manifest, ...more })],
    prepare: (api) => {
      api.services = [shownService({ id: serviceId })];
    },
  });
  running.push(fleet);
  await fleet.clock.advance(3000);
  return fleet;
}

test('its resource stays until account reads certainly show the thing', async () => {
  const { store, clock, api } = await leaving({ markedAs: 'uid of its name' });
  expect(store.record(web)?.status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Reconciling', reason: 'AwaitingObservation' }),
  );
  await clock.advance(700_000);
  expect(store.record(web)).toBeUndefined();
  expect(api.services).toHaveLength(1);
});

test('an object with marks of its own goes at once, since no other one looks for them', async () => {
  const { store, api } = await leaving({});
  expect(store.record(web)).toBeUndefined();
  expect(api.services).toHaveLength(1);
});
