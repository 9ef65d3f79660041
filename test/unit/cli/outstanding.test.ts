import { expect, test } from 'vitest';
import { Outstanding } from '../../../src/cli/output/outstanding.ts';
import { objectKey } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';

const first = objectKey('ContainerService', 'default', 'a');
const second = objectKey('ContainerService', 'default', 'b');

/** A store with these two, and the ones of them that are settled. */
function world() {
  const records = new Map([first, second].map((key) => [key, { key } as ObjectRecord]));
  const settled = new Set<string>();
  const store = {
    records: () => records.values(),
    record: (key: ObjectRecord['key']) => records.get(key),
  };
  return { records, settled, outstanding: new Outstanding(store, ({ key }) => settled.has(key)) };
}

test('nothing is outstanding when all are settled, in whatever order they came to it', () => {
  const { settled, outstanding } = world();
  expect(outstanding.isEmpty).toBe(false);
  for (const key of [second, first]) {
    expect(outstanding.isEmpty).toBe(false);
    settled.add(key);
    outstanding.check(key);
  }
  expect(outstanding.isEmpty).toBe(true);
});

test('what was settled may become outstanding again, and what is removed is waited for no longer', () => {
  const { records, settled, outstanding } = world();
  settled.add(first).add(second);
  expect(outstanding.isEmpty).toBe(true);
  settled.delete(first);
  outstanding.check(first);
  expect(outstanding.isEmpty).toBe(false);
  records.delete(first);
  outstanding.check(first);
  expect(outstanding.isEmpty).toBe(true);
});
