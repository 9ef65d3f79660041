/**
 * Which item of a tree has the focus, and what a key does there, as the tree pattern of WAI-ARIA has it. One item can be reached with Tab;
 * the others with the keys below. Nothing here touches the document.
 *
 * | key                   | what it does                                                                       |
 * |-----------------------|------------------------------------------------------------------------------------|
 * | Down, Up              | the next item that is shown, the one before                                        |
 * | Right                 | unfolds; of an unfolded one, its first child                                       |
 * | Left                  | folds; of a folded one, its parent                                                 |
 * | Home, End             | the first item, the last one that is shown                                         |
 * | letters and digits    | the next item whose name begins with what was typed within half a second           |
 * | Enter                 | follows its link, as the browser does it                                           |
 */

/** An item that is shown, in the order of the screen. */
export interface ShownItem {
  readonly id: string;
  readonly parent: string | null;
  readonly name: string;
  readonly canUnfold: boolean;
  readonly isOpen: boolean;
}

export type TreeAction =
  | { readonly is: 'focus'; readonly index: number }
  /** Folds, or unfolds. */
  | { readonly is: 'fold'; readonly index: number };

const typingMs = 500;

export class TreeFocus {
  #id: string | undefined;
  #typed = '';
  #typedAtMs = -Infinity;

  /** Of the item that Tab leads to. One that is not shown any more leaves that to the first. */
  indexIn(items: readonly ShownItem[]): number {
    return Math.max(
      0,
      items.findIndex(({ id }) => id === this.#id),
    );
  }

  focused(id: string): void {
    this.#id = id;
  }

  /** Undefined: the key means nothing here. `atMs`: monotonic. */
  press(key: string, atMs: number, items: readonly ShownItem[]): TreeAction | undefined {
    const at = this.indexIn(items);
    const item = items[at];
    if (!item) return undefined;
    const target = this.#target(key, atMs, at, item, items);
    if (target === 'fold') return { is: 'fold', index: at };
    return target === undefined || !items[target] ? undefined : { is: 'focus', index: target };
  }

  #target(
    key: string,
    atMs: number,
    at: number,
    { id, parent, canUnfold, isOpen }: ShownItem,
    items: readonly ShownItem[],
  ): number | 'fold' | undefined {
    switch (key) {
      case 'ArrowDown':
        return at + 1;
      case 'ArrowUp':
        return at - 1;
      case 'Home':
        return 0;
      case 'End':
        return items.length - 1;
      case 'ArrowRight':
        if (canUnfold && !isOpen) return 'fold';
        return items[at + 1]?.parent === id ? at + 1 : undefined;
      case 'ArrowLeft':
        if (canUnfold && isOpen) return 'fold';
        return items.findIndex((each) => each.id === parent);
      default:
        return this.#typedTarget(key, atMs, at, items);
    }
  }

  #typedTarget(key: string, atMs: number, at: number, items: readonly ShownItem[]): number | undefined {
    const isContinued = atMs - this.#typedAtMs < typingMs && this.#typed !== '';
    if (!(isContinued ? /^[^\s/]$/u : /^[\p{L}\p{N}]$/u).test(key)) return undefined;
    this.#typed = isContinued ? this.#typed + key.toLowerCase() : key.toLowerCase();
    this.#typedAtMs = atMs;
    // What is typed on may still be the same item; a new letter leads to another one.
    const from = isContinued ? at : at + 1;
    const order = [...items.keys()].map((step) => (from + step) % items.length);
    return order.find((index) => items[index]?.name.toLowerCase().startsWith(this.#typed));
  }
}
