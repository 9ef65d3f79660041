/** All accounts: what they have, cost, and how long it lasts; and one of them. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { bytes, duration, placesOf, usd } from '../../format.ts';
import { bar } from '../../parts/bar.ts';
import { command, moment, perHour, state, type Now } from '../../parts/texts.ts';
import { hrefOf } from '../route.ts';
import type { Account, AccountDetail, LedgerEntry, Quota, Summary } from '../shapes.ts';
import { accountLink, listView, servicesTable, volumesTable, type ListModel } from './parts.ts';

/** An account that lasts for less needs attention. */
const shortSeconds = 24 * 3600;

export function accountsView(model: ListModel<Account>, summary: Summary | undefined): TemplateResult {
  return listView('accounts', model, {
    title: 'Accounts',
    noun: 'account',
    states: [],
    lead: summary && figures(summary),
    table: accountsTable,
  });
}

function figures({ services, hourlyMicros, accounts }: Summary): TemplateResult {
  const count = (name: string) => services[name] ?? 0;
  const total = Object.values(services).reduce((sum, each) => sum + each, 0);
  return html`<dl class="figures">
    <div>
      <dt>Services</dt>
      <dd>${count('running')} <small>of ${total} running</small></dd>
    </div>
    <div class=${count('error') > 0 ? 'bad' : ''}>
      <dt>Failed</dt>
      <dd><a href=${hrefOf('services', { state: 'error' })}>${count('error')}</a></dd>
    </div>
    <div>
      <dt>Cost now</dt>
      <dd>
        ${usd(hourlyMicros)}
        <small>an hour</small>
      </dd>
    </div>
    <div class=${accounts.withoutFunds > 0 ? 'bad' : ''}>
      <dt>Without funds</dt>
      <dd>${accounts.withoutFunds} <small>of ${accounts.total}</small></dd>
    </div>
  </dl>`;
}

