/** What a service remembers of its activities while its fleet drains it. */
import { expect, test } from 'vitest';
import { activitiesWhileDraining, newestReading } from '../../../../src/kinds/container-service/draining.ts';
import type { ServiceLook } from '../../../../src/kinds/container-service/look.ts';

const since = 1_700_000_000_000;
const nowMs = since + 20_000;

const remembered = (more: Partial<ServiceLook>) =>
  activitiesWhileDraining({
    object: { gate: { reason: 'Draining', message: '', since } },
    observation: { kind: 'present', value: {} },
    record: { kind: {} },
    activities: [],
    declaredTasks: [],
    mayAppear: false,
    observedAt: since + 1,
    nowMs,
    ...more,
  } as unknown as ServiceLook);

test('a read counts from when it was asked for: a pass may end long after', () => {
  expect(remembered({ activitiesAskedAt: since + 1 })).toEqual({
    kind: { activities: { readAt: since + 1 } },
  });
  expect(remembered({ activitiesAskedAt: since - 1 })).toEqual({});
});

test('a reading that could not be saved is saved with a later pass, unless a newer one was', () => {
  const reading = { activities: [{ id: 'a1' }], askedAt: since + 2 };
  const newest = (readAt: number) => newestReading(reading, { activities: { readAt } }, nowMs);
  expect(newest(since + 1)).toEqual(reading);
  expect(newest(since + 3)).toBeUndefined();
  expect(newestReading(reading, {}, since + 1)).toBeUndefined();
  expect(newestReading(undefined, {}, nowMs)).toBeUndefined();
});

test('in what is gone, only declared tasks can be', () => {
  const gone = { observation: { kind: 'absent', confirmed: true }, activities: undefined } as const;
  expect(remembered(gone)).toEqual({ kind: { activities: { readAt: since + 1 } } });
  const lastRead = { activities: [{ id: 'a1', name: 'epoch', released: false }], activitiesAskedAt: since };
  expect(remembered({ ...gone, ...lastRead })).toEqual(remembered(gone));
  const tasks = { declaredTasks: ['epoch'] };
  expect(remembered({ ...gone, ...tasks })).toMatchObject({
    kind: { activities: { by: 'the ProtectedTask epoch' } },
  });
});

test('a pass that has created it saw nothing there before: it drains since, and may be in use', () => {
  const made = { observation: { kind: 'absent', confirmed: true }, activities: undefined } as const;
  expect(remembered({ ...made, observedAt: since - 1 })).toEqual({});
});

test('what may still appear is not gone: its activities are read when it is there', () => {
  const late = {
    observation: { kind: 'absent', confirmed: true },
    activities: undefined,
    mayAppear: true,
  } as const;
  expect(remembered(late)).toEqual({});
});
