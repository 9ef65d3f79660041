/**
 * Field by field: what is desired against what is observed. Only fields that the spec gives are
 * compared. A field that the API does not return is compared with what was last applied.
 */
import { sameValue, type DigestKey } from '../base/index.ts';
import type { Difference } from './types.ts';

export interface Field {
  readonly name: string;
  readonly path: string;
  readonly desired: unknown;
  /** undefined: the API does not return it; null: it has none. */
  readonly observed: unknown;
}

export const hidden = '(not shown by the API)';

export function compareFields(
  fields: readonly Field[],
  applied: Readonly<Record<string, string>>,
  digestKey: DigestKey,
): Difference[] {
  const differences: Difference[] = [];
  for (const { name, path, desired, observed } of fields) {
    if (desired === undefined) continue;
    const desiredDigest = digestKey.digest(desired);
    if (observed === undefined) {
      if (applied[name] !== undefined && applied[name] !== desiredDigest) {
        differences.push({ path, desired, observed: hidden, drift: false });
      }
    } else if (!sameValue(desired, observed ?? emptyLike(desired))) {
      differences.push({ path, desired, observed, drift: applied[name] === desiredDigest });
    }
  }
  return differences;
}

/** null and an empty list both mean "none". */
function emptyLike(desired: unknown): unknown {
  return Array.isArray(desired) ? [] : null;
}

/**
 * What the spec asks for, as digests to be remembered once it has been applied or seen in place. That it asks for
 * nothing is remembered, too: a field that it gives later is then a change, even where the API does not show it.
 */
export function fieldDigests(fields: readonly Field[], digestKey: DigestKey): Record<string, string> {
  return Object.fromEntries(fields.map((field) => [field.name, digestKey.digest(field.desired)]));
}
