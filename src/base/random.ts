import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Randomness as a parameter, so that a simulation repeats itself from one seed. */
export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  uuid(): string;
  bytes(length: number): Buffer;
}

export const systemRandom: Random = {
  fraction: () => Math.random(),
  uuid: () => randomUUID(),
  bytes: (length) => randomBytes(length),
};

/**
 * UUIDs that begin with the time (RFC 9562, version 7): what is made later sorts later, so the index of a table
 * grows at its end, and things that were made together lie together.
 */
export function timeOrderedUuids(random: Random, clock: Clock): Random {
  const uuid = () => {
    const time = Math.floor(clock.wallMs()).toString(16).padStart(12, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${random.uuid().slice(15)}`;
  };
  return { uuid, fraction: () => random.fraction(), bytes: (length) => random.bytes(length) };
}
