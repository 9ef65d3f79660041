import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { meaningOf, type Refused } from '../../../../src/api/index.ts';
import { Sensitive, systemRandom } from '../../../../src/base/index.ts';
import { nextScarcity, stillScarce } from '../../../../src/engine/mutation/index.ts';
import type { Action } from '../../../../src/engine/plan/index.ts';
import type { ObjectRecord } from '../../../../src/state/index.ts';
import { aRecord, owner, serviceId, serviceKey } from '../../../support/plan.ts';

const { digestKey } = owner;
const noon = Date.UTC(2026, 0, 1, 12);
const minuteMs = 60_000;

function creation(more: Readonly<Record<string, unknown>> = {}): Action {
  const resources = { gpuCount: 1, cpu: 8, memoryGb: 32 };
  const body = { name: 'trainer', region: 'standard', image: 'a:1', resources, ...more };
  return { do: 'create-service', body, environment: new Sensitive({}) };
}

function refusalOf(code: string, status = 409, retryAfterMs?: number): Refused {
  const meaning = meaningOf({ status, code, message: 'no' });
  return { kind: 'refused', status, code, message: 'no', meaning, retryAfterMs };
}

/** The record after `action` was refused so. */
function refused(
  record: ObjectRecord,
  action: Action,
  { wallMs = noon, fraction = 1, refusal = refusalOf('capacity_unavailable') } = {},
): ObjectRecord {
  const random = { ...systemRandom, fraction: () => fraction };
  const scarcity = nextScarcity(record, action, refusal, { digestKey, random, wallMs });
  const { status, code, message } = refusal;
  const rest = { fingerprint: 'f', generation: 1, action: action.do, at: wallMs };
  return { ...record, refusal: { ...rest, status, code, message, scarcity } };
}

const fresh = aRecord(serviceKey);
const leftMs = (record: ObjectRecord, action: Action, wallMs: number) =>
  stillScarce(record, action, digestKey, wallMs)?.leftMs;

describe('what the provider has too little of', () => {
  // COVERAGE 48
  test('is asked for again after 10 s, 20 s, 40 s and so on, up to ten minutes', () => {
    const pauses: number[] = [];
    let record = fresh;
    let wallMs = noon;
    for (let attempt = 0; attempt < 9; attempt += 1) {
      record = refused(record, creation(), { wallMs });
      pauses.push(leftMs(record, creation(), wallMs) ?? 0);
      wallMs += pauses.at(-1) ?? 0;
      expect(leftMs(record, creation(), wallMs)).toBeUndefined();
    }
    expect(pauses).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600].map((seconds) => seconds * 1000));
  });

  test.each(['capacity_unavailable', 'insufficient_funds', 'limit_reached'])(
    '%s is such a refusal',
    (code) => {
      const record = refused(fresh, creation(), { refusal: refusalOf(code) });
      expect(leftMs(record, creation(), noon)).toBe(10_000);
    },
  );

  test.each([
    [409, 'revision_conflict'],
    [400, 'invalid_request'],
    [503, 'unavailable'],
  ])('%d %s is not', (status, code) => {
    expect(
      refused(fresh, creation(), { refusal: refusalOf(code, status) }).refusal?.scarcity,
    ).toBeUndefined();
  });

  test('the count goes on although another refusal came between', () => {
    const twice = refused(refused(fresh, creation()), creation(), { wallMs: noon + minuteMs });
    const between = refused(twice, creation(), {
      refusal: refusalOf('unavailable', 503),
      wallMs: noon + minuteMs,
    });
    const third = refused(between, creation(), { wallMs: noon + 2 * minuteMs });
    expect(third.refusal?.scarcity?.failures).toBe(3);
  });

  test('a pause of before the clock was set back does not live on with a refusal of another kind', () => {
    const ahead = refused(fresh, creation(), { wallMs: noon + 60 * minuteMs });
    const after = refused(ahead, creation(), { refusal: refusalOf('unavailable', 503), wallMs: noon });
    expect(leftMs(after, creation(), noon + 1000)).toBeUndefined();
  });

  test.each([
    ['another image', { image: 'b:2' }],
    ['another command', { command: ['x'] }],
    ['another port', { httpPort: 80 }],
    ['another name', { name: 'y' }],
  ])('an edit to %s does not make it ask sooner', (_, more) => {
    expect(leftMs(refused(fresh, creation()), creation(more), noon + 1000)).toBe(9000);
  });

  test.each([
    ['another region', { region: 'economy' }],
    ['another geography', { geography: 'asia' }],
    ['fewer GPUs', { resources: { gpuCount: 0, cpu: 8, memoryGb: 32 } }],
  ])('%s is another question, and asked at once', (_, more) => {
    expect(leftMs(refused(fresh, creation()), creation(more), noon + 1000)).toBeUndefined();
  });

  test('a start that was refused keeps that start back, and not a stop', () => {
    const start: Action = { do: 'start-service', id: serviceId };
    const record = refused(fresh, start);
    expect(leftMs(record, start, noon)).toBe(10_000);
    expect(leftMs(record, { do: 'stop-service', id: serviceId }, noon)).toBeUndefined();
  });

  test('Retry-After is kept, also when it is longer', () => {
    const record = refused(fresh, creation(), { refusal: refusalOf('capacity_unavailable', 409, 30_000) });
    expect(leftMs(record, creation(), noon)).toBe(30_000);
  });

  test('a wall clock that was set back does not make it wait until that time has come again', () => {
    const record = refused(fresh, creation());
    expect(leftMs(record, creation(), noon - 24 * 60 * minuteMs)).toBeUndefined();
  });

  test('records of older versions, which say nothing of it, hold nothing back', () => {
    const refusal = {
      fingerprint: 'f',
      generation: 1,
      action: 'create-service',
      status: 409,
      code: 'capacity_unavailable',
      message: '',
      at: noon,
    };
    expect(leftMs({ ...fresh, refusal }, creation(), noon)).toBeUndefined();
  });

  test('law: however often the document is edited, an hour sees at most thirteen requests', () => {
    const edits = fc.array(fc.record({ image: fc.string(), afterMs: fc.integer({ min: 1, max: 20_000 }) }), {
      maxLength: 400,
    });
    fc.assert(
      fc.property(edits, (list) => {
        let record = fresh;
        let wallMs = noon;
        let sent = 0;
        for (const { image, afterMs } of list) {
          wallMs += afterMs;
          if (wallMs > noon + 60 * minuteMs) break;
          if (leftMs(record, creation({ image }), wallMs) !== undefined) continue;
          record = refused(record, creation({ image }), { wallMs, fraction: 0.5 });
          sent += 1;
        }
        expect(sent).toBeLessThanOrEqual(13);
      }),
    );
  });
});
