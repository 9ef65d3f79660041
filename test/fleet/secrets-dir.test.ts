import { cp, mkdir, rename, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect } from 'vitest';
import { ControlPlane, apiKey, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  service,
  testInFolder,
  type FleetFolder,
  type Json,
} from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, sleep, temporaryFolder } from '../support/processes/processes.ts';

const env = [
  { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'db', key: 'password' } } },
  { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'db', key: 'token', optional: true } } },
];

class SecretsWorld {
  readonly fleet: FleetFolder;
  readonly plane: ControlPlane;
  readonly directory: string;

  private constructor(fleet: FleetFolder, plane: ControlPlane, directory: string) {
    this.fleet = fleet;
    this.plane = plane;
    this.directory = directory;
  }

  /** The key of the account is a file, too. */
  static async open(): Promise<SecretsWorld> {
    const folder = await temporaryFolder();
    const plane = await new ControlPlane(folder).start();
    const fleet = folderOf(await createFleet(folder));
    const opened = new SecretsWorld(fleet, plane, path.join(folder, 'secrets'));
    const [document = {}] = account(plane.url);
    await fleet.write('account.yaml', [document]);
    await fleet.write('web.yaml', [service('web', { env }), service('api')]);
    await opened.put('compute/apiKey', `${apiKey}\n`);
    await opened.put('db/password', 'canary-p1');
    await opened.put('db/token', 'canary-t1');
    return opened;
  }

  get flags(): string[] {
    return ['--secrets-dir', this.directory];
  }

  async put(file: string, text: string): Promise<void> {
    const target = path.join(this.directory, 'default', file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, text, { mode: 0o600 });
  }

  async mutations(): Promise<string[]> {
    return (await this.plane.requests())
      .filter(isMutation)
      .map(({ method, path: asked }) => `${method} ${asked}`);
  }

  /** The mark among them has a digest of the values. */
  async environment(): Promise<string[]> {
    return (await this.plane.service('web')).environmentNames;
  }
}

const planOf = (plan: Json, name: string): Json => plan.held.find((object: Json) => object.name === name);

