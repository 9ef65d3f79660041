import { readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  placeOf,
  service,
  task,
  testInFolder,
  volume,
} from '../support/processes/fleet.ts';
import {
  eventually,
  fleetkeeper,
  sleep,
  temporaryFolder,
  type Program,
} from '../support/processes/processes.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('good.yaml', [service('good')]);
  return { plane, fleet };
}

type Broken = [string, readonly object[] | string, RegExp];

/** What an API server would not have let in. */
const brokenFiles: Broken[] = [
  [
    'an unknown field',
    `apiVersion: fleetkeeper.dev/v1alpha1
kind: ContainerService
metadata: {name: bad}
spec:
  region: standard
  imgae: ghcr.io/acme/app:1
  resources: {cpu: 1, memoryGb: 1}
`,
    /bad\.yaml:6: spec\.imgae: .*unknown field.*image/s,
  ],
  ['a wrong type', [service('bad', { httpPort: 'eighty' })], /bad\.yaml:\d+: spec\.httpPort: .*number/],
  [
    'a number where text is needed',
    [service('bad', { env: [{ name: 'A', value: 5 }] })],
    /spec\.env\[0\]\.value: .*string/,
  ],
  ['two documents of one name', [service('bad'), service('bad')], /bad\.yaml:1.*bad\.yaml:\d+/s],
  ['broken YAML', 'kind: [unclosed\nmetadata: {', /bad\.yaml:\d+: /],
];

/** Where a document is, for people. */
const place = placeOf('ContainerService', 'bad', 'bad.yaml');

const brokenReferences: Broken[] = [
  [
    'a missing Secret',
    [service('bad', { env: [{ name: 'T', valueFrom: { secretKeyRef: { name: 'gone', key: 'k' } } }] })],
    new RegExp(`${place}: spec\\.env\\[0\\]\\.valueFrom\\.secretKeyRef.*gone`),
  ],
  [
    'a dangling reference',
    [service('bad', { storage: { volumeRef: { name: 'nowhere' } } })],
    new RegExp(`${place}: spec\\.storage\\.volumeRef\\.name: .*nowhere`),
  ],
  [
    'an unknown account',
    [service('bad', { accountRef: { name: 'other' } })],
    new RegExp(`${place}: spec\\.accountRef\\.name: .*other`),
  ],
  [
    'a template that is nowhere',
    [service('bad', { templateRef: { name: 'nowhere' } })],
    new RegExp(`${place}: spec\\.templateRef\\.name: there is no ServiceTemplate nowhere .*\\(built-in\\)`),
  ],
];

async function isNamed([, content, message]: Broken): Promise<void> {
  const { plane, fleet } = await world();
  await fleet.write('bad.yaml', content);
  const { code, stdout, stderr } = await fleetkeeper(['plan', ...fleet.flags]);
  expect([code, stdout + stderr]).toEqual([1, expect.stringMatching(message)]);
  expect((await fleet.apply()).code).toBe(1);
  expect((await plane.account()).services.map(({ name }: { name: string }) => name)).toEqual(['good']);
}

testInFolder.for(brokenFiles)('%s is named with file, line and path, and the healthy rest goes on', isNamed);

test.for(brokenReferences)('%s is named with place and path, and the healthy rest goes on', isNamed);

testInFolder('a document that breaks while the fleet runs stops nothing and deletes nothing', async () => {
  const { plane, fleet } = await world();
  await fleet.write('other.yaml', [service('other'), volume('data', { deletionPolicy: 'Delete' })]);
  const manager = fleet.run();
  await fleet.untilReady(3);
  await fleet.write('other.yaml', 'kind: [');
  await problem(manager, /other\.yaml/);
  await fleet.until('ContainerService/other', 'Stalled', 'True', 'InvalidSpec');
  await plane.forgetRequests();
  await fleet.write('good.yaml', [service('good', { image: 'ghcr.io/acme/app:2' })]);
  await eventually(
    'the healthy edit',
    async () => (await plane.service('good')).image === 'ghcr.io/acme/app:2',
  );
  const { services, volumes } = await plane.account();
  expect([services.length, volumes.length]).toEqual([2, 1]);
  await fleet.write('other.yaml', [service('other'), volume('data', { deletionPolicy: 'Delete' })]);
  await fleet.untilReady(3);
});

