/**
 * `/api/v1/tree`: account → fleet → replica → volume, task. A node has counts of all that is below it, and the worst state there. At most 500
 * nodes, worst first on each level; what does not fit is counted. Pure.
 */
import type { z } from 'zod';
import { accountKind, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { rankOf, type Tally } from '../fleet/hierarchy.ts';
import { sees, seesKey } from '../fleet/reader.ts';
import type { tree, treeNode } from '../schemas/answers.ts';
import { healths, type Health, type Row } from '../schemas/parts.ts';
import { absent, shownRow, type Absent, type AnswerContext } from './context.ts';

export type Tree = z.infer<typeof tree>;
type TreeNode = z.infer<typeof treeNode>;
type Context = Pick<AnswerContext, 'index' | 'reader'>;

export const mostNodes = 500;

export interface TreeQuery {
  /** The node that it begins with; undefined: all accounts. */
  readonly root: ObjectKey | undefined;
  readonly depth: number;
}

/** What the reader sees of a node. */
interface Branch {
  readonly key: ObjectKey;
  readonly parent: ObjectKey | null;
  /** Undefined: an account without an object, or one that the reader may not see. */
  readonly row: Row | undefined;
  readonly below: Tally;
  readonly children: number;
  /** In `healths`. */
  readonly worst: number;
}

export function treeOf(context: Context, { root, depth }: TreeQuery): Tree | Absent {
  const roots = root === undefined ? topsOf(context) : [branchOf(context, root, null)];
  if (root !== undefined && !roots.some((branch) => isVisible(branch))) return absent;
  const nodes: TreeNode[] = [];
  let omitted = 0;
  let level = firstOf(roots, mostNodes);
  omitted += roots.length - level.length;
  for (let at = 0; at < depth && level.length > 0; at++) {
    nodes.push(...level.map((branch) => nodeOf(branch, at)));
    if (at + 1 === depth) break;
    let room = mostNodes - nodes.length;
    const next: Branch[] = [];
    for (const branch of level) {
      const shown = room > 0 ? firstOf(childrenOf(context, branch), room) : [];
      omitted += branch.children - shown.length;
      room -= shown.length;
      next.push(...shown);
    }
    level = next;
  }
  return { nodes, omitted };
}

/** The node above an object. */
export function parentIn({ index }: Context, key: ObjectKey): ObjectKey | undefined {
  return index.hierarchy.parentOf(key);
}

function topsOf(context: Context): Branch[] {
  return Array.from(context.index.hierarchy.tops(), (key) => branchOf(context, key, null)).filter(isVisible);
}

function isVisible({ row, children }: Branch): boolean {
  return row !== undefined || children > 0;
}

function branchOf(context: Context, key: ObjectKey, parent: ObjectKey | null): Branch {
  const { index, reader } = context;
  const indexed = seesKey(reader, key) ? index.rows.get(key) : undefined;
  const row = indexed && shownRow(context, indexed);
  const below = healths.map(() => 0);
  let children = 0;
  for (const [namespace, part] of index.hierarchy.parts(key)) {
    if (!sees(reader, namespace)) continue;
    children += part.children.size;
    for (const [rank, number] of part.below.entries()) below[rank] = (below[rank] ?? 0) + number;
  }
  const worstBelow = below.findIndex((number) => number > 0);
  const own = row ? rankOf(row.health) : healths.length;
  return { key, parent, row, below, children, worst: worstBelow < 0 ? own : Math.min(own, worstBelow) };
}

function childrenOf(context: Context, { key }: Branch): Branch[] {
  const found: Branch[] = [];
  for (const [namespace, { children }] of context.index.hierarchy.parts(key)) {
    if (!sees(context.reader, namespace)) continue;
    for (const child of children) found.push(branchOf(context, child, key));
  }
  return found;
}

/** The worst ones, by their names, without a sort of all. */
function firstOf(branches: readonly Branch[], count: number): Branch[] {
  const byWorst: Branch[][] = [];
  for (const branch of branches) (byWorst[branch.worst] ??= []).push(branch);
  const firsts: Branch[] = [];
  for (const alike of byWorst) {
    if (!alike || firsts.length >= count) continue;
    alike.sort((left, right) => (left.key < right.key ? -1 : 1));
    firsts.push(...alike.slice(0, count - firsts.length));
  }
  return firsts;
}

function nodeOf({ key, parent, row, below, children, worst }: Branch, depth: number): TreeNode {
  const { namespace, name } = parseObjectKey(key);
  const isOwn = row && rankOf(row.health) === worst ? 1 : 0;
  return {
    id: key,
    parent,
    depth,
    kind: row?.kind ?? accountKind,
    name: `${namespace}/${name}`,
    health: row?.health ?? 'Unknown',
    worst: healths[worst] ?? 'Unknown',
    worstCount: isOwn + (below[worst] ?? 0),
    below: shownTally(below),
    children,
    hasReplicas: row ? row.replicas !== null : false,
    reason: row?.reason ?? 'NotLookedAt',
    sentence: row?.sentence.text ?? 'It has no document here.',
  };
}

function shownTally(tally: Tally): Partial<Record<Health, number>> {
  return Object.fromEntries(healths.flatMap((health, rank) => (tally[rank] ? [[health, tally[rank]]] : [])));
}
