/** What surrounds every view: the list of views, the connection, the version. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { delayMs, type Connection } from '../connection.ts';
import { duration } from '../format.ts';
import { brand, dot } from '../parts/marks.ts';
import { moment, type Now } from '../parts/texts.ts';
import { linkTo, type Route, type ViewName } from '../route.ts';
import type { Summary } from '../shapes.ts';

export interface FrameModel {
  readonly route: Route;
  readonly connection: Connection;
  readonly summary: Summary | undefined;
  /** Since when the server was not heard of, in milliseconds. */
  readonly silentMs: number;
  /** The server has another version of the page. */
  readonly isOutdated: boolean;
  readonly onReload: () => void;
  readonly onTry: () => void;
}

const views: readonly (readonly [view: ViewName, path: string, name: string])[] = [
  ['problems', '', 'Needs a person'],
  ['tree', 'tree', 'Tree'],
  ['objects', 'objects', 'Objects'],
  ['money', 'money', 'Money'],
  ['accounts', 'accounts', 'Accounts'],
  ['timeline', 'timeline', 'Timeline'],
];

/** A detail belongs to a list. */
const parents: Partial<Record<ViewName, ViewName>> = { object: 'objects', fleet: 'objects' };

export function frame(model: FrameModel, content: unknown, now: Now): TemplateResult {
  const { route, summary, isOutdated, onReload } = model;
  const current = parents[route.view] ?? route.view;
  return html`
    <a class="skip" href="#content" @click=${toContent}>To the content</a>
    <div class="frame">
      <div class="side">
        <a class="brand" href="#/">${brand}Fleetkeeper</a>
        <nav class="views" aria-label="Views">
          ${views.map(
            ([view, path, name]) =>
              html`<a
                href=${linkTo(path === '' ? [] : [path])}
                aria-current=${view === current ? 'page' : 'false'}
                >${name}${tally(view, summary)}</a
              >`,
          )}
        </nav>
        <footer>${connection(model, now)} ${summary ? owner(summary) : nothing}</footer>
      </div>
      <main class="content" id="content" tabindex="-1">
        ${stale(model)} ${summary ? manager(summary, now) : nothing}
        ${
          isOutdated
            ? html`<p class="banner" role="status">
                The server has another version. <button type="button" @click=${onReload}>Load it</button>
              </p>`
            : nothing
        }
        ${content}
      </main>
    </div>
  `;
}

function toContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

function tally(view: ViewName, summary: Summary | undefined): TemplateResult | typeof nothing {
  if (!summary) return nothing;
  const { forPerson, critical } = summary.problems;
  if (view === 'problems' && forPerson > 0)
    return html`<span class="tally ${critical > 0 ? 'bad' : ''}">${forPerson}</span>`;
  if (view === 'objects') return html`<span class="tally">${summary.objects.toLocaleString('en-US')}</span>`;
  return nothing;
}

function owner({ version, place }: Summary): TemplateResult {
  return html`<span>${version}, ${place === 'folder' ? 'from a folder' : 'from a cluster'}</span>`;
}

function connection({ connection: now, summary, silentMs }: FrameModel, { serverMs }: Now): TemplateResult {
  switch (now.is) {
    case 'loading':
      return shown('', now.attempt === 0 ? 'Loading' : 'No answer yet');
    case 'live': {
      const { oldestReadAt = null, accounts = [] } = summary ?? {};
      const read = oldestReadAt === null ? '' : `, read ${duration(serverMs - Date.parse(oldestReadAt))} ago`;
      // The page has a connection, and its manager has none: that is not the same.
      const isBehind = accounts.some(({ isStale, up }) => isStale || !up);
      return isBehind ? shown('stale', `Live; an account is not read`) : shown('live', `Live${read}`);
    }
    case 'stale':
      return shown('stale', `Stale for ${duration(silentMs)}`);
    case 'denied':
      return shown('', 'Denied');
  }
}

function shown(tone: string, text: string): TemplateResult {
  return html`<span class="connection ${tone}" role="status">${dot}${text}</span>`;
}

function stale({ connection: now, silentMs, onTry }: FrameModel): TemplateResult | typeof nothing {
  if (now.is === 'loading' && now.attempt > 0)
    return html`<p class="banner" role="alert">
      The server does not answer. The next attempt follows within ${duration(delayMs(now.attempt))}.
      <button type="button" @click=${onTry}>Try now</button>
    </p>`;
  if (now.is !== 'stale') return nothing;
  return html`<p class="banner" role="alert">
    Not connected: the process that serves this page may have stopped. What is shown is ${duration(silentMs)}
    old; the next attempt follows within ${duration(delayMs(now.attempt))}.
    <button type="button" @click=${onTry}>Try now</button>
  </p>`;
}

/** That nobody is at work is no detail. */
function manager({ manager: { state, host, seenAt } }: Summary, now: Now): TemplateResult | typeof nothing {
  if (state === 'Running' || state === 'Unknown') return nothing;
  const where = host === null ? '' : ` on ${host}`;
  const since = seenAt === null ? nothing : html`, last seen at ${moment(seenAt, now)}`;
  return html`<p class="banner" role="alert">
    No manager is at work (${state}${where}${since}). Nothing is changed, and no heartbeat is sent, until one
    runs.
  </p>`;
}
