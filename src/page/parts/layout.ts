/** What surrounds every view of a page: the list of views on the left or above, the connection, banners. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { delayMs, type Connection } from '../connection.ts';
import { duration } from '../format.ts';
import { brand, dot } from './marks.ts';

export interface LayoutLink {
  readonly href: string;
  readonly name: string;
  readonly isCurrent: boolean;
  /** Beside its name. */
  readonly tally?: unknown;
}

export interface LayoutModel {
  readonly name: string;
  /** Of the view: what a screen reader announces when it gets the focus. */
  readonly title: string;
  /** Whether what is shown is current. */
  readonly connection: unknown;
  readonly links: readonly LayoutLink[];
  readonly footer: unknown;
  readonly banners: unknown;
}

export function layout(
  { name, title, connection, links, footer, banners }: LayoutModel,
  content: unknown,
): TemplateResult {
  return html`
    <a class="skip" href="#content" @click=${toContent}>To the content</a>
    <div class="frame">
      <div class="side">
        <a class="brand" href="#/">${brand}${name}</a>
        <nav class="views" aria-label="Views">
          ${links.map(
            (link) =>
              html`<a href=${link.href} aria-current=${link.isCurrent ? 'page' : 'false'}
                >${link.name}${link.tally ?? nothing}</a
              >`,
          )}
        </nav>
        <footer>${connection} ${footer}</footer>
      </div>
      <main class="content" id="content" tabindex="-1" aria-label=${title}>${banners} ${content}</main>
    </div>
  `;
}

function toContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

export interface Connected {
  readonly connection: Connection;
  /** Since when the server was not heard of, in milliseconds. */
  readonly silentMs: number;
  /** The server has another version of the page. */
  readonly isOutdated: boolean;
  readonly onReload: () => void;
  readonly onTry: () => void;
}

export interface LiveState {
  /** Follows `Live`. */
  readonly detail?: string;
  /** Why what is live is not all that there is. */
  readonly behind?: string;
}

export function connectionState(
  { connection, silentMs }: Connected,
  { detail = '', behind }: LiveState = {},
): TemplateResult {
  switch (connection.is) {
    case 'loading':
      return shown('', connection.attempt === 0 ? 'Loading' : 'No answer yet');
    case 'live':
      return behind === undefined ? shown('live', 'Live', detail) : shown('stale', `Live; ${behind}`);
    case 'stale':
      return shown('stale', 'Stale', ` for ${duration(silentMs)}`);
    case 'denied':
      return shown('', 'Denied');
  }
}

/** `age`: it changes each second, so no screen reader is to announce it. */
function shown(tone: string, text: string, age = ''): TemplateResult {
  return html`<span class="connection ${tone}"
    >${dot}<span><span role="status">${text}</span>${age}</span></span
  >`;
}

export function connectionBanner({
  connection,
  silentMs,
  onTry,
}: Connected): TemplateResult | typeof nothing {
  const again = html`<button type="button" @click=${onTry}>Try now</button>`;
  if (connection.is === 'loading' && connection.attempt > 0)
    return html`<div class="banner">
      <span role="alert">The server does not answer.</span> The next attempt follows within
      ${duration(delayMs(connection.attempt))}. ${again}
    </div>`;
  if (connection.is !== 'stale') return nothing;
  return html`<div class="banner">
    <span role="alert">Not connected: the process that serves this page may have stopped.</span> What is shown
    is ${duration(silentMs)} old; the next attempt follows within ${duration(delayMs(connection.attempt))}.
    ${again}
  </div>`;
}

export function outdatedBanner({ isOutdated, onReload }: Connected): TemplateResult | typeof nothing {
  if (!isOutdated) return nothing;
  return html`<p class="banner" role="status">
    The server has another version. <button type="button" @click=${onReload}>Load it</button>
  </p>`;
}
