/** Which view a route shows, what it streams, and how what was streamed becomes the view. Pure. */
import { html, type TemplateResult } from 'lit-html';
import type { Live } from '../live.ts';
import { tones } from '../parts/health.ts';
import type { Now } from '../parts/texts.ts';
import { linkTo, type Route } from '../route.ts';
import type {
  Fleet,
  Money,
  Mutation,
  ObjectAnswer,
  Problem,
  Problems,
  Row,
  Slot,
  Summary,
  TreeNode,
} from '../shapes.ts';
import type { OlderMutations } from '../older-mutations.ts';
import type { TreeFocus } from '../tree-focus.ts';
import { accountsView } from './accounts.ts';
import { fleetView } from './fleet.ts';
import { moneyView } from './money.ts';
import { objectView } from './object.ts';
import { objectsView, pageSize } from './objects.ts';
import { problemsView } from './problems.ts';
import { pageSize as mutationsShown, timelineView } from './timeline.ts';
import { treeView } from './tree.ts';

/** What the views may ask of the shell. */
export interface Shell {
  readonly isUnfolded: (node: TreeNode) => boolean;
  readonly onFold: (node: TreeNode) => void;
  readonly onFilter: (query: Readonly<Record<string, string>>) => void;
  readonly onType: (query: Readonly<Record<string, string>>) => void;
  readonly onNext: () => void;
  readonly onOlder: () => void;
  readonly treeFocus: TreeFocus;
  readonly onReach: (node: TreeNode) => void;
}

const kept = {
  objects: ['q', 'kind', 'namespace', 'reason', 'health', 'account', 'fleet', 'label', 'sort', 'cursor'],
  timeline: ['object', 'account', 'from', 'to'],
  tree: ['account', 'fleet'],
  money: ['by'],
} as const;

/** The parameters of the stream; undefined: the address is none of a view. */
export function streamOf({ view, path, query }: Route): URLSearchParams | undefined {
  const [first = '', second = '', third = ''] = path;
  const chosen = (names: readonly string[]) =>
    names.flatMap((name) => (query[name] ? [[name, query[name]]] : []));
  switch (view) {
    case 'problems':
      return new URLSearchParams({ view: 'problems', limit: '50' });
    case 'objects':
      return new URLSearchParams([['view', 'objects'], ['limit', String(pageSize)], ...chosen(kept.objects)]);
    case 'object':
      return new URLSearchParams({ view: 'object', object: `${first}/${second}/${third}` });
    case 'tree':
      return new URLSearchParams([['view', 'tree'], ['depth', '6'], ...chosen(kept.tree)]);
    case 'fleet':
      return new URLSearchParams({ view: 'fleet', fleet: `${first}/${second}` });
    case 'money':
      return new URLSearchParams([['view', 'money'], ...chosen(kept.money)]);
    case 'accounts':
      return new URLSearchParams({ view: 'summary' });
    case 'timeline':
      return new URLSearchParams([
        ['view', 'timeline'],
        ['limit', String(mutationsShown)],
        ...chosen(kept.timeline),
      ]);
    case 'unknown':
      return undefined;
  }
}

const healths = Object.keys(tones);

export function content(
  route: Route,
  live: Live,
  summary: Summary | undefined,
  shell: Shell,
  now: Now,
  older: OlderMutations,
): TemplateResult {
  const { head } = live;
  if (live.refusal !== undefined) return refusedView(live.refusal, route);
  if (route.view === 'unknown' || head === null) return missing(route);
  if (head === undefined) return html`<p class="muted" aria-busy="true">Loading …</p>`;
  const { path } = route;
  const values = live.items.map(({ value }) => value);
  switch (route.view) {
    case 'problems':
      return problemsView({ head: head as Problems, problems: values as Problem[], summary }, now);
    case 'objects': {
      const { total } = head as { readonly total: number };
      const kinds = summary?.kinds.map(({ kind }) => kind) ?? [];
      return objectsView({ query: route.query, total, rows: values as Row[], kinds, healths, ...shell }, now);
    }
    case 'object':
      return objectView(
        head as ObjectAnswer,
        now,
        summary?.budgets.find(({ key }) => key === path.join('/')),
      );
    case 'tree': {
      const { omitted } = head as { readonly omitted: number };
      return treeView({ nodes: values as TreeNode[], omitted, now, ...shell });
    }
    case 'fleet':
      return fleetView({ fleet: head as Fleet, slots: values as Slot[] }, now);
    case 'money':
      return moneyView(head as Money, shell.onFilter, now);
    case 'accounts':
      return accountsView(head as Summary, now);
    case 'timeline': {
      const { limits, hasMore } = head as { readonly limits: string; readonly hasMore: boolean };
      const accounts = summary?.accounts.map(({ account }) => account) ?? [];
      const moreAccounts = (summary?.accountCounts.all ?? 0) - accounts.length;
      const known = { mutations: values as Mutation[], limits, hasMore, accounts, moreAccounts };
      return timelineView({ query: route.query, ...known, older, ...shell }, now);
    }
  }
}

/** A filter that can't be understood. */
function refusedView(message: string, { view }: Route): TemplateResult {
  return html`<section class="panel">
    <div class="empty" role="alert">
      <strong>The server does not understand this filter</strong>
      ${message} <a href=${linkTo([view])}>Remove all filters</a>
    </div>
  </section>`;
}

function missing({ view, path }: Route): TemplateResult {
  return html`<section class="panel">
    <div class="empty">
      <strong>${view === 'unknown' ? 'There is no such view' : `${path.join('/')} does not exist`}</strong>
      It may have been deleted, or you may not read its namespace. <a href=${linkTo([])}>To the start</a>
    </div>
  </section>`;
}
