import { expect, test } from 'vitest';
import { Journal, type JournalEntry } from '../../../src/control-plane/http/journal.ts';

const entry = (path: string, idempotencyKey: string | null = null): JournalEntry => ({
  at: '2026-01-01T00:00:00.000Z',
  account: null,
  method: 'GET',
  path,
  idempotencyKey,
  bodyDigest: null,
  status: null,
});
const paths = (journal: Journal) => journal.list().map(({ path }) => path);

test('the oldest entries make room for new ones, by number', () => {
  const journal = new Journal(3, 1_000_000);
  for (let index = 0; index < 5_000; index += 1) journal.add(entry(`/${index}`));
  expect(paths(journal)).toEqual(['/4997', '/4998', '/4999']);
  journal.clear();
  expect(paths(journal)).toEqual([]);
});

test('and by bytes, however many they are', () => {
  const journal = new Journal(1_000_000, 10_000);
  for (let index = 0; index < 5_000; index += 1) journal.add(entry(`/${index}${'x'.repeat(500)}`));
  expect(paths(journal).length).toBeLessThan(20);
  expect(paths(journal).at(-1)).toMatch(/^\/4999x/);
});

test('paths and keys are cut, and the entry that was added can still be completed', () => {
  const journal = new Journal(3, 1_000_000);
  const added = journal.add(entry('/'.padEnd(16_000, 'x'), 'k'.repeat(16_000)));
  added.status = 404;
  const [kept] = journal.list();
  expect(kept).toMatchObject({ status: 404 });
  expect(kept?.path).toHaveLength(512);
  expect(kept?.idempotencyKey).toHaveLength(512);
});

test('what is cut off does not stay in memory', () => {
  const journal = new Journal(10_000, 64 * 1024 * 1024);
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 5_000; index += 1) {
    const url = Buffer.alloc(16_000, `${index}/`).toString();
    journal.add(entry(url.split('?', 1)[0] ?? ''));
  }
  // With the whole texts it would be 80 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(40_000_000);
});
