import { describe, expect, test } from 'vitest';
import { ClusterTimeline, type ClusterEvent } from '../../../../src/manager/shown-cluster/timeline.ts';
import type { ObjectKey } from '../../../../src/resources/index.ts';
import { intentOf, startMs } from '../../read-api/support.ts';

const web: ObjectKey = 'ContainerService/shop/web';
const db: ObjectKey = 'ContainerService/shop/db';

function event(uid: string, at: number, more: Partial<ClusterEvent> = {}): ClusterEvent {
  return { uid, object: web, type: 'Normal', reason: 'Created', message: '', count: 1, at, ...more };
}

function timelineOf(most?: number) {
  const timeline = new ClusterTimeline(most);
  const put = (object: ObjectKey, key: string, at: number, outcome: 'pending' | 'applied' = 'applied') =>
    timeline.putIntent(intentOf(object, { idempotencyKey: key, createdAt: at, outcome }), startMs);
  const shown = (before?: number, limit = 100) =>
    timeline
      .page(before, limit)
      .map((entry) =>
        'event' in entry ? entry.event.uid : `${entry.intent.idempotencyKey} ${entry.intent.outcome}`,
      );
  return { timeline, put, shown };
}

describe('the timeline of a cluster', () => {
  test('is in the order of times, whatever the order of arrival', () => {
    const { put, shown, timeline } = timelineOf();
    put(web, 'b', startMs - 20);
    put(db, 'c', startMs - 10);
    put(db, 'a', startMs - 30);
    timeline.putEvent(event('e', startMs - 25, { type: 'Warning' }), startMs);
    expect(shown()).toEqual(['c applied', 'b applied', 'e', 'a applied']);
  });

  test('has one entry for a mutation, which gets its outcome and keeps its place', () => {
    const { put, shown } = timelineOf();
    put(web, 'a', startMs - 20, 'pending');
    put(db, 'b', startMs - 10);
    put(web, 'a', startMs - 20);
    expect(shown()).toEqual(['b applied', 'a applied']);
  });

  test('pages continue where the last one ended, also when something older arrives in between', () => {
    const { timeline, put, shown } = timelineOf();
    for (let index = 0; index < 6; index += 1) put(web, `k${index}`, startMs - 100 + index);
    const [, , third] = timeline.page(undefined, 3);
    put(db, 'late', startMs - 1000);
    expect(shown(third?.number)).toEqual(['k2 applied', 'k1 applied', 'k0 applied', 'late applied']);
  });

  test('forgets the oldest entries first', () => {
    const { put, shown, timeline } = timelineOf(3);
    for (let index = 0; index < 5; index += 1) put(web, `k${index}`, startMs - 100 + index);
    put(web, 'older', startMs - 1000);
    expect(shown()).toEqual(['k4 applied', 'k3 applied', 'k2 applied']);
    expect(timeline.ofObject(web)).toHaveLength(3);
  });

  test('has an Event that is repeated where it happened last, once, and forgets it last', () => {
    const { timeline, put, shown } = timelineOf(3);
    const warning = (at: number, count: number) =>
      timeline.putEvent(event('again', at, { type: 'Warning', count }), startMs);
    warning(startMs - 100, 1);
    put(db, 'a', startMs - 50);
    warning(startMs - 100, 1);
    expect(shown()).toEqual(['a applied', 'again']);
    warning(startMs - 10, 2);
    expect(shown()).toEqual(['again', 'a applied']);
    put(db, 'b', startMs - 30);
    put(db, 'c', startMs - 20);
    expect(shown()).toEqual(['again', 'c applied', 'b applied']);
    const [newest] = timeline.page(undefined, 1);
    expect(newest).toMatchObject({ event: { count: 2, at: startMs - 10 } });
    expect(timeline.page(newest?.number, 9)).toHaveLength(2);
  });

  test('has several entries of one millisecond', () => {
    const { put, shown } = timelineOf();
    for (const key of ['a', 'b', 'c']) put(web, key, startMs);
    expect(shown().toSorted()).toEqual(['a applied', 'b applied', 'c applied']);
  });

  test('repeats no mutation by the Event that the operator writes of it, and shows warnings', () => {
    const { put, shown, timeline } = timelineOf();
    timeline.putEvent(event('before', startMs - 50), startMs);
    timeline.putEvent(event('of the mutation', startMs - 10), startMs);
    timeline.putEvent(event('warning', startMs - 5, { type: 'Warning' }), startMs);
    timeline.putEvent(event('of another object', startMs - 4, { object: db }), startMs);
    put(web, 'a', startMs - 10);
    expect(shown()).toEqual(['of another object', 'warning', 'a applied', 'before']);
  });

  test('what claims to be of the future is of now, so that it does not stay first for ever', () => {
    const { put, shown, timeline } = timelineOf();
    put(web, 'future', startMs + 1e9);
    timeline.putIntent(intentOf(web, { idempotencyKey: 'next', createdAt: startMs + 1 }), startMs + 1);
    expect(shown()).toEqual(['next applied', 'future applied']);
  });
});
