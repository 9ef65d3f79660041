/** The page of the reference control plane in a real browser: accounts, services, volumes, ledger, faults, capacity. */
import { describe, expect } from 'vitest';
import { openPage, seriousFindings, testInBrowser, useBrowser } from '../../support/processes/browser.ts';
import { apiKey, ControlPlaneProcess } from '../../support/processes/control-plane.ts';
import { temporaryFolder } from '../../support/processes/processes.ts';

useBrowser();

const hostile = `"><img src=x onerror="document.title='run'"><script>document.title='run'</script>`;
const accounts = `accounts:
  - {name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}
  - {name: ${JSON.stringify(hostile)}, email: b@b.example, balanceMicros: 0, apiKeys: [key-of-nobody-0123456789]}
`;
const spec = {
  region: 'standard',
  image: 'ghcr.io/acme/web:1',
  resources: { gpuCount: 0, cpu: 1, memoryGb: 2 },
};

async function createPlane(folder?: string, ...more: string[]): Promise<ControlPlaneProcess> {
  return new ControlPlaneProcess(
    folder ?? (await temporaryFolder()),
    { timeScale: 60, accounts },
    more,
  ).start();
}

/** Three services, of which one fails and one has a name that would be a script and is protected, and a volume. Returns its id. */
async function withServices(plane: ControlPlaneProcess): Promise<string> {
  await plane.call('POST', '/api/services', {
    ...spec,
    name: 'web',
    volumeGb: 10,
    environment: { KEY: 'hush-hush' },
  });
  await plane.call('POST', '/api/services', { ...spec, name: 'broken', image: 'ghcr.invalid/acme/broken:1' });
  const command = ['sh', '-c', 'hush-hush'];
  const { id } = await plane.call('POST', '/api/services', { ...spec, name: hostile, command });
  await expect
    .poll(() => plane.service(hostile).then(({ state }) => state), { timeout: 30_000 })
    .toBe('running');
  await plane.call('POST', `/api/services/${id}/activity`, { id, name: hostile });
  await expect
    .poll(() => plane.service('broken').then(({ state }) => state), { timeout: 30_000 })
    .toBe('error');
  return id;
}

const busy = [
  { method: 'POST', path: '/api/none', fault: 'status', status: 503, code: hostile, every: 3 },
  { path: '/api/slow', fault: 'delay', delayMs: 4000, times: 2 },
];
const pathsOf = (url: string, id: string) =>
  [
    '',
    'services',
    `account?name=acme`,
    `account?name=${encodeURIComponent(hostile)}`,
    'volumes',
    'ledger?account=acme',
  ]
    .concat([
      'faults',
      'capacity',
      'nothing',
      'account?name=nobody',
      'services?state=error&q=broken',
      `volumes?account=${encodeURIComponent(hostile)}`,
    ])
    .concat(`service?id=${id}`)
    .map((path) => `${url}/#/${path}`);

testInBrowser('what happens is on the page soon: a service, its failure, faults that are set', async () => {
  const plane = await createPlane();
  const { page, complaints } = await openPage(plane.adminUrl);
  await page.getByText(/^Live/).waitFor();
  await page.getByRole('link', { name: 'acme' }).click();
  await page.getByRole('heading', { name: 'acme' }).waitFor();
  await withServices(plane);
  await page.getByRole('cell', { name: 'web', exact: false }).first().waitFor();
  await page.locator('.state.bad').getByText('error').waitFor();
  await page.getByText("can't pull").waitFor();
  await plane.faults(busy);
  await page.getByRole('status').getByText('2 faults set').waitFor();
  await page.getByRole('link', { name: 'Show them' }).click();
  await page.getByText('waits 4 s, and is processed').waitFor();
  await plane.faults([]);
  await page.getByText('There is nothing here').waitFor();
  expect(complaints).toEqual([]);
});

testInBrowser(
  'by keyboard alone: from the accounts to a failed service, and to the command that credits',
  async () => {
    const plane = await createPlane();
    await withServices(plane);
    const { page, context } = await openPage(plane.adminUrl);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('link', { name: 'acme' }).waitFor();
    const focused = () =>
      page.evaluate<string>(
        'document.activeElement?.matches("a, button, select") ? (document.activeElement.name || document.activeElement.textContent.trim()) : ""',
      );
    const tabTo = async (text: string) => {
      for (let presses = 0; presses < 60; presses += 1) {
        await page.keyboard.press('Tab');
        if ((await focused()).startsWith(text)) return;
      }
      throw new Error(`no way leads to ${text}; the last one was ${await focused()}`);
    };
    await tabTo('Services');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Services' }).waitFor();
    await tabTo('state');
    await page.keyboard.type('error');
    await page.getByText('1 service', { exact: true }).waitFor();
    expect(await page.locator('tbody tr').allTextContents()).toEqual([expect.stringContaining("can't pull")]);
    await tabTo('acme');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'acme' }).waitFor();
    await tabTo('Copy');
    await page.keyboard.press('Enter');
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toBe(
      `curl -d '{"id":"credit-1","amountMicros":10000000}' -H 'content-type: application/json' '${plane.adminUrl}/accounts/acme/credits'`,
    );
  },
);

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  testInBrowser('no view has a serious finding, and none is wider than a telephone', async () => {
    const plane = await createPlane();
    const id = await withServices(plane);
    await plane.faults(busy);
    const { page, complaints } = await openPage(plane.adminUrl, {
      colorScheme,
      viewport: { width: 360, height: 740 },
    });
    for (const view of pathsOf(plane.adminUrl, id)) {
      await page.goto(view);
      await page.locator('h1, .empty').first().waitFor();
      expect([view, ...(await seriousFindings(page))]).toEqual([view]);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect([view, width]).toEqual([view, 360]);
    }
    // The refusals of what does not exist.
    expect(complaints.filter((one) => !one.includes('404'))).toEqual([]);
  });
});

testInBrowser(
  'what tenants have written is text, wherever it is shown, and nothing secret is there',
  async () => {
    const plane = await createPlane();
    const id = await withServices(plane);
    await plane.faults(busy);
    const { page, complaints } = await openPage(plane.adminUrl);
    for (const view of pathsOf(plane.adminUrl, id)) {
      await page.goto(view);
      await page.locator('h1, .empty').first().waitFor();
      expect([view, await page.locator('img, #page script').count()]).toEqual([view, 0]);
      expect(await page.title()).not.toBe('run');
      expect(await page.content()).not.toMatch(/hush-hush|key-of-/);
    }
    await page.goto(`${plane.adminUrl}/#/services`);
    await page.locator('td').getByText('onerror').first().waitFor();
    expect(complaints.filter((one) => !one.includes('404'))).toEqual([]);
  },
);

testInBrowser(
  'when the control plane ends, the page keeps what it has and its age, and is live again with the next one',
  async () => {
    const folder = await temporaryFolder();
    const plane = await createPlane(folder);
    await withServices(plane);
    const { page } = await openPage(`${plane.adminUrl}/#/services`);
    await page.getByText("can't pull").waitFor();
    await plane.kill();
    await page.getByRole('alert').getByText('Not connected').waitFor();
    await page.getByText(/^Stale for/).waitFor();
    expect(await page.getByText("can't pull").count()).toBe(1);
    await createPlane(folder, '--admin-listen', new URL(plane.adminUrl).host);
    await page.getByText(/^Live/).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  },
);
