/** What lists of a control plane share: states with their tones, links to accounts, filters, and ways to the next window. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { counted, placesOf } from '../../format.ts';
import type { Tone } from '../../parts/marks.ts';
import { ago, perHour, since, state, withTimes, type Now } from '../../parts/texts.ts';
import { hrefOf, pageSize, type Query, type ViewName } from '../route.ts';
import type { Service, Volume, Window } from '../shapes.ts';

type ListName = Exclude<ViewName, 'unknown' | 'account' | 'service' | 'capacity'>;

export interface ListModel<Item> {
  readonly query: Query;
  readonly window: Window<Item>;
  /** `query`: without what is empty. */
  readonly onFilter: (view: ListName, query: Query) => void;
  /** The same, while somebody types. */
  readonly onType: (view: ListName, query: Query) => void;
}

/** What is stopped is not well: it does no work. */
const tones: Readonly<Record<string, Tone>> = {
  running: 'ok',
  ready: 'ok',
  provisioning: 'busy',
  expanding: 'busy',
  deleting: 'busy',
  sleeping: 'hold',
  paused: 'hold',
  error: 'bad',
};

export const serviceStates = ['error', 'provisioning', 'deleting', 'running', 'sleeping', 'paused'];
export const volumeStates = ['error', 'provisioning', 'expanding', 'deleting', 'ready'];

export function stateOf(name: string): TemplateResult {
  return state(tones[name] ?? 'idle', name);
}

export function accountLink(name: string): TemplateResult {
  return html`<a href=${hrefOf('account', { name })}>${name}</a>`;
}

export function place({
  region,
  geography,
}: {
  readonly region: string;
  readonly geography: string;
}): string {
  return `${region}, ${geography}`;
}

/** `noun`: of one item. */
export function listView<Item>(
  view: ListName,
  { query, window, onFilter, onType }: ListModel<Item>,
  {
    title,
    noun,
    states,
    lead,
    table,
  }: {
    readonly title: string;
    readonly noun: string;
    /** Undefined: nothing can be searched. */
    readonly states?: readonly string[];
    /** Above the list. */
    readonly lead?: unknown;
    readonly table: (items: readonly Item[]) => TemplateResult;
  },
): TemplateResult {
  const { total, items } = window;
  return html`
    <header class="top">
      <div>
        <h1>${title}</h1>
        <p>${counted(total, noun, noun === 'entry' ? 'entries' : undefined)}</p>
      </div>
    </header>
    ${lead ?? nothing} ${states ? filters(view, query, states, { onFilter, onType }) : nothing}
    <section class="panel" aria-label=${title}>
      ${
        items.length === 0
          ? html`<div class="empty"><strong>There is nothing here</strong>${resetLink(view, query)}</div>`
          : html`<div
              class="scroll"
              tabindex="0"
              role="region"
              aria-label=${`List of ${title.toLowerCase()}`}
            >
              ${table(items)}
            </div>`
      }
      ${pager(view, query, window)}
    </section>
  `;
}

function resetLink(view: ListName, query: Query): TemplateResult | typeof nothing {
  const isFiltered = Object.keys(query).some((name) => name !== 'account' || view !== 'ledger');
  return isFiltered ? html`<a href=${hrefOf(view)}>Remove all filters</a>` : nothing;
}

function filters(
  view: ListName,
  query: Query,
  states: readonly string[],
  { onFilter, onType }: Pick<ListModel<unknown>, 'onFilter' | 'onType'>,
): TemplateResult {
  const filtered = (name: string, event: Event) => {
    const { value } = event.target as HTMLInputElement;
    const { offset: _, ...rest } = query;
    return { ...rest, [name]: value };
  };
  const { account } = query;
  return html`<form class="filters" role="search" @submit=${(event: Event) => event.preventDefault()}>
    <label
      >Search<input
        type="search"
        name="q"
        maxlength="256"
        .value=${query['q'] ?? ''}
        placeholder="part of a name"
        @input=${(event: Event) => onType(view, filtered('q', event))}
    /></label>
    ${
      states.length === 0
        ? nothing
        : html`<label
            >State<select name="state" @change=${(event: Event) => onFilter(view, filtered('state', event))}>
              <option value="" ?selected=${!query['state']}>all</option>
              ${states.map((name) => html`<option value=${name} ?selected=${query['state'] === name}>${name}</option>`)}
            </select></label
          >`
    }
    ${
      account
        ? html`<a
            class="button"
            href=${hrefOf(view, { ...query, account: '', offset: '' })}
            aria-label=${`Remove the filter account ${account}`}
            >account: ${account} ✕</a
          >`
        : nothing
    }
  </form>`;
}

function pager(view: ListName, query: Query, { total, offset, items }: Window<unknown>): unknown {
  if (offset === 0 && total <= items.length) return nothing;
  const at = (first: number, text: string) =>
    html`<a class="button" href=${hrefOf(view, { ...query, offset: first > 0 ? String(first) : '' })}
      >${text}</a
    >`;
  const first = (offset + 1).toLocaleString('en-US');
  const last = (offset + items.length).toLocaleString('en-US');
  return html`<nav class="body line" aria-label="Pages">
    <span class="muted"
      >${items.length === 0 ? 'None' : `${first} to ${last}`} of ${total.toLocaleString('en-US')}</span
    >
    <span class="now">
      ${offset > 0 ? at(Math.max(0, offset - pageSize), 'Previous page') : nothing}
      ${offset + items.length < total ? at(offset + pageSize, 'Next page') : nothing}
    </span>
  </nav>`;
}

