/**
 * Which images may be pulled. The engine pulls with the network of its machine, so the name of an image must not lead
 * to what only that machine reaches: its own ports, its network, metadata services.
 *
 * | the host in an image's name                                          | is                              |
 * |-----------------------------------------------------------------------|---------------------------------|
 * | one of the configured ones (`containers.registries`), port included  | allowed, whatever it leads to   |
 * | an address in any notation, `localhost`, a name without a dot, `.local`, `.internal`, … | refused by its text |
 * | any other name                                                       | refused when it leads to a private address, once it is resolved before the pull |
 *
 * The engine resolves the name once more. A name server that answers differently then can still lead it elsewhere;
 * nobody sees the answer (reasons.ts). Where that matters, give the engine's machine a proxy.
 */
import { lookup } from 'node:dns/promises';
import { imageOf } from './image.ts';
import { isPrivateAddress } from './private-networks.ts';
import { sentenceOf } from './reasons.ts';

/** Resolves a name to all of its addresses; rejects when there are none. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address);

export class RegistryPolicy {
  readonly #allowed: ReadonlySet<string>;
  readonly #resolve: Resolve;

  /** `allowed`: as `HOST` or `HOST:PORT`, for what is not public. */
  constructor(allowed: readonly string[], resolve: Resolve = systemResolve) {
    this.#allowed = new Set(allowed.map((host) => host.toLowerCase()));
    this.#resolve = resolve;
  }

  /** By its text alone. `repository` is fully qualified, with its host in lower case. */
  refusesByName(repository: string): boolean {
    const host = hostOf(repository);
    return !this.#allowed.has(host) && isInternalName(nameOf(host));
  }

  /** Also by what its name leads to. A name that can't be resolved here is left to the engine, which may have a proxy. */
  async refuses(repository: string): Promise<boolean> {
    const host = hostOf(repository);
    if (this.#allowed.has(host) || host === dockerHub) return false;
    if (isInternalName(nameOf(host))) return true;
    try {
      return (await this.#resolve(nameOf(host))).some(isPrivateAddress);
    } catch {
      return false;
    }
  }
}

/** Why a service with this image is not accepted, by the image's name alone. */
export function imageRefusal(image: string, registries: RegistryPolicy): string | undefined {
  const repository = imageOf(image)?.toPull?.repository;
  const isRefused = repository !== undefined && registries.refusesByName(repository);
  return isRefused ? `image: ${sentenceOf('RegistryNotAllowed')}` : undefined;
}

const dockerHub = 'docker.io';

function hostOf(repository: string): string {
  return repository.split('/', 1)[0] ?? '';
}

function nameOf(host: string): string {
  return host.replace(/:\d+$/, '');
}

const internalEndings = new Set('localhost local internal intranet lan home corp private arpa'.split(' '));

function isInternalName(name: string): boolean {
  if (name.startsWith('[')) return true;
  const parts = name.split('.');
  const last = parts.at(-1) ?? '';
  // As URLs are read: a name whose last part is a number is an address, whatever its notation.
  if (parts.length < 2 || /^(?:\d+|0x[0-9a-f]*)$/.test(last)) return true;
  return internalEndings.has(last);
}
