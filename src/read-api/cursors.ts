/**
 * Cursors of lists. One is opaque, and valid for ten minutes in the process that made it: afterwards, the client starts over (410). It has the
 * position behind which the next page begins, so it stays valid when the object there is deleted. It gives no rights: what a reader may see is
 * decided anew for each page.
 *
 * A position counts things that the reader may not see, such as the mutations of other namespaces. So it is encrypted, with a key of the
 * process. The same content makes the same cursor: the nonce is a digest of it.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto';
import type { Clock, Random } from '../base/index.ts';
import { Refused } from './message.ts';

const validMs = 600_000;
const cipherName = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
/** Contents are filled up to a multiple of this, so that the length shows no number. */
const blockBytes = 64;

/** A position is what the list makes of it. */
interface Content {
  readonly madeMs: number;
  /** A digest of the query without the cursor. */
  readonly query: string;
  readonly position: readonly (string | number)[];
}

export class Cursors {
  readonly #clock: Clock;
  readonly #process: string;
  readonly #key: Buffer;
  readonly #nonceKey: Buffer;

  /** `process`: another text for each process, of letters and digits. */
  constructor(clock: Clock, process: string, random: Random) {
    this.#clock = clock;
    this.#process = process;
    this.#key = random.bytes(32);
    this.#nonceKey = random.bytes(32);
  }

  make(query: string, position: readonly (string | number)[]): string {
    const content: Content = { madeMs: this.#clock.monotonicMs(), query: digestOf(query), position };
    const text = Buffer.from(JSON.stringify(content));
    const filled = Buffer.alloc(Math.ceil(text.length / blockBytes) * blockBytes, ' ');
    text.copy(filled);
    const nonce = createHmac('sha256', this.#nonceKey).update(filled).digest().subarray(0, nonceBytes);
    const cipher = createCipheriv(cipherName, this.#key, nonce);
    const sealed = Buffer.concat([nonce, cipher.update(filled), cipher.final(), cipher.getAuthTag()]);
    return `${this.#process}.${sealed.toString('base64url')}`;
  }

  /** Throws a `Refused`. */
  read(text: string, query: string): readonly (string | number)[] {
    const [, process, sealed = ''] = /^([A-Za-z0-9]+)\.([\w-]+)$/.exec(text) ?? [];
    if (process !== undefined && process !== this.#process) throw expired();
    const content = process === undefined ? undefined : this.#opened(Buffer.from(sealed, 'base64url'));
    if (!content)
      throw new Refused(400, 'invalid_cursor', 'cursor is not one that this API made; leave it out');
    if (this.#clock.monotonicMs() - content.madeMs > validMs) throw expired();
    if (content.query !== digestOf(query))
      throw new Refused(
        400,
        'invalid_cursor',
        'cursor is of another query; send the parameters of the first page',
      );
    return content.position;
  }

  #opened(sealed: Buffer): Content | undefined {
    if (sealed.length < nonceBytes + tagBytes) return undefined;
    try {
      const decipher = createDecipheriv(cipherName, this.#key, sealed.subarray(0, nonceBytes));
      decipher.setAuthTag(sealed.subarray(-tagBytes));
      const filled = [decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()];
      return JSON.parse(Buffer.concat(filled).toString()) as Content;
    } catch {
      return undefined;
    }
  }
}

function expired(): Refused {
  return new Refused(410, 'cursor_expired', 'cursor was valid for 10 minutes; start over without it');
}

function digestOf(query: string): string {
  return createHash('sha256').update(query).digest('base64url').slice(0, 22);
}

/** The parameters that a cursor belongs to, in one order. */
export function queryText(parameters: URLSearchParams): string {
  const kept = [...parameters].filter(([name]) => name !== 'cursor' && name !== 'limit');
  return new URLSearchParams(kept.sort(([left], [right]) => (left < right ? -1 : 1))).toString();
}
