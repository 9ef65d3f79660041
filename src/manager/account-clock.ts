/** What the answers of an account show of the time. HTTP has a `Date` header; the contract does not promise it. */
import type { Transport } from '../api/index.ts';
import type { Clock } from '../base/index.ts';
import type { AccountTime } from '../engine/plan/index.ts';

/** Of the clock of this machine, between two readings of it. */
const jumpMs = 30_000;
const behindMs = 60_000;
const httpDate = /^[A-Z][a-z]{2}, .* GMT$/;

export class AccountClock {
  readonly #clock: Clock;
  #isAnswered = false;
  /** Unix milliseconds at the origin of the monotonic clock. */
  #providerOriginMs: number | undefined;
  #behindSinceMs: number | undefined;
  #originMs: number;
  #steadySinceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#originMs = clock.wallMs() - clock.monotonicMs();
    this.#steadySinceMs = clock.monotonicMs();
  }

  watch(transport: Transport): Transport {
    return {
      exchange: async (...sent) => {
        const reply = await transport.exchange(...sent);
        if (reply.kind === 'reply') this.#answered(reply.date);
        return reply;
      },
      close: () => transport.close(),
    };
  }

  now(): AccountTime {
    const nowMs = this.#read();
    const since = (sinceMs: number | undefined) => (sinceMs === undefined ? 0 : nowMs - sinceMs);
    return {
      isAnswered: this.#isAnswered,
      providerMs: this.#providerOriginMs === undefined ? undefined : this.#providerOriginMs + nowMs,
      steadyForMs: since(this.#steadySinceMs),
      behindForMs: since(this.#behindSinceMs),
    };
  }

  #answered(date: string | undefined): void {
    const nowMs = this.#read();
    this.#isAnswered = true;
    const dateMs = date !== undefined && httpDate.test(date) ? Date.parse(date) : Number.NaN;
    if (!Number.isFinite(dateMs)) return;
    this.#providerOriginMs = dateMs - nowMs;
    const isBehind = dateMs < this.#clock.wallMs() - behindMs;
    this.#behindSinceMs = isBehind ? (this.#behindSinceMs ?? nowMs) : undefined;
  }

  /** Notices a jump since the reading before. */
  #read(): number {
    const nowMs = this.#clock.monotonicMs();
    const originMs = this.#clock.wallMs() - nowMs;
    if (Math.abs(originMs - this.#originMs) > jumpMs) this.#steadySinceMs = nowMs;
    this.#originMs = originMs;
    return nowMs;
  }
}
