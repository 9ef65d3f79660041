/** `plan` and `apply` on a fresh runner: what the account shows beside the documents is reported, and not bought twice silently. */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiKey, ControlPlane } from '../../support/processes/control-plane.ts';
import { service, volume, type Json } from '../../support/processes/fleet.ts';
import { fleetOf } from '../../support/processes/replicas.ts';
import { temporaryFolder } from '../../support/processes/processes.ts';
import { readPlanJson } from '../../support/plan-form.ts';
import { run } from '../../unit/cli/support.ts';

const key = 'a-digest-key-of-the-test-0123456789abcdef';

interface Options {
  readonly source?: string;
  readonly more?: Record<string, string>;
  /** Of a plan file, which asks nobody. */
  readonly isOfFile?: boolean;
}

/** Each command is a run on a fresh runner: nothing is kept but the folder. */
async function runner() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 1000 }).start();
  await mkdir(path.join(folder, 'fleet'));
  const write = (file: string, ...documents: object[]) =>
    writeFile(path.join(folder, file), documents.map((document) => stringify(document)).join('---\n'));
  const account = { FLEETKEEPER_API_URL: plane.url, FLEETKEEPER_API_KEY: apiKey };
  const fresh = async (
    name: 'plan' | 'apply',
    flags: readonly string[] = [],
    { source = 'fleet', more = {}, isOfFile = false }: Options = {},
  ) => {
    for (const each of ['fleet', 'fleet2', '.'])
      await rm(path.join(folder, each, '.fleetkeeper'), { recursive: true, force: true });
    const given = name === 'apply' ? ['--stable', '0s', ...(isOfFile ? [] : ['--yes'])] : [];
    const environment = { ...account, FLEETKEEPER_DIGEST_KEY: key, ...more };
    return run([name, '--source', path.join(folder, source), ...given, ...flags], {
      environment,
      currentFolder: folder,
    });
  };
  const planned = async (flags: readonly string[] = [], options = {}) =>
    readPlanJson((await fresh('plan', ['-o', 'json', ...flags], options)).stdout);
  const services = async (): Promise<Json[]> => (await plane.account()).services;
  return { folder, plane, write, fresh, planned, services, account };
}

test('what a removed document leaves is in the plan, in every form of it, and in the inventory', async () => {
  const { folder, plane, write, fresh, planned, account } = await runner();
  await write('fleet/a.yaml', service('web'), service('old'), volume('data'), volume('gone'));
  expect((await fresh('apply')).code).toBe(0);
  await write('fleet/a.yaml', service('web'), volume('data'));
  const { id } = await plane.service('old');
  const text = await fresh('plan');
  expect(text.code).toBe(0);
  expect(text.stdout).toContain("With this fleet's mark and no document: 2.");
  expect(text.stdout).toContain(`${id} (running, $`);
  const { undeclared } = await planned();
  expect(undeclared).toMatchObject([
    { kind: 'ContainerService', id, name: 'old', hourlyMicros: expect.any(Number) },
    { kind: 'StorageVolume', name: expect.stringMatching(/^gone-fk/) },
  ]);
  const markdown = await fresh('plan', ['-o', 'markdown']);
  expect(markdown.stdout).toContain("**With this fleet's mark and no document**");
  expect(markdown.stdout).toContain(id);
  const listed = await run(['inventory', '--source', path.join(folder, 'fleet')], {
    environment: { ...account, FLEETKEEPER_DIGEST_KEY: key },
  });
  expect(listed.stdout).toContain(`${id} has this fleet's mark and no document`);
});

test('what another fleet has, what a record has, and what a broken document may stand for, is not listed as undeclared', async () => {
  const { folder, write, fresh, planned, account } = await runner();
  await write('fleet/a.yaml', service('web'), service('old'), volume('data'));
  expect((await fresh('apply', ['--owner', 'other'])).code).toBe(0);
  await write('fleet/a.yaml', service('api'), service('next'));
  expect(await planned()).not.toHaveProperty('undeclared');
  expect((await fresh('apply')).code).toBe(0);
  await write('fleet/a.yaml', service('api'));
  await write('fleet/b.yaml', service('next', { imgae: 'x' }));
  expect(await planned()).not.toHaveProperty('undeclared');
  await rm(path.join(folder, 'fleet/b.yaml'));
  expect((await planned()).undeclared).toHaveLength(1);
  // With a kept state, it is a deletion, as before.
  await write('fleet/a.yaml', service('api'), service('next'));
  expect((await fresh('apply')).code).toBe(0);
  await write('fleet/a.yaml', service('api'));
  const environment = { ...account, FLEETKEEPER_DIGEST_KEY: key };
  const kept = await run(['plan', '--source', path.join(folder, 'fleet'), '-o', 'json'], { environment });
  expect(readPlanJson(kept.stdout)).toMatchObject({ changes: [{ name: 'next', action: 'delete' }] });
  expect(readPlanJson(kept.stdout)).not.toHaveProperty('undeclared');
});

