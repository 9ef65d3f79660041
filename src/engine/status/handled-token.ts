/** The value of the annotation `reconcile-at`, as it is remembered and shown. An annotation may be longer than a status should be. */
import { textDigest } from '../../base/index.ts';

/** In characters. */
const longestToken = 256;

/** A value that is longer is its digest: it is only compared. */
export function handledToken(value: string | undefined): string | undefined {
  return value === undefined || value.length <= longestToken ? value : `sha256:${textDigest(value)}`;
}
