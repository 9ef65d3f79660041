import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { ListView } from '../../../src/control-plane/http/list-view.ts';

interface Item {
  readonly id: string;
  readonly accountId: string;
  readonly text: string;
}

/** Records of one account that change, and the view of them. */
function listed(boundBytes?: number) {
  const records = new Map<string, Item[]>();
  let version = 0;
  const collection = { of: (account: string) => records.get(account) ?? [], version: () => version };
  const json = (item: Item) => JSON.stringify({ text: item.text });
  const view = new ListView<Item>(collection, json, boundBytes);
  return {
    set: (items: readonly Item[], account = 'a') => {
      version += 1;
      records.set(account, [...items]);
    },
    buffers: (account = 'a') => view.of(account).buffers,
    texts: (account = 'a') =>
      (JSON.parse(Buffer.concat([...view.of(account).buffers]).toString()) as Item[]).map(({ text }) => text),
    bytes: () => view.of('a').bytes,
  };
}

const item = (text: string): Item => ({ id: randomUUID(), accountId: 'a', text });
const items = (count: number, length = 1) =>
  Array.from({ length: count }, (_, n) => item(`${n} ${'ü'.repeat(length)}`));

test.each([0, 1, 2, 31, 32, 33, 1000])('a list of %s records is JSON of all of them in order', (count) => {
  const list = listed();
  const records = items(count);
  list.set(records);
  expect(list.texts()).toEqual(records.map(({ text }) => text));
  expect(list.bytes()).toBe(Buffer.concat([...list.buffers()]).length);
});

test('a record that changes, comes or goes leaves nearly all pieces as they were', () => {
  const list = listed();
  const records = items(3000);
  list.set(records);
  const before = new Set(list.buffers());
  expect(before.size).toBeGreaterThan(50);
  const newOnes = () => list.buffers().filter((buffer) => !before.has(buffer)).length;
  list.set(records.with(1500, item('changed')));
  expect(newOnes()).toBeLessThanOrEqual(5);
  list.set(records.slice(1));
  expect(newOnes()).toBeLessThanOrEqual(5);
  list.set([...records, item('new')]);
  expect(newOnes()).toBeLessThanOrEqual(5);
  expect(list.texts().at(-1)).toBe('new');
});

test('pieces of large records are small', () => {
  const list = listed();
  list.set(items(100, 20_000));
  expect(Math.max(...list.buffers().map(({ length }) => length))).toBeLessThan(256 * 1024);
});

test('what an answer refers to is not touched by what comes later', () => {
  const list = listed();
  list.set([item('first')]);
  const first = list.buffers();
  list.set([item('second')]);
  list.texts();
  expect(String(Buffer.concat([...first]))).toBe('[{"text":"first"}]');
});

test('beyond the bound the oldest list goes; one that is larger than the bound is served all the same', () => {
  const list = listed(1000);
  for (const account of ['a', 'b', 'c']) list.set([item('.'.repeat(400))], account);
  const [a, b] = [list.buffers('a')[1], list.buffers('b')[1]];
  list.buffers('c');
  expect(list.buffers('b')[1]).toBe(b);
  expect(list.buffers('a')[1]).not.toBe(a);
  list.set([item('.'.repeat(5000))], 'huge');
  expect(list.texts('huge')[0]?.length).toBe(5000);
});
