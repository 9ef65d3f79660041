/**
 * Whether two image references mean the same. A registry client adds what a reference omits, and an API may
 * show the full form: Docker Hub, `library/`, `:latest`, and the digest of a tag.
 */
import { repositoryOf, shownRepositoryOf } from '../../resources/index.ts';

export function isSameImage(desired: string, observed: string): boolean {
  if (desired === observed) return true;
  const repository = repositoryOf(desired);
  if (repository === undefined || repository !== shownRepositoryOf(observed)) return false;
  const want = versionOf(desired);
  const have = versionOf(observed);
  if (want.digest !== undefined) return want.digest === have.digest;
  // A digest alone does not reveal the tag.
  return (want.tag ?? 'latest') === (have.tag ?? (have.digest === undefined ? 'latest' : undefined));
}

function versionOf(image: string): { readonly tag: string | undefined; readonly digest: string | undefined } {
  const [name = '', digest] = image.split('@', 2);
  return { tag: /:([^/:]+)$/.exec(name)?.[1], digest };
}
