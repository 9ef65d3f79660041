/** `--page-token-file`: a token per line, each for all namespaces. Empty lines, and those that begin with #, are none. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { messageOf, type Clock } from '../../base/index.ts';
import { readsAll } from '../fleet/reader.ts';
import { invalid, missing, tokenIn, unavailable, type Access } from './access.ts';
import { WatchedFile } from './watched-file.ts';

const shortest = 16;
const most = 1000;

/** Digests of the tokens, which have one length. Throws what is wrong with them. */
function parseTokens(text: string): readonly Buffer[] {
  const lines = text.split('\n').map((line) => line.trim());
  const tokens = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (tokens.length > most) throw new Error(`it has more than ${most} tokens`);
  const bad = lines.findIndex((line) => tokens.includes(line) && (line.length < shortest || /\s/.test(line)));
  if (bad >= 0)
    throw new Error(`line ${bad + 1} is no token: one has at least ${shortest} characters and no blanks`);
  return tokens.map(digestOf);
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

export class TokenAccess implements Access {
  readonly kinds = ['token-file'] as const;
  readonly #file: WatchedFile<readonly Buffer[]>;
  readonly #name: string;

  constructor(file: string, clock: Clock) {
    this.#name = file;
    this.#file = new WatchedFile(file, parseTokens, clock);
  }

  /** Throws when the file can't be used now. */
  check(): void {
    void this.#file.content;
  }

  async reader(request: Parameters<Access['reader']>[0]) {
    const token = tokenIn(request);
    if (token === undefined) throw missing();
    if (!this.accepts(token)) throw invalid();
    return readsAll;
  }

  /** All are compared, in constant time, whichever it is. */
  accepts(token: string): boolean {
    let digests: readonly Buffer[];
    try {
      digests = this.#file.content;
    } catch (error) {
      throw unavailable(
        `the file of tokens can't be used: ${messageOf(error).replaceAll(this.#name, 'FILE')}`,
      );
    }
    const sent = digestOf(token);
    let isKnown = false;
    for (const digest of digests) isKnown = timingSafeEqual(digest, sent) || isKnown;
    return isKnown;
  }
}
