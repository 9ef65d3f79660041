/** Shapes. Each state has one of its own, so that colour is never alone. */
import { svg, type SVGTemplateResult } from 'lit-html';

export type Tone = 'ok' | 'busy' | 'wait' | 'hold' | 'bad' | 'idle';

const stroke = (inner: SVGTemplateResult, name = ''): SVGTemplateResult =>
  svg`<svg class=${name} viewBox="0 0 16 16" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round">${inner}</svg>`;

export const marks: Readonly<Record<Tone, SVGTemplateResult>> = {
  ok: stroke(svg`<circle cx="8" cy="8" r="6.2"/><path d="M5.3 8.2l1.9 1.9 3.6-3.9"/>`),
  busy: stroke(svg`<path d="M14 8a6 6 0 1 1-1.8-4.3M14 2v3h-3"/>`, 'turning'),
  wait: stroke(svg`<circle cx="8" cy="8" r="6.2"/><path d="M8 4.6V8l2.2 1.6"/>`),
  hold: stroke(svg`<circle cx="8" cy="8" r="6.2"/><path d="M6.3 5.8v4.4M9.7 5.8v4.4"/>`),
  bad: stroke(svg`<path d="M8 1.8 14.6 13.6H1.4zM8 6.2v3.4M8 11.6v.1"/>`),
  idle: stroke(svg`<circle cx="8" cy="8" r="6.2" stroke-dasharray="2.6 2.3"/>`),
};

export const folded = stroke(svg`<path d="M5 2.5 11 8l-6 5.5"/>`);
export const unfolded = stroke(svg`<path d="M2.5 5 8 11l5.5-6"/>`);
export const dot = svg`<svg viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="4" fill="currentColor"/></svg>`;

/** A container, kept: two halves around a core. */
export const brand = stroke(
  svg`<path d="M8 1.6 13.6 4.8v6.4L8 14.4 2.4 11.2V4.8z"/><path d="M8 5.2 10.5 6.6v2.8L8 10.8 5.5 9.4V6.6z"/>`,
);
