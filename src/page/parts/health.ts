/** A health, with its colour, its shape and its word; and a sentence with its times in the reader's zone. */
import { html, nothing, type TemplateResult } from 'lit-html';
import type { Health, Row, Sentence, Summary } from '../shapes.ts';
import type { Tone } from './marks.ts';
import { moment, state, withTimes, type Now } from './texts.ts';

export const tones: Readonly<Record<Health, Tone>> = {
  Down: 'bad',
  Held: 'bad',
  Unknown: 'idle',
  Stale: 'idle',
  Waiting: 'wait',
  Suspended: 'hold',
  Deleting: 'busy',
  Working: 'busy',
  Healthy: 'ok',
};

export function healthState(health: Health): TemplateResult {
  return state(tones[health], health);
}

export function sentence({ parts }: Sentence, now: Now): TemplateResult {
  return html`${parts.map((part) => ('time' in part ? moment(part.time, now) : withTimes(part.text, now)))}`;
}

/** How far a brake reaches: `stops creations and deletions in shop/default`. */
export function brakeText(
  stops: string,
  { namespace, account }: Pick<Summary['brakes'][number], 'namespace' | 'account'>,
): string {
  return `stops ${stops} in ${account ?? namespace ?? 'the whole fleet'}`;
}

/** Of what is tried again and again. */
export function lastAnswer(answer: string | null, now: Now): TemplateResult | typeof nothing {
  return answer === null
    ? nothing
    : html`<p class="text muted small">Last answer: ${withTimes(answer, now)}</p>`;
}

/** What it is about, with what a list shows beside it. */
export function badges({ protected: isProtected, drift, refusals }: Row): TemplateResult {
  return html`${isProtected ? html`<span class="tag">protected</span>` : ''}${
    drift > 0 ? html`<span class="tag">${drift} drifted</span>` : ''
  }${refusals > 1 ? html`<span class="tag">refused ${refusals}×</span>` : ''}`;
}
