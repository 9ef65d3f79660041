/** One line when the mass-change brake of an account engages, and one when it is released, as of the account's last read. */
import type { Logger } from '../../telemetry/index.ts';
import type { Gate } from '../plan/index.ts';

export class ReadBrakeLog {
  readonly #logger: Logger;
  readonly #engaged = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  saw(account: string, gate: Gate | undefined): void {
    if (this.#engaged.has(account) === (gate !== undefined)) return;
    if (gate) {
      this.#engaged.add(account);
      this.#logger.error({ account, note: gate.message }, 'mass-change brake engaged');
    } else {
      this.#engaged.delete(account);
      this.#logger.info({ account }, 'mass-change brake released');
    }
  }
}
