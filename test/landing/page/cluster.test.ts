/** The page of a cluster in a real browser: what it shows beside an operator, without one, and of Events. */
import { expect } from 'vitest';
import { openPage, seriousFindings, testInBrowser, useBrowser } from '../../support/processes/browser.ts';
import { createClusterFleet, type ClusterFleet } from '../../support/processes/cluster-fleet.ts';
import { openClusterPage } from '../../support/processes/cluster-page.ts';
import { ControlPlane } from '../../support/processes/control-plane.ts';
import { account, service } from '../../support/processes/fleet.ts';
import { temporaryFolder, type Program } from '../../support/processes/processes.ts';
import { fleetOf } from '../../support/processes/replicas.ts';

useBrowser();

async function createWorld(): Promise<{ fleet: ClusterFleet; operator: Program; url: string }> {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 60 }).start();
  const fleet = await createClusterFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [service('web')]);
  const template = { spec: { region: 'standard', image: 'a/a:1', resources: { cpu: 1, memoryGb: 1 } } };
  await fleet.write('llm.yaml', [fleetOf('llm', { replicas: 2, template })]);
  const operator = fleet.run();
  await fleet.untilReady(4, 120_000);
  const { url } = await openClusterPage(fleet.flags);
  return { fleet, operator, url };
}

testInBrowser(
  'a cluster without its operator is shown as it was last, as stale, and since when',
  async () => {
    const { fleet, operator, url } = await createWorld();
    const { page, complaints } = await openPage(url);
    await page.getByText('Nothing needs you').first().waitFor();
    await page.getByText(/^Live, read \d+ s ago/).waitFor();
    await fleet.write('failing.yaml', [service('failing', { resources: { cpu: 100_000, memoryGb: 1 } })]);
    await page.goto(`${url}/#/objects`);
    await page.getByRole('link', { name: 'failing' }).waitFor();
    await page.goto(`${url}/#/timeline`);
    await page.getByText('create-service').first().waitFor();
    await page.getByText('Kubernetes Events; at most 10,000 in all').waitFor();
    await operator.kill('SIGTERM');
    const banner = page.getByRole('alert');
    await banner.getByText('No manager is at work (Stopped').waitFor();
    expect(await banner.textContent()).toMatch(/last seen at \d\d:\d\d\)\./);
    for (const view of [
      '',
      'tree',
      'objects',
      `fleets/${fleet.namespace}/llm`,
      'money',
      'accounts',
      'timeline',
    ]) {
      await page.goto(`${url}/#/${view}`);
      await page.locator('h1').first().waitFor();
      expect([view, ...(await seriousFindings(page))]).toEqual([view]);
    }
    await page.goto(`${url}/#/objects`);
    await page.getByRole('heading', { name: 'Objects' }).waitFor();
    await page.getByRole('link', { name: 'web' }).waitFor();
    const rows = (await page.locator('tbody').allTextContents()).join(' ');
    expect(rows).toContain('Stale');
    expect(rows).not.toMatch(/Healthy|Ready since/);
    fleet.run();
    await banner.waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  },
  180_000,
);
