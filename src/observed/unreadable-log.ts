/** Logs what of the answers could not be read: each field of each resource once per process, so at most a few dozen lines. */
import type { wire } from '../api/index.ts';
import type { Logger } from '../telemetry/index.ts';

interface Read {
  readonly id?: unknown;
  readonly unreadable?: readonly wire.Unreadable[];
}

export class UnreadableLog {
  readonly #logger: Logger;
  readonly #logged = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(resource: string, values: Iterable<Read> = []): void {
    for (const { id, unreadable = [] } of values) {
      for (const { field, found, expected, decides } of unreadable) {
        const name = `${resource}.${field}`;
        if (this.#logged.has(name)) continue;
        this.#logged.add(name);
        const note = decides ? 'nothing is done with such an object' : 'it counts as not shown';
        this.#logger.warn(
          { resource, field, id, found, expected, note },
          'a field of an answer could not be read',
        );
      }
    }
  }
}
