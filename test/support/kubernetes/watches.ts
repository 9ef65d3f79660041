/**
 * Watches. Each is a response that stays open:
 *
 *   begin    → the changes after `resourceVersion`; without one, everything there is as ADDED; too old: one ERROR event
 *   open     → a line for each change; a bookmark from time to time, when asked for
 *   silenced → open, but nothing is sent any more (a fault)
 *   ended    → by `timeoutSeconds`, by the client, by the server's end, or as too slow a reader
 *
 * With a selector, an object that begins to match is ADDED and one that ceases to is DELETED.
 */
import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../../src/base/index.ts';
import { ApiError } from './errors.ts';
import { bookmarkLine, changeLine, eventLine, singleJson, type Form } from './forms.ts';
import type { Kind } from './kinds.ts';
import { parseSelectors, type Selector } from './selectors.ts';
import { Entry, type Change, type Store } from './store.ts';

/** A reader that leaves so much unread is cut off. */
const backlogLimitBytes = 64 * 1024 * 1024;
const defaultTimeoutSeconds = 1800;

export interface WatchRequest {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly query: URLSearchParams;
  readonly form: Form;
}

export class Watches {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #open = new Set<Watch>();
  readonly bookmarkIntervalMs: number;
  /** New watches begin as silent ones. */
  startsSilent = false;

  constructor(store: Store, bookmarkIntervalMs: number, clock: Clock) {
    this.#store = store;
    this.bookmarkIntervalMs = bookmarkIntervalMs;
    this.#clock = clock;
  }

  get count(): number {
    return this.#open.size;
  }

  /** Takes the response over; throws what is to be answered instead. */
  serve(request: WatchRequest, response: ServerResponse): void {
    const selects = parseSelectors(request.kind, request.query);
    const times = { clock: this.#clock, bookmarkIntervalMs: this.bookmarkIntervalMs };
    const watch = new Watch(this.#store, request, selects, response, times);
    this.#open.add(watch);
    response.once('close', () => {
      watch.end();
      this.#open.delete(watch);
    });
    watch.isSilent = this.startsSilent;
    watch.begin();
  }

  silence(): void {
    for (const watch of this.#open) watch.isSilent = true;
  }

  /** Ends all in the proper way, as a server does that shuts down. */
  end(): void {
    for (const watch of this.#open) watch.end();
  }
}

interface Times {
  readonly clock: Clock;
  readonly bookmarkIntervalMs: number;
}

class Watch {
  readonly #store: Store;
  readonly #request: WatchRequest;
  readonly #selects: Selector | undefined;
  readonly #response: ServerResponse;
  readonly #times: Times;
  #timeLimit: Timer | undefined;
  #nextBookmark: Timer | undefined;
  #unsubscribe: (() => void) | undefined;
  isSilent = false;

  constructor(
    store: Store,
    request: WatchRequest,
    selects: Selector | undefined,
    response: ServerResponse,
    times: Times,
  ) {
    this.#store = store;
    this.#request = request;
    this.#selects = selects;
    this.#response = response;
    this.#times = times;
  }

  begin(): void {
    const { kind, query, form } = this.#request;
    this.#response.writeHead(200, { 'content-type': 'application/json' });
    this.#response.flushHeaders();
    const since = query.get('resourceVersion') ?? '';
    const sendsInitial = query.get('sendInitialEvents') === 'true';
    if (sendsInitial || since === '' || since === '0') {
      this.#sendAll();
      if (sendsInitial) this.#send(bookmarkLine(kind, this.#store.revision, form, true));
    } else {
      try {
        for (const change of this.#store.changesSince(kind.storage, Number(since))) this.#tell(change);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        this.#send(eventLine('ERROR', JSON.stringify(error.status())));
        this.end();
        return;
      }
    }
    this.#unsubscribe = this.#store.subscribe(kind.storage, (change) => this.#tell(change));
    const timeoutSeconds = Number(query.get('timeoutSeconds') ?? 0) || defaultTimeoutSeconds;
    this.#timeLimit = this.#times.clock.after(timeoutSeconds * 1000, () => this.#timeOut());
    if (query.get('allowWatchBookmarks') === 'true') this.#bookmarkLater();
  }

  #bookmarkLater(): void {
    const { kind, form } = this.#request;
    this.#nextBookmark = this.#times.clock.after(this.#times.bookmarkIntervalMs, () => {
      this.#send(bookmarkLine(kind, this.#store.revision, form, false));
      this.#bookmarkLater();
    });
  }

  #timeOut(): void {
    if (!this.isSilent) this.end();
  }

  end(): void {
    this.#unsubscribe?.();
    this.#timeLimit?.cancel();
    this.#nextBookmark?.cancel();
    this.#response.end();
  }

  #sendAll(): void {
    const { kind, form } = this.#request;
    for (const entry of this.#store.list(kind.storage)) {
      if (this.#matches(entry)) this.#send(eventLine('ADDED', singleJson(kind, entry, form)));
    }
  }

  #tell(change: Change): void {
    const { kind, form } = this.#request;
    const { entry, previous } = change;
    const did = previous !== undefined && this.#matches(previous);
    const does = change.type !== 'DELETED' && this.#matches(entry);
    if (does) this.#send(changeLine(kind, did ? 'MODIFIED' : 'ADDED', change, form));
    else if (did && change.type === 'DELETED') this.#send(changeLine(kind, 'DELETED', change, form));
    else if (did) this.#send(eventLine('DELETED', singleJson(kind, asLastSeen(previous, entry), form)));
  }

  #matches({ object }: Entry): boolean {
    const { namespace } = this.#request;
    return (
      (namespace === undefined || object.metadata.namespace === namespace) &&
      (this.#selects?.(object) ?? true)
    );
  }

  #send(line: string): void {
    if (this.isSilent) return;
    this.#response.write(line);
    if (this.#response.writableLength > backlogLimitBytes) this.#response.destroy();
  }
}

/** The object as it was while it matched, at the version at which it ceased to. */
function asLastSeen(previous: Entry, entry: Entry): Entry {
  const { resourceVersion } = entry.object.metadata;
  return new Entry({ ...previous.object, metadata: { ...previous.object.metadata, resourceVersion } });
}
