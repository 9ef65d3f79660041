/** An operator's decision on an unknown outcome, as an annotation of an object in a cluster. */
import { annotations } from '../resources/index.ts';
import type { Resolution } from './records.ts';

/** The value of `fleetkeeper.dev/resolve`. */
export function writeResolution({ idempotencyKey, applied, id }: Resolution): string {
  return JSON.stringify({ idempotencyKey, applied, ...(id === undefined ? {} : { id }) });
}

/** Undefined if there is none, or it is malformed. */
export function readResolution(given: Readonly<Record<string, string>>): Resolution | undefined {
  const text = given[annotations.resolve];
  if (text === undefined) return undefined;
  try {
    const { idempotencyKey, applied, id } = (JSON.parse(text) ?? {}) as Partial<Resolution>;
    const isWord = typeof idempotencyKey === 'string' && typeof applied === 'boolean';
    if (!isWord || (id !== undefined && typeof id !== 'string')) return undefined;
    return { idempotencyKey, applied, id };
  } catch {
    return undefined;
  }
}
