import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VersionedMap } from '../../../src/base/index.ts';

interface Thing {
  readonly name: string;
  readonly terms: readonly string[];
}

type Model = ReadonlyMap<string, Thing>;
type Things = VersionedMap<string, Thing>;

const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
const anyKey = fc.constantFrom(...keys);
const anyThing = fc.record({
  name: fc.constantFrom('one', 'two', 'three'),
  terms: fc.uniqueArray(fc.constantFrom('red', 'green', 'blue')),
});
const anyChange = fc.tuple(anyKey, fc.option(anyThing, { nil: undefined }));
/** Which earlier version a step begins with, counted from the newest one; mostly that one. */
const anyBase = fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.nat(8));
const anyStep = fc.record({
  base: anyBase,
  changes: fc.array(anyChange, { maxLength: 4 }),
  isWhole: fc.boolean(),
  /** Whether the versions are asked in between. */
  isAsked: fc.boolean(),
});

function changed(model: Model, changes: Iterable<readonly [string, Thing | undefined]>): Model {
  const next = new Map(model);
  for (const [key, thing] of changes) {
    if (thing) next.set(key, thing);
    else next.delete(key);
  }
  return next;
}

function sorted<Value>(entries: Iterable<readonly [string, Value]>): (readonly [string, Value])[] {
  return [...entries].toSorted(([left], [right]) => (left < right ? -1 : 1));
}

function groupsOf(model: Model): Record<string, string[]> {
  const groups: Record<string, string[]> = {};
  for (const [key, { terms }] of sorted(model)) for (const term of terms) (groups[term] ??= []).push(key);
  return groups;
}

function compare(version: Things, model: Model): void {
  expect(sorted(version)).toEqual(sorted(model));
  expect([version.size, [...version.keys()].length]).toEqual([model.size, model.size]);
  for (const key of keys) expect(version.get(key)).toBe(model.get(key));
  for (const key of keys) expect(version.has(key)).toBe(model.has(key));
  const terms = [...version.terms()].map(([term, group]) => [term, [...group.keys()].toSorted()] as const);
  expect(Object.fromEntries(terms)).toEqual(groupsOf(model));
  for (const term of ['red', 'green', 'blue'])
    expect([...version.withTerm(term)].toSorted()).toEqual(groupsOf(model)[term] ?? []);
}

function differing(left: Model, right: Model): string[] {
  return keys.filter((key) => left.get(key) !== right.get(key));
}

describe('a map with versions', () => {
  test('law: every version stays as it was made, its index, too, and knows in what it differs from any other of its line', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 12 }), fc.boolean(), (steps, isIndexed) => {
        const made: { version: Things; model: Model; line: number }[] = [
          { version: VersionedMap.of<string, Thing>([], ({ terms }) => terms), model: new Map(), line: 0 },
        ];
        if (isIndexed) made[0]?.version.terms();
        let lines = 1;
        for (const { base, changes, isWhole, isAsked } of steps) {
          const index = Math.max(0, made.length - 1 - base);
          const before = made[index];
          if (!before) throw new Error('no version');
          const model = changed(before.model, changes);
          const version = isWhole ? before.version.become(model) : before.version.with(changes);
          const isSame = sorted(model).every(([key, thing]) => before.model.get(key) === thing);
          expect(version === before.version).toBe(isSame && model.size === before.model.size);
          if (version === before.version) continue;
          // Made of one that is not the newest of its line: a copy.
          const isNewest = made.findLastIndex(({ line }) => line === before.line) === index;
          made.push({ version, model, line: isNewest ? before.line : lines++ });
          if (isAsked) for (const each of made) compare(each.version, each.model);
        }
        for (const each of made) {
          compare(each.version, each.model);
          for (const other of made) {
            const reported = each.version.changedSince(other.version);
            const full = each.line === other.line ? differing(each.model, other.model) : 'all';
            expect(reported === 'all' ? reported : [...reported].toSorted()).toEqual(full);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test('a walk over a version sees that one to its end, also when the next one is made meanwhile', () => {
    const first = VersionedMap.of(keys.map((key) => [key, { key }]));
    const seen: string[] = [];
    let current = first;
    for (const [key, value] of first) {
      current = current.with([
        ['f', { key: 'new' }],
        [key, undefined],
      ]);
      seen.push(value.key);
    }
    expect(seen).toEqual(keys);
    expect([first.size, current.size]).toEqual([6, 0]);
  });

  test('a version that is held while thousands follow it is asked as fast as the newest one', () => {
    const first = VersionedMap.of([['a', { name: 'a' }]]);
    let current = first;
    for (let count = 0; count < 100_000; count += 1) current = current.with([['a', { name: String(count) }]]);
    expect(first.get('a')).toEqual({ name: 'a' });
    expect(first.changedSince(current)).toEqual(new Set(['a']));
  });
});
