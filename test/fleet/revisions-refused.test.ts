/** A right that is lacking in one of several namespaces holds up no other one: here that to read the revisions of fleets. */
import { expect } from 'vitest';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, service, type Json } from '../support/processes/fleet.ts';
import { serverOf, testWithServer } from '../support/processes/operator.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf } from '../support/processes/replicas.ts';

const inLab = (document: object): object => {
  const { metadata } = document as { readonly metadata: object };
  return { ...document, metadata: { ...metadata, namespace: 'lab' } };
};

testWithServer(
  'a namespace whose revisions can not be read is left alone until they can, and the others are worked on',
  async () => {
    const folder = await temporaryFolder();
    const [plane, other] = await Promise.all([
      new ControlPlane(folder).start(),
      new ControlPlane(await temporaryFolder()).start(),
    ]);
    const fleet = await createFleet(folder);
    if (!(fleet instanceof ClusterFleet)) throw new Error('this test needs a cluster');
    const replicas = (count: number) => fleet.write('llm.yaml', [inLab(fleetOf('llm', { replicas: count }))]);
    await fleet.write('account.yaml', account(plane.url));
    await fleet.write('lab.yaml', account(other.url).map(inLab));
    await fleet.write('web.yaml', [service('web')]);
    await replicas(1);
    const flags = ['--watch-namespaces', `lab,${fleet.namespace}`];
    const first = fleet.run(...flags);
    const names = async (one: ControlPlane) =>
      (await one.account()).services.map(({ name }: Json) => name).sort();
    await eventually('both are there', async () =>
      Promise.all([plane, other].map(names)).then((all) => all.every((each) => each.length === 1)),
    );
    await first.kill('SIGTERM');

    serverOf(fleet).faults.add({ match: { resource: 'controllerrevisions', namespace: 'lab' }, status: 403 });
    await other.forgetRequests();
    fleet.run(...flags);
    await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/web:2' })]);
    await replicas(2);
    await eventually(
      'the edit arrives',
      async () => (await plane.service('web')).image === 'ghcr.io/acme/web:2',
      60_000,
    );
    expect((await other.requests()).filter(isMutation)).toEqual([]);

    serverOf(fleet).faults.clear();
    await eventually('so does that of the other one', async () => (await names(other)).length === 2, 60_000);
    expect(await names(other)).toEqual(['llm-0', 'llm-1']);
  },
);