test('replicas of a declared fleet and their volumes are not undeclared, whatever number it wants', async () => {
  const { folder, plane, write, fresh, planned, services, account } = await runner();
  const storage = { perReplica: { sizeGb: 10 } };
  const update = { minReadySeconds: 0, maxSurge: 0, maxUnavailable: 1 };
  const checkout = (replicas: number) => fleetOf('checkout', { replicas, maxReplicas: 9, update, storage });
  await write('fleet/a.yaml', checkout(3), volume('gone'));
  expect((await fresh('apply')).code).toBe(0);
  expect((await plane.account()).volumes).toHaveLength(4);
  const environment = { ...account, FLEETKEEPER_DIGEST_KEY: key };
  for (const replicas of [3, 1]) {
    await write('fleet/a.yaml', checkout(replicas));
    const owner = ['--owner', 'fleet'];
    expect((await planned(owner)).undeclared).toMatchObject([{ name: expect.stringMatching(/^gone-fk/) }]);
    const listed = await run(['inventory', '--source', path.join(folder, 'fleet')], { environment });
    expect(listed.stdout).not.toContain('checkout');
  }
  await write('fleet/a.yaml', service('web'));
  const { undeclared = [] } = await planned();
  expect(undeclared).toHaveLength(7);
  expect(await services()).toHaveLength(3);
});

test('what `Retain` left is undeclared only without the state that has that, and may be managed by another folder', async () => {
  const { folder, write, fresh, planned, account } = await runner();
  const environment = { ...account, FLEETKEEPER_DIGEST_KEY: key };
  const kept = (name: string, source: string, ...flags: string[]) =>
    run([name, '--source', path.join(folder, source), ...flags], { environment, currentFolder: folder });
  const stays = { deletionPolicy: 'Retain' };
  await write('fleet/a.yaml', service('web'), service('m1', stays), volume('data', stays));
  expect((await fresh('apply')).code).toBe(0);
  await write('fleet/a.yaml', service('web'));
  expect((await kept('apply', 'fleet', '--yes', '--stable', '0s')).code).toBe(0);
  const imported = await run(['import', '--all', '-o', path.join(folder, 'fleet2')], { environment });
  expect(imported.code).toBe(0);
  expect((await kept('apply', 'fleet2', '--yes', '--stable', '0s')).code).toBe(0);
  expect(readPlanJson((await kept('plan', 'fleet', '-o', 'json')).stdout)).not.toHaveProperty('undeclared');
  const { undeclared = [] } = await planned();
  expect(undeclared.map(({ message }: Json) => message)).toEqual([
    expect.stringContaining('inventory --all --source FOLDER'),
    expect.stringContaining('another folder may have adopted it'),
  ]);
});

test('a service whose mark is gone is named by the plan that creates it again', async () => {
  const { plane, write, fresh, planned } = await runner();
  await write('fleet/a.yaml', service('api'), service('web'));
  expect((await fresh('apply', ['--owner', 'shop'])).code).toBe(0);
  const { id, revision } = await plane.service('api');
  await plane.call('PATCH', `/api/services/${id}`, {
    revision,
    patch: { environment: { EVIL: '1' } },
  });
  const text = await fresh('plan', ['--owner', 'shop']);
  expect(text.code).toBe(2);
  expect(text.stdout).toContain('Beside a thing of the same name: 1 to create.');
  expect(text.stdout).toContain(`adopt: {id: ${id}}`);
  const { sameNames } = await planned(['--owner', 'shop']);
  expect(sameNames).toMatchObject([{ name: 'api', id, owner: null, sameKey: false }]);
  const markdown = await fresh('plan', ['--owner', 'shop', '-o', 'markdown']);
  expect(markdown.stdout).toContain('**Beside a thing of the same name**');
  // What is reported first, it may then wait for longer than this.
  const applied = await fresh('apply', ['--owner', 'shop', '-o', 'json', '--timeout', '3s']);
  expect(applied.stderr).toContain(`adopt: {id: ${id}}`);
});

test('things of that name in another region, and of another key, are nobody who is meant', async () => {
  const { plane, write, fresh, planned } = await runner();
  await write('fleet/a.yaml', service('api', { region: 'standard' }));
  const other = { more: { FLEETKEEPER_DIGEST_KEY: 'another-digest-key-of-somebody-0123456789' } };
  expect((await fresh('apply', ['--owner', 'them'], other)).code).toBe(0);
  expect(await planned()).not.toHaveProperty('sameNames');
  const { id, revision } = await plane.service('api');
  await plane.call('PATCH', `/api/services/${id}`, { revision, patch: { environment: {} } });
  expect((await planned()).sameNames).toHaveLength(1);
  await write('fleet/a.yaml', service('api', { region: 'premium' }));
  expect(await planned()).not.toHaveProperty('sameNames');
});

