/** A manager that runs, and sees no edits or can't record anything: everything that shows a fleet shows that. */
import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, FleetFolder, service, testInFolder } from '../support/processes/fleet.ts';
import { eventually, fetch, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  if (!(fleet instanceof FleetFolder)) throw new Error('it is no folder');
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [service('web')]);
  const manager = fleet.run('--listen', '127.0.0.1:0');
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  await fleet.untilReady(1);
  const text = async (target: string) => (await fetch(`${url}${target}`)).text();
  const problems = async () => JSON.parse(await text('/api/v1/problems')).items;
  const metric = async (name: string) => {
    const lines = (await text('/metrics')).split('\n').filter((line) => line.startsWith(name));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  const status = () => fleetkeeper(['status', ...fleet.flags]);
  return { fleet, manager, text, problems, metric, status };
}

type World = Awaited<ReturnType<typeof world>>;

async function expectShown({ text, problems, metric, status, manager }: World, cause: string, what: RegExp) {
  await eventually('`status` shows it', async () => (await status()).code === 3);
  const { stdout } = await status();
  expect(stdout).toMatch(/^as of .*, and may be out of date: the manager on \S+, pid \d+ reports: /m);
  expect(stdout).toMatch(what);
  expect(await text('/readyz')).toMatch(/^readyz check failed$/m);
  expect(await text('/readyz')).toMatch(what);
  // A restart would only end the heartbeats.
  expect(await text('/healthz')).toBe('ok\n');
  expect(await metric(`fleetkeeper_manager_impaired{cause="${cause}"}`)).toBe(1);
  const open = await problems();
  expect(open).toContainEqual(
    expect.objectContaining({ reason: cause, severity: 'critical', message: expect.stringMatching(what) }),
  );
  const counted = open.reduce((sum: number, { count }: { count: number }) => sum + count, 0);
  expect(await metric('fleetkeeper_problems_open')).toBe(counted);
  expect(JSON.parse(await text('/api/v1/summary')).manager).toMatchObject({
    state: 'Impaired',
    note: expect.stringMatching(what),
  });
  expect(manager.stderr).toContain('the manager is impaired');
}

async function expectMended({ text, problems, metric, status }: World) {
  await eventually('`status` shows that it is over', async () => (await status()).code === 0);
  expect(await text('/readyz')).toBe('ok\n');
  expect(await problems()).toEqual([]);
  expect(await metric('fleetkeeper_manager_impaired')).toBe(0);
  expect(await metric('fleetkeeper_problems_open')).toBe(0);
}

testInFolder('a folder that is gone while a manager runs', async () => {
  const shown = await world();
  const { fleet, status } = shown;
  await expectMended(shown);
  await rename(fleet.folder, `${fleet.folder}.away`);
  await expectShown(shown, 'SourceUnreadable', /the folder .* can't be read: ENOENT.*edits are not seen/);
  // Nothing is taken as removed.
  expect((await status()).stdout).toMatch(/web +running +True/);
  await rename(`${fleet.folder}.away`, fleet.folder);
  await expectMended(shown);
});

testInFolder('a document that was never readable, such as a task that then protects nothing', async () => {
  const { fleet, status } = await world();
  const task = (field: string) => ({
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'ProtectedTask',
    metadata: { name: 'epoch' },
    spec: { [field]: { name: 'web' } },
  });
  await fleet.write('task.yaml', [task('serviceref')]);
  const isShown = async () => (await status()).stdout.includes("what can't be read has no row");
  await eventually('`status` shows it', isShown);
  const { code, stdout } = await status();
  expect(stdout).toMatch(/^what can't be read has no row: task\.yaml:\d+.*serviceref/m);
  // The manager works, and heartbeats continue.
  expect(code).toBe(0);
  await fleet.write('task.yaml', [task('serviceRef')]);
  await eventually('`status` shows it no more', async () => !(await isShown()));
});

testInFolder('a state file that is taken away while a manager runs, with nothing to send', async () => {
  const shown = await world();
  const { state } = shown.fleet;
  await rename(state, `${state}.away`);
  await copyFile(`${state}.away`, state);
  await expectShown(
    shown,
    'StateFileReplaced',
    /the state file .* was replaced by another file while in use/,
  );
  await rename(`${state}.away`, state);
  await expectMended(shown);
});

testInFolder('the folder of a state that is deleted while a manager runs, with nothing to send', async () => {
  const { fleet, manager, text, metric, status } = await world();
  await rm(path.dirname(fleet.state), { recursive: true });
  await eventually('a line in the log', async () => manager.stderr.includes('the manager is impaired'));
  expect(await text('/readyz')).toMatch(/\[-\]state-file failed: .* was moved or deleted while in use/);
  expect(await metric('fleetkeeper_manager_impaired{cause="StateFileReplaced"}')).toBe(1);
  expect(await status()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no state file'),
  });
  // Another fleet may come there.
  await mkdir(path.dirname(fleet.state), { recursive: true });
});

testInFolder('a document that is none of an object is counted by the metric, too', async () => {
  const { fleet, metric, problems } = await world();
  await fleet.write('broken.yaml', 'kind: ContainerService\nmetadata: {name: [broken\n');
  await eventually('the problem', async () => (await problems()).length > 0);
  expect((await problems())[0]).toMatchObject({ id: 'documents', state: 'Open' });
  await eventually('the metric', async () => (await metric('fleetkeeper_problems_open')) > 0);
  expect(await metric('fleetkeeper_problems_open')).toBe((await problems())[0].count);
});
