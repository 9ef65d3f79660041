/** The owner and the digest key that the state of a folder is created with. */
import type { Random } from '../base/index.ts';

/** The owner of a state. It is chosen when the state is created, and never changes. */
export interface OwnerChoice {
  /** For a new state without an explicit owner. */
  readonly default: string;
  /** From `--owner`. An existing state must have the same owner. */
  readonly explicit: string | undefined;
  /** For a new state. The default is a random one. */
  readonly digestKey?: SharedKey | undefined;
}

/** A digest key that other states may share. */
export interface SharedKey {
  /** 32 bytes. */
  readonly bytes: Buffer;
  /**
   * Where it was supplied, for messages. An existing state must then have the same key. Undefined: it was not
   * supplied.
   */
  readonly suppliedBy: string | undefined;
}

/** The digest key of a new state. */
export function keyBytes(random: Random, { digestKey: shared }: OwnerChoice): Buffer {
  return shared?.bytes ?? random.bytes(32);
}
