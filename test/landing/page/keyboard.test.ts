/**
 * Where the focus is, and what becomes of what is typed and clicked, in a real browser, over a fleet in memory: in searches, on Back, in the
 * tree and the timeline.
 */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { fieldTime, timeOfField } from '../../../src/page/format.ts';
import { apiKey, ControlPlaneProcess } from '../../support/processes/control-plane.ts';
import { openPage, seriousFindings, testInBrowser, useBrowser } from '../../support/processes/browser.ts';
import { temporaryFolder } from '../../support/processes/processes.ts';
import { servePage } from '../../support/processes/served-page.ts';
import { FakeSource, intentOf, readAccount, ready, recordOf, waiting } from '../../unit/read-api/support.ts';

useBrowser();

/** 60 services, of which `web-7` waits, and a volume below one; two accounts. */
function fleet(): FakeSource {
  const services = Array.from({ length: 60 }, (_, index) =>
    recordOf(`ContainerService/shop/web-${index}`, {
      conditions: index === 7 ? waiting('CapacityUnavailable') : ready,
    }),
  );
  const lab = recordOf('ContainerService/lab/notebook');
  const source = new FakeSource(
    [...services, lab, recordOf('Account/shop/default'), recordOf('Account/lab/default')],
    [readAccount('shop/default'), readAccount('lab/default')],
  );
  for (let number = 1; number <= 450; number++)
    source.intents.push({
      number,
      intent: intentOf(`ContainerService/shop/web-${number % 60}`, { idempotencyKey: `k${number}` }),
    });
  return source;
}

const focused = (page: Page) =>
  page.evaluate<string>(
    '(document.activeElement.getAttribute("name") ?? document.activeElement.getAttribute("aria-label") ?? "") || document.activeElement.textContent.trim().replace(/\\s+/g, " ")',
  );

testInBrowser('whoever types a search keeps the field, however often the list changes', async () => {
  const { url } = await servePage(fleet());
  const { page, complaints } = await openPage(`${url}/#/objects`);
  await page.getByText('63 objects').waitFor();
  await page.keyboard.press('/');
  expect(await focused(page)).toBe('q');
  for (const typed of ['w', 'we', 'web', 'web-', 'web-5']) {
    await page.keyboard.type(typed.slice(-1));
    // The address follows what was typed, and the list follows the address.
    await expect.poll(() => page.url()).toMatch(new RegExp(`q=${typed}$`));
    expect(await focused(page)).toBe('q');
  }
  await page.getByText('11 objects').waitFor();
  expect([await focused(page), await page.getByLabel('Search').inputValue()]).toEqual(['q', 'web-5']);
  expect(complaints).toEqual([]);
});

testInBrowser('Back leads to the link that was followed, with the same rows in sight', async () => {
  const { url } = await servePage(fleet());
  const { page } = await openPage(`${url}/#/objects?sort=name`);
  const link = page.getByRole('link', { name: 'web-58', exact: true });
  await link.scrollIntoViewIfNeeded();
  const before = await page.evaluate<number>('scrollY');
  expect(before).toBeGreaterThan(200);
  await link.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'web-58' }).waitFor();
  // A screen reader announces the view.
  expect([await focused(page), await page.evaluate<number>('scrollY')]).toEqual(['web-58', 0]);
  await page.goBack();
  await link.waitFor();
  await expect.poll(() => focused(page)).toBe('web-58');
  expect(await page.evaluate<number>('scrollY')).toBe(before);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'web-58' }).waitFor();
});

testInBrowser('the tree is walked by keys: into an account, to a name, and back to its item', async () => {
  const { url } = await servePage(fleet());
  const { page, complaints } = await openPage(`${url}/#/tree`);
  const tree = page.getByRole('tree');
  await tree.waitFor();
  await page.locator('#content').focus();
  await page.keyboard.press('Tab');
  const first = await focused(page);
  expect(first).toMatch(/^(shop|lab)\/default Account/);
  await page.keyboard.press('End');
  await page.keyboard.press('Home');
  expect(await focused(page)).toBe(first);
  // What is at the top is open at first. Both keys come before the next frame.
  await page.evaluate(
    `for (const key of ['ArrowLeft', 'ArrowDown'])
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))`,
  );
  const second = await focused(page);
  expect(second).toMatch(/^(shop|lab)\/default Account/);
  expect(second).not.toBe(first);
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.type('web-4');
  await expect.poll(() => focused(page)).toMatch(/^web-4 ContainerService/);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Shift+Tab');
  expect(await focused(page)).toMatch(/^web-4 /);
  expect(await seriousFindings(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'web-4' }).waitFor();
  await page.goBack();
  await tree.waitFor();
  await expect.poll(() => focused(page)).toMatch(/^web-4 /);
  await page.keyboard.press('ArrowLeft');
  expect(await focused(page)).toMatch(/^shop\/default Account/);
  expect(complaints).toEqual([]);
});

