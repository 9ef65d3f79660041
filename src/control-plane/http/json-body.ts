/**
 * Rules for a body beyond JSON, so that all code behind it may keep it unchanged and recurse over it: UTF-8
 * throughout, texts without half a surrogate pair (which no database keeps), no deeper than `deepest`, and of no more
 * than `mostValues`: a schema reads each element of a list before it finds the list too long.
 */
import { ApiError, invalidRequest } from '../domain/errors.ts';

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
  return problemIn(body, 0, { values: 1 });
}

/** `count`: of the values that were met, names included. */
function problemIn(value: unknown, depth: number, count: { values: number }): ApiError | undefined {
  if (typeof value === 'string') return problemInText(value);
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === deepest) return invalidRequest(`the body is nested deeper than ${deepest} levels`);
  const names = Array.isArray(value) ? undefined : Object.keys(value);
  count.values += names ? 2 * names.length : (value as unknown[]).length;
  if (count.values > mostValues) {
    return invalidRequest(`the body has more than ${mostValues} values, names included`);
  }
  for (const name of names ?? []) {
    const problem = problemInText(name);
    if (problem) return problem;
  }
  for (const member of names ? Object.values(value) : (value as unknown[])) {
    const problem = problemIn(member, depth + 1, count);
    if (problem) return problem;
  }
  return undefined;
}

function problemInText(text: string): ApiError | undefined {
  return text.isWellFormed() ? undefined : invalidRequest('a text of the body has half a surrogate pair');
}
