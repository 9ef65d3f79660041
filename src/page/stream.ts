/** One stream of the read API. The browser's own EventSource hides why it failed, so it is read by hand. */
import { createParser } from 'eventsource-parser';
import type { Refusal } from './connection.ts';

export interface StreamEvents {
  /** An event, or a comment that keeps the stream open. */
  onHeard(): void;
  /** `data`: JSON. */
  onEvent(event: string, data: string, id: string | undefined): void;
  /** 401, 403: who asks may not. 400: it can't be understood. 404, 410: it is not there. `message`: of the server, as far as it gave one. */
  onRefused(refusal: Refusal, message: string): void;
  onCut(): void;
}

/** Ends with the signal, or when the stream does. */
export async function readStream(
  address: string,
  lastEventId: string | undefined,
  signal: AbortSignal,
  events: StreamEvents,
): Promise<void> {
  try {
    const headers = { accept: 'text/event-stream', ...(lastEventId ? { 'last-event-id': lastEventId } : {}) };
    const response = await fetch(address, { headers, signal, cache: 'no-store' });
    if (!response.ok || !response.body) {
      const message = messageIn(await response.text());
      if (response.status >= 500 || response.status === 429) events.onCut();
      else events.onRefused(refusalOf(response), message);
      return;
    }
    const parser = createParser({
      onEvent: ({ event = 'message', data, id }) => events.onEvent(event, data, id),
      onComment: () => events.onHeard(),
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) parser.feed(part.value);
    events.onCut();
  } catch {
    if (!signal.aborted) events.onCut();
  }
}

export function refusalOf({ status, headers }: Response): Refusal {
  const access = headers.get('fleetkeeper-access');
  return access === null ? { status } : { status, access: access.split(' ') };
}

/** Of an error in the contract's form. */
function messageIn(body: string): string {
  try {
    return String((JSON.parse(body) as { readonly error: { readonly message: unknown } }).error.message);
  } catch {
    return '';
  }
}
