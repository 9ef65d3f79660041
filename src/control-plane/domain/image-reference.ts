/**
 * Names of images and repositories, as registries understand them: `[HOST[:PORT]/]PATH[:TAG][@DIGEST]`. Without
 * a host the image is on Docker Hub, where a path of one part is in `library/`.
 */
const hub = 'docker.io';
const host = /^(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+|[a-z0-9-]+(?=:)|\[[0-9a-f:]+\])(?::\d{1,5})?$/;
const part = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const longest = 255;

/** Which repository an image is of, fully qualified; undefined for what no registry could serve. */
export function repositoryOf(image: string): string | undefined {
  const name = image.split('@', 1)[0] ?? '';
  const tagAt = name.indexOf(':', name.lastIndexOf('/') + 1);
  const untagged = tagAt === -1 ? name : name.slice(0, tagAt);
  const first = untagged.includes('/') ? (untagged.split('/', 1)[0] ?? '') : '';
  const hasHost = host.test(first.toLowerCase());
  return normalRepository(hasHost ? untagged : `${hub}/${untagged}`);
}

/**
 * A fully qualified repository with its host in lower case. Undefined when there is no host, for a tag or a
 * digest, and for names that a registry would not take.
 */
export function normalRepository(text: string): string | undefined {
  if (text.length > longest) return undefined;
  const [written = '', ...parts] = text.split('/');
  const lower = written.toLowerCase();
  if (!host.test(lower) || parts.length === 0 || !parts.every((one) => part.test(one))) return undefined;
  const isHub = lower === hub || lower === `index.${hub}`;
  if (!isHub) return [lower, ...parts].join('/');
  return [hub, ...(parts.length === 1 ? ['library'] : []), ...parts].join('/');
}
