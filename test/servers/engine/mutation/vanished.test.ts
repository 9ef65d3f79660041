/** In a cluster an object may go by itself while a request for it is under way, and another one take its name. */
import pino from 'pino';
import { expect, test } from 'vitest';
import type { ControlApi } from '../../../../src/api/index.ts';
import { Sensitive, digestKey, systemRandom } from '../../../../src/base/index.ts';
import { execute, type Target } from '../../../../src/engine/mutation/index.ts';
import type { Step } from '../../../../src/engine/plan/index.ts';
import { ClusterStore } from '../../../../src/state/index.ts';
import { createMetrics } from '../../../../src/telemetry/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { ObjectCluster } from '../../../support/object-cluster.ts';
import { trainer } from '../../../unit/state/support.ts';

const nobody = new Set<never>();
const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };
const creation: Step = {
  action: {
    do: 'create-service',
    body: { name: 'trainer', region: 'standard', image: 'a', resources },
    environment: new Sensitive({}),
  },
  reason: 'Create',
  disruptive: false,
  differences: [],
};

/** A service is created for an object, and something happens before the answer. */
async function whileItIsCreated(
  meanwhile: (cluster: ObjectCluster, store: ClusterStore) => Promise<void>,
): Promise<ClusterStore> {
  const cluster = new ObjectCluster();
  const clock = new ManualClock();
  const identity = { digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'cluster' };
  const store = new ClusterStore({ api: cluster, identity, clock, random: systemRandom });
  await store.observe([cluster.add(trainer, 'uid-1')], nobody);
  const api = {
    providedThat: () => api,
    createService: async () => {
      await meanwhile(cluster, store);
      return { kind: 'applied', status: 201, value: { id: 'made-for-uid-1', revision: 1 } };
    },
  } as unknown as ControlApi;
  const record = store.record(trainer);
  if (!record) throw new Error('the store does not know it');
  const target: Target = {
    record,
    revision: undefined,
    state: undefined,
    digests: {},
    restartToken: undefined,
  };
  const logger = pino({ level: 'silent' });
  const options = { store, clock, random: systemRandom, logger, metrics: createMetrics() };
  await execute(options, api, creation, target, () => true);
  return store;
}

test('what was made for an object that has gone does not bring it back', async () => {
  const store = await whileItIsCreated(async (cluster, by) => {
    cluster.drop(trainer);
    await by.observe([], nobody);
  });
  expect(store.record(trainer)).toBeUndefined();
});

test('what was made for an object is not given to another one of its name', async () => {
  const store = await whileItIsCreated(async (cluster, by) => {
    cluster.drop(trainer);
    await by.observe([cluster.add(trainer, 'uid-2')], nobody);
  });
  expect(store.record(trainer)).toMatchObject({ uid: 'uid-2', externalId: undefined });
});
