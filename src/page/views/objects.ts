/** A list of objects, filtered and sorted by the server. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { counted, placesOf } from '../format.ts';
import { badges, healthState, sentence } from '../parts/health.ts';
import { objectHref } from '../parts/links.ts';
import { breakable, perHour, since, type Now } from '../parts/texts.ts';
import { linkTo } from '../route.ts';
import type { Row } from '../shapes.ts';

export interface ObjectsModel {
  readonly query: Readonly<Record<string, string>>;
  readonly total: number;
  readonly rows: readonly Row[];
  readonly kinds: readonly string[];
  readonly healths: readonly string[];
  /** `query`: without what is empty. */
  readonly onFilter: (query: Readonly<Record<string, string>>) => void;
  /** The same, while somebody types. */
  readonly onType: (query: Readonly<Record<string, string>>) => void;
  readonly onNext: () => void;
}

/** Rows of a page. One with fewer is the last one. */
export const pageSize = 100;

const sorts: Readonly<Record<string, string>> = {
  worst: 'worst first',
  name: 'name',
  kind: 'kind',
  since: 'longest in this state',
  newest: 'newest in this state',
  cost: 'most expensive',
};

export function objectsView(model: ObjectsModel, now: Now): TemplateResult {
  const { total, rows, onNext } = model;
  return html`
    <header class="top">
      <div>
        <h1>Objects</h1>
        <p>${counted(total, 'object')}</p>
      </div>
    </header>
    ${filters(model)}
    <section class="panel" aria-label="Objects">
      ${
        rows.length === 0
          ? html`<div class="empty">
              <strong>No object matches</strong><a href=${linkTo(['objects'])}>Remove all filters</a>
            </div>`
          : html`<div class="scroll" tabindex="0" role="region" aria-label="List of objects">
              ${objectsTable(rows, now)}
            </div>`
      }
      ${
        total > rows.length && rows.length >= pageSize
          ? html`<div class="body line">
              <span class="muted">${rows.length} shown</span>
              <button type="button" @click=${onNext}>Next page</button>
            </div>`
          : nothing
      }
    </section>
  `;
}

export function objectsTable(rows: readonly Row[], now: Now): TemplateResult {
  const places = placesOf(rows.map(({ hourlyMicros }) => hourlyMicros));
  return html`<table class="list objects">
    <thead>
      <tr>
        <th scope="col">State</th>
        <th scope="col">Object</th>
        <th scope="col">Why</th>
        <th scope="col" class="number roomy">Cost</th>
        <th scope="col" class="number roomy">For</th>
      </tr>
    </thead>
    <tbody>
      ${repeat(
        rows,
        ({ key }) => key,
        (row) => line(row, places, now),
      )}
    </tbody>
  </table>`;
}

function line(row: Row, places: number, now: Now): TemplateResult {
  const { key, kind, namespace, name, health, reason, hourlyMicros, geography, region } = row;
  const place = geography ?? region;
  return html`<tr>
    <td>${healthState(health)}</td>
    <td class="wide">
      <div class="named">
        <span><a href=${objectHref(key, row.replicas !== null)}>${name}</a> ${badges(row)}</span>
        <span class="muted small"
          >${breakable(kind)} in ${namespace}${place === null ? '' : `, ${place}`}</span
        >
      </div>
    </td>
    <td class=${health === 'Healthy' ? 'wide well' : 'wide'}>
      <span title=${row.sentence.text}>${breakable(reason)}</span>
      ${
        // Of what is well, the reason is enough.
        health === 'Healthy'
          ? nothing
          : html`<div class="muted small short">${sentence(row.sentence, now)}</div>`
      }
    </td>
    <td class="number roomy">
      ${hourlyMicros === null ? html`<span class="muted">–</span>` : perHour(hourlyMicros, places)}
    </td>
    <td class="number muted roomy">${since(row.since ?? undefined, now)}</td>
  </tr>`;
}

function filters({ query, kinds, healths, onFilter, onType }: ObjectsModel): TemplateResult {
  const filtered = (name: string, event: Event) => {
    const { value } = event.target as HTMLInputElement;
    const { cursor: _, ...rest } = query;
    return { ...rest, [name]: value };
  };
  const set = (name: string) => (event: Event) => onFilter(filtered(name, event));
  const choice = (name: string, label: string, all: string, values: readonly (readonly [string, string])[]) =>
    html`<label
      >${label}<select name=${name} @change=${set(name)}>
        ${all === '' ? nothing : html`<option value="" ?selected=${!query[name]}>${all}</option>`}
        ${values.map(
          ([value, text]) => html`<option value=${value} ?selected=${query[name] === value}>${text}</option>`,
        )}
      </select></label
    >`;
  return html`<form class="filters" role="search" @submit=${(event: Event) => event.preventDefault()}>
    <label
      >Search<input
        type="search"
        name="q"
        maxlength="256"
        .value=${query['q'] ?? ''}
        placeholder="name, reason, image"
        @input=${(event: Event) => onType(filtered('q', event))}
    /></label>
    ${choice('kind', 'Kind', 'all', same(kinds))} ${choice('health', 'State', 'all', same(healths))}
    ${choice('sort', 'Order', '', Object.entries(sorts))}
    <label
      >Labels<input
        name="label"
        maxlength="256"
        .value=${query['label'] ?? ''}
        placeholder="team=search"
        @change=${set('label')}
    /></label>
    ${given(query).map(
      ([name, value]) =>
        html`<a
          class="button"
          href=${linkTo(['objects'], { ...query, [name]: '', cursor: '' })}
          aria-label=${`Remove the filter ${name} ${value}`}
          >${name}: ${value} ✕</a
        >`,
    )}
  </form>`;
}

function same(values: readonly string[]): (readonly [string, string])[] {
  return values.map((value) => [value, value] as const);
}

/** Filters without a field of their own. */
function given(query: Readonly<Record<string, string>>): [string, string][] {
  return ['reason', 'account', 'namespace', 'fleet'].flatMap((name) =>
    query[name] ? [[name, query[name]] as [string, string]] : [],
  );
}
