/** A right that is lacking in one of several namespaces holds up no other one: here that to read the revisions of fleets. */
import { expect } from 'vitest';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, service, type Json } from '../support/processes/fleet.ts';
import { objectOf, serverOf, testWithServer } from '../support/processes/operator.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf } from '../support/processes/replicas.ts';

const inLab = (document: object): object => {
  const { metadata } = document as { readonly metadata: object };
  return { ...document, metadata: { ...metadata, namespace: 'lab' } };
};

const names = async (plane: ControlPlane) =>
  (await plane.account()).services.map(({ name }: Json) => name).sort();

/** A service in the namespace of the test, and a fleet in `lab`, each at a control plane of its own. */
async function world() {
  const folder = await temporaryFolder();
  const [plane, other] = await Promise.all([
    new ControlPlane(folder).start(),
    new ControlPlane(await temporaryFolder()).start(),
  ]);
  const fleet = await createFleet(folder);
  if (!(fleet instanceof ClusterFleet)) throw new Error('this test needs a cluster');
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('lab.yaml', account(other.url).map(inLab));
  await fleet.write('web.yaml', [service('web')]);
  const llm = (spec: object) => fleet.write('llm.yaml', [inLab(fleetOf('llm', spec))]);
  await llm({ replicas: 1 });
  const run = () => fleet.run('--watch-namespaces', `lab,${fleet.namespace}`);
  const first = run();
  await eventually('both are there', async () =>
    Promise.all([plane, other].map(names)).then((all) => all.every((each) => each.length === 1)),
  );
  const updated = async (image: string) => {
    await fleet.write('web.yaml', [service('web', { image })]);
    await eventually('the edit arrives', async () => (await plane.service('web')).image === image, 60_000);
  };
  const refusal = { match: { resource: 'controllerrevisions', namespace: 'lab' }, status: 403 };
  const refuse = () => serverOf(fleet).faults.add(refusal);
  return { plane, other, fleet, first, llm, run, updated, refuse };
}

testWithServer(
  'a namespace whose revisions can not be read is left alone until they can, and the others are worked on',
  async () => {
    const { other, fleet, first, llm, run, updated, refuse } = await world();
    await first.kill('SIGTERM');
    refuse();
    await other.forgetRequests();
    run();
    await llm({ replicas: 2 });
    await updated('ghcr.io/acme/web:2');
    expect((await other.requests()).filter(isMutation)).toEqual([]);

    serverOf(fleet).faults.clear();
    await eventually('so does that of the other one', async () => (await names(other)).length === 2, 60_000);
    expect(await names(other)).toEqual(['llm-0', 'llm-1']);
  },
);

testWithServer(
  'so is one in which a fleet can be used again after that right was taken away, and nothing is lost',
  async () => {
    const { other, fleet, first, llm, run, updated, refuse } = await world();
    const stored = async () => (await objectOf(fleet, 'ServiceFleet/llm', 'lab'))?.status as Json;
    await eventually('it is Ready', async () => (await stored())?.readyReplicas === 1);
    await first.kill('SIGTERM');
    const schedules = [
      { name: 'night', cron: '0 22 * * *', durationMinutes: 60, timeZone: 'Nowhere/At', replicas: 0 },
    ];
    await llm({ replicas: 1, schedules });
    const second = run();
    await updated('ghcr.io/acme/web:2');
    const { bookkeeping } = await stored();
    expect(bookkeeping.revisions).toHaveLength(1);
    refuse();
    await other.forgetRequests();
    await llm({ replicas: 2 });
    await eventually('it is noticed', async () => second.stderr.includes('its objects are left alone'));
    await updated('ghcr.io/acme/web:3');
    expect((await other.requests()).filter(isMutation)).toEqual([]);
    expect((await stored()).bookkeeping).toEqual(bookkeeping);

    serverOf(fleet).faults.clear();
    await eventually('its edit arrives', async () => (await names(other)).length === 2, 60_000);
    expect(await names(other)).toEqual(['llm-0', 'llm-1']);
    expect((await stored()).bookkeeping.revisions).toEqual(bookkeeping.revisions);
  },
);
