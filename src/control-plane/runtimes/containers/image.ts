/**
 * Which image a service gets. Images on the host `localhost` are the engine's own: the operator put them there,
 * everybody may use them, and they are never pulled. All others are pulled for every launch, with the
 * credentials of the service that is launched: an image that one account may pull is in the engine's cache,
 * and must not be had from there by another.
 *
 * So a name is taken apart and put together here, always with its registry: an engine would take the id of an image
 * for a name, too.
 */
import { repositoryOf } from '../../domain/image-reference.ts';

/** What to pull: a tag or a digest (`sha256:…`) of a repository. */
export interface ImageName {
  readonly repository: string;
  readonly tag: string;
}

export interface Image {
  /** As containers are created from it. */
  readonly reference: string;
  /** What to pull; undefined for an image of the engine's own. */
  readonly toPull: ImageName | undefined;
}

const tagForm = /^\w[\w.-]{0,127}$/;
const digestForm = /^sha256:[0-9a-f]{64}$/;

/** Undefined for what is no name of an image. */
export function imageOf(text: string): Image | undefined {
  const repository = repositoryOf(text);
  if (repository === undefined) return undefined;
  const [name = '', digest] = text.split('@');
  const tag = name.slice(name.lastIndexOf('/') + 1).split(':')[1] ?? 'latest';
  if (!tagForm.test(tag)) return undefined;
  const isOwn = repository.startsWith('localhost/');
  if (digest === undefined) {
    return { reference: `${repository}:${tag}`, toPull: isOwn ? undefined : { repository, tag } };
  }
  // By its digest, an image of any repository could be had.
  if (isOwn || !digestForm.test(digest)) return undefined;
  return { reference: `${repository}@${digest}`, toPull: { repository, tag: digest } };
}
