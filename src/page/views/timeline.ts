/** Mutations, newest first: when, what, why, and what became of them. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { objectLink, shortName } from '../parts/links.ts';
import { moment, state, withTimes, type Now } from '../parts/texts.ts';
import type { Tone } from '../parts/marks.ts';
import { linkTo } from '../route.ts';
import type { Mutation } from '../shapes.ts';

export interface TimelineModel {
  readonly query: Readonly<Record<string, string>>;
  readonly mutations: readonly Mutation[];
  readonly limits: string;
}

export function timelineView({ query, mutations, limits }: TimelineModel, now: Now): TemplateResult {
  const { object, account } = query;
  return html`
    <header class="top">
      <div>
        <h1>Timeline</h1>
        <p>${limits}</p>
      </div>
      ${
        object || account
          ? html`<a class="button" href=${linkTo(['timeline'])}>${object ?? account} ✕</a>`
          : nothing
      }
    </header>
    <section class="panel" aria-label="Mutations">
      ${
        mutations.length === 0
          ? html`<div class="empty">
              <strong>Nothing was changed</strong>No mutation was sent in the time that is kept.
            </div>`
          : html`<div class="scroll" tabindex="0" role="region" aria-label="List of mutations">
              ${mutationsTable(mutations, now, true)}
            </div>`
      }
    </section>
  `;
}

const outcomes: Readonly<Record<string, Tone>> = {
  pending: 'busy',
  applied: 'ok',
  refused: 'bad',
  unknown: 'idle',
  'not-sent': 'idle',
  'not-applied': 'bad',
  outdated: 'bad',
  repeatable: 'wait',
};

export function mutationsTable(
  mutations: readonly Mutation[],
  now: Now,
  withObject: boolean,
): TemplateResult {
  return html`<table>
    <thead>
      <tr>
        <th scope="col">When</th>
        <th scope="col">What</th>
        ${withObject ? html`<th scope="col">Object</th>` : nothing}
        <th scope="col">Why</th>
        <th scope="col">Outcome</th>
        <th scope="col" class="number">Took</th>
      </tr>
    </thead>
    <tbody>
      ${repeat(
        mutations,
        ({ idempotencyKey }) => idempotencyKey,
        (each) =>
          html`<tr>
            <td class="muted">${moment(each.at, now)}</td>
            <td class="nowrap">${each.action}</td>
            ${withObject ? html`<td class="wide">${objectLink(each.object, shortName(each.object))}</td>` : nothing}
            <td class="wide">${each.why ?? html`<span class="muted">–</span>`}</td>
            <td class="wide">
              ${state(outcomes[each.outcome] ?? 'idle', each.outcome)}
              ${each.note === null ? nothing : html`<div class="muted small">${withTimes(each.note, now)}</div>`}
            </td>
            <td class="number muted">${each.durationMs === null ? '–' : took(each.durationMs)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

const took = (ms: number) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);