describe('Secrets of files', () => {
  testInFolder('are rotated while the manager runs: the service gets the new values, once', async () => {
    const world = await SecretsWorld.open();
    const { fleet, plane } = world;
    const manager = fleet.run(...world.flags);
    await fleet.untilReady(2);
    const before = await world.environment();
    await plane.forgetRequests();
    await world.put('db/password', 'canary-p2');
    await eventually('the new value', async () => String(await world.environment()) !== String(before));
    await fleet.untilReady(2);
    expect(await world.mutations()).toEqual([expect.stringMatching(/^PATCH \/api\/services\//)]);
    const { stderr, stdout } = await manager.kill('SIGTERM');
    expect(stderr).toContain('compute/apiKey ends with a line break');
    expect(stderr + stdout + JSON.stringify([...(await fleet.records())])).not.toContain('canary');
  });

  testInFolder('come in a directory that takes the place of another one by a rename', async () => {
    const world = await SecretsWorld.open();
    const { fleet, plane, directory } = world;
    const manager = fleet.run(...world.flags);
    await fleet.untilReady(2);
    const before = await world.environment();
    await plane.forgetRequests();
    await cp(directory, `${directory}.new`, { recursive: true });
    await writeFile(path.join(`${directory}.new`, 'default/db/token'), 'canary-t2');
    await rename(directory, `${directory}.old`);
    await rename(`${directory}.new`, directory);
    await eventually('the new value', async () => String(await world.environment()) !== String(before));
    await fleet.untilReady(2);
    expect(await world.mutations()).toEqual([expect.stringMatching(/^PATCH /)]);
    await manager.kill('SIGTERM');
  });

  testInFolder(
    'are kept while the directory is replaced, emptied and gone, and nothing is sent',
    async () => {
      const world = await SecretsWorld.open();
      const { fleet, plane, directory } = world;
      const manager = fleet.run(...world.flags);
      await fleet.untilReady(2);
      await plane.forgetRequests();
      // As a mount that is taken away.
      await rename(directory, `${directory}.away`);
      await mkdir(directory);
      await eventually('a problem', async () =>
        /has no Secret in it; the values .* are kept/.test(manager.stderr),
      );
      await rmdir(directory);
      await eventually('another problem', async () =>
        /is not there; the values .* are kept/.test(manager.stderr),
      );
      // The Account is still used, and an edit that needs no other value is carried out.
      await fleet.write('web.yaml', [
        service('web', { env }),
        service('api', { image: 'ghcr.io/acme/app:2' }),
      ]);
      await eventually('the edit', async () => (await plane.service('api')).image.endsWith(':2'));
      await fleet.write('web.yaml', [service('web', { env })]);
      await sleep(20_000);
      const { id } = await plane.service('api');
      expect(await world.mutations()).toEqual([`PATCH /api/services/${id}`]);
      // Documents that are missing now are deleted only when all of the source can be read.
      await symlink(`${directory}.away`, directory);
      await eventually('the removal', async () => (await plane.service('api')) === undefined);
      await manager.kill('SIGTERM');
      expect((await world.mutations()).filter((line) => !line.includes(String(id)))).toEqual([]);
    },
  );

  testInFolder(
    'are not there for a plan: each object that needs them is held, and nothing becomes empty',
    async () => {
      const world = await SecretsWorld.open();
      const { fleet, plane } = world;
      expect((await fleet.apply(...world.flags)).code).toBe(0);
      const before = await world.environment();
      await plane.forgetRequests();
      const key = { FLEETKEEPER_API_KEY: apiKey, FLEETKEEPER_API_URL: plane.url };
      await rm(path.join(fleet.folder, 'account.yaml'));
      await fleet.write('web.yaml', [service('web', { env, httpPort: 8080 }), service('api')]);
      for (const flags of [[], world.flags]) {
        await rm(world.directory, { recursive: true, force: true });
        const args = [...fleet.flags, ...flags];
        const { code, stdout } = await fleetkeeper(['plan', ...args, '--output', 'json'], key);
        expect([code, planOf(JSON.parse(stdout), 'web'), planOf(JSON.parse(stdout), 'api')]).toEqual([
          1,
          expect.objectContaining({ reason: 'InvalidReference' }),
          undefined,
        ]);
        expect((await fleetkeeper(['apply', ...args, '--yes', '--timeout', '20s'], key)).code).toBe(1);
      }
      expect([await world.mutations(), await world.environment()]).toEqual([[], before]);
    },
  );

  testInFolder('are declared in a document, too: held, and neither is used', async () => {
    const world = await SecretsWorld.open();
    const { fleet } = world;
    const manager = fleet.run(...world.flags);
    await fleet.untilReady(2);
    const before = await world.environment();
    const stringData = { password: 'other', token: 'other' };
    await fleet.write('db.yaml', [
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'db' }, stringData },
    ]);
    await eventually('the hold', async () => {
      const { code, stdout } = await fleetkeeper(['plan', ...fleet.flags, ...world.flags, '-o', 'json']);
      return code === 1 && planOf(JSON.parse(stdout), 'web')?.reason === 'DuplicateSecret';
    });
    await fleet.until('ContainerService/web', 'Ready', 'False', 'DuplicateSecret');
    expect(await world.environment()).toEqual(before);
    await fleet.remove('db.yaml');
    await fleet.untilReady(2);
    await manager.kill('SIGTERM');
    expect((await world.mutations()).filter((line) => line.startsWith('PATCH'))).toEqual([]);
  });

  testInFolder('are no setting of fleetkeeper.yaml, which may come from somebody else', async () => {
    const world = await SecretsWorld.open();
    await world.fleet.write('fleetkeeper.yaml', 'secrets-dir: /etc\n');
    const { code, stderr } = await fleetkeeper(['plan', ...world.fleet.flags]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('secrets-dir is not allowed')]);
  });
});
