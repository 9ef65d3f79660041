import type { Logger } from '../../telemetry/index.ts';

/** A foreign API may show any text as a state. */
const longestGraph = 500;

/**
 * The transitions between states are not documented (§3 "Gaps"). Each is logged when it is first observed, so
 * the graph can be derived from the log.
 */
export class Transitions {
  readonly #seen = new Set<string>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  saw(kind: string, from: string | undefined, to: string | undefined): void {
    const transition = JSON.stringify([kind, from, to]);
    if (from === to || this.#seen.has(transition) || this.#seen.size >= longestGraph) return;
    this.#seen.add(transition);
    this.#logger.info(
      { kind, from: from ?? null, to: to ?? null },
      'state transition seen for the first time',
    );
  }
}
