/**
 * `/api/v1/tree`: account → fleet → replica → volume, task. A node has counts of all that is below it, and the worst state there. At most 500
 * nodes, worst first on each level; what does not fit is counted. Pure.
 *
 * A parent that is gone, or that the reader may not see, is passed over: its account stands for it.
 */
import type { z } from 'zod';
import { accountKey, accountKind, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { seesKey } from '../fleet/reader.ts';
import type { IndexedRow } from '../fleet/row.ts';
import type { tree, treeNode } from '../schemas/answers.ts';
import { healths, type Health } from '../schemas/parts.ts';
import { absent, type Absent, type AnswerContext } from './context.ts';

export type Tree = z.infer<typeof tree>;
type TreeNode = z.infer<typeof treeNode>;

export const mostNodes = 500;

export interface TreeQuery {
  /** The id of the node that it begins with; undefined: all accounts. */
  readonly root: string | undefined;
  readonly depth: number;
}

interface Branch {
  readonly id: string;
  readonly indexed: IndexedRow | undefined;
  readonly children: Branch[];
  readonly below: Partial<Record<Health, number>>;
}

/** The node of an account that has no object. */
export function accountNode(account: string): string {
  return `account:${account}`;
}

/** The id of the node above an object. */
export function parentIn(
  { index, reader }: Pick<AnswerContext, 'index' | 'reader'>,
  { row, parent }: IndexedRow,
): string | undefined {
  const key = row.key as ObjectKey;
  const above = index.userOf(key) ?? parent;
  if (above !== undefined && above !== key && index.rows.has(above) && seesKey(reader, above)) return above;
  const { account } = row;
  if (account === null || isAccount(key)) return undefined;
  const own = accountKey(account);
  return index.rows.has(own) && seesKey(reader, own) ? own : accountNode(account);
}

function isAccount(key: ObjectKey): boolean {
  return parseObjectKey(key).kind === accountKind;
}

export function treeOf(context: AnswerContext, { root, depth }: TreeQuery): Tree | Absent {
  const branches = branchesOf(context);
  const start = root === undefined ? undefined : branches.get(root);
  if (root !== undefined && !start) return absent;
  const roots = start ? [start] : [...branches.values()].filter(({ id }) => isTop(context, branches, id));
  count(roots);
  const nodes: TreeNode[] = [];
  let omitted = 0;
  let level: { branch: Branch; parent: string | null }[] = roots
    .sort(worstFirst)
    .map((branch) => ({ branch, parent: null }));
  for (let at = 0; at < depth && level.length > 0; at++) {
    const room = Math.max(0, mostNodes - nodes.length);
    omitted += Math.max(0, level.length - room);
    const shown = level.slice(0, room);
    nodes.push(...shown.map(({ branch, parent }) => nodeOf(branch, parent, at)));
    level = shown.flatMap(({ branch }) =>
      branch.children.sort(worstFirst).map((child) => ({ branch: child, parent: branch.id })),
    );
  }
  return { nodes, omitted };
}

function isTop(context: AnswerContext, branches: ReadonlyMap<string, Branch>, id: string): boolean {
  const indexed = branches.get(id)?.indexed;
  return indexed === undefined || parentIn(context, indexed) === undefined;
}

function branchesOf(context: AnswerContext): Map<string, Branch> {
  const { index, reader } = context;
  const branches = new Map<string, Branch>();
  const branch = (id: string, indexed?: IndexedRow): Branch => {
    const known = branches.get(id);
    if (known) return known;
    const made: Branch = { id, indexed, children: [], below: {} };
    branches.set(id, made);
    return made;
  };
  const visible = [...index.rows.values()].filter(({ row }) => seesKey(reader, row.key as ObjectKey));
  for (const indexed of visible) branch(indexed.row.key, indexed);
  for (const indexed of visible) {
    const above = parentIn(context, indexed);
    if (above !== undefined) branch(above).children.push(branch(indexed.row.key));
  }
  return branches;
}

/** Counts what is below each branch. A circle of parents is not possible: each is of another kind, and kinds have an order. */
function count(branches: readonly Branch[]): void {
  for (const { children, below } of branches) {
    count(children);
    for (const child of children) {
      const own = child.indexed?.row.health;
      if (own) below[own] = (below[own] ?? 0) + 1;
      for (const [health, number] of Object.entries(child.below)) {
        below[health as Health] = (below[health as Health] ?? 0) + number;
      }
    }
  }
}

function worstOf({ indexed, below }: Branch): Health {
  const own = indexed?.row.health;
  return healths.find((health) => own === health || (below[health] ?? 0) > 0) ?? 'Unknown';
}

function worstFirst(left: Branch, right: Branch): number {
  const rank = (branch: Branch) => healths.indexOf(worstOf(branch));
  return rank(left) - rank(right) || (left.id < right.id ? -1 : 1);
}

function nodeOf(branch: Branch, parent: string | null, depth: number): TreeNode {
  const { id, indexed, children, below } = branch;
  const worst = worstOf(branch);
  const isOwn = indexed?.row.health === worst ? 1 : 0;
  return {
    id,
    parent,
    depth,
    kind: indexed?.row.kind ?? accountKind,
    name: indexed ? `${indexed.row.namespace}/${indexed.row.name}` : id.slice(accountNode('').length),
    health: indexed?.row.health ?? 'Unknown',
    worst,
    worstCount: isOwn + (below[worst] ?? 0),
    below,
    children: children.length,
    reason: indexed?.row.reason ?? 'NotLookedAt',
    sentence: indexed?.row.sentence.text ?? 'It has no document.',
  };
}
