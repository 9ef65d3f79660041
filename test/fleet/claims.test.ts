/** Whose a thing at the provider is, when the author of a document chooses a name or an owner for it that is another object's. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { ownerId } from '../../src/engine/plan/index.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  service,
  testInFolder,
  volume,
  type Json,
} from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder, type Finished } from '../support/processes/processes.ts';

/** With the owner `fleet`, volumes of these names have the same mark, but for the digits of the key. */
const [dataset, twin] = ['data-10873', 'data-54861'];
const keyed = { FLEETKEEPER_DIGEST_KEY: 'a'.repeat(64) };

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const command = (
    name: string,
    environment: Record<string, string>,
    ...flags: string[]
  ): Promise<Finished> => fleetkeeper([name, ...fleet.flags, '--owner', 'fleet', ...flags], environment);
  const apply = (environment = {}) =>
    command('apply', environment, '--yes', '--settle', '50ms', '--stable', '500ms');
  const held = async (environment = {}): Promise<[string, string][]> => {
    const { stdout } = await command('plan', environment, '--output', 'json');
    return JSON.parse(stdout).held.map(({ name, reason }: Json) => [name, reason]);
  };
  const forget = () => rm(path.dirname(folderOf(fleet).state), { recursive: true });
  return { plane, fleet, apply, held, forget };
}

async function withDataset(environment = {}) {
  const { plane, fleet, ...commands } = await world();
  await fleet.write('z.yaml', [volume(dataset, { deletionPolicy: 'Retain' })]);
  expect((await commands.apply(environment)).code).toBe(0);
  const volumes = async () => (await plane.account()).volumes.map(({ id, name }: Json) => ({ id, name }));
  const before = await volumes();
  await fleet.write('a.yaml', [volume(twin, { deletionPolicy: 'Delete' })]);
  return { fleet, ...commands, volumes, before };
}

testInFolder('a volume stays with the object that has it, whatever name another document has', async () => {
  const { fleet, apply, held, volumes, before } = await withDataset();
  expect(await held()).toEqual([[twin, 'AdoptedTwice']]);
  await apply();
  await fleet.remove('a.yaml');
  expect((await apply()).code).toBe(0);
  expect(await volumes()).toEqual(before);
});

testInFolder('after the state and its key were lost, neither of the two takes it', async () => {
  const { apply, held, forget, volumes, before } = await withDataset(keyed);
  await forget();
  const other = { FLEETKEEPER_DIGEST_KEY: 'b'.repeat(64) };
  expect(await held(other)).toEqual([
    [dataset, 'OwnershipUnproven'],
    [twin, 'OwnershipUnproven'],
  ]);
  await apply(other);
  expect(await volumes()).toEqual(before);
});

testInFolder('without a state, but with its key, it is the one that the key made it for', async () => {
  const { apply, held, forget, volumes, before } = await withDataset(keyed);
  await forget();
  expect(await held(keyed)).toEqual([[twin, 'OwnershipUnproven']]);
  await apply(keyed);
  expect(await volumes()).toEqual(before);
});

testInFolder('no document adopts the service of another one of its own fleet', async () => {
  const { plane, fleet, apply, held, forget } = await world();
  await fleet.write('m.yaml', [service('trainer')]);
  expect((await apply(keyed)).code).toBe(0);
  const [before] = (await plane.account()).services;
  for (const file of ['a.yaml', 'z.yaml']) {
    const adopts = { image: 'ghcr.io/evil/x:1', adopt: { id: before.id } };
    const from = { 'fleetkeeper.dev/adopt-from': ownerId('fleet') };
    await fleet.write(file, [service('helper', adopts, from)]);
    await forget();
    expect(await held(keyed)).toEqual([['helper', 'AdoptedTwice']]);
    await apply(keyed);
    await fleet.remove(file);
  }
  const [after] = (await plane.account()).services;
  expect(after).toMatchObject({ id: before.id, name: 'trainer', image: before.image });
});
