import type { Random } from '../../src/base/index.ts';
import { SeededRandom } from '../support/seeded-random.ts';

/** The randomness of a process, from a seed. */
export function randomPort(random: SeededRandom): Random {
  return {
    fraction: () => random.fraction(),
    uuid: () => random.uuid(),
    bytes: (length) => Buffer.from(Array.from({ length }, () => random.between(0, 255))),
  };
}

/** A stream of its own: what one part of a run draws does not move what another does. */
export function stream(seed: number, name: string): SeededRandom {
  let hash = 2_166_136_261 ^ seed;
  for (const letter of name) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16_777_619);
  return new SeededRandom((hash ^ (hash >>> 15)) >>> 0);
}
