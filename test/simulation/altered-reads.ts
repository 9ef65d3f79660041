/**
 * What the API shows beside the truth: for a while an account has less money than there is, or a service is in a state that nobody knows; and
 * some catalogs tell no prices at all.
 */
import type { Json } from './watch.ts';

export class AlteredReads {
  readonly #nowMs: () => number;
  readonly #floorMicros: number;
  readonly #hidesPrices: boolean;
  #poorUntilMs = 0;
  #balanceMicros = 0;
  #oddUntilMs = 0;
  #oddService = '';

  constructor(nowMs: () => number, floorMicros: number, hidesPrices: boolean) {
    this.#nowMs = nowMs;
    this.#floorMicros = floorMicros;
    this.#hidesPrices = hidesPrices;
  }

  /** The balance is so much above the floor, or below it. */
  poor(durationMs: number, aboveFloorMicros: number): void {
    this.#poorUntilMs = this.#nowMs() + durationMs;
    this.#balanceMicros = this.#floorMicros + aboveFloorMicros;
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
    if (path === '/api/catalog' && this.#hidesPrices) {
      for (const region of body.regions) delete region.prices;
      return true;
    }
    const isAccount = path === '/api/account';
    const isPoor = isAccount && this.#nowMs() < this.#poorUntilMs;
    if (isPoor) body.balanceMicros = this.#balanceMicros;
    if (path === '/api/catalog') return false;
    const shown: Json[] = isAccount ? body.services : [body.service];
    const isOdd = this.#nowMs() < this.#oddUntilMs;
    const odd = isOdd ? shown.find(({ id }) => id === this.#oddService) : undefined;
    if (odd) odd.state = 'migrating';
    return isPoor || odd !== undefined;
  }
}
