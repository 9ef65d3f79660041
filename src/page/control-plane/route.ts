/**
 * Which view of a control plane is shown, and which path has its data. Pure.
 *
 * `#/`, `#/account?name=NAME`, `#/services?account=NAME&state=error&q=TEXT&offset=50`, `#/service?id=ID`, `#/volumes`, `#/ledger?account=NAME`, `#/faults`, `#/capacity`
 */
import { linkTo, partsOf } from '../route.ts';

export type ViewName =
  | 'accounts'
  | 'account'
  | 'services'
  | 'service'
  | 'volumes'
  | 'ledger'
  | 'faults'
  | 'capacity'
  | 'unknown';

export type Query = Readonly<Record<string, string>>;

export interface Route {
  readonly view: ViewName;
  readonly query: Query;
}

type Known = Exclude<ViewName, 'unknown'>;

const viewsByName: Readonly<Record<string, Known>> = {
  '': 'accounts',
  account: 'account',
  services: 'services',
  service: 'service',
  volumes: 'volumes',
  ledger: 'ledger',
  faults: 'faults',
  capacity: 'capacity',
};

/** Parameters that the server takes. */
const parameters: Readonly<Record<Known, readonly string[]>> = {
  accounts: ['q', 'offset'],
  account: ['name'],
  services: ['account', 'state', 'q', 'offset'],
  service: ['id'],
  volumes: ['account', 'state', 'q', 'offset'],
  ledger: ['account', 'offset'],
  faults: ['offset'],
  capacity: [],
};

/** They have filters. */
const lists: ReadonlySet<ViewName> = new Set(['accounts', 'services', 'volumes', 'faults']);

export const pageSize = 50;

export function routeOf(hash: string): Route {
  const { name, path, query } = partsOf(hash);
  const isKnown = path.length === 0 && Object.hasOwn(viewsByName, name);
  return { view: (isKnown ? viewsByName[name] : undefined) ?? 'unknown', query };
}

/** Where the data of the view are; undefined: it has none but the summary. */
export function pathOf({ view, query }: Route): string | undefined {
  if (view === 'unknown' || view === 'capacity') return undefined;
  const given = parameters[view].flatMap((name) => (query[name] ? [[name, query[name]]] : []));
  const limit = view === 'account' || view === 'service' ? [] : [['limit', String(pageSize)]];
  const search = new URLSearchParams([...given, ...limit]).toString();
  return `/admin/v1/${view}${search === '' ? '' : `?${search}`}`;
}

export function hrefOf(view: Known, query: Query = {}): string {
  return linkTo(view === 'accounts' ? [] : [view], query);
}

/** Both show the same list, perhaps with another filter. */
export function isSameList(one: Route, other: Route): boolean {
  const subject = ({ query }: Route) => [query['name'], query['id'], query['account']].join('\n');
  return one.view === other.view && (lists.has(one.view) || subject(one) === subject(other));
}
