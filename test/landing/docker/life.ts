/** Real containers: what a service is and does, from the API down to the engine and back. */
import { expect, test } from 'vitest';
import { eventually } from '../../support/processes/processes.ts';
import { idler, keys, page, web } from '../../support/processes/container-world.ts';
import { testSharedLife } from './shared-life.ts';
import { World, type Engine } from '../../support/processes/docker-world.ts';

export function testLife(engine: () => Engine): void {
  testSharedLife((options) => World.start(engine(), options), { resizesInPlace: false });

  test('a container gets image, command, environment and resources as they are asked for, and no privileges', async () => {
    const world = await World.start(engine());
    const environment = { TOKEN: 'a b=c"d', EMPTY: '' };
    const { id } = await world.running({ ...idler, environment, volumeGb: 10 });
    expect((await world.exec(id, ['sh', '-c', 'echo "$TOKEN[$EMPTY]"'])).stdout).toBe('a b=c"d[]\n');
    const [inspected] = JSON.parse(await world.podman.run('container', 'inspect', `fleetkeeper-${id}`));
    expect(inspected.ImageName).toBe('localhost/fixture:1');
    expect(inspected.Config.Cmd).toEqual(idler.command);
    expect(inspected.HostConfig).toMatchObject({ NanoCpus: 5e8, Memory: 2 ** 26, MemorySwap: 2 ** 26 });
    expect(inspected.HostConfig.Privileged).toBe(false);
    expect(inspected.HostConfig.SecurityOpt).toContain('no-new-privileges');
    expect(inspected.EffectiveCaps).not.toContain('CAP_NET_RAW');
    expect(inspected.Mounts).toMatchObject([{ Type: 'volume', Destination: '/workspace' }]);
    expect(Object.keys(inspected.NetworkSettings.Networks)).toEqual([
      `fleetkeeper-net-${await world.accountId()}`,
    ]);
  });

  test('a command that takes too long is ended, with all that it started', async () => {
    const world = await World.start(engine());
    const { id } = await world.running(idler);
    const slow = ['sh', '-c', 'echo begun; sleep 777 & sleep 778'];
    expect(await world.exec(id, slow, { timeoutSeconds: 1 })).toEqual({
      exitCode: 124,
      stdout: 'begun\n',
      stderr: 'the command did not end within 1 s and was killed\n',
      truncated: true,
    });
    await eventually('no process of it', async () => {
      const { stdout } = await world.exec(id, ['ps']);
      return !/sleep 77/.test(stdout);
    });
  });

  test('of a huge output the first 64 KiB are answered; one without end is ended', async () => {
    const world = await World.start(engine());
    const { id } = await world.running(idler);
    const huge = await world.exec(id, [
      'sh',
      '-c',
      'yes out | head -c 9000000; yes err | head -c 70000 >&2; exit 3',
    ]);
    expect(huge).toMatchObject({ exitCode: 3, truncated: true });
    expect([huge.stdout.length, huge.stderr.length]).toEqual([65_536, 65_536]);
    const endless = await world.exec(id, ['yes'], { timeoutSeconds: 60 });
    expect(endless).toMatchObject({
      exitCode: 124,
      stderr: 'the command wrote more than 64 MiB and was killed\n',
    });
  });

  test('metrics are measured from the container', async () => {
    const world = await World.start(engine(), { timeScale: 60 });
    const command = ['sh', '-c', 'trap "exit 0" TERM; yes > /dev/null & wait'];
    const { id } = await world.running({ ...idler, command });
    const metrics = await eventually('a sample', async () => {
      const answer = await world.ok('GET', `/services/${id}/metrics?minutes=15`);
      return answer.samples.length > 0 && answer;
    });
    expect(metrics).toMatchObject({ minutes: 15, intervalSeconds: 15, simulated: false });
    const [sample] = metrics.samples;
    expect(sample).toEqual({
      at: expect.any(Number),
      cpuCores: expect.any(Number),
      memoryGb: expect.any(Number),
      gpuPercent: null,
    });
    expect(sample.cpuCores).toBeGreaterThan(0.01);
    expect(sample.cpuCores).toBeLessThan(0.7);
    expect(sample.memoryGb).toBeLessThan(0.0625);
  });

  test('an idle service falls asleep and gives its container up, keeps its files, and wakes', async () => {
    const world = await World.start(engine(), { timeScale: 30 });
    const { id } = await world.running({ volumeGb: 10, sleepAfterMinutes: 1 });
    expect((await world.until(id, 'sleeping')).endpoint).toBe(null);
    expect(await world.podman.lines('ps', '--format', '{{.Names}}')).toEqual([]);
    expect(await world.events(id)).toEqual([
      'created by acme',
      'running',
      'falling asleep: idle for 1 min',
      'sleeping',
    ]);
    await world.ok('PATCH', `/services/${id}/sleep`, { sleepAfterMinutes: null });
    await world.act(id, 'start');
    expect(await page(await world.until(id, 'running'))).toBe('start \n'.repeat(2));
  });

  test('a service that is asked something does not sleep', async () => {
    const world = await World.start(engine(), { timeScale: 30 });
    const service = await world.running({ sleepAfterMinutes: 1 });
    const sleepy = await world.running({ sleepAfterMinutes: 1 });
    await eventually('the unused one asleep', async () => {
      await page(service);
      return (await world.ok('GET', `/services/${sleepy.id}`)).service.state === 'sleeping';
    });
    expect(await world.events(service.id)).not.toContain('sleeping');
    await world.until(service.id, 'sleeping');
  });

  test('GPUs are there only when the operator says so', async () => {
    const world = await World.start(engine());
    const refused = await world.call('POST', '/services', {
      ...web,
      resources: { ...web.resources, gpuCount: 1 },
    });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'capacity_unavailable']);
  });

  test("what is more than the engine's machine has is not sold", async () => {
    const world = await World.start(engine(), { capacity: '{}' });
    const info = JSON.parse(await world.podman.run('info', '--format', 'json'));
    const spec = { ...idler, resources: { gpuCount: 0, cpu: info.host.cpus + 0.5, memoryGb: 0.0625 } };
    const refused = await world.call('POST', '/services', spec);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'capacity_unavailable']);
  });

  test('services of one account reach one another, those of another account do not', async () => {
    const world = await World.start(engine());
    const [one, two, foreign] = await Promise.all([
      world.running(),
      world.running(),
      world.running({}, keys.bob),
    ]);
    await Promise.all([one, two, foreign].map(page));
    const addressOf = async (id: string) => {
      const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
      return world.podman.run('container', 'inspect', '--format', format, `fleetkeeper-${id}`);
    };
    const ask = async (address: string) => {
      const script = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 ${address} 8080 | tail -n 1`;
      return (await world.exec(one.id, ['sh', '-c', script])).stdout;
    };
    expect(await ask(await addressOf(two.id))).toBe('start \n');
    expect(await ask(await addressOf(foreign.id))).toBe('');
  });
}
