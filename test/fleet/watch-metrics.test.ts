/** Whether an operator hears of edits shows in its metrics, for the alert FleetkeeperWatchSilent (manifests/components/monitoring/alerts.yaml). */
import { expect, test } from 'vitest';
import { managedKinds, resourceTypes } from '../../src/resources/index.ts';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, isInCluster, service, testInCluster } from '../support/processes/fleet.ts';
import { serverOf } from '../support/processes/operator.ts';
import { eventually, fetch, temporaryFolder } from '../support/processes/processes.ts';
import { isSimulated } from '../support/world.ts';

async function createWorld() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  if (!(fleet instanceof ClusterFleet)) throw new Error('this test needs a cluster');
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [service('web')]);
  return fleet;
}

/** Seconds of silence by resource, and by the namespace behind it if not all are watched. */
async function silenceAt(url: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const found = text.matchAll(
    /^fleetkeeper_watch_silence_seconds\{resource="([^"]+)",watched="([^"]*)"\} (\S+)$/gm,
  );
  return new Map(
    Array.from(found, ([, resource = '', watched, value]) => [
      `${resource} ${watched}`.trim(),
      Number(value),
    ]),
  );
}

testInCluster('an operator shows how long each kind that it watches has been silent', async () => {
  const fleet = await createWorld();
  const leader = fleet.run('--listen', '127.0.0.1:0');
  const [, url = ''] = await leader.line(/^listening on (.*)$/);
  await fleet.untilReady(1);
  const silence = await silenceAt(url);
  const kinds = managedKinds.map((kind) => `${resourceTypes[kind].plural}.fleetkeeper.dev`);
  expect([...silence.keys()].sort()).toEqual([...kinds, 'jobs.batch', 'pods'].sort());
  expect([...silence.values()].filter((seconds) => !(seconds >= 0 && seconds < 150))).toEqual([]);
});

test.skipIf(!isSimulated || !isInCluster)(
  'a namespace that can not be listed is named, beside those that can',
  async () => {
    const fleet = await createWorld();
    const isForbidden = { resource: 'containerservices', namespace: 'lab' };
    serverOf(fleet).faults.add({ match: isForbidden, status: 403 });
    const both = ['--watch-namespaces', `lab,${fleet.namespace},other`];
    const leader = fleet.run('--listen', '127.0.0.1:0', ...both);
    const [, url = ''] = await leader.line(/^listening on (.*)$/);
    await fleet.untilReady(1);
    const silent = async () => {
      const silence = [...(await silenceAt(url))];
      return silence.flatMap(([resource, seconds]) => (seconds > 300 ? [resource] : []));
    };
    await eventually('the silence', async () => (await silent()).length > 0, 400_000);
    expect(await silent()).toEqual(['containerservices.fleetkeeper.dev lab']);
  },
);
