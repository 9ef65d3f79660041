import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergePatch, sameValue } from '../../../src/base/index.ts';

/** RFC 7386, part 2. */
function applied(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch;
  const result: Record<string, unknown> = isMap(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = applied(result[name], value);
  }
  return result;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const names = fc.constantFrom('a', 'b', 'c', 'd');
const { tree } = fc.letrec<{ tree: Record<string, unknown> }>((tie) => ({
  tree: fc.dictionary(
    names,
    fc.oneof(
      { depthSize: 'small' },
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.array(fc.oneof(fc.integer(), fc.constant(null), fc.dictionary(names, fc.integer()))),
      tie('tree'),
    ),
  ),
}));

describe('a merge patch', () => {
  test('makes the one out of the other, whatever they are', () => {
    fc.assert(
      fc.property(tree, tree, (previous, next) => {
        const patch = mergePatch(previous, next);
        expect(sameValue(patch === undefined ? previous : applied(previous, patch), next)).toBe(true);
      }),
    );
  });

  test('is not there when nothing has changed', () => {
    fc.assert(
      fc.property(tree, (value) => {
        expect(mergePatch(value, structuredClone(value))).toBeUndefined();
      }),
    );
  });

  test('holds only what has changed', () => {
    const previous = { state: 'running', inner: { kept: 1, moved: 1, gone: 1 }, list: [1, 2] };
    const next = { state: 'running', inner: { kept: 1, moved: 2 }, list: [1, 3], more: true };
    expect(mergePatch(previous, next)).toEqual({ inner: { moved: 2, gone: null }, list: [1, 3], more: true });
  });

  test('takes a member that is undefined for one that is not there', () => {
    expect(mergePatch({ kept: 1, gone: 1 }, { kept: 1, gone: undefined, never: undefined })).toEqual({
      gone: null,
    });
  });
});
