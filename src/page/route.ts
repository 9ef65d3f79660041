/**
 * Which view is shown, from the part of the address after `#`. Pure.
 *
 * `#/`, `#/objects?reason=NoCapacity`, `#/objects/KIND/NAMESPACE/NAME`, `#/tree`, `#/fleets/NAMESPACE/NAME`, `#/money`, `#/accounts`,
 * `#/timeline?object=KIND/NAMESPACE/NAME&from=TIME&to=TIME`
 */

export type ViewName =
  | 'problems'
  | 'objects'
  | 'object'
  | 'tree'
  | 'fleet'
  | 'money'
  | 'accounts'
  | 'timeline'
  | 'unknown';

export interface Route {
  readonly view: ViewName;
  /** What follows the name of the view, decoded. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** A map: an address may be the name of what every object has. */
const lists = new Map<string, ViewName>(
  Object.entries<ViewName>({
    '': 'problems',
    objects: 'objects',
    tree: 'tree',
    money: 'money',
    accounts: 'accounts',
    timeline: 'timeline',
  }),
);

const details: Readonly<Record<string, readonly [view: ViewName, parts: number]>> = {
  objects: ['object', 3],
  fleets: ['fleet', 2],
};

/** What an address within a page has, decoded. `hash`: as `location.hash` has it. */
export function partsOf(hash: string): Omit<Route, 'view'> & { readonly name: string } {
  const [before = '', after = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const [name = '', ...path] = before.split('/').map(decoded);
  return { name, path, query: Object.fromEntries(new URLSearchParams(after)) };
}

export function routeOf(hash: string): Route {
  const { name, path, query } = partsOf(hash);
  const list = path.length === 0 ? lists.get(name) : undefined;
  const detail = Object.hasOwn(details, name) ? details[name] : undefined;
  const isDetail = detail !== undefined && path.length === detail[1] && path.every((part) => part !== '');
  return { view: list ?? (isDetail ? detail[0] : 'unknown'), path, query };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** An address within the page. Empty values are left out. */
export function linkTo(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
  return `#/${path.map(encodeURIComponent).join('/')}${search}`;
}

export const linkToObject = (kind: string, namespace: string, name: string) =>
  linkTo(['objects', kind, namespace, name]);

/** As the title of the window has it, and as a screen reader announces the view. */
export function titleOf({ view, path }: Route): string {
  const names = { problems: 'Needs a person', unknown: 'Not found' } as const;
  if (view === 'object' || view === 'fleet') return path.at(-1) ?? '';
  if (view === 'problems' || view === 'unknown') return names[view];
  return view.charAt(0).toUpperCase() + view.slice(1);
}
