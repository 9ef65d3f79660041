/** Mutations, newest first: when, what, why, and what became of them. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { counted, fieldTime, timeOfField } from '../format.ts';
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
  /** Behind those that were looked through for `mutations`. */
  readonly hasMore: boolean;
  /** Whose mutations may be asked for. */
  readonly accounts: readonly string[];
  /** How many more there are: the summary has the first hundred. */
  readonly moreAccounts: number;
  readonly older: Pick<OlderMutations, 'state' | 'behind'>;
  readonly onOlder: () => void;
  /** `query`: without what is empty. */
  readonly onFilter: (query: Readonly<Record<string, string>>) => void;
}

export function timelineView(model: TimelineModel, now: Now): TemplateResult {
  const { mutations, limits, older } = model;
  const all = [...mutations, ...older.behind(mutations)];
  return html`
    <header class="top">
      <div>
        <h1>Timeline</h1>
        <p>${limits}</p>
      </div>
      ${timeChoices(model.query, now)}
    </header>
    ${filters(model, now)}
    <section class="panel" aria-label="Mutations">
      ${
        all.length === 0
          ? none(model)
          : html`<div class="scroll" tabindex="0" role="region" aria-label="List of mutations">
              ${mutationsTable(all, now, true)}
            </div>`
      }
      ${rest(model)}
    </section>
  `;
}

/** What was not looked through yet may have some. */
function none({ query, hasMore, older }: TimelineModel): TemplateResult {
  const isFiltered = Object.values(query).some((value) => value !== '');
  const isAll = !hasMore || older.state === 'complete';
  return html`<div class="empty">
    ${
      isAll
        ? html`<strong>Nothing was changed</strong>No mutation${isFiltered ? ' that matches' : ''} was sent in
            the time that is kept.`
        : html`<strong>None of the newest mutations matches</strong>Older ones may.`
    }
    ${isFiltered ? html`<a href=${linkTo(['timeline'])}>Remove all filters</a>` : nothing}
  </div>`;
}

function rest({ mutations, hasMore, older, onOlder }: TimelineModel): TemplateResult | typeof nothing {
  if (!hasMore && older.state === 'unread') return nothing;
  const isEnd = older.state === 'complete' || older.state === 'full';
  const text = older.state === 'unread' ? counted(mutations.length, 'mutation') : olderTexts[older.state];
  return html`<div class="body line">
    <span class="muted" role="status">${text}</span>
    ${isEnd ? nothing : html`<button type="button" @click=${onOlder}>Older ones</button>`}
  </div>`;
}

/** Mutations that are shown as they happen. */
export const pageSize = 200;

const olderTexts: Readonly<Record<Exclude<OlderState, 'unread'>, string>> = {
  reading: 'reading …',
  partly: '',
  complete: 'these are all that are kept',
  failed: 'the server did not answer',
  full: 'no more are shown here; filter them, or read /api/v1/timeline',
};

const spans: readonly (readonly [name: string, ms: number])[] = [
  ['10 min', 600_000],
  ['1 h', 3_600_000],
  ['24 h', 86_400_000],
];
const minuteMs = 60_000;

function filters(model: TimelineModel, now: Now): TemplateResult {
  const { query, onFilter } = model;
  const { object = '', from = '', to = '' } = query;
  const set = (name: string) => (event: Event) =>
    onFilter({ ...query, [name]: (event.target as HTMLInputElement).value.trim() });
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
    ${accountField(model, set('account'))} ${timeField('From', 'from', from, 0, query, onFilter, now)}
    ${timeField('To', 'to', to, minuteMs - 1000, query, onFilter, now)}
  </form>`;
}

/** A list of all, or a field to type in, which suggests some. */
function accountField(
  { query: { account = '' }, accounts, moreAccounts }: TimelineModel,
  change: (event: Event) => void,
): TemplateResult {
  if (moreAccounts > 0) {
    const all = accounts.length + moreAccounts;
    return html`<label
      >Account (${accounts.length} of ${all} are suggested)<input
        type="search"
        name="account"
        maxlength="600"
        list="timeline-accounts"
        .value=${account}
        placeholder="NAMESPACE/NAME"
        @change=${change}
      /><datalist id="timeline-accounts">
        ${accounts.map((name) => html`<option value=${name}></option>`)}
      </datalist></label
    >`;
  }
  // Also one that nobody can choose any more.
  const choices = account === '' || accounts.includes(account) ? accounts : [account, ...accounts];
  return html`<label
    >Account<select name="account" @change=${change}>
      <option value="" ?selected=${account === ''}>all</option>
      ${choices.map((name) => html`<option value=${name} ?selected=${name === account}>${name}</option>`)}
    </select></label
  >`;
}

function timeChoices(
  { object = '', account = '', from = '', to = '' }: TimelineModel['query'],
  now: Now,
): TemplateResult {
  const isAll = from === '' && to === '';
  return html`<nav class="choices" aria-label="Time">
    <a href=${linkTo(['timeline'], { object, account })} aria-current=${isAll ? 'true' : 'false'}>all</a>
    ${spans.map(([name, ms]) => html`<a href=${since({ object, account }, ms, now)}>last ${name}</a>`)}
  </nav>`;
}

/** From a whole minute on, so that the address is one that can be sent to others. */
function since(query: Readonly<Record<string, string>>, ms: number, { serverMs }: Now): string {
  const atMs = Math.floor((serverMs - ms) / minuteMs) * minuteMs;
  return linkTo(['timeline'], { ...query, from: new Date(atMs).toISOString() });
}

/** In the reader's zone; in the address it is UTC. `moreMs`: to the end of the minute. */
function timeField(
  label: string,
  name: 'from' | 'to',
  value: string,
  moreMs: number,
  query: TimelineModel['query'],
  onFilter: TimelineModel['onFilter'],
  { timeZone }: Now,
): TemplateResult {
  const change = ({ target }: Event) => {
    const atMs = timeOfField((target as HTMLInputElement).value, timeZone);
    onFilter({ ...query, [name]: atMs === undefined ? '' : new Date(atMs + moreMs).toISOString() });
  };
  return html`<label
    >${label}<input
      type="datetime-local"
      name=${name}
      .value=${fieldTime(Date.parse(value), timeZone)}
      @change=${change}
  /></label>`;
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
        <th scope="col">Why, and who asked</th>
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
            <td class="wide">
              ${each.why ?? html`<span class="muted">–</span>`}
              ${each.askedBy === '' ? nothing : html`<div class="muted small">${each.askedBy}</div>`}
            </td>
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
