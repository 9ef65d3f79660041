/**
 * The page, in the browser: one stream for the view that is shown, the summary every few seconds, and a new picture when something
 * has changed. What is shown follows from that alone (views/). A tab that nobody sees has no connection.
 */
import { delayMs, next, start, type Connection, type ConnectionEvent, type Refusal } from './connection.ts';
import { brokenView, drawFirst } from './drawing.ts';
import { KeptViews } from './kept-views.ts';
import { applied, nothingYet, outdated, type Live, type Sent } from './live.ts';
import { followLinks, goTo, toContent } from './navigation.ts';
import { OlderMutations } from './older-mutations.ts';
import type { Now } from './parts/texts.ts';
import { Places, type Place } from './places.ts';
import { linkTo, routeOf, titleOf, type Route } from './route.ts';
import { searchBySlash } from './search-key.ts';
import type { Summary } from './shapes.ts';
import { readStream, refusalOf } from './stream.ts';
import { TreeFocus } from './tree-focus.ts';
import { Typing } from './typing.ts';
import { pageSize } from './views/objects.ts';
import { loginView } from './views/login.ts';
import { frame } from './views/frame.ts';
import { content, streamOf, type Shell } from './views/index.ts';

const summaryMs = 5000;
const foldsKey = 'unfolded';
const mostFolds = 500;

let route: Route = routeOf(location.hash);
let connection: Connection = start;
let live: Live = nothingYet;
let summary: Summary | undefined;
let summaryTag: string | undefined;
let version: string | undefined;
let isOutdated = false;
/** What became of the token that was entered last: a status, 0 without an answer. */
let loginFailure: number | undefined;
let lastEventId: string | undefined;
let stream = new AbortController();
let retry: ReturnType<typeof setTimeout> | undefined;
let isDrawn = true;
/** Milliseconds by which the clock of the server is ahead. */
let aheadMs = 0;
const kept = new KeptViews();
const places = new Places();
const treeFocus = new TreeFocus();
const typing = new Typing({
  after: (waitMs, run) => {
    const timer = setTimeout(run, waitMs);
    return { cancel: () => clearTimeout(timer) };
  },
});
let older = new OlderMutations();
/** Where to be when the view is there. */
let returning: Place | undefined;
/** When what is shown was true; monotonic. */
let shownAtMs = 0;
const unfolded = foldsOf(sessionStorage.getItem(foldsKey));

/** `text`: of the storage of this tab, which others may have written. */
function foldsOf(text: string | null): Map<string, boolean> {
  try {
    return new Map(JSON.parse(text ?? '[]') as [string, boolean][]);
  } catch {
    return new Map();
  }
}

function now(): Now {
  return { serverMs: Date.now() + aheadMs };
}

const shell: Shell = {
  // At first what is at the top is open, and nothing below.
  isUnfolded: ({ id, parent }) => unfolded.get(id) ?? parent === null,
  onFold: (node) => {
    unfolded.set(node.id, !shell.isUnfolded(node));
    sessionStorage.setItem(foldsKey, JSON.stringify([...unfolded].slice(-mostFolds)));
    paint();
  },
  // A filter is no step to go back to.
  onFilter: (query) => {
    typing.asked();
    const address = linkTo([route.view], query);
    if (address === location.hash) return typing.arrived(true);
    places.follow(location.hash);
    location.replace(address);
  },
  onType: (query) => {
    typing.type(query, () => shell.onFilter(query));
  },
  onNext: () => void nextPage(),
  onOlder: () => {
    void older.read(fetch, route.query).then(draw);
    draw();
  },
  treeFocus,
  onReach: ({ id }) => {
    treeFocus.focused(id);
    paint();
  },
};

function draw(): void {
  if (!isDrawn) return;
  isDrawn = false;
  requestAnimationFrame(() => {
    isDrawn = true;
    paint();
  });
}

/** At once. After a key, the next one may be pressed before the next frame, and is about what is shown. */
function paint(): void {
  const page = document.getElementById('page');
  if (page) drawFirst(page, [picture, () => picture(brokenView), brokenView], reportError);
  const count = summary?.problems.forPerson ?? 0;
  document.title = `${count > 0 ? `(${count}) ` : ''}${titleOf(route)} · Fleetkeeper`;
  if (returning && live.head !== undefined && !live.isOutdated) {
    const place = returning;
    returning = undefined;
    goTo(place);
  }
}

function picture(inPlace = shownView): unknown {
  if (connection.is === 'denied')
    return loginView({ ...connection, failure: loginFailure, onToken: (token) => void logIn(token) });
  const silentMs = connection.is === 'stale' ? performance.now() - shownAtMs : 0;
  return frame(
    { route, connection, summary, silentMs, isOutdated, onReload: () => location.reload(), onTry: connect },
    inPlace(),
    now(),
  );
}

function shownView(): unknown {
  return content(typing.shown(route), live, summary, shell, now(), older);
}

