/** The page in a real browser, on a real manager and the reference control plane. */
import { writeFile } from 'node:fs/promises';
import { describe, expect } from 'vitest';
import { apiKey, ControlPlane } from '../../support/processes/control-plane.ts';
import { openPage, seriousFindings, testInBrowser, useBrowser } from '../../support/processes/browser.ts';
import { account, createFleet, service, type Fleet } from '../../support/processes/fleet.ts';
import { nowMs, temporaryFolder, type Program } from '../../support/processes/processes.ts';
import { fleetOf } from '../../support/processes/replicas.ts';

useBrowser();

interface World {
  readonly plane: ControlPlane;
  readonly fleet: Fleet;
  readonly manager: Program;
  /** Of the page. */
  readonly url: string;
}

/** A web server, and two replicas of a fleet of which one finds no capacity. */
async function createWorld(...flags: string[]): Promise<World> {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 60 }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url, { pollSeconds: 1 }));
  await fleet.write('web.yaml', [service('web')]);
  const manager = fleet.run('--listen', '127.0.0.1:0', ...flags);
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  await fleet.untilReady(1);
  return { plane, fleet, manager, url };
}

const broken = {
  ...service('web'),
  spec: { region: 'standard', image: 'nginx:1', resources: { cpu: -1, memoryGb: 1 } },
};

testInBrowser('a mistake in a document is on the start page, and gone when it is corrected', async () => {
  const { fleet, url } = await createWorld();
  const { page, complaints } = await openPage(url);
  await page.getByText('Nothing needs you').first().waitFor();
  await fleet.write('web.yaml', [broken]);
  await page.getByRole('link', { name: 'InvalidSpec' }).waitFor();
  expect(await page.locator('article').first().textContent()).toContain('web.yaml');
  // Of an object that was never valid, there is no record.
  await fleet.write('new.yaml', [{ ...broken, metadata: { name: 'new' } }]);
  await page.getByText('new.yaml').waitFor();
  await fleet.write('web.yaml', [service('web')]);
  await fleet.write('new.yaml', []);
  await page.getByText('Nothing needs you').first().waitFor();
  expect(complaints).toEqual([]);
});

testInBrowser('what changes at the provider is on the page soon after the read that shows it', async () => {
  const { plane, fleet, url } = await createWorld();
  await fleet.write('web.yaml', [service('web', { driftPolicy: 'Report' })]);
  const { page } = await openPage(`${url}/#/objects/ContainerService/default/web`);
  await page.getByText(/^Ready since/).waitFor();
  const { id, revision } = await plane.service('web');
  await plane.call('PATCH', `/api/services/${id}`, { revision, patch: { image: 'ghcr.io/acme/app:2' } });
  await fleet.until('ContainerService/web', 'Synced', 'False');
  const shownAt = nowMs();
  await page.locator('[aria-labelledby=drift]').getByText('ghcr.io/acme/app:2').waitFor();
  // On a machine that does nothing else it is below two seconds.
  expect(nowMs() - shownAt).toBeLessThan(5000);
});

testInBrowser('by keyboard alone: from the start to why it waits, and to the command to copy', async () => {
  const { plane, fleet, url } = await createWorld();
  await plane.faults([
    { method: 'POST', path: '/api/services$', fault: 'status', status: 409, code: 'capacity_unavailable' },
  ]);
  await fleet.write('llm.yaml', [
    fleetOf('llm', {
      replicas: 1,
      template: { spec: { region: 'standard', image: 'a/a:1', resources: { cpu: 1, memoryGb: 1 } } },
    }),
  ]);
  await fleet.until('ContainerService/llm-0', 'Ready', 'False', 'CapacityUnavailable');
  const { page, context } = await openPage(url);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('link', { name: 'Tree' }).waitFor();
  const focused = () =>
    page.evaluate<string>(
      'document.activeElement?.matches("a, button") ? document.activeElement.textContent.trim() : ""',
    );
  const tabTo = async (text: string) => {
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press('Tab');
      if ((await focused()).startsWith(text)) return;
    }
    throw new Error(`no way leads to ${text}; the last one was ${await focused()}`);
  };
  await tabTo('Objects');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Objects' }).waitFor();
  await tabTo('llm-0');
  await page.keyboard.press('Enter');
  // The list has sentences, too.
  await page.getByRole('heading', { name: 'llm-0' }).waitFor();
  await page.getByText(/^Waits since/).waitFor();
  await tabTo('Copy');
  await page.keyboard.press('Enter');
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(copied).toMatch(/^fleetkeeper describe ContainerService\/llm-0 -n default /);
});

