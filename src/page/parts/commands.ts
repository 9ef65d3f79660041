/** The commands that apply to an object now, each with what it does. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import type { ObjectAnswer } from '../shapes.ts';
import { upperFirst } from '../format.ts';
import { command } from './texts.ts';

export function commandsPanel(all: ObjectAnswer['commands']): TemplateResult | typeof nothing {
  if (all.length === 0) return nothing;
  return html`<section class="panel" aria-labelledby="commands">
    <header><h2 id="commands">Commands</h2></header>
    <ul class="body commands">
      ${all.map(
        ({ what, text }) =>
          html`<li>
            <span class="muted">${upperFirst(what)}</span>
            ${command(text)}
          </li>`,
      )}
    </ul>
  </section>`;
}
