/** From the metrics of one operator follows which others are missing (manifests/components/monitoring/alerts.yaml). */
import { expect } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { createFleet, testInCluster } from '../support/processes/fleet.ts';
import { eventually, fetch, temporaryFolder } from '../support/processes/processes.ts';

async function leasesOf(url: string, metric: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const found = text.matchAll(new RegExp(`^${metric}\\{name="([^"]+)"\\} (\\d)$`, 'gm'));
  return Object.fromEntries(Array.from(found, ([, name = '', value]) => [name, Number(value)]));
}

testInCluster('an operator shows the Leases of all shards, and which of them is its own', async () => {
  const folder = await temporaryFolder();
  await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  const expected = { 'fleetkeeper-0-of-3': 1, 'fleetkeeper-1-of-3': 1, 'fleetkeeper-2-of-3': 1 };
  const run = async () => {
    const operator = fleet.run('--listen', '127.0.0.1:0', '--shard', '1/3');
    const [, url = ''] = await operator.line(/^listening on (.*)$/);
    return { operator, url };
  };
  const leader = await run();
  await eventually(
    'the Lease',
    async () => (await leasesOf(leader.url, 'leader_election_master_status'))['fleetkeeper-1-of-3'] === 1,
  );
  expect(await leasesOf(leader.url, 'fleetkeeper_lease_expected')).toEqual(expected);
  const standby = await run();
  expect(await leasesOf(standby.url, 'fleetkeeper_lease_expected')).toEqual(expected);
  expect(await leasesOf(standby.url, 'leader_election_master_status')).toEqual({ 'fleetkeeper-1-of-3': 0 });
  await standby.operator.kill('SIGTERM');
  await leader.operator.kill('SIGTERM');
});
