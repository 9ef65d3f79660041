/** Logs what of the answers could not be read: each field of each resource once per process, so at most a few dozen lines. */
import type { wire } from '../api/index.ts';
import type { Logger } from '../telemetry/index.ts';

interface Read {
  readonly id?: unknown;
  readonly unreadable?: readonly wire.Unreadable[];
}

export class UnreadableLog {
  readonly #logger: Logger;
  /** Fields by resource. */
  readonly #logged = new Map<string, Set<string>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(resource: string, values: Iterable<Read> = []): void {
    const logged = this.#logged.get(resource) ?? new Set();
    this.#logged.set(resource, logged);
    for (const { id, unreadable } of values) {
      // Of most there is nothing, and of the others most is known: an account may have hundreds of thousands.
      if (!unreadable) continue;
      for (const { field, found, expected, decides } of unreadable) {
        if (logged.has(field)) continue;
        logged.add(field);
        const note = decides ? 'nothing is done with such an object' : 'it counts as not shown';
        this.#logger.warn(
          { resource, field, id, found, expected, note },
          'a field of an answer could not be read',
        );
      }
    }
  }
}
