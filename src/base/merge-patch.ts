/**
 * The JSON merge patch (RFC 7386) that turns `previous` into `next`, or undefined when they are equal. A member that
 * `next` lacks (or has as undefined) becomes null, which removes it; arrays are replaced whole. The format can't
 * distinguish members of `next` that are null from removed ones.
 */
export function mergePatch(previous: unknown, next: unknown): unknown {
  if (!isMap(previous) || !isMap(next)) return isSame(previous, next) ? undefined : (next ?? null);
  const patch: Record<string, unknown> = {};
  for (const name of Object.keys(previous)) {
    if (next[name] === undefined && previous[name] !== undefined) patch[name] = null;
  }
  for (const [name, value] of Object.entries(next)) {
    if (value === undefined) continue;
    const inner = mergePatch(previous[name], value);
    if (inner !== undefined) patch[name] = inner;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSame(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => isSame(item, right[index]));
  }
  if (isMap(left) && isMap(right)) return mergePatch(left, right) === undefined;
  return left === right || (left === undefined && right === null) || (left === null && right === undefined);
}
