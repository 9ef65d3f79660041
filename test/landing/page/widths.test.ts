/** No view is wider than its window, whatever others have named and written: in a real browser, over a fleet in memory. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { shownPrices } from '../../../src/state/index.ts';
import { openPage, testInBrowser, useBrowser } from '../../support/processes/browser.ts';
import { servePage } from '../../support/processes/served-page.ts';
import {
  FakeSource,
  held,
  intentOf,
  readAccount,
  ready,
  recordOf,
  waiting,
} from '../../unit/read-api/support.ts';

useBrowser();

/** As long as Kubernetes allows, and without a place to break it. */
const name = (start: string, length = 253) => start.padEnd(length, 'x');
const namespace = name('team-', 63);
const word = name('answered', 2000);
const image = `${name('registry', 200)}.example/${name('path', 300)}:${name('tag', 128)}`;
const account = `${namespace}/${name('account')}`;
const label = `${name('label', 200)}.example/${name('key', 63)}`;
const key = (
  kind: 'ContainerService' | 'ServiceFleet' | 'ProtectedTask' | 'Budget' | 'Account',
  own: string,
) => `${kind}/${namespace}/${own}` as ObjectKey;

const fleetKey = key('ServiceFleet', name('fleet-'));
const webKey = key('ContainerService', name('web-'));
const budgetKey = key('Budget', name('budget-'));
const accountKey = `Account/${account}` as ObjectKey;
const huge = Number.MAX_SAFE_INTEGER;
const at = '2026-11-27T10:00:00Z';

/** Every field that others write has the longest text, without a blank, and every amount is the largest one. */
function longFleet(): FakeSource {
  const web = recordOf(webKey, {
    account,
    conditions: held('MassChangeBrake', { message: word }),
    labels: { [label]: name('value', 63), team: name('value', 63) },
    annotations: { 'fleetkeeper.dev/paused': word },
    spec: { region: word, geography: word, image, command: [word], resources: { gpuCount: huge, cpu: huge } },
    file: `${name('folder', 200)}/${name('file', 200)}.yaml`,
    status: {
      state: word,
      endpoint: `https://${name('host', 60)}.example/${word}`,
      region: word,
      hourlyMicros: huge,
      drift: [{ path: word, kind: 'Changed', desired: word, observed: word, since: at, cause: word }],
    },
  });
  const slots = Array.from({ length: 30 }, (_, slot) => ({
    slot,
    phase: slot === 2 ? 'draining' : 'wanted',
    since: 0,
    cause: word,
    revision: 1,
    place: { account: 'default', region: word, geography: word },
  }));
  const source = new FakeSource(
    [
      web,
      recordOf(key('ContainerService', name('llm-')), {
        account,
        derived: { owner: fleetKey },
        conditions: waiting('CapacityUnavailable', { message: word }),
      }),
      recordOf(key('ProtectedTask', name('task-')), {
        account,
        spec: { serviceRef: { name: name('web-') } },
        conditions: held('DataLost', { message: word }),
      }),
      recordOf(fleetKey, {
        account,
        conditions: held('RolloutFailed', { message: word }),
        spec: { update: { steps: [{ replicas: 1 }, { [word]: word }] } },
        status: {
          desiredReplicas: huge,
          rollout: { phase: word, revision: word, message: word },
          revisions: [{ name: word, outcome: word, at, image, reason: word }],
          placement: [{ name: word, state: word, message: word }],
        },
        kind: { roster: slots },
      }),
      recordOf(budgetKey, {
        account,
        conditions: ready,
        spec: { mode: word, limits: { hourlyMicros: 1, monthlyMicros: huge } },
        status: {
          hourlyMicros: huge,
          reservedMicros: huge,
          month: word,
          spentMicros: huge,
          forecastMicros: huge,
        },
      }),
      recordOf(accountKey, {
        account,
        status: {
          prices: shownPrices([
            {
              region: word,
              geography: word,
              gpuModel: word,
              demand: { compute: { gpuCount: huge, cpu: huge, memoryGb: huge } },
              hourlyMicros: huge,
              at: Date.now(),
              moved: { at: Date.now(), beforeMicros: 1 },
            },
          ]),
          capacity: [
            {
              region: word,
              geography: word,
              gpuCount: huge,
              cpu: huge,
              memoryGb: huge,
              storageGb: huge,
              state: 'Scarce',
              since: at,
              at,
              failures: huge,
              message: word,
            },
          ],
        },
      }),
    ],
    [
      readAccount(account, {
        readAt: Date.now(),
        failure: { reason: word, message: word },
        balanceMicros: huge,
        burnMicrosPerHour: huge,
        runwaySeconds: huge,
        quotas: [{ resource: word, used: huge, limit: huge }],
        requests: { perSecond: huge, limitPerSecond: huge, waiting: huge, throttled: huge, closedForMs: 1e9 },
      }),
    ],
  );
  source.engaged = [{ namespace, account: undefined, reason: 'MassChangeBrake', message: word }];
  source.unusable = [
    { key: undefined, file: name('file', 400), line: huge, path: word, message: word, remedy: word },
  ];
  const why = { reason: word, fields: [word], askedBy: { by: 'Rollout', name: word } } as const;
  for (let number = 1; number <= 3; number++)
    source.intents.push({
      number,
      intent: intentOf(webKey, {
        idempotencyKey: `k${number}`,
        action: word,
        note: word,
        targetId: word,
        why,
      }),
    });
  return source;
}

