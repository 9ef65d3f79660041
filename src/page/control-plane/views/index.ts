/** Which view a route shows, and what surrounds it. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import {
  connectionBanner,
  connectionState,
  layout,
  outdatedBanner,
  type Connected,
} from '../../parts/layout.ts';
import type { Now } from '../../parts/texts.ts';
import { hrefOf, type Route, type ViewName } from '../route.ts';
import type {
  Account,
  AccountDetail,
  Fault,
  LedgerEntry,
  Service,
  ServiceDetail,
  Summary,
  Volume,
  Window,
} from '../shapes.ts';
import { accountsView, accountView, ledgerView } from './accounts.ts';
import { serviceView } from './service.ts';
import { capacityView, faultsBanner, faultsView } from './faults.ts';
import {
  listView,
  servicesTable,
  serviceStates,
  volumesTable,
  volumeStates,
  type ListModel,
} from './parts.ts';

export interface PageModel extends Connected {
  readonly route: Route;
  readonly summary: Summary | undefined;
  /** Of the view; undefined: it is awaited. */
  readonly data: unknown;
  /** Why there is none, as the server has it. */
  readonly refusal: { readonly status: number; readonly message: string } | undefined;
  /** Of this listener. */
  readonly origin: string;
  readonly onFilter: ListModel<unknown>['onFilter'];
  readonly onType: ListModel<unknown>['onType'];
}

type Known = Exclude<ViewName, 'unknown'>;

const views: readonly (readonly [view: Known, name: string])[] = [
  ['accounts', 'Accounts'],
  ['services', 'Services'],
  ['volumes', 'Volumes'],
  ['capacity', 'Capacity'],
  ['faults', 'Faults'],
];

/** A detail belongs to a list. */
const parents: Partial<Record<ViewName, ViewName>> = {
  account: 'accounts',
  ledger: 'accounts',
  service: 'services',
};

export function titleOf({ view, query }: Route): string {
  if (view === 'account') return query['name'] ?? '';
  if (view === 'ledger') return `Ledger of ${query['account'] ?? ''}`;
  if (view === 'service') return 'Service';
  return views.find(([each]) => each === view)?.[1] ?? 'Not found';
}

/** `inPlace`: in the place of the view that the route has. */
export function pageView(
  model: PageModel,
  now: Now,
  inPlace: () => unknown = () => content(model, now),
): TemplateResult {
  const { route, summary } = model;
  const current = parents[route.view] ?? route.view;
  const links = views.map(([view, name]) => ({
    href: hrefOf(view),
    name,
    isCurrent: view === current,
    tally: tally(view, summary),
  }));
  const banners = html`${connectionBanner(model)} ${outdatedBanner(model)}
  ${summary && route.view !== 'faults' ? faultsBanner(summary) : nothing}`;
  const connection = connectionState(model);
  const footer = summary ? pace(summary) : nothing;
  const title = titleOf(route);
  return layout({ name: 'Control plane', title, connection, links, footer, banners }, inPlace());
}

/** Prices are of the platform's hours. */
function pace({ timeScale }: Summary): TemplateResult | typeof nothing {
  if (timeScale === 1) return nothing;
  return html`<span>time runs ${timeScale.toLocaleString('en-US')} times as fast</span>`;
}

function tally(view: Known, summary: Summary | undefined): TemplateResult | typeof nothing {
  if (!summary) return nothing;
  const counts: Partial<Record<Known, number>> = {
    accounts: summary.accounts.total,
    services: sum(summary.services),
    volumes: sum(summary.volumes),
    faults: summary.faults.total,
  };
  const count = counts[view];
  if (count === undefined) return nothing;
  const failed = view === 'services' ? (summary.services['error'] ?? 0) : 0;
  if (failed > 0) return html`<span class="tally bad">${failed.toLocaleString('en-US')} failed</span>`;
  const isBad = view === 'faults' && count > 0;
  return html`<span class="tally ${isBad ? 'bad' : ''}">${count.toLocaleString('en-US')}</span>`;
}

function content(model: PageModel, now: Now): TemplateResult {
  const { route, summary, data, refusal } = model;
  const { view, query } = route;
  if (view === 'unknown') return missing('There is no such view', '');
  if (refusal)
    return missing(
      refusal.status === 404 ? 'It does not exist' : 'The server does not understand this',
      refusal.message,
    );
  const loading = html`<p class="muted" aria-busy="true">Loading …</p>`;
  if (view === 'capacity') return summary ? capacityView(summary) : loading;
  if (data === undefined) return loading;
  const { onFilter, onType } = model;
  const list = <Item>() => ({ query, window: data as Window<Item>, onFilter, onType });
  switch (view) {
    case 'accounts':
      return accountsView(list<Account>(), summary);
    case 'account':
      return accountView(data as AccountDetail, model.origin, now);
    case 'services':
      return listView(view, list<Service>(), {
        title: 'Services',
        noun: 'service',
        states: serviceStates,
        table: (items) => servicesTable(items, now, true),
      });
    case 'service':
      return serviceView(data as ServiceDetail, now);
    case 'volumes':
      return listView(view, list<Volume>(), {
        title: 'Volumes',
        noun: 'volume',
        states: volumeStates,
        table: (items) => volumesTable(items, now, true),
      });
    case 'ledger':
      return ledgerView(list<LedgerEntry>(), now);
    case 'faults':
      return faultsView(list<Fault>(), model.origin);
  }
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((before, count) => before + count, 0);
}

function missing(title: string, message: string): TemplateResult {
  return html`<section class="panel">
    <div class="empty" role="alert">
      <strong>${title}</strong>
      ${message} <a href=${hrefOf('accounts')}>To the start</a>
    </div>
  </section>`;
}
