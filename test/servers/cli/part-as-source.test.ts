/** A file or a folder inside a fleet, given as the source: `apply -f fleet/w9.yaml`, as with kubectl. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiKey, ControlPlane } from '../../support/processes/control-plane.ts';
import { service, type Json } from '../../support/processes/fleet.ts';
import { temporaryFolder } from '../../support/processes/processes.ts';
import { run } from '../../unit/cli/support.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 1000 }).start();
  const fleet = path.join(folder, 'fleet');
  await mkdir(path.join(fleet, 'workers'), { recursive: true });
  await mkdir(path.join(folder, 'other'));
  const write = (file: string, ...documents: object[]) =>
    writeFile(path.join(folder, file), documents.map((document) => stringify(document)).join('---\n'));
  await write('fleet/web.yaml', service('web'));
  await write('fleet/workers/w9.yaml', service('w9'));
  const environment = { FLEETKEEPER_API_URL: plane.url, FLEETKEEPER_API_KEY: apiKey };
  const apply = (source: string, ...flags: string[]) => {
    const args = ['apply', '--yes', '--stable', '0s', '--source', path.join(folder, source), ...flags];
    return run(args, { environment, currentFolder: folder });
  };
  const names = async () => (await plane.account()).services.map(({ name }: Json) => name).sort();
  return { folder, fleet, write, apply, names, environment };
}

test.each(['fleet/workers/w9.yaml', 'fleet/workers'])(
  'a part of a fleet with a state is refused, and nothing is bought twice: %s',
  async (part) => {
    const { apply, names, folder, environment } = await world();
    expect((await apply('fleet')).code).toBe(0);
    const { code, stderr } = await apply(part);
    expect(code).toBe(1);
    expect(stderr).toContain('is a part of the fleet');
    expect(stderr).toContain('--target ContainerService/w9');
    expect(await names()).toEqual(['w9', 'web']);
    const planned = await run(['plan', '-f', path.join(folder, part)], { environment });
    expect([planned.code, planned.stdout]).toEqual([1, '']);
  },
);

test('a part of a fleet whose settings keep the state elsewhere is refused, too', async () => {
  const { folder, apply, write, names } = await world();
  await writeFile(path.join(folder, 'fleetkeeper.yaml'), 'source: fleet\nstate: kept.db\n');
  await write('fleet/w8.yaml', service('w8'));
  expect((await apply('fleet')).code).toBe(0);
  expect(await apply('fleet/w8.yaml')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--target'),
  });
  expect(await names()).toEqual(['w8', 'w9', 'web']);
});

test('a file is a fleet of its own outside of one, and with an owner or a state that somebody names', async () => {
  const { folder, apply, write, names } = await world();
  await write('other/one.yaml', service('one'));
  expect((await apply('other/one.yaml')).code).toBe(0);
  expect((await apply('other/one.yaml')).code).toBe(0);
  await write('fleet/two.yaml', service('two'));
  // Without a state, the folder is no fleet yet.
  expect((await apply('fleet/two.yaml', '--target', 'ContainerService/two')).code).toBe(0);
  expect((await apply('fleet', '--owner', 'fleet', '--target', 'ContainerService/web')).code).toBe(0);
  // It was applied as a fleet before: its state is known.
  expect((await apply('fleet/two.yaml')).code).toBe(0);
  await write('fleet/three.yaml', service('three'));
  expect((await apply('fleet/three.yaml', '--owner', 'third')).code).toBe(0);
  await write('fleet/four.yaml', service('four'));
  expect((await apply('fleet/four.yaml', '--state', path.join(folder, 'four.db'))).code).toBe(0);
  expect(await names()).toEqual(['four', 'one', 'three', 'two', 'web']);
});

test.each([
  ['is malformed', 'owner: [\n'],
  ['has a setting of a newer version', 'of-a-newer-version: true\n'],
])('a settings file in a folder above that %s does not concern a folder below it', async (_name, text) => {
  const { folder, apply, write, names } = await world();
  await writeFile(path.join(folder, 'other/fleetkeeper.yaml'), text);
  await mkdir(path.join(folder, 'other/below'));
  await write('other/below/one.yaml', service('one'));
  expect(await apply('other/below')).toMatchObject({
    code: 0,
    stderr: expect.not.stringContaining('fleetkeeper.yaml'),
  });
  expect(await names()).toEqual(['one']);
});

test('a settings file or a state in a folder above that cannot be read does not concern a folder below it', async () => {
  const { folder, apply, write, names } = await world();
  // As unreadable as without the right to read, for every user.
  await mkdir(path.join(folder, 'other/fleetkeeper.yaml'));
  await symlink('.fleetkeeper', path.join(folder, 'other/.fleetkeeper'));
  await mkdir(path.join(folder, 'other/below'));
  await write('other/below/one.yaml', service('one'));
  expect((await apply('other/below')).code).toBe(0);
  expect(await names()).toEqual(['one']);
});
