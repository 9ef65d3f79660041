/**
 * Which repository an image is of. Access to private images is kept for one exact, fully qualified repository (§2
 * "Image registry"), so both are brought to one form: host in lower case, no tag, no digest, and Docker Hub, where
 * it is meant, by its name: `postgres` is `docker.io/library/postgres`.
 */
const hub = 'docker.io';
const hubNames: ReadonlySet<string> = new Set([hub, `index.${hub}`, `registry-1.${hub}`]);
const hostPattern = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/;
const partPattern = /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$/;

/** Undefined for what is no repository, or has no host. */
export function normalRepository(text: string): string | undefined {
  const [host = '', ...path] = text.split('/');
  if (!isHost(host) || path.length === 0 || !path.every((part) => partPattern.test(part))) return undefined;
  const name = host.toLowerCase();
  if (!hubNames.has(name)) return [name, ...path].join('/');
  return [hub, ...(path.length === 1 ? ['library'] : []), ...path].join('/');
}

/**
 * The repository that an API shows, which may have a form of its own for it: another case of letters (a path has small ones only), or an
 * address. Undefined when none can be read from it.
 */
export function shownRepository(text: string | undefined): string | undefined {
  const name = (text ?? '').trim().toLowerCase();
  return normalRepository(name.replace(/^[a-z]+:\/\//, '').replace(/\/+$/, ''));
}

/** The repository of an image that an API shows, in any case of letters. */
export function shownRepositoryOf(image: string): string | undefined {
  return repositoryOf(image) ?? repositoryOf(image.toLowerCase());
}

/** The repository of an image reference `[HOST[:PORT]/]PATH[:TAG][@DIGEST]`; undefined for what is none. */
export function repositoryOf(image: string): string | undefined {
  const withoutDigest = image.split('@', 1)[0] ?? '';
  const name = withoutDigest.replace(/:[^/:]*$/, '');
  const first = name.split('/', 1)[0] ?? '';
  return normalRepository(name.includes('/') && isHost(first) ? name : `${hub}/${name}`);
}

/** The first part of a name is a host if no repository can be called so: as Docker decides it. */
function isHost(part: string): boolean {
  return hostPattern.test(part.toLowerCase()) && (part === 'localhost' || /[.:A-Z]/.test(part));
}