export function servicesTable(services: readonly Service[], now: Now, withAccount: boolean): TemplateResult {
  const places = placesOf(services.map(({ hourlyMicros }) => hourlyMicros));
  return html`<table class="stacked">
    <thead>
      <tr>
        <th scope="col">State</th>
        <th scope="col">Service</th>
        ${withAccount ? html`<th scope="col">Account</th>` : nothing}
        <th scope="col">Latest</th>
        <th scope="col">Place</th>
        <th scope="col" class="number">Price</th>
        <th scope="col" class="number roomy">For</th>
      </tr>
    </thead>
    <tbody>
      ${services.map((each) => serviceRow(each, places, now, withAccount))}
    </tbody>
  </table>`;
}

function serviceRow(service: Service, places: number, now: Now, withAccount: boolean): TemplateResult {
  const { id, account, image, endpoint, error, latest, isProtected, doing, hourlyMicros, isCharged } =
    service;
  return html`<tr>
    <td>
      ${stateOf(service.state)}
      ${doing === null || service.state === 'provisioning' || service.state === 'deleting' ? nothing : html`<div class="muted small">${doing}</div>`}
    </td>
    <td class="wide">
      <a href=${hrefOf('service', { id })}>${nameOf(service)}</a>
      ${isProtected ? html`<span class="tag">protected</span>` : nothing}
      <div class="muted small">${image}</div>
      ${endpoint === null ? nothing : html`<div class="small">${endpointLink(endpoint)}</div>`}
    </td>
    ${withAccount ? html`<td class="owner">${accountLink(account)}</td>` : nothing}
    <td class="news">${withTimes(error ?? newsOf(service), now)}</td>
    <td>
      <span class="nowrap">${place(service)}</span>
      <div class="muted small">${sizeOf(service)}</div>
    </td>
    <td class="number">
      ${isCharged ? perHour(hourlyMicros, places) : html`<span class="muted">${perHour(hourlyMicros, places)}</span>`}
    </td>
    <td class="number muted roomy">${since(latest?.at ?? service.createdAt, now)}</td>
  </tr>`;
}

/** Its newest event, unless that is its state. */
function newsOf({ latest, state: is }: Service): string {
  return latest === null || latest.message === is ? '' : latest.message;
}

/** Only an https address is a link: what a runtime reports is shown as it is. */
export function endpointLink(address: string): unknown {
  return /^https:\/\/[^\s"'<>\\]+$/.test(address)
    ? html`<a href=${address} rel="noreferrer noopener" target="_blank">${address}</a>`
    : address;
}

/** A name of blanks alone could not be seen. */
export function nameOf({ name, id }: Service): string {
  return name.trim() === '' ? id : name;
}

export function sizeOf({ resources: { gpuCount, cpu, memoryGb }, gpuModel }: Service): string {
  const gpus = gpuCount > 0 ? [`${gpuCount} ${gpuModel ?? 'GPU'}`] : [];
  return [...gpus, `${cpu} CPU`, `${memoryGb} GB`].join(', ');
}

export function volumesTable(volumes: readonly Volume[], now: Now, withAccount: boolean): TemplateResult {
  const places = placesOf(volumes.map(({ hourlyMicros }) => hourlyMicros));
  return html`<table class="stacked">
    <thead>
      <tr>
        <th scope="col">State</th>
        <th scope="col">Volume</th>
        ${withAccount ? html`<th scope="col">Account</th>` : nothing}
        <th scope="col">Attachment</th>
        <th scope="col">Place</th>
        <th scope="col" class="number">Size</th>
        <th scope="col" class="number">Price</th>
        <th scope="col" class="number roomy">Created</th>
      </tr>
    </thead>
    <tbody>
      ${volumes.map((each) => volumeRow(each, places, now, withAccount))}
    </tbody>
  </table>`;
}

function volumeRow(volume: Volume, places: number, now: Now, withAccount: boolean): TemplateResult {
  const { name, account, error, mode, service, sizeGb, requestedSizeGb, hourlyMicros, createdAt } = volume;
  const size = sizeGb === requestedSizeGb ? `${sizeGb} GB` : `${sizeGb} of ${requestedSizeGb} GB`;
  return html`<tr>
    <td class="brief">${stateOf(volume.status)}</td>
    <td class="wide">
      ${name} ${error === null ? nothing : html`<div class="small">${error}</div>`}
      ${mode === 'service' ? html`<div class="muted small">belongs to its service</div>` : nothing}
    </td>
    ${withAccount ? html`<td>${accountLink(account)}</td>` : nothing}
    <td class="wide">
      ${service === null ? html`<span class="muted">not attached</span>` : `attached to ${service}`}
    </td>
    <td>${place(volume)}</td>
    <td class="number">${size}</td>
    <td class="number">${perHour(hourlyMicros, places)}</td>
    <td class="number muted roomy">${ago(createdAt, now)}</td>
  </tr>`;
}
