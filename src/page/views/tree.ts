/** Accounts, fleets, replicas, volumes and tasks. A folded node shows the worst state below it, and how many have it. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { counted } from '../format.ts';
import { healthState, tones } from '../parts/health.ts';
import { objectHref } from '../parts/links.ts';
import { folded, unfolded } from '../parts/marks.ts';
import { breakable, state } from '../parts/texts.ts';
import { linkTo } from '../route.ts';
import type { TreeNode } from '../shapes.ts';

export interface TreeModel {
  readonly nodes: readonly TreeNode[];
  readonly omitted: number;
  readonly isUnfolded: (node: TreeNode) => boolean;
  readonly onFold: (node: TreeNode) => void;
}

export function treeView(model: TreeModel): TemplateResult {
  const { nodes, omitted } = model;
  const ids = new Set(nodes.map(({ id }) => id));
  const below = new Map<string | null, TreeNode[]>();
  for (const node of nodes) {
    const parent = node.parent !== null && ids.has(node.parent) ? node.parent : null;
    below.set(parent, [...(below.get(parent) ?? []), node]);
  }
  const top = below.get(null) ?? [];
  return html`
    <header class="top">
      <div>
        <h1>Tree</h1>
        <p>By account. A folded row shows the worst state below it.</p>
      </div>
    </header>
    <section class="panel tree" aria-label="Tree">
      ${
        top.length === 0
          ? html`<div class="empty"><strong>There is no object yet</strong></div>`
          : html`<ul>
              ${branches(top, below, model)}
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

function branches(
  nodes: readonly TreeNode[],
  below: ReadonlyMap<string | null, readonly TreeNode[]>,
  model: TreeModel,
): unknown {
  return repeat(
    nodes,
    ({ id }) => id,
    (node) => {
      const children = below.get(node.id) ?? [];
      const isOpen = children.length > 0 && model.isUnfolded(node);
      return html`<li>
        ${row(node, children.length > 0, isOpen, model)}
        ${
          isOpen
            ? html`<ul>
                ${branches(children, below, model)}
              </ul>`
            : nothing
        }
      </li>`;
    },
  );
}

function row(node: TreeNode, canUnfold: boolean, isOpen: boolean, { onFold }: TreeModel): TemplateResult {
  const { kind, name, children, reason, sentence } = node;
  return html`<div class="row">
    ${
      canUnfold
        ? html`<button
            type="button"
            aria-expanded=${isOpen}
            aria-label=${`${name}: ${counted(children, 'part')}`}
            @click=${() => onFold(node)}
          >
            ${isOpen ? unfolded : folded}
          </button>`
        : html`<span></span>`
    }
    <span class="name"
      >${nameOf(node)}
      <span class="muted small">${kind}</span>
      ${children > 0 && !canUnfold ? html`<span class="muted small">${counted(children, 'part')}</span>` : nothing}</span
    >
    <span>${isOpen ? healthState(node.health) : worst(node)}</span>
    <span class="muted small" title=${sentence}>${breakable(reason)}</span>
  </div>`;
}

/** The namespace is the quiet part of a name. */
function nameOf(node: TreeNode): TemplateResult {
  const [namespace = '', ...rest] = node.name.split('/');
  const name = rest.join('/');
  return name === ''
    ? html`<a href=${hrefOf(node)}>${node.name}</a>`
    : html`<a href=${hrefOf(node)}><span class="muted">${namespace}/</span>${name}</a>`;
}

function worst({ worst: health, worstCount, children }: TreeNode): TemplateResult {
  return state(tones[health], children > 0 && worstCount > 1 ? `${worstCount} ${health}` : health);
}

function hrefOf({ id, hasReplicas }: TreeNode): string {
  const account = id.startsWith('account:') ? id.slice('account:'.length) : undefined;
  return account === undefined ? objectHref(id, hasReplicas) : linkTo(['objects'], { account });
}
