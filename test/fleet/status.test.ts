/** What `status` and `describe` show beside a manager, and after it has ended. */
import { expect, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, task, testInFolder } from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, sleep, temporaryFolder } from '../support/processes/processes.ts';

async function runningFleet(documents: readonly object[] = [service('web', { httpPort: 80 })]) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', documents);
  const manager = fleet.run();
  await fleet.untilReady(documents.length);
  return { fleet, manager };
}

test('`status` names the manager that runs', async () => {
  const { fleet, manager } = await runningFleet();
  const { code, stdout } = await fleetkeeper(['status', ...fleet.flags]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^as of [\d: -]+ by the manager on \S+, pid \d+/m);
  await manager.kill('SIGTERM');
});

test('`status` exits with 3 after a manager was stopped, and still shows what it left', async () => {
  const { fleet, manager } = await runningFleet();
  await manager.kill('SIGTERM');
  const { code, stdout } = await fleetkeeper(['status', ...fleet.flags]);
  expect([code, stdout]).toEqual([
    3,
    expect.stringMatching(/^no manager is running: last seen .* when it was stopped/m),
  ]);
  expect(stdout).toMatch(/web +running +True/);
});

testInFolder('a manager that was killed is missing at once: the system has released its lock', async () => {
  const { fleet, manager } = await runningFleet();
  await manager.kill('SIGKILL');
  const { code, stdout } = await fleetkeeper(['status', ...fleet.flags]);
  expect([code, stdout]).toEqual([
    3,
    expect.stringMatching(/^no manager is running: last seen .* and not stopped/m),
  ]);
});

testInFolder('after `apply` nobody is to run, so `status` exits with 0', async () => {
  const { fleet, manager } = await runningFleet();
  await manager.kill('SIGTERM');
  expect((await fleet.apply()).code).toBe(0);
  const { code, stdout } = await fleetkeeper(['status', ...fleet.flags]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^as of .*`fleetkeeper apply` .* ended/m)]);
});

testInFolder('a broken document hides neither state nor endpoint of its service', async () => {
  const { fleet, manager } = await runningFleet();
  const before = (await fleet.records()).get('ContainerService/web')?.status;
  await fleet.write('web.yaml', [service('web', { httpPort: 'eighty' })]);
  await fleet.until('ContainerService/web', 'Stalled', 'True', 'InvalidSpec');
  const { stdout } = await fleetkeeper(['status', ...fleet.flags]);
  expect(before?.['endpoint']).toMatch(/^http/);
  expect(stdout).toMatch(/web +running +False/);
  expect(stdout).toContain(String(before?.['endpoint']));
  await manager.kill('SIGTERM');
});

test('`describe` shows the journal and the tasks that protect a service', async () => {
  const { fleet, manager } = await runningFleet([service('web'), task('epoch')]);
  const { code, stdout } = await fleetkeeper(['describe', ...fleet.flags, 'csvc/web', '-n', fleet.namespace]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/create-service +applied/);
  expect(stdout).toMatch(/epoch +held +/);
  await manager.kill('SIGTERM');
});

testInFolder('`describe` shows how old the last heartbeat of a task is', async () => {
  const { fleet, manager } = await runningFleet([service('web'), task('epoch')]);
  // A sign of life is given every 10 s.
  await sleep(11_000);
  await eventually('the age of a heartbeat', async () => {
    const { stdout } = await fleetkeeper(['describe', ...fleet.flags, 'csvc/web']);
    return /epoch +held +\d+ s ago/.test(stdout);
  });
  await manager.kill('SIGTERM');
});