testInBrowser('the timeline has older mutations on request, and those of one object', async () => {
  const { url } = await servePage(fleet());
  const { page } = await openPage(`${url}/#/timeline`);
  const rows = page.locator('tbody tr');
  await expect.poll(() => rows.count()).toBe(200);
  await page.getByRole('button', { name: 'Older ones' }).click();
  await expect.poll(() => rows.count()).toBe(400);
  await page.getByRole('button', { name: 'Older ones' }).click();
  await expect.poll(() => rows.count()).toBe(450);
  await page.getByText('these are all that are kept').waitFor();
  await page.getByLabel('Object').fill('ContainerService/shop/web-7');
  await page.keyboard.press('Enter');
  await expect.poll(() => rows.count()).toBe(8);
  await page.getByLabel('Account').selectOption('lab/default');
  await page.getByText('No mutation that matches').waitFor();
  await page.getByRole('link', { name: 'Remove all filters' }).click();
  await expect.poll(() => rows.count()).toBe(200);
});

testInBrowser(
  'the timeline is filtered by time, by a click and by fields in the zone of the reader',
  async () => {
    const minuteMs = 60_000;
    const nowMs = Date.now();
    const minutes = [5, 30, 300, 1800];
    const ages = new Map(minutes.map((age) => [`${age} minutes old`, nowMs - age * minuteMs]));
    const source = fleet();
    source.intents.length = 0;
    // The journal has the newest ones last.
    for (const [number, [note, at]] of [...ages].toReversed().entries())
      source.intents.push({
        number,
        intent: intentOf('ContainerService/shop/web-7', {
          idempotencyKey: note,
          note,
          createdAt: at,
          finishedAt: at,
        }),
      });
    const { url } = await servePage(source);
    const timezoneId = 'Asia/Kolkata';
    const { page, complaints } = await openPage(`${url}/#/timeline`, { timezoneId });
    const shown = async () => {
      const texts = await page.locator('tbody tr').allTextContents();
      return texts.map((text) => Number(/(\d+) minutes old/.exec(text)?.[1]));
    };
    const choices = page.getByRole('navigation', { name: 'Time' });
    const choose = (name: string) => choices.getByRole('link', { name, exact: true }).click();
    await expect.poll(shown).toEqual(minutes);
    await choose('last 10 min');
    await expect.poll(shown).toEqual([5]);
    await choose('last 24 h');
    await expect.poll(shown).toEqual([5, 30, 300]);
    await choose('last 1 h');
    await expect.poll(shown).toEqual([5, 30]);
    const hourAgo = Math.floor((nowMs - 60 * minuteMs) / minuteMs) * minuteMs;
    const from = timeOfField(await page.getByLabel('From').inputValue(), timezoneId) ?? 0;
    // The click may be a moment later.
    expect([from >= hourAgo, from < hourAgo + 3 * minuteMs]).toEqual([true, true]);
    await page.getByLabel('To').fill(fieldTime(nowMs - 10 * minuteMs, timezoneId));
    await page.getByLabel('To').press('Tab');
    await expect.poll(shown).toEqual([30]);
    await page.getByLabel('From').fill(fieldTime(nowMs - 400 * minuteMs, timezoneId));
    await page.getByLabel('From').press('Tab');
    await expect.poll(shown).toEqual([30, 300]);
    // What is typed takes the place of the address before.
    await page.goBack();
    await expect.poll(shown).toEqual([5, 30, 300]);
    await choose('all');
    await expect.poll(shown).toEqual(minutes);
    expect(complaints).toEqual([]);
  },
);

const accounts = `accounts:
  - {name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}
  - {name: other, email: b@b.example, balanceMicros: 0, apiKeys: [key-of-nobody-0123456789]}
`;

testInBrowser(
  'the page of a control plane asks while somebody types, only when the text changed',
  async () => {
    const plane = await new ControlPlaneProcess(await temporaryFolder(), { accounts }).start();
    const { page } = await openPage(plane.adminUrl);
    await page.getByRole('link', { name: 'other' }).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('q=')) asked.push(new URL(request.url()).searchParams.get('q') ?? '');
    });
    await page.keyboard.press('/');
    // At once: on a busy machine, the time between two keys is long enough for a question.
    await page.keyboard.insertText('acme');
    await page.getByRole('link', { name: 'other' }).waitFor({ state: 'detached' });
    expect([await focused(page), await page.getByLabel('Search').inputValue()]).toEqual(['q', 'acme']);
    expect(new Set(asked)).toEqual(new Set(['acme']));
    const history = await page.evaluate<number>('history.length');
    await page.evaluate(
      `for (const typed of ['acmex', 'acme']) {
        document.activeElement.value = typed;
        document.activeElement.dispatchEvent(new Event('input', { bubbles: true }));
      }`,
    );
    await page.keyboard.press('Enter');
    // The next round of questions.
    await page.waitForRequest((request) => request.url().includes('q='));
    expect(new Set(asked)).toEqual(new Set(['acme']));
    expect(await page.evaluate<number>('history.length')).toBe(history);
  },
);
