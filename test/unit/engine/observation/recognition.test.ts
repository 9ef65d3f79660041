/** What an account read shows without its marks: found out once for all objects that are to be created. */
import { expect, test } from 'vitest';
import { unmarked, type AnyThings, type AnyView } from '../../../../src/engine/observation/recognition.ts';
import type { AnyRemote } from '../../../../src/engine/kind.ts';
import type { AccountSnapshot } from '../../../../src/observed/index.ts';

const items = new Map(['marked', 'alpha', 'beta'].map((id) => [id, { id, name: id }]));
const snapshot = {} as AccountSnapshot;

function viewOf(name: string, known: readonly string[] = []): AnyView {
  const store = { recordOf: (id: string) => (known.includes(id) ? {} : undefined) };
  return { object: { name }, store } as unknown as AnyView;
}

test('each thing of a read is looked at once, however many objects ask', () => {
  const looked: string[] = [];
  const things = {
    listing: () => ({ kind: 'read', items }),
    hidesMarks: ({ id }: AnyRemote) => looked.push(id) > 0 && id !== 'marked',
    isNamedLike: ({ id }: AnyRemote, { object }: AnyView) => id === object.name,
  } as unknown as AnyThings;
  const found = ['marked', 'alpha', 'beta'].map((name) => unmarked(things, viewOf(name), snapshot));
  expect(found).toEqual([[], ['alpha'], ['beta']]);
  expect(unmarked(things, viewOf('alpha', ['alpha']), snapshot)).toEqual([]);
  expect(looked).toEqual(['marked', 'alpha', 'beta']);
});
