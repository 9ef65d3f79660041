/** Work of many namespaces, in turn. */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { SharedTurns } from '../../../src/api/shared-turns.ts';

/** Work that ends when it is let go. */
class Held {
  readonly begun: string[] = [];
  readonly #ends = new Map<string, () => void>();

  work(name: string): () => Promise<void> {
    return () =>
      new Promise((resolve) => {
        this.begun.push(name);
        this.#ends.set(name, resolve);
      });
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.();
    await setImmediate();
  }
}

test('a namespace has as many places as one may have, and others have the rest', async () => {
  const turns = new SharedTurns({ inOne: 2, inAll: 3 });
  const held = new Held();
  for (const name of ['a1', 'a2', 'a3', 'b1']) void turns.run(name.slice(0, 1), held.work(name));
  await setImmediate();
  expect(held.begun).toEqual(['a1', 'a2', 'b1']);
  await held.end('a1');
  expect(held.begun).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('a free place is for the namespace that has fewest', async () => {
  const turns = new SharedTurns({ inOne: 3, inAll: 3 });
  const held = new Held();
  for (const name of ['a1', 'a2', 'b1', 'a3', 'b2', 'c1']) void turns.run(name.slice(0, 1), held.work(name));
  await setImmediate();
  await held.end('a1');
  await held.end('a2');
  await held.end('b1');
  expect(held.begun).toEqual(['a1', 'a2', 'b1', 'c1', 'b2', 'a3']);
});

test('within a namespace, what has priority begins first', async () => {
  const turns = new SharedTurns({ inOne: 1, inAll: 3 });
  const held = new Held();
  void turns.run('a', held.work('first'));
  void turns.run('a', held.work('second'));
  void turns.run('a', held.work('urgent'), 1);
  await setImmediate();
  await held.end('first');
  expect(held.begun).toEqual(['first', 'urgent']);
});
