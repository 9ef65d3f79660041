/** What keys do in a tree, as the tree pattern of WAI-ARIA has it. */
import { expect, test } from 'vitest';
import { TreeFocus, type ShownItem, type TreeAction } from '../../src/page/tree-focus.ts';

const item = (id: string, parent: string | null, more: Partial<ShownItem> = {}): ShownItem => ({
  id,
  parent,
  name: id,
  canUnfold: false,
  isOpen: false,
  ...more,
});

/** An account with a fleet of two replicas, a folded one, and a volume; then an account that is folded. */
const items = [
  item('acme', null, { canUnfold: true, isOpen: true }),
  item('checkout', 'acme', { canUnfold: true, isOpen: true }),
  item('checkout-0', 'checkout'),
  item('checkout-1', 'checkout'),
  item('web', 'acme', { canUnfold: true }),
  item('models', 'acme'),
  item('zeta', null, { canUnfold: true }),
];

/** Presses keys one after the other, each 100 ms later; returns where the focus is then, or what the last one did. */
function after(from: string, ...keys: string[]): string | undefined {
  const focus = new TreeFocus();
  focus.focused(from);
  let done: TreeAction | undefined;
  for (const [index, key] of keys.entries()) {
    done = focus.press(key, 100 * index, items);
    const at = done?.is === 'focus' ? items[done.index] : undefined;
    if (at) focus.focused(at.id);
  }
  const now = items[focus.indexIn(items)]?.id;
  return done?.is === 'fold' ? `fold ${items[done.index]?.id}` : done && now;
}

test.each([
  ['acme', 'ArrowDown', 'checkout'],
  ['zeta', 'ArrowDown', undefined],
  ['web', 'ArrowUp', 'checkout-1'],
  ['acme', 'ArrowUp', undefined],
  ['models', 'Home', 'acme'],
  ['acme', 'End', 'zeta'],
  ['web', 'ArrowRight', 'fold web'],
  ['checkout', 'ArrowRight', 'checkout-0'],
  ['models', 'ArrowRight', undefined],
  ['checkout', 'ArrowLeft', 'fold checkout'],
  ['checkout-1', 'ArrowLeft', 'checkout'],
  ['web', 'ArrowLeft', 'acme'],
  ['zeta', 'ArrowLeft', undefined],
  ['acme', 'w', 'web'],
  ['acme', 'W', 'web'],
  ['zeta', 'a', 'acme'],
  ['web', 'w', 'web'],
  ['acme', 'x', undefined],
  ['acme', 'Enter', undefined],
  ['acme', 'Tab', undefined],
  ['acme', ' ', undefined],
  ['acme', '/', undefined],
])('on %s, %s leads to %s', (from, key, expected) => {
  expect(after(from, key)).toBe(expected);
});

test('what is typed at once is the begin of a name; after a pause, it begins anew', () => {
  expect(after('acme', 'c', 'h', 'e')).toBe('checkout');
  expect(after('acme', ...'checkout-1'.split(''))).toBe('checkout-1');
  // The next one with the same letter.
  const focus = new TreeFocus();
  focus.focused('checkout');
  expect(focus.press('c', 0, items)).toEqual({ is: 'focus', index: 2 });
  focus.focused('checkout-0');
  expect(focus.press('c', 1000, items)).toEqual({ is: 'focus', index: 3 });
});

test('Tab leads to the item that had the focus last, or to the first one when that is not shown any more', () => {
  const focus = new TreeFocus();
  expect(focus.indexIn(items)).toBe(0);
  focus.focused('models');
  expect(focus.indexIn(items)).toBe(5);
  expect(focus.indexIn(items.slice(0, 2))).toBe(0);
  expect(focus.press('Home', 0, [])).toBeUndefined();
});