function happened(event: ConnectionEvent): void {
  connection = next(connection, event, performance.now());
  if (connection.is === 'denied') {
    live = nothingYet;
    kept.clear();
    older = new OlderMutations();
    summary = undefined;
    summaryTag = undefined;
  }
  if (connection.is === 'live') {
    shownAtMs = connection.heardAt;
    kept.keep(addressOf(route), live, shownAtMs);
  }
  draw();
}

function addressOf(of: Route): string {
  return streamOf(of)?.toString() ?? '';
}

/** With what was heard last, so nothing is lost and nothing comes twice. */
function connect(): void {
  stream.abort();
  clearTimeout(retry);
  stream = new AbortController();
  const parameters = streamOf(route);
  if (!parameters || document.hidden) return;
  const { signal } = stream;
  void readStream(`/api/v1/stream?${parameters.toString()}`, lastEventId, signal, {
    onHeard: () => happened({ is: 'heard' }),
    onEvent: (event, data, id) => {
      const sent = JSON.parse(data) as Sent;
      if (sent.at !== undefined) aheadMs = Date.parse(sent.at) - Date.now();
      live = applied(live, event, sent);
      lastEventId = id ?? lastEventId;
      happened({ is: 'heard' });
    },
    onRefused: refused,
    onCut: () => {
      if (live.isOutdated) live = kept.get(addressOf(route)).live;
      happened({ is: 'cut' });
      again();
    },
  });
}

function again(): void {
  if (connection.is === 'denied' || document.hidden) return;
  const attempt = connection.is === 'live' ? 1 : connection.attempt;
  clearTimeout(retry);
  retry = setTimeout(connect, delayMs(attempt));
}

/** 400: a filter that can't be understood. 410: a page of a list that is too old. */
function refused(refusal: Refusal, message = ''): void {
  const { status } = refusal;
  if (status === 401 || status === 403) return happened({ is: 'refused', ...refusal });
  live = { head: null, items: [], ...(status === 400 ? { refusal: message } : {}) };
  if (status === 410) location.hash = linkTo(['objects'], { ...route.query, cursor: '' });
  happened({ is: 'heard' });
}

async function readSummary(): Promise<void> {
  if (document.hidden || connection.is === 'denied') return;
  try {
    const headers = summaryTag === undefined ? {} : { 'if-none-match': summaryTag };
    const response = await fetch('/api/v1/summary', { headers, cache: 'no-store' });
    if (response.status === 401 || response.status === 403)
      return happened({ is: 'refused', ...refusalOf(response) });
    if (response.status !== 200) return;
    summaryTag = response.headers.get('etag') ?? undefined;
    summary = (await response.json()) as Summary;
    version ??= summary.version;
    isOutdated = summary.version !== version;
    draw();
  } catch {
    // The stream notices that there is no connection.
  }
}

async function nextPage(): Promise<void> {
  const { query } = route;
  const parameters = new URLSearchParams({ ...query, limit: String(pageSize) });
  const response = await fetch(`/api/v1/objects?${parameters.toString()}`, { cache: 'no-store' });
  if (!response.ok) return refused(refusalOf(response));
  const { next: cursor } = (await response.json()) as { readonly next: string | null };
  if (cursor === null) return;
  places.follow(location.hash);
  location.hash = linkTo(['objects'], { ...query, cursor });
}

async function logIn(token: string): Promise<void> {
  const body = new URLSearchParams({ token });
  const response = await fetch('/login', { method: 'POST', body }).catch(() => undefined);
  loginFailure = response?.ok === true ? undefined : (response?.status ?? 0);
  if (loginFailure === undefined) {
    connection = start;
    restart();
  }
  draw();
}

/** `isSameView`: with another filter. */
function restart(isSameView = false): void {
  // Without a connection, what was seen of this view before is better than nothing.
  ({ live, atMs: shownAtMs } =
    connection.is === 'live'
      ? { live: isSameView ? outdated(live) : nothingYet, atMs: performance.now() }
      : kept.get(addressOf(route)));
  older = new OlderMutations();
  lastEventId = undefined;
  connect();
  void readSummary();
}

addEventListener('hashchange', () => {
  const before = route;
  route = routeOf(location.hash);
  returning = places.arrive(location.hash);
  const isSameView = before.view === route.view && before.path.join('/') === route.path.join('/');
  typing.arrived(isSameView);
  restart(isSameView);
  draw();
  if (isSameView && before.query['cursor'] === route.query['cursor'] && !returning) return;
  toContent();
});
followLinks(places);
searchBySlash();
document.addEventListener('visibilitychange', () => {
  connect();
  void readSummary();
});
setInterval(() => {
  const before = connection;
  happened({ is: 'time' });
  if (connection.is === 'stale' && before.is === 'live') connect();
}, 1000);
setInterval(() => void readSummary(), summaryMs);
connect();
void readSummary();
draw();
