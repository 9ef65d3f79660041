/** A leader that can't list a kind does nothing. So a replica that could not is not ready, and a leader that does nothing is seen in its metrics. */
import { expect } from 'vitest';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service } from '../support/processes/fleet.ts';
import { conditionOf, objectOf, replica, serverOf, testWithServer } from '../support/processes/operator.ts';
import { eventually, fetch, sleep, temporaryFolder } from '../support/processes/processes.ts';

const newKind = { resource: 'servicefleets', verbs: ['list'] } as const;

async function createWorld() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  if (!(fleet instanceof ClusterFleet)) throw new Error('this test needs a cluster');
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [service('web')]);
  return { fleet, server: serverOf(fleet) };
}

/** One that waits, and how ready it is. */
async function waiting(fleet: ClusterFleet, ...flags: string[]) {
  const program = replica(fleet, ['--listen', '127.0.0.1:0', ...flags]);
  const [, url = ''] = await program.line(/^listening on (.*)$/);
  const at = async (target: string) => {
    const response = await fetch(`${url}${target}`);
    return { status: response.status, text: await response.text() };
  };
  const untilReady = () =>
    eventually('it is ready', async () => (await at('/readyz')).status === 200, 60_000);
  return { program, at, untilReady };
}

testWithServer('a replica that can not list a kind is not ready, and the leader works on', async () => {
  const { fleet, server } = await createWorld();
  fleet.run();
  await fleet.untilReady(1);
  const mend = server.faults.add({ match: newKind, status: 404 });
  const { at, untilReady } = await waiting(fleet);
  const { status, text } = await eventually('the reason', async () => {
    const found = await at('/readyz');
    return found.text.includes('servicefleets') && found;
  });
  expect(status).toBe(503);
  expect(text).toMatch(/standby.*servicefleets can't be listed.*upgrade-and-uninstall.md/);
  expect((await at('/healthz')).status).toBe(200);
  await fleet.write('more.yaml', [service('more')]);
  // Nobody else can list that kind, either.
  const ready = async () => conditionOf(await objectOf(fleet, 'ContainerService/more'), 'Ready')?.status;
  await eventually('one more', async () => (await ready()) === 'True');
  expect((await at('/readyz')).status).toBe(503);
  mend();
  await untilReady();
  // What fails later is no matter of an upgrade.
  server.faults.add({ match: { verbs: ['list'] }, status: 503 });
  await sleep(10_000);
  expect((await at('/readyz')).status).toBe(200);
});

testWithServer('of several namespaces, it is enough for a replica that one can be listed', async () => {
  const { fleet, server } = await createWorld();
  fleet.run();
  await fleet.untilReady(1);
  const both = ['--watch-namespaces', `lab,${fleet.namespace}`];
  server.faults.add({ match: { verbs: ['list'], namespace: 'lab' }, status: 403 });
  const one = await waiting(fleet, ...both);
  await one.untilReady();
  server.faults.add({ match: newKind, status: 403 });
  const other = await waiting(fleet, ...both);
  await eventually('the reason', async () => (await other.at('/readyz')).text.includes('servicefleets'));
  expect((await other.at('/readyz')).status).toBe(503);
});

testWithServer(
  'a namespace that the leader reads is not lost for a kind that can not be listed there, while it leads',
  async () => {
    const { fleet, server } = await createWorld();
    const both = ['--watch-namespaces', `lab,${fleet.namespace}`];
    const leader = replica(fleet, both);
    await fleet.untilReady(1);
    server.faults.add({ match: { ...newKind, namespace: 'lab' }, status: 403 });
    const fresh = await waiting(fleet, ...both);
    await eventually('the reason', async () =>
      (await fresh.at('/readyz')).text.includes("servicefleets can't be listed in the namespace lab"),
    );
    expect((await fresh.at('/readyz')).status).toBe(503);
    await leader.kill('SIGTERM');
    await fleet.write('more.yaml', [service('more')]);
    await fleet.untilReady(2);
    await fresh.untilReady();
  },
);

testWithServer('a replica that could not lead leaves the Lease to others', async () => {
  const { fleet, server } = await createWorld();
  server.faults.add({ match: { ...newKind, namespace: 'lab' }, status: 403 });
  const unable = await waiting(fleet, '--watch-namespaces', 'lab');
  await eventually('the reason', async () => (await unable.at('/readyz')).text.includes('servicefleets'));
  fleet.run();
  await fleet.untilReady(1);
  const { text } = await unable.at('/metrics');
  expect(text).not.toMatch(/^leader_election_master_status\{name="fleetkeeper"\} 1$/m);
});

testWithServer(
  'a leader that does nothing, because a kind can not be listed any more, shows that',
  async () => {
    const { fleet, server } = await createWorld();
    const run = fleet.run();
    await fleet.untilReady(1);
    const { at, untilReady } = await waiting(fleet);
    await untilReady();
    const mend = server.faults.add({ match: newKind, status: 403 });
    await run.kill('SIGTERM');
    const leads = async () => {
      const { text } = await at('/metrics');
      const valueOf = (metric: string) =>
        new RegExp(`^${metric}\\{name="fleetkeeper"\\} (\\d)$`, 'm').exec(text)?.[1];
      return `${valueOf('leader_election_master_status')} ${valueOf('fleetkeeper_lease_idle')}`;
    };
    await eventually('a leader', async () => (await leads()).startsWith('1'));
    await sleep(10_000);
    expect(await leads()).toBe('1 1');
    expect(await at('/readyz')).toMatchObject({ status: 503, text: expect.stringContaining('source') });
    mend();
    await eventually('it works', async () => (await leads()) === '1 0');
    await untilReady();
  },
);
