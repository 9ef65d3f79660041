/** Real containers: what goes wrong with them, with the control plane, with the engine, and with registries. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/processes/processes.ts';
import { keys, nothing, page, web } from '../../support/processes/container-world.ts';
import { testSharedTrouble } from './shared-trouble.ts';
import { withoutEngine, World, type Engine } from '../../support/processes/docker-world.ts';

export function testTrouble(engine: () => Engine): void {
  testSharedTrouble((options) => World.start(engine(), options));

  describe('a container that ends', () => {
    test('while the control plane is down is told at its start', async () => {
      const world = await World.start(engine());
      const service = await world.running();
      const { id } = service;
      await page(service);
      await world.plane.kill();
      await world.podman.run('stop', `fleetkeeper-${id}`);
      await world.plane.start();
      expect((await world.until(id, 'error')).error).toBe('the container ended with exit code 0');
    });

    test('because somebody removed it at the engine is told', async () => {
      const world = await World.start(engine());
      const { id } = await world.running();
      await world.podman.run('rm', '--force', '--time', '0', `fleetkeeper-${id}`);
      expect((await world.until(id, 'error')).error).toMatch(/removed|137/);
    });
  });

  describe('a launch that can not be', () => {
    test('ends in error, and says why without secrets', async () => {
      const world = await World.start(engine());
      const environment = { TOKEN: 'no-such-command' };
      const specs = {
        'an image that the registry does not have': { image: `${engine().registry.repository}:none` },
        'a registry that does not exist': { image: 'registry.invalid/acme/app:1' },
        'what is no name of an image': { image: 'Not/An Image' },
        'an image of the engine that is not there': { image: 'localhost/none:1' },
        'a command that is not there': { command: ['no-such-command'] },
      };
      const errors = await Promise.all(
        Object.entries(specs).map(async ([what, spec]) => {
          const { id } = await world.create({ ...spec, environment });
          const { error } = await world.until(id, 'error');
          await world.act(id, 'delete');
          await world.untilGone(`/services/${id}`);
          return [what, error];
        }),
      );
      expect(Object.fromEntries(errors)).toEqual({
        'an image that the registry does not have': expect.stringMatching(
          /^the image can not be pulled: there is none/,
        ),
        'a registry that does not exist': expect.stringMatching(
          /^the image can not be pulled: its registry did not serve it \(operation/,
        ),
        'what is no name of an image': 'the image is not the name of an image',
        'an image of the engine that is not there': expect.stringMatching(
          /^the image is not among the control plane's own images/,
        ),
        'a command that is not there': expect.stringMatching(
          /^the command was not found in the image \(operation/,
        ),
      });
      expect(await world.atTheEngine()).toEqual(nothing);
    });
  });

  describe('a private registry', () => {
    test('serves those who have access, with the credentials of the launch, and nobody from the cache', async () => {
      const { podman, registry } = engine();
      await registry.serve(await podman.fixtureTar());
      const world = await World.start(engine());
      const spec = {
        repository: registry.repository,
        username: registry.username,
        password: registry.password,
      };
      const image = `${registry.repository}:1`;
      const early = await world.create({ image });
      expect((await world.until(early.id, 'error')).error).toMatch(/^the image can not be pulled/);

      const { id: registryId } = await world.ok('POST', '/registries', spec);
      const { id } = await world.running({ image });
      expect(await page((await world.ok('GET', `/services/${id}`)).service)).toBe('start \n');
      const foreign = await world.create({ image }, keys.bob);
      expect((await world.until(foreign.id, 'error', keys.bob)).error).toMatch(
        /^the image can not be pulled/,
      );

      registry.password = 'second-password';
      await world.act(id, 'restart');
      const { error } = await world.until(id, 'error');
      expect(error).toMatch(/^the image can not be pulled/);
      expect(error).not.toContain(spec.password);
      const rotated = { ...spec, password: registry.password };
      await world.ok('PUT', `/registries/${registryId}`, { revision: 1, spec: rotated });
      await world.act(id, 'restart');
      await world.until(id, 'running');
      const { registries } = await world.ok('GET', '/registries');
      const linked = registries[0].linkedServices.find((service: { id: string }) => service.id === id);
      expect(linked.usesCurrentCredentials).toBe(true);
    });

    test('that is slow does not hold up the deletion of a service that is being pulled', async () => {
      const { podman, registry } = engine();
      await registry.serve(await podman.fixtureTar());
      const world = await World.start(engine());
      const { username, password, repository } = registry;
      await world.ok('POST', '/registries', { repository, username, password });
      registry.delayMs = 60_000;
      const { id } = await world.create({ image: `${repository}:1`, volumeGb: 10 });
      await delay(500);
      await world.act(id, 'delete');
      await world.untilGone(`/services/${id}`);
      registry.delayMs = 0;
      expect(await world.atTheEngine()).toEqual(nothing);
    });
  });

  test('what an earlier control plane left behind is removed at the start, and nothing of anybody else', async () => {
    const world = await World.start(engine());
    const other = await World.start(engine());
    const { id } = await world.running();
    const neighbour = await other.running();
    const label = 'dev.fleetkeeper.installation';
    const format = `{{index .Config.Labels "${label}"}}`;
    const installation = await world.podman.run('inspect', '--format', format, `fleetkeeper-${id}`);
    const lost = ['--label', `${label}=${installation}`, '--label', 'dev.fleetkeeper.service=gone'];
    await world.podman.run('run', '--detach', '--name', 'lost', ...lost, web.image);
    await world.podman.run('run', '--detach', '--name', 'foreign', web.image, 'sleep', '1000');
    await world.podman.run('volume', 'create', '--label', `${label}=${installation}`, 'precious');
    await world.crash();
    await eventually(
      'the lost one removed',
      async () => !(await world.atTheEngine()).containers.includes('lost'),
    );
    const { containers, volumes } = await world.atTheEngine();
    const expected = [`fleetkeeper-${id}`, `fleetkeeper-${neighbour.id}`, 'foreign'];
    expect(containers.toSorted()).toEqual(expected.toSorted());
    expect(volumes).toEqual(['precious']);
    expect(await other.until(neighbour.id, 'running')).toEqual(neighbour);
  });

  describe('an engine that is away', () => {
    test("is waited for, and is nobody's fault", async () => {
      const world = await World.start(engine());
      const before = await world.running();
      await withoutEngine(world.podman, async () => {
        const { id } = await world.create({ volumeGb: 10 });
        await delay(1500);
        expect((await world.ok('GET', `/services/${id}`)).service.state).toBe('provisioning');
        const logs = await world.call('GET', `/services/${before.id}/logs`);
        expect([logs.status, logs.body.error.code]).toEqual([503, 'unavailable']);
      });
      const { services } = await world.ok('GET', '/account');
      for (const { id } of services) await page(await world.until(id, 'running'));
      expect(await world.until(before.id, 'running')).toEqual(before);
    });

    test('meanwhile loses a container: its service is in error', async () => {
      const world = await World.start(engine());
      const service = await world.running();
      const { id } = service;
      await page(service);
      await withoutEngine(world.podman, () =>
        world.podman.run('stop', `fleetkeeper-${id}`).then(() => undefined),
      );
      expect((await world.until(id, 'error')).error).toBe('the container ended with exit code 0');
    });
  });

  test('a volume that was removed at the engine is missed, and no empty one takes its place', async () => {
    const world = await World.start(engine());
    const { id, volumeId } = await world.running({ volumeGb: 10 });
    await world.act(id, 'stop');
    await world.until(id, 'paused');
    await world.podman.run('rm', `fleetkeeper-${id}`);
    await world.podman.run('volume', 'rm', `fleetkeeper-${volumeId}`);
    await world.act(id, 'start');
    expect((await world.until(id, 'error')).error).toContain(`volume ${volumeId} does not exist`);
    expect((await world.atTheEngine()).volumes).toEqual([]);
  });
}
