/** What a state of a folder is made with: the name and the key by which it marks what it owns. */
import type { Random } from '../base/index.ts';

/** Under which name a state marks what it owns: the first one it was given stays. */
export interface OwnerChoice {
  /** For a new state. */
  readonly default: string;
  /** Asked for by name; it must be the one that the state has. */
  readonly explicit: string | undefined;
  /** Of a new state; a random one unless given. */
  readonly digestKey?: SharedKey | undefined;
}

/** A digest key that other states may have, too. */
export interface SharedKey {
  /** 32 bytes. */
  readonly bytes: Buffer;
  /** How a person has supplied it, for messages: then it must be the one that the state has. Undefined: nobody did. */
  readonly suppliedBy: string | undefined;
}

/** Of a new state. */
export function keyBytes(random: Random, { digestKey: shared }: OwnerChoice): Buffer {
  return shared?.bytes ?? random.bytes(32);
}