const views = [
  '#/',
  '#/tree',
  '#/objects',
  '#/objects/ContainerService/default/web',
  '#/fleets/default/llm',
  '#/money',
  '#/accounts',
  '#/timeline',
  '#/nothing',
] as const;

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  testInBrowser('no view has a serious finding, and none is wider than a telephone', async () => {
    const { fleet, url } = await createWorld();
    await fleet.write('web.yaml', [broken]);
    await fleet.write('llm.yaml', [
      fleetOf('llm', {
        replicas: 2,
        template: { spec: { region: 'standard', image: 'a/a:1', resources: { cpu: 1, memoryGb: 1 } } },
      }),
    ]);
    await fleet.until('ServiceFleet/llm', 'Ready', 'True', undefined, 60_000);
    const { page, complaints } = await openPage(url, { colorScheme, viewport: { width: 360, height: 740 } });
    for (const view of views) {
      await page.goto(`${url}/${view}`);
      await page.locator('h1, .empty').first().waitFor();
      expect([view, ...(await seriousFindings(page))]).toEqual([view]);
      expect([view, await page.evaluate<number>('document.documentElement.scrollWidth')]).toEqual([
        view,
        360,
      ]);
    }
    expect(complaints).toEqual([]);
  });
});

testInBrowser(
  'without its manager the page keeps what it has, says how old it is, and is live again with the next one',
  async () => {
    const { fleet, manager, url } = await createWorld();
    const { page } = await openPage(`${url}/#/money`);
    await page.getByText('Most expensive').waitFor();
    await page.goto(`${url}/#/objects`);
    await page.getByRole('link', { name: 'web' }).waitFor();
    await manager.kill('SIGKILL');
    await page.getByRole('alert').getByText('Not connected').waitFor();
    expect(await page.getByRole('link', { name: 'web' }).count()).toBe(1);
    await page.getByRole('link', { name: 'Money' }).click();
    await page.getByText('Most expensive').waitFor();
    await page.getByRole('alert').getByText('Not connected').waitFor();
    fleet.run('--listen', new URL(url).host);
    await page.getByText(/^Live/).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  },
);

const hostile = `"><img src=x onerror="document.title='run'"><script>document.title='run'</script>`;

testInBrowser('what others have written is text, wherever it is shown', async () => {
  const { plane, fleet, url } = await createWorld();
  await plane.faults([
    { method: 'POST', path: '/api/services$', fault: 'status', status: 400, code: hostile },
  ]);
  await fleet.write('strange.yaml', [service('strange', { command: [hostile] }, { note: hostile })]);
  await fleet.until('ContainerService/strange', 'Ready', 'False');
  const { page, complaints } = await openPage(url);
  for (const view of [
    '#/',
    '#/objects',
    '#/objects/ContainerService/default/strange',
    '#/timeline',
    `#/objects?q=${encodeURIComponent(hostile)}`,
  ]) {
    await page.goto(`${url}/${view}`);
    await page.locator('h1').first().waitFor();
    expect([view, await page.locator('img, #page script').count()]).toEqual([view, 0]);
    expect(await page.title()).not.toBe('run');
  }
  await page.goto(`${url}/#/objects/ContainerService/default/strange`);
  await page.locator('.text, .sentence, td').getByText('onerror').first().waitFor();
  expect(complaints).toEqual([]);
});

testInBrowser('with a token file, the token is asked for, and a wrong one opens nothing', async () => {
  const folder = await temporaryFolder();
  await writeFile(`${folder}/tokens`, 'a-long-token-of-the-page-0123456789\n');
  const { url } = await createWorld('--page-token-file', `${folder}/tokens`);
  const { page, context } = await openPage(url);
  await page.getByLabel('Token').fill('another');
  await page.keyboard.press('Enter');
  await page.getByText('This token is not accepted').waitFor();
  expect(await page.getByRole('navigation').count()).toBe(0);
  await page.getByLabel('Token').fill('a-long-token-of-the-page-0123456789');
  await page.keyboard.press('Enter');
  await page.getByText('Nothing needs you').first().waitFor();
  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({ name: 'fleetkeeper-page', httpOnly: true, sameSite: 'Strict' });
  expect(cookie?.value).not.toContain('a-long-token');
  expect(JSON.stringify(await page.content())).not.toContain(apiKey);
});
