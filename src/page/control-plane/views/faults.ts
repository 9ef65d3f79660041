/** The faults that are set now, and what there is of everything that has a bound. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { counted } from '../../format.ts';
import { bar } from '../../parts/bar.ts';
import { command } from '../../parts/texts.ts';
import { hrefOf } from '../route.ts';
import type { Bounded, Fault, Summary } from '../shapes.ts';
import { listView, place, type ListModel } from './parts.ts';

/** On every view: whoever wonders why requests fail finds out here. */
export function faultsBanner({ faults: { total, hits } }: Summary): TemplateResult | typeof nothing {
  if (total === 0) return nothing;
  return html`<p class="banner" role="status">
    ${counted(total, 'fault')} set: requests are made to fail (${counted(hits, 'hit')} so far).
    <a href=${hrefOf('faults')}>Show them</a>
  </p>`;
}

export function faultsView(model: ListModel<Fault>, origin: string): TemplateResult {
  return html`${listView('faults', model, { title: 'Faults', noun: 'fault', table: faultsTable })}
  ${
    model.window.total === 0
      ? nothing
      : html`<section class="panel" aria-labelledby="commands">
          <header><h2 id="commands">Commands</h2></header>
          <div class="body stack">
            <p class="muted small">To remove all of them:</p>
            ${command(`curl -X PUT -d '[]' -H 'content-type: application/json' ${origin}/faults`)}
          </div>
        </section>`
  }`;
}

function faultsTable(faults: readonly Fault[]): TemplateResult {
  return html`<table class="stacked">
    <thead>
      <tr>
        <th scope="col">Requests</th>
        <th scope="col">What happens</th>
        <th scope="col">How often</th>
        <th scope="col" class="number">Hits</th>
      </tr>
    </thead>
    <tbody>
      ${faults.map(
        (fault) =>
          html`<tr>
            <td class="wide">${fault.method ?? 'any method'} <code>${fault.path ?? 'any path'}</code></td>
            <td class="wide">${effectOf(fault)}</td>
            <td>${frequencyOf(fault)}</td>
            <td class="number">${counted(fault.hits, 'hit')}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function effectOf({ fault, status, code, retryAfter, delayMs }: Fault): string {
  switch (fault) {
    case 'drop-request':
      return 'the connection is cut, and nothing is processed';
    case 'drop-response':
      return 'processed, and cut without an answer';
    case 'delay':
      return `waits ${((delayMs ?? 0) / 1000).toLocaleString('en-US')} s, and is processed`;
    default:
      return `answered ${status ?? ''} ${code ?? 'as a page that is no JSON'}${retryAfter === null ? '' : `, Retry-After ${retryAfter}`}`;
  }
}

function frequencyOf({ times, every }: Fault): string {
  const which = every === null || every === 1 ? 'each request' : `one request in ${every}`;
  return times === null ? which : `${which}, ${counted(times, 'time')} at most`;
}

export function capacityView({ capacity, capacityOmitted }: Summary): TemplateResult {
  return html`
    <header class="top"><h1>Capacity</h1></header>
    <section class="panel" aria-label="Capacity">
      ${
        capacity.length === 0
          ? html`<div class="empty"><strong>Nothing has a bound</strong></div>`
          : html`<div class="body stack">${capacity.map(bounded)}</div>`
      }
      ${capacityOmitted > 0 ? html`<div class="body muted">${capacityOmitted} more</div>` : nothing}
    </section>
  `;
}

const names: Readonly<Record<string, string>> = {
  cpu: 'CPU',
  memoryGb: 'GB of memory',
  storageGb: 'GB of storage',
};

function bounded({ place: at, what, taken, total }: Bounded): TemplateResult {
  const where = at ? place(at) : 'this machine';
  const label = `${taken.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} ${names[what] ?? what}`;
  return html`<div>
    <div class="line small"><span class="muted">${where}</span><span>${label}</span></div>
    ${bar({ used: taken, limit: total, label: `${where}: ${label}` })}
  </div>`;
}
