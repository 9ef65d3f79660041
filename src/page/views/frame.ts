/** What surrounds every view of a manager's page: its views, the connection, the version, and whether a manager is at work. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { duration } from '../format.ts';
import {
  connectionBanner,
  connectionState,
  layout,
  outdatedBanner,
  type Connected,
} from '../parts/layout.ts';
import { brakeText } from '../parts/health.ts';
import { moment, type Now } from '../parts/texts.ts';
import { linkTo, titleOf, type Route, type ViewName } from '../route.ts';
import type { Summary } from '../shapes.ts';

export interface FrameModel extends Connected {
  readonly route: Route;
  readonly summary: Summary | undefined;
}

const views: readonly (readonly [view: ViewName, path: string, name: string])[] = [
  ['problems', '', 'Needs a person'],
  ['tree', 'tree', 'Tree'],
  ['objects', 'objects', 'Objects'],
  ['money', 'money', 'Money'],
  ['accounts', 'accounts', 'Accounts'],
  ['timeline', 'timeline', 'Timeline'],
];

/** A detail belongs to a list. */
const parents: Partial<Record<ViewName, ViewName>> = { object: 'objects', fleet: 'objects' };

export function frame(model: FrameModel, content: unknown, now: Now): TemplateResult {
  const { route, summary } = model;
  const current = parents[route.view] ?? route.view;
  const links = views.map(([view, path, name]) => ({
    href: linkTo(path === '' ? [] : [path]),
    name,
    isCurrent: view === current,
    tally: tally(view, summary),
  }));
  const behind = behindOf(summary);
  const live = behind === undefined ? { detail: readAge(summary, now) } : { behind };
  const connection = connectionState(model, live);
  const footer = summary ? owner(summary) : nothing;
  const banners = html`${connectionBanner(model)} ${summary ? manager(summary, now) : nothing}
  ${summary && route.view !== 'accounts' ? braked(summary) : nothing} ${outdatedBanner(model)}`;
  const title = titleOf(route);
  return layout({ name: 'Fleetkeeper', title, connection, links, footer, banners }, content);
}

/** The page has a connection, and its manager has none: that is not the same. */
function behindOf(summary: Summary | undefined): string | undefined {
  if (summary && !summary.isComplete) return 'a namespace is not read';
  if (summary && summary.accountCounts.current < summary.accountCounts.all) return 'an account is not read';
  return undefined;
}

/** How old the oldest read of an account is. */
function readAge(summary: Summary | undefined, { serverMs }: Now): string {
  const { oldestReadAt = null } = summary ?? {};
  return oldestReadAt === null ? '' : `, read ${duration(serverMs - Date.parse(oldestReadAt))} ago`;
}

function tally(view: ViewName, summary: Summary | undefined): TemplateResult | typeof nothing {
  if (!summary) return nothing;
  const { forPerson, critical } = summary.problems;
  if (view === 'problems' && forPerson > 0)
    return html`<span class="tally ${critical > 0 ? 'bad' : 'wait'}">${forPerson}</span>`;
  if (view === 'objects')
    return html`<span class="tally plain">${summary.objects.toLocaleString('en-US')}</span>`;
  return nothing;
}

function owner({ version, place }: Summary): TemplateResult {
  return html`<span>${version}, ${place === 'folder' ? 'from a folder' : 'from a cluster'}</span>`;
}

/** While it stops creations and deletions, whoever waits for one has to know. */
function braked({ brakes }: Summary): TemplateResult | typeof nothing {
  const first = brakes.find(({ reason }) => reason === 'MassChangeBrake');
  if (!first) return nothing;
  return html`<p class="banner hold" role="alert">
    A brake ${brakeText(first.stops, first)}. <a href=${linkTo(['accounts'])}>Why, and how to continue</a>
  </p>`;
}

/** That nobody is at work is no detail. */
function manager({ manager: found }: Summary, now: Now): TemplateResult | typeof nothing {
  const { state, host, seenAt, note } = found;
  if (state === 'Running') return nothing;
  const where = host === null ? '' : ` on ${host}`;
  const since = seenAt === null ? nothing : html`, last seen at ${moment(seenAt, now)}`;
  if (state === 'Unknown')
    return note === null
      ? nothing
      : html`<p class="banner" role="alert">
          Whether a manager is at work is not known${since}. What is shown may be out of date: ${note}
        </p>`;
  if (state === 'Impaired')
    return html`<p class="banner" role="alert">
      The manager${where} runs, and can not work on all of the fleet. What is shown may be out of date:
      ${note}
    </p>`;
  return html`<p class="banner" role="alert">
    No manager is at work (${state}${where}${since}). Nothing is changed, and no heartbeat is sent, until one
    runs.
  </p>`;
}