testInFolder('a manager started on a folder that it can read only in part deletes nothing', async () => {
  const { plane, fleet } = await world();
  await fleet.write('other.yaml', [service('other')]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('other.yaml', 'kind: [');
  const manager = fleet.run();
  await problem(manager, /other\.yaml/);
  const held = await fleet.until('ContainerService/other', 'Stalled', 'True');
  expect(held.message).toContain('other.yaml');
  expect((await plane.account()).services.length).toBe(2);
});

/** Three services that run, two of them written in one file. */
async function twoInOneFile(...flags: string[]) {
  const { plane, fleet } = await world();
  const whole = [service('web'), service('worker')];
  await fleet.write('web.yaml', whole);
  const manager = fleet.run('--file-grace', '6s', ...flags);
  await fleet.untilReady(3);
  await plane.forgetRequests();
  const alive = async () => (await plane.account()).services.length;
  return { plane, fleet, manager, whole, alive };
}

testInFolder('a file that is empty for a while, or ends between two documents, deletes nothing', async () => {
  const { plane, fleet, whole, alive } = await twoInOneFile();
  await fleet.write('web.yaml', '');
  const held = await fleet.until('ContainerService/web', 'Stalled', 'True', 'SourceIncomplete');
  expect(held.message).toMatch(
    /^web\.yaml still exists, but no longer contains a document.*30 s.*remove the file/,
  );
  await sleep(4000);
  await fleet.write('web.yaml', whole.slice(0, 1));
  await fleet.until('ContainerService/worker', 'Reconciling', 'True', 'SourceIncomplete');
  await sleep(3000);
  await fleet.write('web.yaml', whole);
  await fleet.untilReady(3);
  expect([await alive(), (await plane.requests()).filter(isMutation)]).toEqual([3, []]);
});

testInFolder('a file that was emptied and is removed is gone as fast as any other', async () => {
  const { fleet, alive } = await twoInOneFile();
  await fleet.write('web.yaml', '');
  await fleet.until('ContainerService/web', 'Stalled', 'True', 'SourceIncomplete');
  await fleet.remove('web.yaml');
  await eventually('both are deleted', async () => (await alive()) === 1, 10_000);
});

testInFolder(
  'a protected service whose folder is away for a while, or left with its task, is kept with its protection',
  async () => {
    const { plane, fleet } = await world();
    const documents = [service('trainer'), task('epoch', { serviceRef: { name: 'trainer' } })];
    await fleet.write('trainer.yaml', documents);
    fleet.run('--file-grace', '10s');
    await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
    await plane.forgetRequests();
    const back = async (file: string) => {
      await fleet.write(file, documents);
      await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
      await fleet.untilReady(3);
    };
    await fleet.remove('trainer.yaml');
    expect(
      (await fleet.until('ContainerService/trainer', 'Stalled', 'True', 'SourceIncomplete')).message,
    ).toMatch(/the task that protects it have left the source together.*50 s/);
    await back('team/trainer.yaml');
    await fleet.remove('team/trainer.yaml');
    expect((await fleet.until('ProtectedTask/epoch', 'Stalled', 'True', 'SourceIncomplete')).message).toMatch(
      /the folder team still exists, but has no document.*50 s/,
    );
    await fleet.remove('team');
    await fleet.until('ContainerService/trainer', 'Stalled', 'True', 'SourceIncomplete');
    await back('team/trainer.yaml');
    const changes = (await plane.requests()).filter(
      (request) => isMutation(request) && !request.path.endsWith('/heartbeat'),
    );
    expect(changes).toEqual([]);
  },
);

testInFolder(
  'a document that was taken out of a file goes when the file has been quiet for long',
  async () => {
    const { fleet, whole, alive } = await twoInOneFile();
    await fleet.write('web.yaml', whole.slice(0, 1));
    await sleep(3000);
    expect(await alive()).toBe(3);
    await eventually('the worker is deleted', async () => (await alive()) === 2, 15_000);
  },
);

testInFolder(
  'what a person applies at once takes a document as deleted, and an empty file only when it is said',
  async () => {
    const { plane, fleet } = await world();
    await fleet.write('web.yaml', [service('web'), service('worker')]);
    expect((await fleet.apply()).code).toBe(0);
    await fleet.write('web.yaml', [service('web')]);
    expect((await fleet.plan()).plan.changes).toMatchObject([{ name: 'worker', action: 'delete' }]);
    expect((await fleet.apply()).code).toBe(0);
    await fleet.write('web.yaml', '# nothing\n');
    const { code, stderr, stdout } = await fleet.apply();
    expect([code, stdout + stderr]).toEqual([1, expect.stringContaining('web.yaml still exists')]);
    expect((await plane.account()).services).toHaveLength(2);
    expect((await fleet.plan()).plan.held).toMatchObject([{ name: 'web', reason: 'SourceIncomplete' }]);
    expect((await fleet.apply('--allow-mass-change')).code).toBe(0);
    expect((await plane.account()).services.map(({ name }: { name: string }) => name)).toEqual(['good']);
  },
);

testInFolder('a folder that vanishes and comes back changes nothing', async () => {
  const { plane, fleet } = await world();
  const manager = fleet.run();
  await fleet.untilReady(1);
  await plane.forgetRequests();
  await rename(folderOf(fleet).folder, `${folderOf(fleet).folder}-away`);
  await problem(manager, /can't be read/);
  const { code, stderr } = await fleet.plan();
  expect([code, stderr]).toEqual([1, expect.stringContaining(folderOf(fleet).folder)]);
  await rename(`${folderOf(fleet).folder}-away`, folderOf(fleet).folder);
  await eventually('a mended source', async () =>
    manager.stderr.includes('all problems in the source are solved'),
  );
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

testInFolder('a folder that is not there is refused by every command, and not made', async () => {
  const folder = await temporaryFolder();
  const missing = path.join(folder, 'typo');
  for (const command of ['run', 'apply', 'plan', 'status']) {
    const { code, stderr } = await fleetkeeper([command, '--source', missing]);
    expect([command, code]).toEqual([command, 1]);
    expect(stderr).toContain(`the source ${missing} can't be read`);
  }
  expect(await readdir(folder)).toEqual([]);
});

// COVERAGE 60
testInFolder('an emptied folder pulls the brake: one clear sentence, and nothing is deleted', async () => {
  const { plane, fleet } = await world();
  const manager = fleet.run();
  await fleet.untilReady(1);
  await rm(folderOf(fleet).folder, { recursive: true });
  await fleet.write('README.txt', 'nothing here');
  await eventually('the brake', async () => manager.stderr.includes('mass-change brake engaged'));
  const { code, stderr } = await fleet.plan();
  expect([code, stderr]).toEqual([1, expect.stringMatching(/no document/)]);
  expect((await plane.account()).services.length).toBe(1);
});

test('half of the files gone stops deletions and creations until a person says go', async () => {
  const { plane, fleet } = await world();
  for (let index = 0; index < 12; index += 1)
    await fleet.write(`app-${index}.yaml`, [service(`app-${index}`)]);
  const manager = fleet.run();
  await fleet.untilReady(13);
  for (let index = 0; index < 7; index += 1) await fleet.remove(`app-${index}.yaml`);
  await fleet.until('ContainerService/app-0', 'Stalled', 'True', 'MassChangeBrake');
  await fleet.write('new.yaml', [service('new')]);
  await fleet.until('ContainerService/new', 'Stalled', 'True', 'MassChangeBrake');
  expect((await plane.account()).services.length).toBe(13);
  expect((await manager.kill('SIGTERM')).code).toBe(0);
  const planned = await fleet.plan();
  expect(planned.code).toBe(2);
  expect(planned.plan.held).toContainEqual(expect.objectContaining({ reason: 'MassChangeBrake' }));
  expect((await fleet.apply()).code).toBe(1);
  expect((await plane.account()).services.length).toBe(13);
  expect((await fleet.apply('--allow-mass-change')).code).toBe(0);
  expect((await plane.account()).services.length).toBe(7);
});

test('half of the account gone at once is not believed', async () => {
  const { plane, fleet } = await world();
  await fleet.write(
    'apps.yaml',
    Array.from({ length: 11 }, (_, index) => service(`app-${index}`)),
  );
  fleet.run();
  await fleet.untilReady(12);
  await plane.stop();
  const database = new DatabaseSync(plane.database);
  database.exec('DELETE FROM services');
  database.close();
  await plane.start();
  const held = await fleet.until('ContainerService/good', 'Stalled', 'True', 'MassChangeBrake');
  expect(held.message).toMatch(/12 of 12 managed objects/);
  expect((await plane.account()).services.length).toBe(0);
});

async function problem(manager: Program, pattern: RegExp): Promise<void> {
  await eventually(`a problem ${pattern}`, async () =>
    manager.stderr.split('\n').some((line) => line.includes('problem in the source') && pattern.test(line)),
  );
}
