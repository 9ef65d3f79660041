/**
 * The page in a real browser, over a fleet in memory of which every field is hostile: nothing runs, and the browser reports nothing against
 * the policy. Then a browser whose clock is wrong, a page that is older than its server, and a stream that is cut again and again.
 */
import type { Socket } from 'node:net';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { openPage, testInBrowser, useBrowser } from '../../support/processes/browser.ts';
import { servePage } from '../../support/processes/served-page.ts';
import { FakeSource, held, intentOf, readAccount, recordOf } from '../../unit/read-api/support.ts';

useBrowser();

async function serve(source: FakeSource) {
  const { url, server } = await servePage(source);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return { url, cut };
}

const corpus = [
  `<script>ran('script')</script>`,
  `"><img src=x onerror="ran('img')">`,
  `'><svg onload=ran('svg')>`,
  `</pre></style></title><iframe srcdoc="<script>parent.ran('iframe')</script>">`,
  `javascript:ran('url')`,
  `data:text/html,<script>ran('data')</script>`,
  '${ran("template")} {{ran("template")}} <!--?lit$123$--><?lit$123$>',
  `" style="background:url(javascript:ran('css'))" onfocus="ran('focus')" autofocus x="`,
  `<a href="javascript:ran('link')">click</a> <form action=javascript:ran('form')><button>x`,
  'the log of 0000-00-00T00:00:00Z and 2026-12-31T23:59:60Z',
  `\u202e\u2066<b>\u0000\u0007\u001b[31m</b>\ud800`,
];

const keyOf = (index: number): ObjectKey => `ContainerService/shop/hostile-${index}`;

/** The text in every field that others write: documents, the provider, log tails in messages, and the time of what was done. */
function hostileFleet(): FakeSource {
  const source = new FakeSource(
    corpus.flatMap((text, index) => [
      recordOf(keyOf(index), {
        conditions: held('UnknownRegion', { message: `${text}\nlog: ${text}` }),
        labels: { team: text, [text]: text },
        annotations: { 'fleetkeeper.dev/paused': text },
        spec: { image: text, region: text, geography: text, command: [text], env: [{ name: text }] },
        file: text,
        status: {
          state: text,
          endpoint: text,
          region: text,
          errorReason: text,
          drift: [
            {
              path: text,
              kind: 'Changed',
              desired: text,
              observed: text,
              since: '2026-11-27T10:00:00Z',
              cause: text,
            },
          ],
        },
      }),
      recordOf(`ServiceFleet/shop/fleet-${index}`, {
        conditions: held('RolloutFailed', { message: text }),
        status: {
          desiredReplicas: 1,
          rollout: { phase: text, revision: text, message: text },
          revisions: [{ name: text, outcome: text, at: '2026-11-27T10:00:00Z', image: text, reason: text }],
          placement: [{ name: text, state: text, message: text }],
        },
      }),
    ]),
    corpus.map((text) =>
      readAccount('shop/default', {
        failure: { reason: text, message: text },
        quotas: [{ resource: text, used: 1, limit: 2 }],
      }),
    ),
  );
  source.unusable = corpus.map((text) => ({
    key: undefined,
    file: text,
    line: 1,
    path: text,
    message: text,
    remedy: text,
  }));
  for (const [number, text] of corpus.entries()) {
    const why = { reason: text, fields: [text], askedBy: { by: 'Rollout', name: text } } as const;
    const more = { idempotencyKey: text, action: text, note: text, targetId: text, why };
    source.intents.push({ number, intent: intentOf(keyOf(number), more) });
  }
  return source;
}

const views = [
  '#/',
  '#/tree',
  '#/objects',
  '#/money',
  '#/accounts',
  '#/timeline',
  ...corpus.map((_, index) => `#/objects/${keyOf(index)}`),
  ...corpus.map((_, index) => `#/fleets/shop/fleet-${index}`),
  ...corpus.map((text) => `#/objects?q=${encodeURIComponent(text.toWellFormed())}`),
  ...corpus.map((text) => `#/timeline?account=${encodeURIComponent(text.toWellFormed())}`),
];

const watched = `
  window.reports = [];
  window.ran = (what) => window.reports.push('ran ' + what);
  for (const name of ['alert', 'confirm', 'prompt', 'open']) window[name] = () => window.ran(name);
  document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
    window.reports.push(violatedDirective + ' ' + blockedURI));
`;

const reportsOf = (page: Page) => page.evaluate<readonly string[]>('window.reports');

