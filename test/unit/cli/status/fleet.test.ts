/** What `status` and `describe` show of a ServiceFleet: how many replicas are ready, and at which revision. */
import { expect, test } from 'vitest';
import type { Condition } from '../../../../src/resources/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { run } from '../support.ts';
import { aStatus, anObject, condition, noon, stateWith } from './support.ts';

const clock = new ManualClock(noon);
const allAvailable = condition('Ready', 'True', 'AllAvailable');
const notReady = condition(
  'Ready',
  'False',
  'ReplicasNotReady',
  '2 of 4 replicas are available as the template requires',
);

const full = { desiredReplicas: 4, replicas: 4, updatedReplicas: 4, readyReplicas: 4, availableReplicas: 4 };
const r3 = { currentRevision: 'r3', updateRevision: 'r3' };
const toR3 = { currentRevision: 'r2', updateRevision: 'r3' };

function fleet(ready: Condition, more: object) {
  return anObject('ServiceFleet/default/shop', {
    account: 'default/default',
    status: aStatus([ready], { ...full, ...more }),
  });
}

async function row(record: ReturnType<typeof anObject>, name = 'ServiceFleet'): Promise<string[]> {
  const { stdout } = await run(['status', ...(await stateWith([record]))], { clock });
  const line = stdout.split('\n').find((each) => each.startsWith(name)) ?? '';
  return line.split(/ {3,}/);
}

async function described(record: ReturnType<typeof anObject>): Promise<Record<string, string>> {
  const { stdout } = await run(['describe', 'servicefleet/shop', ...(await stateWith([record]))], { clock });
  const rows = stdout.split('\n').map((line) => line.split(/: +/));
  return Object.fromEntries(rows.map(([head = '', value = '']) => [head, value]));
}

test('a fleet at rest shows its replicas and its revision', async () => {
  const record = fleet(allAvailable, r3);
  expect(await row(record)).toEqual([
    'ServiceFleet',
    'default',
    'shop',
    '4/4',
    'True',
    '-',
    'AllAvailable; r3',
  ]);
  expect(await described(record)).toMatchObject({
    Replicas: '4 desired, 4 current, 4 updated, 4 available',
    Revision: 'r3',
  });
});

test('a rollout shows from where to where it leads, and how far it is', async () => {
  const record = fleet(notReady, {
    ...toR3,
    updatedReplicas: 2,
    readyReplicas: 3,
    availableReplicas: 3,
    failedReplicas: 1,
    rollout: { phase: 'Progressing', revision: 'r3', from: 'r2', attempt: 1 },
  });
  expect((await row(record)).slice(3)).toEqual([
    '3/4',
    'False',
    '-',
    'ReplicasNotReady: 2 of 4 replicas are available as the template requires; r2 → r3 Progressing',
  ]);
  expect(await described(record)).toMatchObject({
    Replicas: '4 desired, 4 current, 2 updated, 3 available, 1 failed',
    Revision: 'r2 (the document requires r3)',
    Rollout: 'r3 Progressing',
  });
});

test.each([
  ['RollingBack', 'r3 → r2 RollingBack'],
  ['RolledBack', 'r3 → r2 RolledBack'],
  ['Frozen', 'r2 → r3 Frozen'],
])('a rollout that is %s shows the direction', async (phase, shown) => {
  const record = fleet(notReady, { ...toR3, rollout: { phase, revision: 'r3', from: 'r2', attempt: 1 } });
  expect((await row(record)).at(-1)).toMatch(new RegExp(`; ${shown}$`));
});

test('a first rollout comes from nowhere', async () => {
  const record = fleet(notReady, {
    updateRevision: 'r1',
    rollout: { phase: 'Progressing', revision: 'r1', attempt: 1 },
  });
  expect((await row(record)).at(-1)).toMatch(/; r1 Progressing$/);
  expect(await described(record)).toMatchObject({ Revision: 'none yet (the document requires r1)' });
});

test('a fleet that nobody has observed, or that is deleted, has no counts', async () => {
  expect(await row(anObject('ServiceFleet/default/shop'))).toEqual([
    'ServiceFleet',
    'default',
    'shop',
    '-',
    'Unknown',
    '-',
    'NotLookedAt',
  ]);
  const deleted = { ...fleet(allAvailable, r3), deletionRequestedAt: noon };
  expect((await row(deleted))[3]).toBe('Terminating');
});

test('a replica is shown as any service', async () => {
  const replica = anObject('ContainerService/default/shop-0', {
    status: aStatus([condition('Ready', 'True', 'Running')], { state: 'running' }),
  });
  expect(await row(replica, 'ContainerService')).toEqual([
    'ContainerService',
    'default',
    'shop-0',
    'running',
    'True',
    '-',
    'Running',
  ]);
});
