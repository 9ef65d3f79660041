/** Mutations, newest first: when, what, why, and what became of them. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { objectLink } from '../parts/links.ts';
import { breakable, exactMoment, state, withTimes, type Now } from '../parts/texts.ts';
import type { Tone } from '../parts/marks.ts';
import { linkTo } from '../route.ts';
import type { OlderMutations, OlderState } from '../older-mutations.ts';
import type { Mutation } from '../shapes.ts';

export interface TimelineModel {
  readonly query: Readonly<Record<string, string>>;
  readonly mutations: readonly Mutation[];
  readonly limits: string;
  /** Whose mutations may be asked for. */
  readonly accounts: readonly string[];
  readonly older: Pick<OlderMutations, 'state' | 'behind'>;
  readonly onOlder: () => void;
  /** `query`: without what is empty. */
  readonly onFilter: (query: Readonly<Record<string, string>>) => void;
}

export function timelineView(model: TimelineModel, now: Now): TemplateResult {
  const { query, mutations, limits, older, onOlder } = model;
  const isFiltered = Object.values(query).some((value) => value !== '');
  return html`
    <header class="top">
      <div>
        <h1>Timeline</h1>
        <p>${limits}</p>
      </div>
    </header>
    ${filters(model)}
    <section class="panel" aria-label="Mutations">
      ${
        mutations.length === 0
          ? html`<div class="empty">
              <strong>Nothing was changed</strong>No mutation${isFiltered ? ' that matches' : ''} was sent in
              the time that is kept.
              ${isFiltered ? html`<a href=${linkTo(['timeline'])}>Remove all filters</a>` : nothing}
            </div>`
          : html`<div class="scroll" tabindex="0" role="region" aria-label="List of mutations">
              ${mutationsTable([...mutations, ...older.behind(mutations)], now, true)}
            </div>`
      }
      ${
        mutations.length < pageSize && older.state === 'unread'
          ? nothing
          : html`<div class="body line">
              <span class="muted" role="status">${olderTexts[older.state]}</span>
              ${
                older.state === 'complete' || older.state === 'full'
                  ? nothing
                  : html`<button type="button" @click=${onOlder}>Older ones</button>`
              }
            </div>`
      }
    </section>
  `;
}

/** Mutations that are shown as they happen. */
export const pageSize = 200;

const olderTexts: Readonly<Record<OlderState, string>> = {
  unread: `the newest ${pageSize}`,
  reading: 'reading …',
  partly: '',
  complete: 'these are all that are kept',
  failed: 'the server did not answer',
  full: 'no more are shown here; filter them, or read /api/v1/timeline',
};

function filters({ query, accounts, onFilter }: TimelineModel): TemplateResult {
  const { object = '', account = '' } = query;
  const set = (name: string) => (event: Event) =>
    onFilter({ ...query, [name]: (event.target as HTMLInputElement).value.trim() });
  // Also one that nobody can choose any more.
  const choices = account === '' || accounts.includes(account) ? accounts : [account, ...accounts];
  return html`<form class="filters" role="search" @submit=${(event: Event) => event.preventDefault()}>
    <label
      >Object<input
        type="search"
        name="object"
        maxlength="600"
        .value=${object}
        placeholder="KIND/NAMESPACE/NAME"
        @change=${set('object')}
    /></label>
    <label
      >Account<select name="account" @change=${set('account')}>
        <option value="" ?selected=${account === ''}>all</option>
        ${choices.map((name) => html`<option value=${name} ?selected=${name === account}>${name}</option>`)}
      </select></label
    >
  </form>`;
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
  return html`<table class="stacked mutations">
    <thead>
      <tr>
        <th scope="col">When</th>
        <th scope="col">What</th>
        ${withObject ? html`<th scope="col">Object</th>` : nothing}
        <th scope="col">Why</th>
        <th scope="col">Asked by</th>
        <th scope="col">Outcome</th>
        <th scope="col" class="number roomy">Took</th>
      </tr>
    </thead>
    <tbody>
      ${repeat(
        collapsed(mutations),
        ({ mutation }) => mutation.idempotencyKey,
        ({ mutation: each, times }) =>
          html`<tr>
            <td class="muted brief">${exactMoment(each.at, now)}</td>
            <td class="nowrap brief">${each.action}</td>
            ${withObject ? html`<td class="wide object">${objectCell(each.object)}</td>` : nothing}
            <td class="wide">${each.why ?? html`<span class="muted">–</span>`}</td>
            <td class="wide">${each.askedBy}</td>
            <td class="wide">
              ${state(outcomes[each.outcome] ?? 'idle', each.outcome)}
              ${times > 1 ? html`<span class="tag">${times}×</span>` : nothing}
              ${each.note === null ? nothing : html`<div class="muted small">${withTimes(each.note, now)}</div>`}
            </td>
            <td class="number muted roomy">${each.durationMs === null ? '–' : took(each.durationMs)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** What was refused several times in a row is one line, with the newest; `times` counts them. What was applied is always a line. */
export function collapsed(
  mutations: readonly Mutation[],
): { readonly mutation: Mutation; readonly times: number }[] {
  const lines: { mutation: Mutation; times: number }[] = [];
  for (const mutation of mutations) {
    const last = lines.at(-1);
    if (last && isRepeated(last.mutation, mutation)) last.times += 1;
    else lines.push({ mutation, times: 1 });
  }
  return lines;
}

function isRepeated(newer: Mutation, older: Mutation): boolean {
  if (newer.outcome === 'applied') return false;
  return (['object', 'action', 'outcome', 'note', 'why'] as const).every(
    (field) => newer[field] === older[field],
  );
}

function objectCell(key: string): TemplateResult {
  const [kind = '', namespace = '', name = ''] = key.split('/');
  return html`${objectLink(key, name)}
    <div class="muted small">${breakable(kind)} in ${namespace}</div>`;
}

const took = (ms: number) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);
