/** Accounts, fleets, replicas, volumes and tasks. A folded node shows the worst state below it, and how many have it. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { counted } from '../format.ts';
import { healthState, tones } from '../parts/health.ts';
import { objectHref } from '../parts/links.ts';
import { folded, unfolded } from '../parts/marks.ts';
import { state, withTimes, type Now } from '../parts/texts.ts';
import { linkTo } from '../route.ts';
import type { TreeNode } from '../shapes.ts';
import type { ShownItem, TreeFocus } from '../tree-focus.ts';

export interface TreeModel {
  readonly nodes: readonly TreeNode[];
  readonly omitted: number;
  readonly isUnfolded: (node: TreeNode) => boolean;
  readonly onFold: (node: TreeNode) => void;
  readonly treeFocus: TreeFocus;
  readonly now: Now;
  /** An item has got the focus. */
  readonly onReach: (node: TreeNode) => void;
}

/** A node in the order of the screen, with its place among those beside it. */
interface Item extends ShownItem {
  readonly node: TreeNode;
  readonly level: number;
  readonly position: number;
  readonly size: number;
}

export function treeView(model: TreeModel): TemplateResult {
  const { nodes, omitted } = model;
  const items = itemsOf(nodes, model);
  return html`
    <header class="top">
      <div>
        <h1>Tree</h1>
        <p>By account. A folded row shows the worst state below it.</p>
      </div>
    </header>
    <section class="panel tree" aria-label="Tree">
      ${
        items.length === 0
          ? html`<div class="empty"><strong>There is no object yet</strong></div>`
          : html`<ul
              role="tree"
              aria-label="Accounts and what is in them"
              @keydown=${(event: KeyboardEvent) => press(event, items, model)}
            >
              ${branches(null, items, model)}
            </ul>`
      }
      ${
        omitted > 0
          ? html`<div class="body muted">
              ${counted(omitted, 'node')} more are not shown; the <a href=${linkTo(['objects'])}>list</a> has
              all.
            </div>`
          : nothing
      }
    </section>
  `;
}

/** Those that are shown. What has no parent here is at the top. */
function itemsOf(nodes: readonly TreeNode[], { isUnfolded }: TreeModel): Item[] {
  const ids = new Set(nodes.map(({ id }) => id));
  const below = Map.groupBy(nodes, ({ parent }) => (parent !== null && ids.has(parent) ? parent : null));
  const items: Item[] = [];
  const add = (parent: string | null, level: number) => {
    const beside = below.get(parent) ?? [];
    for (const [index, node] of beside.entries()) {
      const { id } = node;
      const canUnfold = below.has(id);
      const isOpen = canUnfold && isUnfolded(node);
      const name = ownName(node);
      items.push({
        id,
        node,
        parent,
        name,
        canUnfold,
        isOpen,
        level,
        position: index + 1,
        size: beside.length,
      });
      if (isOpen) add(id, level + 1);
    }
  };
  add(null, 1);
  return items;
}

function press(event: KeyboardEvent, items: readonly Item[], { treeFocus, onFold }: TreeModel): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = treeFocus.press(event.key, event.timeStamp, items);
  if (!action) return;
  event.preventDefault();
  const item = items[action.index];
  if (action.is === 'fold') {
    if (item) onFold(item.node);
    return;
  }
  const tree = event.currentTarget as HTMLElement;
  tree.querySelectorAll<HTMLElement>('[role=treeitem]')[action.index]?.focus();
}

function branches(parent: string | null, items: readonly Item[], model: TreeModel): unknown {
  const current = items[model.treeFocus.indexIn(items)];
  return repeat(
    items.filter((item) => item.parent === parent),
    ({ id }) => id,
    (item) => {
      const group = `below-${items.indexOf(item)}`;
      return html`<li role="none">
        ${row(item, item === current, group, model)}
        ${
          item.isOpen
            ? html`<ul role="group" id=${group}>
                ${branches(item.id, items, model)}
              </ul>`
            : nothing
        }
      </li>`;
    },
  );
}

function row(
  { node, parent, canUnfold, isOpen, level, position, size }: Item,
  isCurrent: boolean,
  group: string,
  { onFold, onReach, now }: TreeModel,
): TemplateResult {
  const { kind, children, reason, sentence, health } = node;
  const fold = (event: Event) => {
    event.preventDefault();
    onFold(node);
  };
  return html`<a
    class="row"
    role="treeitem"
    href=${hrefOf(node)}
    tabindex=${isCurrent ? 0 : -1}
    aria-level=${level}
    aria-posinset=${position}
    aria-setsize=${size}
    aria-expanded=${canUnfold ? isOpen : nothing}
    aria-owns=${isOpen ? group : nothing}
    @focus=${() => onReach(node)}
  >
    ${canUnfold ? html`<span class="fold" @click=${fold}>${isOpen ? unfolded : folded}</span>` : html`<span></span>`}
    <span class="name"
      >${nameOf(node, parent)}
      <span class="muted small">${kind}</span>
      ${children > 0 && !canUnfold ? html`<span class="muted small">${counted(children, 'part')}</span>` : nothing}</span
    >
    <span>${isOpen ? healthState(node.health) : worst(node)}</span>
    <span class="muted small why ${health === 'Healthy' ? 'well' : ''}" title=${sentence}
      >${reason}${health === 'Healthy' ? nothing : html`: ${withTimes(sentence, now)}`}</span
    >
  </a>`;
}

/** Without the namespace. */
function ownName({ name }: TreeNode): string {
  return name.slice(name.indexOf('/') + 1);
}

/** The namespace is the quiet part of a name, and left out below what is in the same one. */
function nameOf(node: TreeNode, parent: string | null): TemplateResult {
  const own = ownName(node);
  const isSame = parent !== null && namespaceOf(parent) === namespaceOf(node.id);
  const namespace = isSame ? '' : node.name.slice(0, node.name.length - own.length);
  return html`${namespace === '' ? nothing : html`<span class="muted">${namespace}</span>`}<span class="link"
      >${own}</span
    >`;
}

/** Of KIND/NAMESPACE/NAME, or of account:NAMESPACE/NAME. */
const namespaceOf = (id: string) => id.split(/[:/]/)[1] ?? '';

function worst({ worst: health, worstCount, children }: TreeNode): TemplateResult {
  return state(tones[health], children > 0 && worstCount > 1 ? `${worstCount} ${health}` : health);
}

function hrefOf({ id, hasReplicas }: TreeNode): string {
  const account = id.startsWith('account:') ? id.slice('account:'.length) : undefined;
  return account === undefined ? objectHref(id, hasReplicas) : linkTo(['objects'], { account });
}
