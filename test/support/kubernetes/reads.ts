/** Get and list. A list in pages is the state at the moment of its first page; when that is forgotten, it is `expired`. */
import { ApiError, badRequest, expired, notFound } from './errors.ts';
import { listJson, singleJson, type Form } from './forms.ts';
import type { Kind } from './kinds.ts';
import { parseSelectors } from './selectors.ts';
import type { Entry, Store } from './store.ts';

export function readOne(
  store: Store,
  kind: Kind,
  namespace: string | undefined,
  name: string,
  form: Form,
): string {
  const entry = store.get(kind.storage, namespace, name);
  if (!entry) throw notFound(kind, name);
  return singleJson(kind, entry, form);
}

/** Where a list goes on: the same shape as the real token, base64 of JSON. */
interface Position {
  readonly v: 'meta.k8s.io/v1';
  /** Of the first page; -1 to go on with what is there now. */
  readonly rv: number;
  /** The last key that was given. */
  readonly start: string;
}

export function readList(
  store: Store,
  kind: Kind,
  namespace: string | undefined,
  query: URLSearchParams,
  form: Form,
): string {
  const position = parsePosition(query.get('continue'));
  const isAnyVersion = query.get('resourceVersion') === '0' && !position;
  // The watch cache, which answers when any version will do, knows no pages.
  const limit = isAnyVersion ? 0 : Number(query.get('limit') ?? 0);
  const revision = revisionOf(store, query, position);
  const selects = parseSelectors(kind, query);
  const entries = entriesAt(store, kind, revision, position);
  const wanted = entries.filter(
    ({ key, object }) =>
      (position === undefined || key > position.start) &&
      (namespace === undefined || object.metadata.namespace === namespace) &&
      (selects === undefined || selects(object)),
  );
  const page = limit > 0 ? wanted.slice(0, limit) : wanted;
  const last = page.at(-1);
  const remaining = wanted.length - page.length;
  return listJson(kind, page, form, {
    resourceVersion: String(revision),
    ...(remaining > 0 && last && { continue: token(revision, last.key) }),
    ...(remaining > 0 && selects === undefined && { remainingItemCount: remaining }),
  });
}

function revisionOf(store: Store, query: URLSearchParams, position: Position | undefined): number {
  if (position) return position.rv === -1 ? store.revision : position.rv;
  const asked = Number(query.get('resourceVersion') ?? 0);
  if (Number.isNaN(asked)) throw badRequest(`invalid resource version: ${query.get('resourceVersion')}`);
  if (asked > store.revision) {
    throw new ApiError({
      code: 504,
      reason: 'Timeout',
      message: `Timeout: Too large resource version: ${asked}, current: ${store.revision}`,
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    });
  }
  return query.get('resourceVersionMatch') === 'Exact' ? asked : store.revision;
}

function entriesAt(
  store: Store,
  kind: Kind,
  revision: number,
  position: Position | undefined,
): readonly Entry[] {
  try {
    return store.listAt(kind.storage, revision);
  } catch (error) {
    if (!(error instanceof ApiError) || !position) throw error;
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
      token(-1, position.start),
    );
  }
}

function token(rv: number, start: string): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv, start } satisfies Position)).toString(
    'base64url',
  );
}

function parsePosition(text: string | null): Position | undefined {
  if (text === null || text === '') return undefined;
  try {
    const position = JSON.parse(Buffer.from(text, 'base64url').toString()) as Position;
    if (position.v === 'meta.k8s.io/v1') return position;
  } catch {
    // Told below.
  }
  throw badRequest('continue key is not valid: not a token of this server');
}