test.each(['fleet2', 'fleet/a.yaml'])(
  'a folder that is called otherwise buys nothing twice, unless somebody names its owner: %s',
  async (source) => {
    const { folder, write, fresh, planned, services } = await runner();
    await write('fleet/a.yaml', service('api'), service('web'));
    expect((await fresh('apply')).code).toBe(0);
    if (source === 'fleet2') await rename(path.join(folder, 'fleet'), path.join(folder, 'fleet2'));
    const { sameNames } = await planned([], { source });
    expect(sameNames).toMatchObject([
      { name: 'api', sameKey: true },
      { name: 'web', sameKey: true },
    ]);
    const { code, stderr } = await fresh('apply', [], { source });
    expect(code).toBe(1);
    expect(stderr).toContain('with the mark of another owner and this digest key');
    expect(stderr).toContain('--owner NAME');
    const out = path.join(folder, 'plan.json');
    expect((await fresh('plan', ['--out', out], { source })).code).toBe(2);
    const ofFile = await fresh('apply', [out], { source, isOfFile: true });
    expect([ofFile.code, ofFile.stderr]).toEqual([1, expect.stringContaining('--owner NAME')]);
    expect(await services()).toHaveLength(2);
    const same = await fresh('plan', ['--owner', 'fleet'], { source });
    expect([same.code, same.stdout]).toEqual([0, expect.stringContaining('Nothing to do')]);
    expect((await fresh('apply', ['--owner', 'second'], { source })).code).toBe(0);
    expect(await services()).toHaveLength(4);
  },
);

test('a digest key that is another one than before is reported: no value of a variable was compared', async () => {
  const { write, fresh, planned, plane } = await runner();
  const withToken = (value: string) => service('web', { env: [{ name: 'TOKEN', value }] });
  await write('fleet/a.yaml', withToken('one'), service('api'));
  const owner = ['--owner', 'shop'];
  expect((await fresh('apply', owner)).code).toBe(0);
  expect(await planned(owner)).not.toHaveProperty('uncompared');
  await write('fleet/a.yaml', withToken('two'), service('api'));
  const other = { more: { FLEETKEEPER_DIGEST_KEY: 'another-digest-key-of-later-0123456789abcd' } };
  expect((await planned(owner, other)).uncompared).toEqual([
    { kind: 'ContainerService', namespace: 'default', name: 'web' },
  ]);
  const text = await fresh('plan', owner, other);
  expect(text.stdout).toContain("Values of `env` of 1 service(s) can't be compared (no digest).");
  const markdown = await fresh('plan', [...owner, '-o', 'markdown'], other);
  expect(markdown.stdout).toContain('**Not compared**');
  // A variable more sends all of them, with a mark of the new key.
  const env = [
    { name: 'TOKEN', value: 'two' },
    { name: 'ROTATED', value: '1' },
  ];
  await write('fleet/a.yaml', service('web', { env }), service('api'));
  expect(await planned(owner, other)).not.toHaveProperty('uncompared');
  expect((await fresh('apply', owner, other)).code).toBe(0);
  expect(await planned(owner, other)).toMatchObject({ summary: { unchanged: 2 } });
  expect((await plane.service('web')).environmentNames).toContain('ROTATED');
});

test.each(['FLEETKEEPER_DIGEST_KEY', 'FLEETKEEPER_DIGEST_KEY_FILE'])(
  'an empty variable for the digest key, as a missing secret of a CI is passed, is an error: %s',
  async (name) => {
    const { write, fresh } = await runner();
    await write('fleet/a.yaml', service('web'));
    const more = { FLEETKEEPER_DIGEST_KEY_FILE: 'none', [name]: '' };
    const { code, stderr } = await fresh('plan', [], { more });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${name} is set, and empty`)]);
  },
);

test('what a document takes over is in the plan with its id and name, also when nothing of it changes', async () => {
  const { plane, write, fresh, planned } = await runner();
  await write('fleet/a.yaml', service('trainer'));
  expect((await fresh('apply', ['--owner', 'other'])).code).toBe(0);
  const { id, environmentNames } = await plane.service('trainer');
  const owner = /BEACON_([0-9A-F]{8})_/.exec(environmentNames.join())?.[1]?.toLowerCase();
  const from = { 'fleetkeeper.dev/adopt-from': owner ?? '' };
  await write('fleet/a.yaml', service('helper', { serviceName: 'trainer', adopt: { id } }, from));
  const { adopted } = await planned();
  expect(adopted).toMatchObject([{ kind: 'ContainerService', name: 'helper', id, thing: 'trainer', owner }]);
  const text = (await fresh('plan')).stdout;
  expect(text).toContain('Taken over: 1.');
  expect(text).toContain(`takes over ${id}`);
  expect((await fresh('plan', ['-o', 'markdown'])).stdout).toContain('**Taken over**');
});
