/** One question to the server, with what the reader has already. What comes of it is a value: nothing is thrown. */

export type Asked =
  | {
      readonly is: 'body';
      readonly body: unknown;
      readonly etag: string | undefined;
      readonly serverMs: number | undefined;
    }
  | { readonly is: 'same'; readonly serverMs: number | undefined }
  /** It can't be understood, or there is no such thing. */
  | { readonly is: 'refused'; readonly status: number; readonly message: string }
  /** No answer, or one that will be another one later. */
  | { readonly is: 'cut' };

export async function ask(
  fetch: typeof globalThis.fetch,
  path: string,
  etag: string | undefined,
  signal: AbortSignal,
): Promise<Asked> {
  try {
    const headers = etag === undefined ? {} : { 'if-none-match': etag };
    const response = await fetch(path, { headers, signal, cache: 'no-store' });
    const serverMs = timeIn(response.headers.get('date'));
    if (response.status === 304) return { is: 'same', serverMs };
    if (response.status >= 500 || response.status === 429) return { is: 'cut' };
    const body = (await response.json()) as { readonly error?: { readonly message?: string } };
    if (!response.ok) return { is: 'refused', status: response.status, message: body.error?.message ?? '' };
    return { is: 'body', body, etag: response.headers.get('etag') ?? undefined, serverMs };
  } catch {
    return { is: 'cut' };
  }
}

function timeIn(header: string | null): number | undefined {
  const ms = Date.parse(header ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}
