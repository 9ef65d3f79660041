import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { schemaText } from '../../src/crdgen/index.ts';
import { ControlPlane, apiKey, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, service } from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };
const web = { name: 'Web Front!', region: 'standard', image: 'ghcr.io/acme/web:1', resources };

/** An account in which somebody has made things by hand, and a shell in which it is the one. */
async function world(flags: { readonly timeScale?: number } = {}) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, flags).start();
  const environment = { FLEETKEEPER_API_URL: plane.url, FLEETKEEPER_API_KEY: apiKey };
  const source = path.join(folder, 'imported');
  const fk = (...args: string[]) => fleetkeeper(args, environment);
  const settled = (count: number) =>
    eventually('everything is there', async () => {
      const { services, volumes } = await plane.account();
      const states = [...services, ...volumes].map(({ state, status }) => state ?? status);
      return states.length === count && states.every((one) => one === 'running' || one === 'ready');
    });
  return { folder, plane, source, fk, settled };
}

test('what was made by hand is imported, and kept from then on as the documents say', async () => {
  const { plane, source, fk, settled } = await world();
  const { id } = await plane.call('POST', '/api/services', { ...web, environment: { TOKEN: 'secret' } });
  await plane.call('POST', '/api/services', { ...web, name: 'own', volumeGb: 12 });
  await plane.call('POST', '/api/services', {
    ...web,
    name: 'apart',
    volumeGb: 12,
    volumeMode: 'independent',
  });
  await settled(5);

  expect((await fk('import', '--output', source)).stdout).toContain('5 document(s)');
  const planned = await fk('plan', '--source', source);
  expect([planned.code, planned.stdout]).toEqual([0, expect.stringContaining('Nothing to do: 4 object(s)')]);
  expect((await fk('apply', '--source', source)).code).toBe(0);
  expect(
    (await plane.requests()).filter((request) => isMutation(request) && request.method !== 'POST'),
  ).toEqual([]);

  const file = path.join(source, 'services/web-front.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replace('web:1', 'web:2'));
  expect((await fk('apply', '--source', source, '--yes')).code).toBe(0);
  const patched = await plane.service('Web Front!');
  expect(patched).toMatchObject({ id, image: 'ghcr.io/acme/web:2', environmentNames: ['TOKEN'] });

  await rm(path.join(source, 'services'), { recursive: true });
  expect((await fk('apply', '--source', source, '--yes', '--allow-mass-change')).code).toBe(0);
  expect((await plane.account()).services).toHaveLength(3);
});

test('a service that somebody is stopping is imported as stopped, which is reported', async () => {
  const { plane, source, fk, settled } = await world({ timeScale: 1 });
  const { id } = await plane.call('POST', '/api/services', web);
  await settled(1);
  await plane.call('POST', `/api/services/${id}/actions`, { action: 'stop' });
  expect(await plane.service('Web Front!')).toMatchObject({ state: 'running', operation: 'stop' });
  expect((await fk('import', '--output', source)).stdout).toMatch(/^services\/web-front.* desiredState/m);
  await eventually('it is stopped', async () => (await plane.service('Web Front!')).state === 'paused');
  expect((await fk('apply', '--source', source, '--yes')).code).toBe(0);
  expect(await plane.service('Web Front!')).toMatchObject({ id, state: 'paused' });
});

test('an import into the folder that it came from adds only what is new', async () => {
  const { plane, source, fk, settled } = await world();
  await plane.call('POST', '/api/services', web);
  await settled(1);
  await fk('import', '--output', source);
  await plane.call('POST', '/api/services', { ...web, image: 'ghcr.io/acme/other:1' });
  await settled(2);
  const { stdout } = await fk('inventory', '--source', source, '--output', 'json');
  expect(JSON.parse(stdout).items).toMatchObject([{ name: 'Web Front!', managedBy: null }]);
  expect((await fk('import', '--source', source, '--output', source)).stdout).toMatch(
    /^services\/web-front-[0-9a-f]{8}\.yaml/m,
  );
  expect((await fk('plan', '--source', source)).stdout).toContain('Nothing to do: 2 object(s)');
  expect((await fk('import', '--source', source, '--output', source)).stdout).toContain('Nothing to import');
});

test('an editor finds the schema of each document that was imported, also into a folder within the fleet', async () => {
  const { plane, source, fk, settled } = await world();
  await plane.call('POST', '/api/services', web);
  await settled(1);
  await fk('import', '--output', source);
  await plane.call('POST', '/api/services', { ...web, name: 'other' });
  await settled(2);
  await fk('import', '--source', source, '--output', path.join(source, 'more'));
  for (const file of ['accounts/default.yaml', 'services/web-front.yaml', 'more/services/other.yaml']) {
    const [line = ''] = (await readFile(path.join(source, file), 'utf8')).split('\n', 1);
    expect(line).toMatch(/^# yaml-language-server: \$schema=\S+$/);
    const schema = path.join(source, path.dirname(file), line.split('=')[1] ?? '');
    expect(await readFile(schema, 'utf8')).toBe(schemaText());
  }
  expect((await fk('plan', '--source', source)).stdout).toContain('Nothing to do: 2 object(s)');
});

test('what another fleet manages is imported only on request, and found in order', async () => {
  const { folder, plane, source, fk } = await world();
  const fleet = await createFleet(folder);
  await fleet.write('fleet.yaml', [
    ...account(plane.url),
    service('web', { env: [{ name: 'MODE', value: 'x' }] }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  expect((await fk('inventory')).stdout).toContain('Nothing is unmanaged.');
  expect((await fk('inventory', '--all')).stdout).toMatch(/web .* owner [0-9a-f]{8}$/m);
  expect((await fk('import', '--output', path.join(folder, 'unmanaged'))).stdout).toContain('1 document(s)');

  expect((await fk('import', '--all', '--output', source)).stdout).toContain('2 document(s)');
  expect(await readFile(path.join(source, 'services/web.yaml'), 'utf8')).toContain(
    'fleetkeeper.dev/adopt-from:',
  );
  expect((await fk('plan', '--source', source)).code).toBe(0);
});

test('what a folder has left with Retain is shown, with how another one takes it over', async () => {
  const { folder, plane, source, fk } = await world();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('web.yaml', [
    service('web', { env: [{ name: 'MODE', value: 'x' }], deletionPolicy: 'Retain' }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('web.yaml', '');
  expect((await fleet.apply('--allow-mass-change')).code).toBe(0);
  expect((await fk('inventory')).stdout).toMatch(
    /^Nothing is unmanaged\.\n1 more with the mark of an owner: managed, or left by `deletionPolicy: Retain`/,
  );
  const { stderr } = await fk('import', '--output', path.join(folder, 'some'));
  expect(stderr).toMatch(
    /left out: 1 object with the mark of the owner .* left them with `deletionPolicy: Retain`/,
  );
  const { stdout } = await fk('import', '--all', '--output', source);
  expect(stdout).toContain('1 of them get no mark until `env` is given');
  expect((await fk('plan', '--source', source)).stdout).toContain('Nothing to do: 1 object(s)');
});
