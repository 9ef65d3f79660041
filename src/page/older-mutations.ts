/**
 * Mutations of the timeline beyond those that its stream shows. They are read on request, page by page, and do not change any more.
 *
 *     unread ── read ──> reading ── a page, with another one behind it ──> read up to there ── read ──> reading
 *                               ├── a page, and nothing behind it ───────> complete
 *                               └── no answer, or too many ──────────────> failed, or full
 */
import type { Mutation } from './shapes.ts';

interface Page {
  readonly items: readonly Mutation[];
  readonly next: string | null;
}

const perPage = 200;
/** A page may have nothing that matches while another one follows. */
const pagesAtOnce = 20;
/** More is nothing that anybody reads in a browser. */
export const mostOlder = 2000;

export type OlderState = 'unread' | 'reading' | 'partly' | 'complete' | 'failed' | 'full';

export class OlderMutations {
  #items: readonly Mutation[] = [];
  #state: OlderState = 'unread';
  /** Of the page that comes next; undefined: the first one is to be read for that. */
  #cursor: string | undefined;

  get state(): OlderState {
    return this.#state;
  }

  /** Those that are not among `newest`, newest first. */
  behind(newest: readonly Mutation[]): readonly Mutation[] {
    const known = new Set(newest.map(({ idempotencyKey }) => idempotencyKey));
    return this.#items.filter(({ idempotencyKey }) => !known.has(idempotencyKey));
  }

  /** `query`: of the view. Never rejects. */
  async read(fetch: typeof globalThis.fetch, query: Readonly<Record<string, string>>): Promise<void> {
    if (this.#state === 'reading' || this.#state === 'complete' || this.#state === 'full') return;
    this.#state = 'reading';
    try {
      this.#state = await this.#readOn(fetch, query);
    } catch {
      this.#state = 'failed';
    }
  }

  async #readOn(
    fetch: typeof globalThis.fetch,
    query: Readonly<Record<string, string>>,
  ): Promise<OlderState> {
    const wanted = this.#items.length + (this.#cursor === undefined ? perPage : 0);
    for (let read = 0; read < pagesAtOnce; read += 1) {
      const { items, next } = await this.#page(fetch, query);
      this.#items = [...this.#items, ...items].slice(0, mostOlder);
      if (next === null) return 'complete';
      this.#cursor = next;
      if (this.#items.length >= mostOlder) return 'full';
      // The first page is that of the stream.
      if (this.#items.length > wanted) break;
    }
    return 'partly';
  }

  async #page(fetch: typeof globalThis.fetch, query: Readonly<Record<string, string>>): Promise<Page> {
    const { object = '', account = '', from = '', to = '' } = query;
    const given = Object.entries({ object, account, from, to, cursor: this.#cursor ?? '' }).filter(
      ([, value]) => value !== '',
    );
    const parameters = new URLSearchParams([...given, ['limit', String(perPage)]]);
    const response = await fetch(`/api/v1/timeline?${parameters.toString()}`, { cache: 'no-store' });
    // What was read so far is too old to continue, so it is read anew.
    if (response.status === 410) {
      this.#cursor = undefined;
      this.#items = [];
    }
    if (!response.ok) throw new Error(`answered ${response.status}`);
    return (await response.json()) as Page;
  }
}
