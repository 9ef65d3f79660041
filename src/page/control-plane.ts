/**
 * The page of a control plane, in the browser: every two seconds the summary and the view that is shown are asked for, with what the page has
 * already. What is shown follows from the answers alone (control-plane/views/). A tab that nobody sees asks for nothing.
 */
import { delayMs, next, start, type Connection, type ConnectionEvent } from './connection.ts';
import { ask, type Asked } from './control-plane/polling.ts';
import { hrefOf, isSameList, pathOf, routeOf, type Route } from './control-plane/route.ts';
import type { Summary } from './control-plane/shapes.ts';
import { brokenView, drawFirst } from './drawing.ts';
import { followLinks, goTo, toContent } from './navigation.ts';
import { Places, type Place } from './places.ts';
import { searchBySlash } from './search-key.ts';
import { Typing } from './typing.ts';
import { pageView, titleOf } from './control-plane/views/index.ts';

const pollMs = 2000;
/** For both answers. */
const longestMs = 10_000;
/** `Date` has whole seconds. */
const clockToleranceMs = 2000;
const summaryPath = '/admin/v1/summary';

let route: Route = routeOf(location.hash);
let connection: Connection = start;
let refusal: { readonly status: number; readonly message: string } | undefined;
/** Of the summary and of the view. */
const known = new Map<string, { readonly body: unknown; readonly etag: string | undefined }>();
let firstPage: string | null | undefined;
/** Of the filter before, until there is what matches the new one. */
let previous: unknown;
const places = new Places();
/** Where to be when the view is there. */
let returning: Place | undefined;
const typing = new Typing({
  after: (waitMs, run) => {
    const timer = setTimeout(run, waitMs);
    return { cancel: () => clearTimeout(timer) };
  },
});
let round = new AbortController();
let nextRound: ReturnType<typeof setTimeout> | undefined;
let isDrawn = true;
/** Milliseconds by which the clock of the server is ahead. */
let aheadMs = 0;

function summary(): Summary | undefined {
  return known.get(summaryPath)?.body as Summary | undefined;
}

function data(): unknown {
  return known.get(pathOf(route) ?? '')?.body ?? previous;
}

/** A filter is no step to go back to. */
function filter(view: Parameters<typeof hrefOf>[0], query: Route['query']): void {
  typing.asked();
  const address = hrefOf(view, query);
  if (address === location.hash) return typing.arrived(true);
  places.follow(location.hash);
  location.replace(address);
}

function draw(): void {
  if (!isDrawn) return;
  isDrawn = false;
  requestAnimationFrame(() => {
    isDrawn = true;
    document.title = `${titleOf(route)} · Control plane`;
    const page = document.getElementById('page');
    if (page) drawFirst(page, [picture, () => picture(brokenView), brokenView], reportError);
    if (returning && data() !== undefined) {
      goTo(returning);
      returning = undefined;
    }
  });
}

function picture(inPlace?: () => unknown): unknown {
  const model = {
    route: typing.shown(route),
    connection,
    refusal,
    summary: summary(),
    data: data(),
    silentMs: connection.is === 'stale' ? performance.now() - connection.heardAt : 0,
    isOutdated: firstPage !== undefined && summary()?.page !== firstPage,
    onReload: () => location.reload(),
    onTry: () => void poll(),
    origin: location.origin,
    onFilter: filter,
    onType: (view: Parameters<typeof filter>[0], query: Route['query']) =>
      typing.type(query, () => filter(view, query)),
  };
  return pageView(model, { serverMs: Date.now() + aheadMs }, inPlace);
}

function happened(event: ConnectionEvent): void {
  connection = next(connection, event, performance.now());
  draw();
}

async function poll(): Promise<void> {
  round.abort();
  clearTimeout(nextRound);
  if (document.hidden) return;
  round = new AbortController();
  const { signal: called } = round;
  const signal = AbortSignal.any([called, AbortSignal.timeout(longestMs)]);
  const path = pathOf(route);
  const [first, second] = await Promise.all([
    ask(fetch, summaryPath, known.get(summaryPath)?.etag, signal),
    path === undefined ? undefined : ask(fetch, path, known.get(path)?.etag, signal),
  ]);
  // Another round has begun meanwhile.
  if (called.aborted) return;
  keep(summaryPath, first);
  if (path !== undefined && second) keep(path, second);
  refusal = second?.is === 'refused' ? second : undefined;
  firstPage ??= summary()?.page;
  const isCut = first.is === 'cut' || second?.is === 'cut';
  // What is shown without a connection matches its filter.
  if (isCut) previous = undefined;
  happened({ is: isCut ? 'cut' : 'heard' });
  const waitMs =
    isCut && connection.is !== 'live' && connection.is !== 'denied' ? delayMs(connection.attempt) : pollMs;
  nextRound = setTimeout(() => void poll(), waitMs);
}

function keep(path: string, asked: Asked): void {
  if (asked.is !== 'body' && asked.is !== 'same') return;
  const offMs = (asked.serverMs ?? Date.now()) - Date.now();
  aheadMs = Math.abs(offMs) > clockToleranceMs ? offMs : 0;
  if (asked.is === 'body') known.set(path, asked);
}

addEventListener('hashchange', () => {
  const before = route;
  previous = data();
  route = routeOf(location.hash);
  returning = places.arrive(location.hash);
  refusal = undefined;
  if (!isSameList(before, route)) previous = undefined;
  typing.arrived(isSameList(before, route));
  // What another view showed may be old by the time that somebody returns to it.
  for (const path of known.keys()) if (path !== summaryPath && path !== pathOf(route)) known.delete(path);
  void poll();
  draw();
  if (isSameList(before, route) && before.query['offset'] === route.query['offset'] && !returning) return;
  toContent();
});
followLinks(places);
searchBySlash();
document.addEventListener('visibilitychange', () => void poll());
// What was heard too long ago is not live, as after an hour in which nobody saw the tab.
setInterval(() => happened({ is: 'time' }), 1000);
void poll();
draw();
