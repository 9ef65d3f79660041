/** The key of a command that lasts. After the API has rejected it, it is read again: the file that holds it may have another one. */
import type { Transport } from '../../api/index.ts';
import type { Clock, Sensitive } from '../../base/index.ts';
import type { AccountKey } from '../../manager/index.ts';

const rejections: ReadonlySet<number> = new Set([401, 403]);
const leastMs = 1000;

export class RotatingKey {
  #key: Sensitive<string>;
  readonly #read: () => AccountKey;
  readonly #clock: Clock;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(key: Sensitive<string>, read: () => AccountKey, clock: Clock) {
    this.#key = key;
    this.#read = read;
    this.#clock = clock;
  }

  get key(): Sensitive<string> {
    return this.#key;
  }

  watch(transport: Transport): Transport {
    return {
      exchange: async (...sent) => {
        const reply = await transport.exchange(...sent);
        if (reply.kind === 'reply' && rejections.has(reply.status)) this.#rejected();
        return reply;
      },
      close: () => transport.close(),
    };
  }

  #rejected(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#readAtMs < leastMs) return;
    this.#readAtMs = nowMs;
    const found = this.#read();
    // A file that is being written, or has gone, does not take the key away.
    if (found.kind === 'key') this.#key = found.key;
  }
}
