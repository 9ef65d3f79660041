/** What the account shows beside the truth for a while: less money than there is, or a service in a state that nobody knows. */
import type { Json } from './watch.ts';

export class Disguise {
  readonly #nowMs: () => number;
  readonly #poorMicros: number;
  #poorUntilMs = 0;
  #oddUntilMs = 0;
  #oddService = '';

  constructor(nowMs: () => number, poorMicros: number) {
    this.#nowMs = nowMs;
    this.#poorMicros = poorMicros;
  }

  poor(durationMs: number): void {
    this.#poorUntilMs = this.#nowMs() + durationMs;
  }

  odd(serviceId: string, durationMs: number): void {
    this.#oddService = serviceId;
    this.#oddUntilMs = this.#nowMs() + durationMs;
  }

  end(): void {
    this.#poorUntilMs = 0;
    this.#oddUntilMs = 0;
  }

  /** Changes the answer to a read; whether there was something to change. */
  put(path: string, body: Json): boolean {
    const isAccount = path === '/api/account';
    const isPoor = isAccount && this.#nowMs() < this.#poorUntilMs;
    if (isPoor) body.balanceMicros = this.#poorMicros;
    const shown: Json[] = isAccount ? body.services : [body.service];
    const isOdd = this.#nowMs() < this.#oddUntilMs;
    const odd = isOdd ? shown.find(({ id }) => id === this.#oddService) : undefined;
    if (odd) odd.state = 'migrating';
    return isPoor || odd !== undefined;
  }
}
