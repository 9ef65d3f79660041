import { describe, expect, test } from 'vitest';
import { indexedRow } from '../../../src/read-api/fleet/row.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import {
  ago,
  condition,
  held,
  intentOf,
  ready,
  recordOf,
  startMs,
  waiting,
  type Described,
} from './support.ts';

const key: ObjectKey = 'ContainerService/default/web';

const rowOf = (described: Described, isStale = false) =>
  indexedRow({ record: recordOf(key, described), open: undefined, isStale, createdAt: undefined });

describe('the health of an object', () => {
  test.each([
    ['Healthy', ready],
    ['Working', waiting('Create')],
    ['Waiting', waiting('Provisioning')],
    ['Held', held('UnknownRegion')],
    ['Suspended', held('Paused')],
    ['Suspended', waiting('OutsideWindow')],
    ['Suspended', held('MassChangeBrake')],
    ['Down', [condition('Ready', 'False', 'ProbeFailed')]],
    ['Unknown', [condition('Ready', 'Unknown', 'AwaitingObservation')]],
    ['Unknown', []],
  ])('%s: %j', (health, conditions) => {
    expect(rowOf({ conditions }).row.health).toBe(health);
  });

  test('what is being deleted is Deleting, unless that is held up', () => {
    const deletionRequestedAt = startMs;
    expect(rowOf({ deletionRequestedAt, conditions: waiting('Deleting') }).row.health).toBe('Deleting');
    expect(rowOf({ deletionRequestedAt, conditions: held('DataLossUnconfirmed') }).row.health).toBe('Held');
  });

  test('of an account that is not read, nothing is Healthy, and what a person keeps is still Suspended (GI6)', () => {
    expect(rowOf({ conditions: ready }, true).row.health).toBe('Stale');
    expect(rowOf({ conditions: held('Paused') }, true).row.health).toBe('Suspended');
    expect(rowOf({ conditions: held('UnknownRegion') }, true).row.health).toBe('Held');
  });
});

describe('the sentence', () => {
  test('names what is awaited, since when, the next attempt, and places that are full', () => {
    const record = recordOf('ServiceFleet/default/llm', {
      conditions: waiting('CapacityUnavailable', {
        message: 'no capacity in europe.',
        lastTransitionTime: ago(1680),
      }),
      status: {
        geography: 'europe',
        placement: ['Scarce', 'Scarce', 'Scarce', 'Used'].map((state) => ({
          candidate: 'c',
          replicas: 0,
          state,
        })),
      },
      refusal: {
        fingerprint: 'f',
        generation: 1,
        action: 'create-service',
        status: 503,
        code: 'capacity',
        message: 'no room',
        at: startMs,
        scarcity: {
          demand: 'd',
          failures: 3,
          retryAt: startMs + 60_000,
          reason: 'CapacityUnavailable',
          message: '',
        },
      },
    });
    const { row } = indexedRow({ record, open: undefined, isStale: false, createdAt: undefined });
    expect(row.sentence.text).toBe(
      'Waits since 2026-11-27T13:32:00.000Z for capacity in europe; next attempt 2026-11-27T14:01:00Z; refused 3 times; 3 of 4 candidates are full.',
    );
    expect(row.sentence.answer).toBe('503 capacity: no room');
    expect(row.sentence.parts.filter((part) => 'time' in part)).toEqual([
      { time: '2026-11-27T13:32:00.000Z' },
      { time: '2026-11-27T14:01:00Z' },
    ]);
    expect(row.refusals).toBe(3);
  });

  test('has what is known of capacity where another object was refused for all', () => {
    const message = '8 GPU were refused with 409 capacity_unavailable; trainer asks next for all';
    const { sentence } = rowOf({ conditions: waiting('CapacityUnavailable', { message }) }).row;
    expect([sentence.text, sentence.answer]).toEqual([`Waits since ${ago(600)} for capacity.`, message]);
  });

  test('counts from the reason, and not from the one before it, which the condition had as well', () => {
    const pending = { reason: 'Provisioning', since: startMs };
    const report = { ready: undefined, pending, drift: [], linked: [], reconcileAt: undefined };
    const { row, sinceMs } = rowOf({ conditions: waiting('Provisioning'), report });
    expect([row.since, sinceMs]).toEqual(['2026-11-27T14:00:00Z', startMs]);
    expect(rowOf({ conditions: waiting('Expanding'), report }).row.since).toBe(ago(600));
  });

  test('names when an unknown outcome counts as stalled', () => {
    const conditions = [
      ...waiting('OutcomeUnknown'),
      condition('OutcomeUnknown', 'True', 'AwaitingEvidence'),
    ];
    const open = intentOf(key, { outcome: 'unknown', createdAt: startMs });
    const { row } = indexedRow({
      record: recordOf(key, { conditions }),
      open,
      isStale: false,
      createdAt: undefined,
    });
    expect(row.sentence.text).toContain('it counts as stalled (OutcomeUnknown) 2026-11-27T14:10:00Z');
  });

  test('is one line, of bounded length, whatever others have written', () => {
    const message = `<script>\u202e\n${'x'.repeat(10_000)}`;
    const { text } = rowOf({ conditions: held('Refused', { message }) }).row.sentence;
    expect(text).not.toMatch(/[\n\u202e]/);
    expect(text.length).toBeLessThan(600);
  });
});

test('an object without a place at the provider has the one that its document wants', () => {
  const { row } = rowOf({ spec: { region: 'standard', geography: 'europe' }, account: undefined });
  expect([row.region, row.geography, row.account]).toEqual(['standard', 'europe', 'default/default']);
});
