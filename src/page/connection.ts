/**
 * The connection of the page to its server, as a state machine. Pure.
 *
 * | state     | what is shown                                              | left by                                         |
 * |-----------|------------------------------------------------------------|-------------------------------------------------|
 * | `loading` | that the first answer is awaited                           | an answer, a failure                            |
 * | `live`    | data, and the age of the oldest read of an account         | silence for 30 s, a cut, a refusal              |
 * | `stale`   | the same data with its age, and when the next attempt is   | an answer, a refusal                            |
 * | `denied`  | no data; the form for a token, or why it is refused        | another token                                   |
 *
 * After a failure the next attempt follows 1 s later, then 2 s, 4 s, up to 30 s.
 */

export interface Refusal {
  readonly status: number;
  /** Of a 401, which tokens are accepted: `token-file`, `kubernetes`, `oidc`. */
  readonly access?: readonly string[];
}

export type Connection =
  | { readonly is: 'loading'; readonly attempt: number }
  | { readonly is: 'live'; readonly heardAt: number }
  | { readonly is: 'stale'; readonly heardAt: number; readonly attempt: number }
  | ({ readonly is: 'denied' } & Refusal);

export type ConnectionEvent =
  /** An event, or a comment that keeps the connection open. */
  | { readonly is: 'heard' }
  | { readonly is: 'cut' }
  | ({ readonly is: 'refused' } & Refusal)
  | { readonly is: 'time' };

/** Nothing for so long is no connection: a comment comes every 15 s. */
export const silentMs = 30_000;
const longestMs = 30_000;

export const start: Connection = { is: 'loading', attempt: 0 };

/** `atMs`: monotonic. */
export function next(before: Connection, event: ConnectionEvent, atMs: number): Connection {
  switch (event.is) {
    case 'heard':
      return { is: 'live', heardAt: atMs };
    case 'refused':
      return { ...event, is: 'denied' };
    case 'cut':
      return failed(before);
    case 'time':
      return before.is === 'live' && atMs - before.heardAt >= silentMs ? failed(before) : before;
  }
}

function failed(before: Connection): Connection {
  switch (before.is) {
    case 'loading':
      return { is: 'loading', attempt: before.attempt + 1 };
    case 'live':
      return { is: 'stale', heardAt: before.heardAt, attempt: 1 };
    case 'stale':
      return { ...before, attempt: before.attempt + 1 };
    case 'denied':
      return before;
  }
}

/** Until the next attempt. */
export function delayMs(attempt: number): number {
  return Math.min(longestMs, 1000 * 2 ** Math.max(0, attempt - 1));
}
