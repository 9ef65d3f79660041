import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/base/index.ts';
import {
  looksLikePlan,
  planFileLimits,
  readPlan,
  sha256,
  writtenPlan,
  type PlanContent,
} from '../../../src/plan-file/index.ts';
import { fileWith, objectWith, step, web } from './support.ts';

const {
  apiVersion: _a,
  kind: _k,
  formatVersion: _f,
  digest: _d,
  ...content
} = fileWith([
  objectWith(web, [step('patch-service', 'image')], { waits: 'Protected', cost: { deltaHourlyMicros: 10 } }),
]);

describe('a plan file', () => {
  test('is read as it was written, in any layout', () => {
    const { text, digest } = writtenPlan(content);
    const expected = { kind: 'read', file: { ...content, digest } };
    expect(readPlan(text)).toMatchObject(expected);
    expect(readPlan(JSON.stringify(JSON.parse(text), null, 4))).toMatchObject(expected);
    expect(looksLikePlan(text)).toBe(true);
  });

  test('has the digest of its content: another one for each difference', () => {
    const others: Partial<PlanContent>[] = [
      { allow: { massChange: true } },
      { expiresAt: '2027-01-01T00:00:00Z' },
      { objects: [] },
      { source: 'other' },
    ];
    const digests = [{}, ...others].map((other) => writtenPlan(Object.assign({}, content, other)).digest);
    expect(new Set(digests).size).toBe(digests.length);
  });

  const { text } = writtenPlan(content);
  const changed = (change: object) => {
    const { digest: _old, ...body } = { ...JSON.parse(text), ...change };
    return JSON.stringify({ ...body, digest: sha256(body) });
  };

  test.each([
    ['was edited', text.replace('patch-service', 'stop-service'), /it was changed after it was made/],
    [
      'has a digest that somebody wrote',
      text.replace(/"digest":"sha256:[0-9a-f]{64}"/, '"digest":"sha256:1"'),
      /was changed/,
    ],
    ['has no digest', JSON.stringify({ ...JSON.parse(text), digest: undefined }), /was changed/],
    ['is cut off', text.slice(0, -20), /it is no JSON/],
    ['is something else', '{"kind": "List"}', /it is no PlanFile/],
    ['is a list', '[]', /it is no PlanFile/],
    ['is of another format', changed({ formatVersion: 2 }), /it has the format version 2/],
    ['has no format', changed({ formatVersion: undefined }), /it is no PlanFile/],
    ['has a field that nobody knows', changed({ hooks: ['rm -rf /'] }), /hooks/],
    [
      'is nested without an end',
      text.replace('"fleet"', '['.repeat(100_000) + ']'.repeat(100_000)),
      /was changed|no JSON/,
    ],
    ['lacks a field', changed({ expiresAt: undefined }), /expiresAt/],
    ['has too many objects', changed({ objects: Array(10_001).fill(content.objects[0]) }), /objects/],
  ])('that %s is refused', (_name, given, message) => {
    expect(readPlan(given)).toEqual({ kind: 'refused', message: expect.stringMatching(message) });
  });

  test('has a bound, and what is beyond is not written', () => {
    const many = Array(planFileLimits.objects + 1).fill(content.objects[0]) as PlanContent['objects'];
    expect(() => writtenPlan({ ...content, objects: many })).toThrow(UserError);
    const large = { ...content, source: 'x'.repeat(planFileLimits.bytes) };
    expect(() => writtenPlan(large)).toThrow(/bytes, and at most/);
  });
});
