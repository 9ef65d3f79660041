/** Small parts that all views have: states, times, money, commands. Pure, but for what the button of a command does. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { clockTime, duration, usd } from '../format.ts';
import { marks, type Tone } from './marks.ts';

/** What all views know beside their data. */
export interface Now {
  /** Unix milliseconds by the clock of the server. That of the browser may be wrong. */
  readonly serverMs: number;
  /** IANA name; the reader's own unless given. */
  readonly timeZone?: string;
}

export function state(tone: Tone, word: string): TemplateResult {
  return html`<span class="state ${tone}">${marks[tone]}<span>${word}</span></span>`;
}

/** `3 min ago`, with the time in UTC for whoever points at it. `at`: RFC 3339. */
export function ago(at: string | undefined, { serverMs }: Now): TemplateResult | string {
  if (at === undefined) return html`<span class="muted">never</span>`;
  return timed(at, (ms) =>
    ms > serverMs + 1000 ? `in ${duration(ms - serverMs)}` : `${duration(serverMs - ms)} ago`,
  );
}

/** For how long: `3 min`. */
export function since(at: string | undefined, { serverMs }: Now): TemplateResult | string | typeof nothing {
  if (at === undefined) return nothing;
  return timed(at, (ms) => duration(serverMs - ms), 'since ');
}

/** The time itself, in the reader's zone. */
export function moment(
  at: string | undefined,
  { serverMs, timeZone }: Now,
): TemplateResult | string | typeof nothing {
  if (at === undefined) return nothing;
  return timed(at, (ms) => clockTime(ms, serverMs, timeZone));
}

/** With its second. */
export function exactMoment(at: string, { serverMs, timeZone }: Now): TemplateResult | string {
  return timed(at, (ms) => clockTime(ms, serverMs, timeZone, true));
}

/** Others may have written a time that there is none: it is shown as it is. */
function timed(at: string, textOf: (ms: number) => string, before = ''): TemplateResult | string {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return at;
  return html`<time class="nowrap" datetime=${at} title=${`${before}${utc(ms)}`}>${textOf(ms)}</time>`;
}

const timeInText = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A message, with the times in it (RFC 3339) in the reader's zone. */
export function withTimes(message: string, now: Now): unknown {
  return message.split(timeInText).map((part, index) => (index % 2 === 1 ? moment(part, now) : part));
}

/** A sentence of Fleetkeeper, with what it has in backticks as code. */
export function withCode(text: string): unknown {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** A name in one word, which a narrow column may break between its parts. */
export function breakable(name: string): unknown {
  return name.split(/(?<=[a-z])(?=[A-Z])/).map((part, index) => (index === 0 ? part : html`<wbr />${part}`));
}

function utc(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
}

/** `places`: as of `usd`. */
export function perHour(micros: number | undefined, places?: number): TemplateResult {
  if (micros === undefined) return html`<span class="muted">unknown</span>`;
  return html`<span class="nowrap">${usd(micros, places)}<span class="muted">/h</span></span>`;
}

/** A command to copy. Where the browser lets no page write to the clipboard, its text is selected. */
export function command(text: string): TemplateResult {
  return html`<div class="command">
    <code tabindex="0">${text}</code
    ><button
      type="button"
      aria-label=${`Copy the command ${text}`}
      @click=${copy}
      @blur=${asBefore}
      @pointerleave=${asBefore}
    >
      Copy
    </button>
  </div>`;
}

async function copy({ currentTarget: button }: Event): Promise<void> {
  if (!(button instanceof HTMLElement) || !button.previousElementSibling) return;
  const code = button.previousElementSibling;
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = 'Copied';
  } catch {
    getSelection()?.selectAllChildren(code);
    button.textContent = 'Selected';
  }
}

function asBefore({ currentTarget: button }: Event): void {
  if (button instanceof HTMLElement) button.textContent = 'Copy';
}
