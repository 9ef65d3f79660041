/**
 * Cursors of lists. One is opaque, and valid for ten minutes in the process that made it: afterwards, the client starts over (410). It has the
 * position behind which the next page begins, so it stays valid when the object there is deleted. It gives no rights: what a reader may see is
 * decided anew for each page.
 */
import type { Clock } from '../base/index.ts';
import { Refused } from './message.ts';

const validMs = 600_000;

/** A position is what the list makes of it. */
interface Content {
  readonly process: string;
  readonly madeMs: number;
  /** The query without the cursor. */
  readonly query: string;
  readonly position: readonly (string | number)[];
}

export class Cursors {
  readonly #clock: Clock;
  readonly #process: string;

  /** `process`: another text for each process. */
  constructor(clock: Clock, process: string) {
    this.#clock = clock;
    this.#process = process;
  }

  make(query: string, position: readonly (string | number)[]): string {
    const content: Content = { process: this.#process, madeMs: this.#clock.monotonicMs(), query, position };
    return Buffer.from(JSON.stringify(content)).toString('base64url');
  }

  /** Throws a `Refused`. */
  read(text: string, query: string): readonly (string | number)[] {
    const content = contentOf(text);
    if (!content)
      throw new Refused(400, 'invalid_cursor', 'cursor is not one that this API made; leave it out');
    const isOld = this.#clock.monotonicMs() - content.madeMs > validMs;
    if (content.process !== this.#process || isOld || content.madeMs > this.#clock.monotonicMs())
      throw new Refused(410, 'cursor_expired', 'cursor was valid for 10 minutes; start over without it');
    if (content.query !== query)
      throw new Refused(
        400,
        'invalid_cursor',
        'cursor is of another query; send the parameters of the first page',
      );
    return content.position;
  }
}

function contentOf(text: string): Content | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { process, madeMs, query, position } = value as Partial<Content>;
  const isPosition =
    Array.isArray(position) &&
    position.every((part) => typeof part === 'string' || (typeof part === 'number' && Number.isFinite(part)));
  if (typeof process !== 'string' || typeof madeMs !== 'number' || typeof query !== 'string' || !isPosition)
    return undefined;
  return { process, madeMs, query, position };
}

/** The parameters that a cursor belongs to, in one order. */
export function queryText(parameters: URLSearchParams): string {
  const kept = [...parameters].filter(([name]) => name !== 'cursor' && name !== 'limit');
  return new URLSearchParams(kept.sort(([left], [right]) => (left < right ? -1 : 1))).toString();
}
