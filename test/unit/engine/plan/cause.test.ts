import { expect, test } from 'vitest';
import {
  type Difference,
  describeCause,
  inSync,
  newDrift,
  nothingVisible,
  withCauses,
} from '../../../../src/engine/plan/index.ts';
import { aService, aSpec, servicePlan, serviceId } from '../../../support/plan.ts';

const at = 1_000_000;
const baseline = { id: serviceId, revision: 5, state: 'running', at };
const event = (message: string, created_at: number) => ({ message, created_at });
const quiet = { baseline, revision: 7, sinceMs: undefined };

// COVERAGE 13
test('a cause is what happened since the object was last as desired, the oldest first', () => {
  const events = [
    event('running', at + 20),
    event('patched by bob: image', at + 10),
    event('created by alice', at - 50),
  ];
  expect(describeCause(events, quiet, [])).toBe('patched by bob: image; running');
});

test('where the two clocks disagree, it is as many of the newest events as the revision has moved by', () => {
  const events = [event('running', 20), event('patched by bob: image', 10), event('created by alice', 5)];
  expect(describeCause(events, quiet, [])).toBe('patched by bob: image; running');
});

test('without a baseline, what is younger than our last mutation, or the newest one', () => {
  const events = [
    event('paused', at + 20),
    event('stop requested by bob', at + 10),
    event('running', at - 5),
  ];
  const window = { baseline: undefined, revision: 7, sinceMs: at };
  expect(describeCause(events, window, [])).toBe('stop requested by bob; paused');
  expect(describeCause(events, { ...window, sinceMs: undefined }, [])).toBe('paused');
});

test('no events, or empty ones, are no cause', () => {
  expect(describeCause([], quiet, [])).toBeUndefined();
  expect(describeCause([event('', at), event('\u0007\n', at)], quiet, [])).toBeUndefined();
});

test('it is bounded: three events, each of one line', () => {
  const events = Array.from({ length: 50 }, (_, index) =>
    event(`step ${index} ${'x'.repeat(500)}`, at + 50 - index),
  );
  const cause = describeCause(events, quiet, []) ?? '';
  expect(cause).toMatch(/^step 49 x+…; step 48 x+…; step 47 x+…; and 47 more$/);
  expect(cause.length).toBeLessThan(400);
});

test('what an event says is data: nothing in it moves a cursor or turns the writing', () => {
  const events = [event('\u001b[2J\u001b]0;title\u0007patched\r\nby \u202ebob\u2066', at)];
  expect(describeCause(events, quiet, [])).toBe('[2J ]0;title patched by  bob');
});

// COVERAGE 13
test('a value of the environment is not repeated, whoever says it', () => {
  const events = [event('TOKEN set to hunter2hunter2', at)];
  expect(describeCause(events, quiet, ['hunter2hunter2', '1'])).toBe('TOKEN set to [redacted]');
});

const drifted = servicePlan({ spec: aSpec({ driftPolicy: 'Report' }), service: aService({ image: 'b:1' }) });
const reported = [{ path: 'image', since: Date.parse('2026-01-01T00:00:00Z'), cause: 'then' }];
const causes = (plan: { differences: readonly Difference[] }) => plan.differences.map(({ cause }) => cause);

test('a drift keeps the cause that was found when it appeared', () => {
  expect(newDrift(drifted, [])).toHaveLength(1);
  expect(newDrift(drifted, reported)).toEqual([]);
  expect(causes(withCauses(drifted, [], 'now'))).toEqual(['now']);
  expect(causes(withCauses(drifted, reported, 'now'))).toEqual(['then']);
});

test('differences of the document have no cause', () => {
  const edited = servicePlan({ spec: aSpec({ image: 'b:2' }), before: aSpec() });
  expect(causes(withCauses(edited, [], 'now'))).toEqual([undefined]);
});

test('of a hidden field, all that can be said without events is that somebody changed it', () => {
  const difference = {
    path: 'image',
    desired: 'a',
    observed: '?',
    drift: true,
    hidden: true,
    revisionMoved: true,
  } as const;
  expect(causes(withCauses(inSync([difference]), [], undefined))).toEqual([nothingVisible]);
});
