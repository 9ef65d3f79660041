import { randomBytes, randomUUID } from 'node:crypto';

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
