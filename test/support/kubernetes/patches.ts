/** JSON patch (RFC 6902), JSON merge patch (RFC 7386) and strategic merge patch. */
import { ApiError, badRequest } from './errors.ts';
import { isFields, isSame, listOf, type Fields } from './objects.ts';
import type { ListShape, Shape } from './shape.ts';

/** Null removes; objects are merged; all else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const merged: Record<string, unknown> = isFields(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}

/** A merge patch that knows which lists have keys, and directives such as `$patch: delete`. */
export function strategicPatch(target: unknown, patch: unknown, shape: Shape): unknown {
  if (!isFields(patch)) return patch;
  if (patch['$patch'] === 'replace') return withoutDirectives(patch);
  if (patch['$patch'] === 'delete') return {};
  const merged: Record<string, unknown> = isFields(target) ? { ...target } : {};
  for (const name of listOf(patch['$retainKeys']).length > 0 ? Object.keys(merged) : []) {
    if (!listOf(patch['$retainKeys']).includes(name)) delete merged[name];
  }
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith('$deleteFromPrimitiveList/')) {
      const list = name.slice('$deleteFromPrimitiveList/'.length);
      merged[list] = listOf(merged[list]).filter((item) => !listOf(value).includes(item));
    } else if (name.startsWith('$')) continue;
    else if (value === null) delete merged[name];
    else merged[name] = strategicField(merged[name], value, shape.child(name) ?? shape);
  }
  return merged;
}

function strategicField(target: unknown, value: unknown, shape: Shape): unknown {
  if (!Array.isArray(value)) return strategicPatch(target, value, shape);
  return shape.list.type === 'atomic'
    ? value.map(withoutDirectives)
    : strategicList(listOf(target), value, shape, shape.list);
}

function strategicList(
  target: readonly unknown[],
  patch: readonly unknown[],
  shape: Shape,
  list: ListShape,
): readonly unknown[] {
  if (list.type !== 'map') return [...target, ...patch.filter((item) => !target.includes(item))];
  if (patch.some((item) => isFields(item) && item['$patch'] === 'replace')) {
    return patch.filter((item) => !(isFields(item) && item['$patch'] === 'replace')).map(withoutDirectives);
  }
  const [key = ''] = list.keys;
  const merged = [...target];
  for (const item of patch) {
    if (!isFields(item)) throw badRequest('a list with keys can only be patched with objects');
    const index = merged.findIndex((one) => isFields(one) && isSame(one[key], item[key]));
    if (item['$patch'] === 'delete') {
      if (index !== -1) merged.splice(index, 1);
    } else if (index === -1) merged.push(strategicPatch({}, item, shape.item()));
    else merged[index] = strategicPatch(merged[index], item, shape.item());
  }
  return merged;
}

function withoutDirectives(value: unknown): unknown {
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !name.startsWith('$')));
}

/** Throws 422 when it can't be applied, e.g. when a `test` fails. */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('error decoding patch: a JSON patch is a list of operations');
  return patch.reduce<unknown>((document, operation) => applied(document, operation), target);
}

function applied(document: unknown, operation: unknown): unknown {
  const { op, path, from, value } = isFields(operation) ? operation : ({} as Fields);
  const at = pointer(path);
  switch (op) {
    case 'add':
      return changed(document, at, value, 'add');
    case 'replace':
      return changed(document, at, value, 'replace');
    case 'remove':
      return changed(document, at, undefined, 'remove');
    case 'test':
      if (!isSame(found(document, at), value))
        throw unprocessable(`testing value ${String(path)} failed: test failed`);
      return document;
    case 'copy':
      return changed(document, at, found(document, pointer(from)), 'add');
    case 'move': {
      const source = pointer(from);
      return changed(changed(document, source, undefined, 'remove'), at, found(document, source), 'add');
    }
    default:
      throw unprocessable(`Unexpected kind: ${String(op)}`);
  }
}

function unprocessable(message: string): ApiError {
  return new ApiError({
    code: 422,
    reason: 'Invalid',
    message: `the server rejected our request due to an error in our request: ${message}`,
    details: {},
  });
}

function pointer(path: unknown): readonly string[] {
  if (typeof path !== 'string' || (path !== '' && !path.startsWith('/'))) {
    throw unprocessable(`invalid path ${String(path)}`);
  }
  return path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function found(document: unknown, path: readonly string[]): unknown {
  let current = document;
  for (const part of path) {
    if (Array.isArray(current)) current = (current as unknown[])[Number(part)];
    else current = isFields(current) && Object.hasOwn(current, part) ? current[part] : undefined;
  }
  return current;
}

function changed(
  document: unknown,
  path: readonly string[],
  value: unknown,
  how: 'add' | 'replace' | 'remove',
): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const missing = () =>
    unprocessable(`${how} operation does not apply: doc is missing path: /${path.join('/')}`);
  if (Array.isArray(document)) return changedList(document, name, rest, value, how, missing);
  if (!isFields(document)) throw missing();
  const exists = Object.hasOwn(document, name);
  if (!exists && (rest.length > 0 || how !== 'add')) throw missing();
  const copy: Record<string, unknown> = { ...document };
  if (rest.length > 0) copy[name] = changed(document[name], rest, value, how);
  else if (how === 'remove') delete copy[name];
  else copy[name] = value;
  return copy;
}

function changedList(
  list: readonly unknown[],
  name: string,
  rest: readonly string[],
  value: unknown,
  how: 'add' | 'replace' | 'remove',
  missing: () => ApiError,
): readonly unknown[] {
  const index = name === '-' ? list.length : Number(name);
  const last = how === 'add' && rest.length === 0 ? list.length : list.length - 1;
  if (!Number.isInteger(index) || index < 0 || index > last) throw missing();
  if (rest.length > 0) return list.with(index, changed(list[index], rest, value, how));
  if (how === 'add') return list.toSpliced(index, 0, value);
  return how === 'remove' ? list.toSpliced(index, 1) : list.with(index, value);
}
