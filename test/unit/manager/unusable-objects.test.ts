import pino from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { VersionedMap } from '../../../src/base/index.ts';
import type { ClusterFacts, DesiredSnapshot, Problem } from '../../../src/desired/index.ts';
import type { EventNote, Patch } from '../../../src/kubernetes/index.ts';
import { UnusableObjects } from '../../../src/manager/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { newRecord } from '../../../src/state/index.ts';
import { desiredOf } from '../../support/desired.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const key: ObjectKey = 'ContainerService/default/web';
let written: Patch[];
let known: boolean;
let leads: boolean;
let refusals: number;
let objects: UnusableObjects;
let noted: EventNote[];

beforeEach(() => {
  [written, known, leads, refusals] = [[], false, true, 0];
  noted = [];
  objects = new UnusableObjects({
    api: {
      async patch(_target, patch) {
        refusals -= 1;
        if (refusals >= 0) throw new Error('somebody was faster');
        written.push(patch);
        return { apiVersion: '', kind: '', metadata: { name: '', uid: '', resourceVersion: '' } };
      },
    },
    store: { record: () => (known ? newRecord(key, 'uid') : undefined) },
    recorder: { record: (note) => void noted.push(note) },
    mayAct: () => leads,
    clock: new ManualClock(),
    logger: pino({ level: 'silent' }),
  });
});

function snapshotWith(status: unknown): DesiredSnapshot {
  const problem: Problem = {
    file: 'containerservices/default/web',
    line: undefined,
    path: 'spec.disruptionWindows[0].timeZone',
    message: 'there is no such time zone',
    remedy: 'write one as Europe/Berlin',
    key,
  };
  const facts: ClusterFacts = {
    uid: 'uid',
    generation: 3,
    resourceVersion: '7',
    deletionRequestedAt: undefined,
    finalizers: [],
    status,
  };
  return {
    ...desiredOf({}),
    unusable: VersionedMap.of<ObjectKey, readonly Problem[]>([[key, [problem]]]),
    cluster: VersionedMap.of<ObjectKey, ClusterFacts>([[key, facts]]),
  };
}

function statusOf(patch: Patch | undefined): Record<string, unknown> {
  const body = patch?.body as { readonly status: Record<string, unknown> } | undefined;
  return body?.status ?? {};
}

async function tell(status: unknown): Promise<void> {
  objects.report(snapshotWith(status));
  await objects.stop();
}

test('an object that can not be taken up says so, and what to do', async () => {
  await tell(undefined);
  const [patch] = written;
  expect(patch).toMatchObject({
    subresource: 'status',
    body: { metadata: { uid: 'uid', resourceVersion: '7' } },
  });
  const status = statusOf(patch);
  expect(status['observedGeneration']).toBe(3);
  const message = expect.stringMatching(/no such time zone; write one as Europe\/Berlin/);
  expect(status['conditions']).toContainEqual(
    expect.objectContaining({ type: 'Stalled', status: 'True', reason: 'InvalidSpec', message }),
  );
});

test('what it says already is not written again, and the rest of its status is left alone', async () => {
  await tell({ id: 'service-1', bookkeeping: { uid: 'uid' } });
  const status = statusOf(written[0]);
  expect(Object.keys(status).sort()).toEqual(['conditions', 'observedGeneration']);
  await tell({ id: 'service-1', ...status });
  expect(written).toHaveLength(1);
});

test('a write that fails is made again with the next snapshot', async () => {
  refusals = 1;
  await tell(undefined);
  expect(written).toEqual([]);
  await tell(undefined);
  expect(written).toHaveLength(1);
});

test('an object that the engine holds itself, or a process that does not lead, is not told', async () => {
  known = true;
  await tell(undefined);
  [known, leads] = [false, false];
  await tell(undefined);
  expect(written).toEqual([]);
});

test('an Event says it, once for each time that the condition is written', async () => {
  objects.report(snapshotWith(undefined));
  await objects.stop();
  expect(noted).toEqual([
    {
      about: {
        apiVersion: 'fleetkeeper.dev/v1alpha1',
        kind: 'ContainerService',
        namespace: 'default',
        name: 'web',
        uid: 'uid',
      },
      type: 'Warning',
      reason: 'InvalidSpec',
      message: expect.stringContaining('there is no such time zone'),
    },
  ]);
  objects.report(snapshotWith(statusOf(written[0])));
  await objects.stop();
  expect(noted).toHaveLength(1);
});
