/**
 * Whether two image references mean the same. A registry client fills in what a reference leaves out, and an API may
 * show the full form of what it was sent: Docker Hub, `library/`, `:latest`, and the digest that a tag stands for.
 */
import { repositoryOf, shownRepositoryOf } from '../../resources/index.ts';

export function isSameImage(desired: string, observed: string): boolean {
  if (desired === observed) return true;
  const repository = repositoryOf(desired);
  if (repository === undefined || repository !== shownRepositoryOf(observed)) return false;
  const want = versionOf(desired);
  const have = versionOf(observed);
  if (want.digest !== undefined) return want.digest === have.digest;
  // By a digest alone nobody can tell which tag it was.
  return (want.tag ?? 'latest') === (have.tag ?? (have.digest === undefined ? 'latest' : undefined));
}

function versionOf(image: string): { readonly tag: string | undefined; readonly digest: string | undefined } {
  const [name = '', digest] = image.split('@', 2);
  return { tag: /:([^/:]+)$/.exec(name)?.[1], digest };
}
