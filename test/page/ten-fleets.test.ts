/** Each view of ten fleets, from the answers of the read API to the text that a reader finds. */
import { beforeAll, describe, expect, test } from 'vitest';
import { rendered, textOf } from './rendered.ts';
import { ask, createWorld } from '../unit/read-api/support.ts';
import { fleetNamed, fleetNames, hostile, type TenthFleet } from '../unit/read-api/ten-fleets.ts';
import { OlderMutations } from '../../src/page/older-mutations.ts';
import { TreeFocus } from '../../src/page/tree-focus.ts';
import type { Live } from '../../src/page/live.ts';
import { routeOf } from '../../src/page/route.ts';
import type { Summary } from '../../src/page/shapes.ts';
import { content, type Shell } from '../../src/page/views/index.ts';
import { frame } from '../../src/page/views/frame.ts';

const now = { serverMs: Date.UTC(2026, 10, 27, 14), timeZone: 'UTC' };
const shell: Shell = {
  isUnfolded: () => true,
  onFold: () => undefined,
  onFilter: () => undefined,
  onNext: () => undefined,
  onType: () => undefined,
  onOlder: () => undefined,
  treeFocus: new TreeFocus(),
  onReach: () => undefined,
};
const older = new OlderMutations();

interface Views {
  readonly fleet: TenthFleet;
  /** By the address of the view. */
  readonly views: ReadonlyMap<string, unknown>;
}

/** As the streams of the page have it. */
async function viewsOf(name: string): Promise<Views> {
  const fleet = fleetNamed(name);
  const world = createWorld(fleet.source);
  const get = async (path: string) => (await ask(world, `/api/v1/${path}`)).body;
  const summary = (await get('summary')) as Summary;
  const problems = await get('problems?limit=50');
  const objects = await get('objects?limit=100');
  const tree = await get('tree?depth=6');
  const timeline = await get('timeline');
  const items = (values: readonly unknown[]): Live['items'] =>
    values.map((value, id) => ({ id: `${id}`, value }));
  const lives = new Map<string, Live>([
    ['#/', { head: problems, items: items(problems.items) }],
    ['#/objects', { head: objects, items: items(objects.items) }],
    ['#/tree', { head: tree, items: items(tree.nodes) }],
    ['#/money', { head: await get('money'), items: [] }],
    ['#/accounts', { head: summary, items: [] }],
    ['#/timeline', { head: { limits: 'all', hasMore: false }, items: items(timeline.items) }],
  ]);
  for (const { key } of objects.items.slice(0, 3))
    lives.set(`#/objects/${key}`, { head: await get(`objects/${key}`), items: [] });
  for (const { namespace, name: own, kind } of objects.items) {
    if (kind !== 'ServiceFleet') continue;
    const { slots, ...head } = await get(`fleets/${namespace}/${own}`);
    lives.set(`#/fleets/${namespace}/${own}`, { head, items: items(slots) });
  }
  expect(world.counts.defects).toEqual([]);
  const views = Array.from(lives, ([address, live]) => {
    const route = routeOf(address);
    const model = {
      route,
      connection: { is: 'live', heardAt: 0 },
      summary,
      silentMs: 0,
      isOutdated: false,
      onReload: () => undefined,
      onTry: () => undefined,
    } as const;
    return [address, frame(model, content(route, live, summary, shell, now, older), now)] as const;
  });
  return { fleet, views: new Map(views) };
}

/** What stands beside a mark of health: a row, a node, a problem, a card; else the whole view. */
const around = 'tr, .row, article, li, header, .slot, .now';

/** What stands beside the mark of what is well. That a request was applied says nothing of its object. */
function calledHealthy(view: unknown): string[] {
  const marks = Array.from(rendered(view).querySelectorAll('main .state.ok'));
  return marks
    .filter((mark) => mark.textContent?.trim() !== 'applied')
    .map((mark) => (mark.closest(around)?.textContent ?? '').replaceAll(/\s+/g, ' ').trim());
}

/** A snapshot of 10,000 objects is of use only if somebody can read it. */
const longest = 1500;
const cut = (text: string) =>
  text.length > longest ? `${text.slice(0, longest)} … ${text.length} characters` : text;

describe.each(fleetNames)('a fleet: %s', (name) => {
  let made: Views;

  beforeAll(async () => {
    made = await viewsOf(name);
  });

  test('shows in each view what it showed before', () => {
    const shown = Array.from(made.views, ([address, view]) => `${address}\n  ${cut(textOf(view))}`);
    expect(`\n${shown.join('\n')}\n`).toMatchSnapshot();
  });

  test('calls nothing healthy that is suspended, stale, unknown, or held (GI6)', () => {
    const names = [...made.fleet.unhealthy].map((key) => key.split('/')[2] ?? '');
    const wrong = Array.from(made.views, ([address, view]) => [
      address,
      calledHealthy(view).filter((text) => names.some((one) => text.split(/[\s/]/).includes(one))),
    ]);
    expect(wrong.filter(([, texts]) => (texts?.length ?? 0) > 0)).toEqual([]);
    // And no view is good news as a whole, unless all is read.
    const isNews = textOf(made.views.get('#/')).includes('Nothing needs you');
    expect(
      isNews && /not read|Stale|Unknown/.test(textOf(made.views.get('#/objects')).split('Labels')[1] ?? ''),
    ).toBe(false);
    const count = /Healthy (\d[\d,]*) of ([\d,]+)/.exec(textOf(made.views.get('#/')));
    const [healthy = 0, all = 0] = count?.slice(1).map((each) => Number(each.replaceAll(',', ''))) ?? [];
    expect(healthy).toBe(all - made.fleet.unhealthy.size);
  });

  test('has no element that others have written, and no link but https and its own', () => {
    for (const [address, view] of made.views) {
      const element = rendered(view);
      expect([address, element.querySelectorAll('img, script, iframe, [onerror], [style]').length]).toEqual([
        address,
        0,
      ]);
      const links = Array.from(element.querySelectorAll('a'), (link) => link.getAttribute('href') ?? '');
      expect([address, links.filter((link) => !/^(#|https:\/\/)/.test(link))]).toEqual([address, []]);
    }
  });
});

test('the hostile text is shown as text, so the test above has something to find', async () => {
  const { views } = await viewsOf('with a hostile text in every field');
  const shown = [...views].filter(([, view]) => textOf(view).includes(hostile.slice(0, 40)));
  expect(shown.map(([address]) => address)).toEqual(
    expect.arrayContaining(['#/', '#/accounts', '#/timeline', '#/objects/ContainerService/shop/web']),
  );
});