function accountsTable(accounts: readonly Account[]): TemplateResult {
  const balances = placesOf(accounts.map(({ balanceMicros }) => balanceMicros));
  const costs = placesOf(accounts.map(({ hourlyMicros }) => hourlyMicros));
  return html`<table class="list">
    <thead>
      <tr>
        <th scope="col">State</th>
        <th scope="col">Account</th>
        <th scope="col" class="number">Balance</th>
        <th scope="col" class="number roomy">Cost now</th>
        <th scope="col" class="number">Lasts</th>
        <th scope="col" class="number roomy">Services</th>
        <th scope="col" class="number roomy">Volumes</th>
        <th scope="col" class="number roomy">Stored</th>
      </tr>
    </thead>
    <tbody>
      ${accounts.map(
        (account) =>
          html`<tr>
            <td>${condition(account)}</td>
            <td class="wide">${accountLink(account.name)}</td>
            <td class="number">${usd(account.balanceMicros, balances)}</td>
            <td class="number roomy">${perHour(account.hourlyMicros, costs)}</td>
            <td class="number">${lasts(account)}</td>
            <td class="number roomy">${account.services}</td>
            <td class="number roomy">${account.volumes}</td>
            <td class="number muted roomy">${bytes(account.storedBytes)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function condition({ suspended, balanceMicros, runwaySeconds }: Account): TemplateResult {
  if (suspended) return state('bad', 'suspended');
  if (balanceMicros <= 0) return state('bad', 'no funds');
  if (runwaySeconds !== null && runwaySeconds < shortSeconds) return state('wait', 'low');
  return state('ok', 'funded');
}

function lasts({ runwaySeconds }: Account): unknown {
  if (runwaySeconds === null) return html`<span class="muted">–</span>`;
  const years = Math.floor(runwaySeconds / (365 * 24 * 3600));
  return years >= 2 ? `${years.toLocaleString('en-US')} years` : duration(1000 * runwaySeconds);
}

/** Entries among the rest; a view of their own has all. */
const ledgerShown = 8;

/** `origin`: of this listener, for the command. */
export function accountView(detail: AccountDetail, origin: string, now: Now): TemplateResult {
  const { account, quotas, services, volumes, ledger } = detail;
  const newest = ledger.items.slice(0, ledgerShown);
  const { name } = account;
  return html`
    <header class="top">
      <div>
        <p class="crumbs"><a href=${hrefOf('accounts')}>Accounts</a></p>
        <h1>${name}</h1>
        <p class="now">${condition(account)}</p>
      </div>
    </header>
    ${account.suspended ? suspendedNote() : nothing}
    <dl class="figures">
      <div>
        <dt>Balance</dt>
        <dd>${usd(account.balanceMicros)}</dd>
      </div>
      <div>
        <dt>Cost now</dt>
        <dd>${usd(account.hourlyMicros)} <small>an hour</small></dd>
      </div>
      <div>
        <dt>Lasts</dt>
        <dd>${lasts(account)}</dd>
      </div>
      <div>
        <dt>Stored</dt>
        <dd>${bytes(account.storedBytes)}</dd>
      </div>
    </dl>
    ${part('Services', services.total, services.items.length, hrefOf('services', { account: name }), servicesTable(services.items, now, false))}
    ${part('Volumes', volumes.total, volumes.items.length, hrefOf('volumes', { account: name }), volumesTable(volumes.items, now, false))}
    ${part('Ledger', ledger.total, newest.length, hrefOf('ledger', { account: name }), ledgerTable(newest, now))}
    <section class="panel" aria-labelledby="quotas">
      <header><h2 id="quotas">Quotas</h2></header>
      <div class="body stack">${quotas.map(quota)}</div>
    </section>
    <section class="panel" aria-labelledby="commands">
      <header><h2 id="commands">Commands</h2></header>
      <div class="body stack">
        <p class="muted small">To credit 10 USD (another id books another credit):</p>
        ${command(creditCommand(name, origin))}
      </div>
    </section>
  `;
}

function suspendedNote(): TemplateResult {
  return html`<p class="banner" role="status">
    It has far more stored than its quota, so its requests are refused, and what it has is not loaded. Raise
    its quota and restart.
  </p>`;
}

function part(
  title: string,
  total: number,
  count: number,
  href: string,
  table: TemplateResult,
): TemplateResult {
  const id = title.toLowerCase();
  return html`<section class="panel" aria-labelledby=${id}>
    <header>
      <h2 id=${id}>${title}</h2>
      ${total > count ? html`<a href=${href}>All ${total.toLocaleString('en-US')}</a>` : nothing}
    </header>
    ${
      count === 0
        ? html`<div class="body muted">None</div>`
        : html`<div class="scroll" tabindex="0" role="region" aria-labelledby=${id}>${table}</div>`
    }
  </section>`;
}

const names: Readonly<Record<string, string>> = {
  gpus: 'GPUs',
  cpu: 'CPU',
  memoryGb: 'memory, GB',
  storageGb: 'storage, GB',
  storedBytes: 'records',
};

function quota({ resource, used, limit }: Quota): TemplateResult {
  const amount = resource === 'storedBytes' ? bytes : (count: number) => count.toLocaleString('en-US');
  const label = `${amount(used)} of ${amount(limit)}`;
  const name = names[resource] ?? resource;
  return html`<div>
    <div class="line small"><span class="muted">${name}</span><span>${label}</span></div>
    ${bar({ used, limit, label: `${name}: ${label}` })}
  </div>`;
}

/** No name of an account can leave its quotes. */
function creditCommand(name: string, origin: string): string {
  const path = encodeURIComponent(name).replaceAll("'", '%27');
  return `curl -d '{"id":"credit-1","amountMicros":10000000}' -H 'content-type: application/json' '${origin}/accounts/${path}/credits'`;
}

export function ledgerView(model: ListModel<LedgerEntry>, now: Now): TemplateResult {
  const { account = '' } = model.query;
  return html`<p class="crumbs"><a href=${hrefOf('accounts')}>Accounts</a> / ${accountLink(account)}</p>
    ${listView('ledger', model, {
      title: `Ledger of ${account}`,
      noun: 'entry',
      table: (entries) => ledgerTable(entries, now),
    })}`;
}

function ledgerTable(entries: readonly LedgerEntry[], now: Now): TemplateResult {
  const places = placesOf(entries.map(({ amountMicros }) => amountMicros));
  return html`<table class="stacked">
    <thead>
      <tr>
        <th scope="col">When</th>
        <th scope="col" class="number">Amount</th>
        <th scope="col">What</th>
        <th scope="col" class="number roomy">Number</th>
      </tr>
    </thead>
    <tbody>
      ${entries.map(
        ({ number, at, amountMicros, description }) =>
          html`<tr>
            <td class="muted brief">${number === null ? 'now' : moment(at, now)}</td>
            <td class="number brief">${usd(amountMicros, places)}</td>
            <td class="wide">${description}</td>
            <td class="number muted roomy">${number ?? 'accrued'}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}
