/**
 * What a body must be beside JSON, so that everything behind it may keep it as it is and recurse over it: UTF-8
 * throughout, texts without half a surrogate pair (which no database keeps), no deeper than `deepest`, and of no more
 * than `mostValues`: a schema looks at each element of a list before it finds the list too long.
 */
import { ApiError, invalidRequest } from './errors.ts';

/** No request needs more than four. */
const deepest = 32;
/** No valid request has half as many. */
const mostValues = 8_192;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Undefined when the bytes are no UTF-8. */
export function textOf(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

export function notUtf8(): ApiError {
  return new ApiError(400, 'malformed_json', 'the body is not UTF-8');
}

/** What is wrong with a parsed body. */
export function problemWith(body: unknown): ApiError | undefined {
  const places: (readonly [value: unknown, depth: number])[] = [[body, 0]];
  for (const [value, depth] of places) {
    if (typeof value === 'string' && !value.isWellFormed()) {
      return invalidRequest('a text of the body has half a surrogate pair');
    }
    if (typeof value !== 'object' || value === null) continue;
    if (depth === deepest) return invalidRequest(`the body is nested deeper than ${deepest} levels`);
    const members = Array.isArray(value) ? value : Object.entries(value).flat();
    if (places.length + members.length > mostValues) {
      return invalidRequest(`the body has more than ${mostValues} values, names included`);
    }
    for (const member of members) places.push([member, depth + 1]);
  }
  return undefined;
}
