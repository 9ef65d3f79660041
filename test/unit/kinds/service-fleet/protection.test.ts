import { expect, test } from 'vitest';
import type { Reading } from '../../../../src/engine/index.ts';
import { protectionOf } from '../../../../src/kinds/service-fleet/look.ts';
import { newRecord } from '../../../../src/state/index.ts';
import { place, startMs } from './worlds.ts';

const read = (activities: { readonly readAt: number; readonly by?: string }) => ({
  ...newRecord('ContainerService/default/llm-0', 'uid'),
  kind: { activities },
});
const entry = { slot: 0, phase: 'draining', since: startMs, place } as const;

test('activities count only if they were read since the replica began to drain', () => {
  const early = protectionOf(entry, read({ readAt: startMs - 1 }), startMs + 5000);
  expect(early.protection).toBe('unknown');
  expect(protectionOf(entry, read({ readAt: startMs }), startMs + 5000).protection).toBe('no');
  const held = protectionOf(entry, read({ readAt: startMs, by: 'a task' }), startMs + 5000);
  expect(held).toEqual({ protection: 'yes', protector: 'a task' });
  expect(protectionOf({ ...entry, phase: 'wanted' }, read({ readAt: startMs }), startMs).protection).toBe(
    'unknown',
  );
});

test("a draining replica that is gone is nobody's, though a task still wants its activity there", () => {
  const held = read({ readAt: startMs, by: 'a task' });
  const ready = { reason: 'NotThere', since: startMs } as const;
  const report = { ready, drift: [], linked: [], pending: undefined, reconcileAt: undefined };
  const gone = { ...held, report };
  expect(protectionOf(entry, gone, startMs + 5000)).toEqual({ protection: 'no', protector: undefined });
  expect(protectionOf({ ...entry, phase: 'wanted' }, gone, startMs + 5000).protection).toBe('unknown');
});

test('what was read and could not be saved counts, if it is newer than what was saved', () => {
  const known = read({ readAt: startMs + 1000 });
  const at = (askedAt: number, activities: Reading['activities'] = [{ id: 'a1' }]) =>
    protectionOf(entry, known, startMs + 5000, { activities, askedAt }).protection;
  expect(at(startMs + 2000)).toBe('yes');
  expect(at(startMs + 2000, [{ id: 'a1', released: true }])).toBe('no');
  expect(at(startMs + 999)).toBe('no');
  expect(at(startMs + 5001)).toBe('no');
  const early = { activities: [{ id: 'a1' }], askedAt: startMs - 1 };
  expect(protectionOf(entry, undefined, startMs + 5000, early).protection).toBe('unknown');
});

test('a replica that was spared counts as protected for a quarter of an hour', () => {
  const spared = { ...entry, phase: 'wanted', spared: startMs } as const;
  expect(protectionOf(spared, undefined, startMs + 899_000).protection).toBe('yes');
  expect(protectionOf(spared, undefined, startMs + 900_000).protection).toBe('unknown');
  expect(protectionOf(spared, undefined, startMs - 1).protection).toBe('unknown');
});