testInBrowser(
  'of a hostile text in every field nothing runs, the policy has nothing to report, and links are https or of the page',
  async () => {
    const { url } = await serve(hostileFleet());
    const { page, context, complaints } = await openPage('about:blank');
    await context.addInitScript(watched);
    await page.goto(`${url}/#/`);
    const shown: string[] = [];
    for (const view of views) {
      await page.evaluate(`location.hash = ${JSON.stringify(view.slice(1))}`);
      await page.locator('main h1, main .empty').first().waitFor();
      await page.locator('[aria-busy]').waitFor({ state: 'detached' });
      const links = await page.evaluate<readonly string[]>(
        'Array.from(document.querySelectorAll("a"), (link) => link.protocol + " " + link.host + " " + link.textContent)',
      );
      const foreign = links.filter((link) => !link.startsWith(`http: ${new URL(url).host} `));
      // The host of a link that leads elsewhere is in its text.
      const isHidden = (link: string) => {
        const [protocol, host = ''] = link.split(' ', 2);
        return protocol !== 'https:' || !link.slice(link.indexOf(host) + host.length).includes(host);
      };
      expect([view, foreign.filter(isHidden)]).toEqual([view, []]);
      const elements =
        'main script, main img, main iframe, main [style], main [onload], main [onerror], main b, main form[action]';
      expect([view, await page.locator(elements).count()]).toEqual([view, 0]);
      if ((await page.locator('main').textContent())?.includes(`ran('img')`)) shown.push(view);
    }
    expect(await reportsOf(page)).toEqual([]);
    // A filter that no object can have is refused, and the refusal is shown.
    expect(complaints.filter((each) => !each.includes('status of 400'))).toEqual([]);
    expect(shown).toEqual(
      expect.arrayContaining(['#/accounts', '#/timeline', `#/objects/${keyOf(1)}`, '#/fleets/shop/fleet-1']),
    );
    // What would have been noticed.
    await page.evaluate(`document.querySelector('main').innerHTML = ${JSON.stringify(corpus[1])}`);
    await expect.poll(() => reportsOf(page)).not.toEqual([]);
  },
);

testInBrowser('what can not be drawn leaves no old picture, and a message is in its place', async () => {
  const source = new FakeSource([recordOf('ContainerService/shop/web')], [readAccount('shop/default')]);
  const { url } = await serve(source);
  const { page, complaints } = await openPage(`${url}/#/objects`);
  await page.getByRole('link', { name: 'web' }).waitFor();
  // As a server of another version might answer.
  await page.route('**/api/v1/summary', (route) => route.fulfill({ json: { version: '1.2.3' } }));
  await page.getByRole('alert').getByText('This can not be shown').waitFor();
  expect(await page.getByText(/^Live/).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'web' }).count()).toBe(0);
  expect(complaints).not.toEqual([]);
  await page.unroute('**/api/v1/summary');
  await page.getByRole('link', { name: 'web' }).waitFor();
  await page.getByText(/^Live/).waitFor();
});

const minute = 60_000;

testInBrowser('a browser whose clock is wrong by days shows the ages of the server', async () => {
  const source = new FakeSource([recordOf('ContainerService/shop/web')], [readAccount('shop/default')]);
  source.accounts = () => [readAccount('shop/default', { readAt: Date.now() - 3 * minute })];
  const { url } = await serve(source);
  for (const days of [-3, 3]) {
    const { page, context } = await openPage('about:blank');
    await context.addInitScript(`{
      const now = Date.now.bind(Date);
      Date.now = () => now() + ${days} * 86_400_000;
    }`);
    await page.goto(`${url}/#/accounts`);
    await page.getByText('Live, read 3 min ago').waitFor();
    expect(await page.locator('main').textContent()).toMatch(/Read\s+3 min ago/);
  }
});

testInBrowser('a page that is older than its server offers to load the new one', async () => {
  const source = new FakeSource([recordOf('ContainerService/shop/web')], [readAccount('shop/default')]);
  const { url } = await serve(source);
  const { page } = await openPage(`${url}/#/objects`);
  await page.getByText('1.2.3, from a folder').waitFor();
  expect(await page.getByText('another version').count()).toBe(0);
  Object.assign(source, { version: '2.0.0' });
  await source.store.save(recordOf('ContainerService/shop/another'));
  await page.getByRole('status').getByText('another version').waitFor();
  await page.getByRole('button', { name: 'Load it' }).click();
  await page.getByText('2.0.0, from a folder').waitFor();
  expect(await page.getByText('another version').count()).toBe(0);
});

testInBrowser('a stream that a proxy cuts again and again loses nothing', async () => {
  const web: ObjectKey = 'ContainerService/shop/web';
  const source = new FakeSource([recordOf(web)], [readAccount('shop/default')]);
  const { url, cut } = await serve(source);
  const { page } = await openPage(`${url}/#/objects`);
  await page.getByRole('link', { name: 'web' }).waitFor();
  for (const name of ['one', 'two', 'three']) {
    cut();
    await source.store.save(recordOf(`ContainerService/shop/${name}`));
    await page.getByRole('link', { name }).waitFor();
  }
  await page.getByText(/^Live/).waitFor();
  expect(await page.locator('tbody tr').count()).toBe(4);
});