const views = [
  '#/',
  '#/tree',
  '#/objects',
  `#/objects?reason=MassChangeBrake&account=${encodeURIComponent(account)}&namespace=${namespace}`,
  `#/objects?q=${name('q', 256)}`,
  '#/objects?label=a%3D%3D%3D',
  ...[webKey, budgetKey, accountKey, fleetKey].map((each) => `#/objects/${each}`),
  `#/objects/${key('ContainerService', name('nothing-'))}`,
  `#/fleets/${namespace}/${name('fleet-')}`,
  '#/money',
  '#/money?by=account',
  `#/money?by=${encodeURIComponent(`label=${label}`)}`,
  '#/accounts',
  '#/timeline',
  `#/timeline?object=${encodeURIComponent(webKey)}&account=${encodeURIComponent(account)}&from=2026-01-01T00%3A00%3A00.000Z`,
];

/** Buttons whose own word is on several lines. */
const brokenButtons = (page: Page) =>
  page.evaluate<readonly string[]>(`Array.from(document.querySelectorAll('button'))
    .filter((button) => {
      const range = document.createRange();
      range.selectNodeContents(button);
      return new Set(Array.from(range.getClientRects(), ({ top }) => Math.round(top))).size > 1;
    })
    .map((button) => button.textContent.trim())`);

/** They have the text of others. */
const mainViews = [
  '#/',
  '#/tree',
  '#/objects',
  `#/objects/${webKey}`,
  '#/money',
  '#/accounts',
  '#/timeline',
  `#/fleets/${namespace}/${name('fleet-')}`,
];

/** Of the page, and the innermost elements whose content is wider than they are, if it is too wide. */
const measured = (page: Page) =>
  page.evaluate<readonly (number | string)[]>(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const isWide = (element) => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0;
    const wide = Array.from(document.querySelectorAll('body *'))
      .filter((element) => isWide(element) && getComputedStyle(element).overflowX === 'visible')
      .filter((element, _, all) => !all.some((other) => other !== element && element.contains(other)));
    const shown = scrollWidth > clientWidth ? wide.map((element) => element.outerHTML.slice(0, 160)) : [];
    return [scrollWidth, ...shown];
  })()`);

testInBrowser(
  'no view is wider than its window, with the longest text in every field',
  async () => {
    const { url } = await servePage(longFleet());
    const found: string[] = [];
    const wanted: string[] = [];
    for (const width of [1280, 768, 360]) {
      const { page } = await openPage(url, { viewport: { width, height: 800 } });
      // All nodes of the tree are unfolded.
      await page.evaluate(
        `sessionStorage.setItem('unfolded', JSON.stringify(${JSON.stringify([accountKey, fleetKey, webKey].map((id) => [id, true]))}))`,
      );
      const shown = new Set<string>();
      for (const view of views) {
        await page.goto('about:blank');
        await page.goto(`${url}/${view}`);
        await page.locator('main h1, main .empty').first().waitFor();
        await page.locator('[aria-busy]').waitFor({ state: 'detached' });
        // What follows from the summary is there, too.
        await page.getByText('1.2.3, from a folder').waitFor({ state: 'attached' });
        await page.evaluate(`document.querySelectorAll('details').forEach((each) => { each.open = true; })`);
        found.push([width, view, ...(await measured(page))].join(' '));
        wanted.push([width, view, width].join(' '));
        expect([width, view, ...(await brokenButtons(page))]).toEqual([width, view]);
        if ((await page.locator('main').textContent())?.includes(name('answered', 300))) shown.add(view);
      }
      // The text was there to be measured.
      expect([width, mainViews.filter((view) => !shown.has(view))]).toEqual([width, []]);
    }
    expect(found).toEqual(wanted);
    // 48 views are measured.
  },
  300_000,
);

testInBrowser('what is wider than its window is found: the test above can fail', async () => {
  const { url } = await servePage(new FakeSource([]));
  const { page } = await openPage(url, { viewport: { width: 360, height: 800 } });
  await page.locator('main h1').waitFor();
  await page.evaluate(
    `document.querySelector('main').append(Object.assign(document.createElement('p'), {className: 'nowrap', textContent: 'x'.repeat(200)}))`,
  );
  const [width, ...why] = await measured(page);
  expect(width).toBeGreaterThan(360);
  expect(why).toEqual([expect.stringContaining('xxx')]);
});
