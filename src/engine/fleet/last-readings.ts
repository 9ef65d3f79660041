/**
 * The activities that this process has read last in each object that is to be removed. The record may lack them: the disk
 * was full, or the pass that has read them has not ended.
 */
import type { wire } from '../../api/index.ts';
import type { ObjectKey } from '../../resources/index.ts';

export interface Reading {
  readonly activities: readonly wire.Activity[];
  /** Unix milliseconds at which they were asked for. */
  readonly askedAt: number;
}

export class LastReadings {
  readonly #readings = new Map<ObjectKey, Reading>();

  of(key: ObjectKey): Reading | undefined {
    return this.#readings.get(key);
  }

  read(key: ObjectKey, reading: Reading): void {
    this.#readings.set(key, reading);
  }

  forget(key: ObjectKey): void {
    this.#readings.delete(key);
  }
}
