/** A list that is longer than a page, in a real browser. */
import { expect } from 'vitest';
import { openPage, testInBrowser, useBrowser } from '../../support/processes/browser.ts';
import { ControlPlane } from '../../support/processes/control-plane.ts';
import { account, createFleet, volume } from '../../support/processes/fleet.ts';
import { temporaryFolder } from '../../support/processes/processes.ts';

useBrowser();

testInBrowser(
  'the next page of a list has the rest, and a filter that can not be understood is answered',
  async () => {
    const folder = await temporaryFolder();
    const plane = await new ControlPlane(folder, { timeScale: 600 }).start();
    const fleet = await createFleet(folder);
    const requests = { perSecond: 1000, burst: 1000, concurrency: 50 };
    await fleet.write('account.yaml', account(plane.url, { pollSeconds: 1, requests }));
    const names = Array.from({ length: 110 }, (_, index) => `data-${index}`);
    await fleet.write(
      'volumes.yaml',
      names.map((name) => volume(name)),
    );
    const manager = fleet.run('--listen', '127.0.0.1:0');
    const [, url = ''] = await manager.line(/^listening on (.*)$/);
    const { page, complaints } = await openPage(`${url}/#/objects?kind=StorageVolume&sort=name`);
    await page.getByText('110 objects').waitFor();
    const rows = page.locator('tbody tr');
    const first = await rows.locator('a').allTextContents();
    expect(first).toHaveLength(100);
    await page.getByRole('button', { name: 'Next page' }).click();
    await expect.poll(() => rows.count()).toBe(10);
    const second = await rows.locator('a').allTextContents();
    expect([...first, ...second].toSorted()).toEqual(names.toSorted());
    expect(await page.getByRole('button', { name: 'Next page' }).count()).toBe(0);
    await page.goBack();
    await expect.poll(() => rows.count()).toBe(100);
    expect(complaints).toEqual([]);
    // What can't be understood is answered with the reason, and with a way back.
    await page.getByLabel('Labels').fill('a===');
    await page.keyboard.press('Enter');
    await page
      .getByRole('alert')
      .getByText(/label:/)
      .waitFor();
    await page.getByRole('link', { name: 'Remove all filters' }).click();
    await page.getByText('111 objects').waitFor();
  },
);
