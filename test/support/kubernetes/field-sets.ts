/**
 * Sets of fields, as `managedFields` has them. An object is taken apart into its leaves:
 *
 *   {spec: {image: 'a', ports: [{name: 'web', port: 80}]}}     (ports has the key `name`)
 *     f:spec f:image                            'a'
 *     f:spec f:ports k:{"name":"web"}           the item itself
 *     f:spec f:ports k:{"name":"web"} f:name    'web'
 *     f:spec f:ports k:{"name":"web"} f:port    80
 *
 * What two objects differ in is then what two such maps differ in.
 */
import { isFields, isSame, listOf, type Fields } from './objects.ts';
import type { ListShape, Shape } from './shape.ts';

/** Path → value as JSON; the path's elements are joined by a zero byte. */
export type Leaves = ReadonlyMap<string, string>;
export type FieldSet = ReadonlySet<string>;

const separator = '\u0000';

export function union(one: FieldSet, other: FieldSet): FieldSet {
  return new Set([...one, ...other]);
}

export function difference(one: FieldSet, ...others: readonly FieldSet[]): FieldSet {
  return new Set([...one].filter((field) => !others.some((other) => other.has(field))));
}

export class UndeclaredField extends Error {}

/** Throws `UndeclaredField`. */
export function leavesOf(object: Fields, shape: Shape): Leaves {
  const leaves = new Map<string, string>();
  collect(object, shape, '', leaves);
  return leaves;
}

/** `path` of the root: the empty text. */
function collect(value: unknown, shape: Shape, path: string, leaves: Map<string, string>): void {
  const isEmpty = value === null || (typeof value === 'object' && Object.keys(value).length === 0);
  const isList = Array.isArray(value);
  const isWhole = isList ? shape.list.type === 'atomic' : !isFields(value) || shape.isAtomic;
  const inside = path === '' ? '' : `${path}${separator}`;
  if (isEmpty || isWhole) {
    if (path !== '') leaves.set(path, JSON.stringify(value));
  } else if (isList) {
    for (const item of listOf(value)) {
      const at = `${inside}${itemElement(item, shape.list)}`;
      leaves.set(at, '');
      if (isFields(item)) collect(item, shape.item(), at, leaves);
    }
  } else if (isFields(value)) {
    for (const [name, field] of Object.entries(value)) {
      const at = `${inside}f:${name}`;
      const child = shape.child(name);
      if (!child) throw new UndeclaredField(`${fieldText(at)}: field not declared in schema`);
      collect(field, child, at, leaves);
    }
  }
}

function itemElement(item: unknown, list: ListShape): string {
  if (list.type !== 'map' || !isFields(item)) return `v:${JSON.stringify(item)}`;
  const present = list.keys.filter((key) => item[key] !== undefined);
  return `k:${JSON.stringify(Object.fromEntries(present.map((key) => [key, item[key]])))}`;
}

/** What changed from one object to the next. */
export function compare(
  old: Leaves,
  next: Leaves,
): { readonly changed: FieldSet; readonly removed: FieldSet } {
  const changed = new Set<string>();
  for (const [path, value] of next) if (old.get(path) !== value) changed.add(path);
  return { changed, removed: difference(new Set(old.keys()), new Set(next.keys())) };
}

/** Fields of `config` over those of `live`. */
export function merged(live: unknown, config: unknown, shape: Shape): unknown {
  if (Array.isArray(config) && Array.isArray(live) && shape.list.type !== 'atomic') {
    return mergedList(live, config, shape);
  }
  if (!isFields(config) || !isFields(live) || shape.isAtomic) return config;
  const result: Record<string, unknown> = { ...live };
  for (const [name, field] of Object.entries(config)) {
    const child = shape.child(name);
    result[name] = child ? merged(live[name], field, child) : field;
  }
  return result;
}

function mergedList(live: readonly unknown[], config: readonly unknown[], shape: Shape): readonly unknown[] {
  const result = [...live];
  for (const item of config) {
    const element = itemElement(item, shape.list);
    const index = result.findIndex((one) => itemElement(one, shape.list) === element);
    if (index === -1) result.push(item);
    else result[index] = merged(result[index], item, shape.item());
  }
  return result;
}

/** The object without some of its fields; what thereby becomes empty goes as well. */
export function removed(
  value: unknown,
  fields: FieldSet,
  shape: Shape,
  path: readonly string[] = [],
): unknown {
  if (Array.isArray(value) && shape.list.type !== 'atomic') {
    const kept = value.flatMap((item: unknown) => {
      const at = [...path, itemElement(item, shape.list)];
      return fields.has(at.join(separator)) ? [] : [removed(item, fields, shape.item(), at)];
    });
    return kept.length === 0 && value.length > 0 ? undefined : kept;
  }
  if (!isFields(value) || shape.isAtomic) return value;
  const kept: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    const at = [...path, `f:${name}`];
    const child = shape.child(name);
    if (fields.has(at.join(separator))) continue;
    const rest = child ? removed(field, fields, child, at) : field;
    if (rest !== undefined) kept[name] = rest;
  }
  return Object.keys(kept).length === 0 && Object.keys(value).length > 0 ? undefined : kept;
}

interface Node {
  [element: string]: Node;
}

/** As in `fieldsV1`: nested, with `.` for an item that is in the set itself. */
export function encode(fields: FieldSet): Fields {
  const root: Node = {};
  const nodes = [...fields].map((field) => {
    let node = root;
    for (const element of field.split(separator)) node = node[element] ??= {};
    return node;
  });
  for (const node of nodes) if (Object.keys(node).length > 0) node['.'] = {};
  return root;
}

export function decode(fieldsV1: Fields): FieldSet {
  const fields = new Set<string>();
  const walk = (node: Fields, path: string): void => {
    const names = Object.keys(node);
    if (path !== '' && (names.length === 0 || isSame(node['.'], {}))) fields.add(path);
    for (const name of names) {
      const child = node[name];
      if (name !== '.' && isFields(child)) walk(child, path === '' ? name : `${path}${separator}${name}`);
    }
  };
  walk(fieldsV1, '');
  return fields;
}

/** `.spec.ports[name="web"].port`, as conflicts name fields. */
export function fieldText(field: string): string {
  return field.split(separator).map(elementText).join('');
}

function elementText(element: string): string {
  const text = element.slice(2);
  if (element.startsWith('f:')) return `.${text}`;
  if (element.startsWith('v:')) return `[=${text}]`;
  const keys = Object.entries(JSON.parse(text) as Fields);
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}
