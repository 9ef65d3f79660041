/** Real containers: what a service is and does, from the API down to the engine and back. */
import { expect, test } from 'vitest';
import { eventually } from '../../support/processes/processes.ts';
import { idler, keys, nothing, page, web, World, type Engine } from '../../support/processes/docker-world.ts';

export function testLife(engine: () => Engine): void {
  test('a web server answers at its endpoint, and what it wrote survives resize, restart, stop and a kill -9 of the control plane', async () => {
    const world = await World.start(engine());
    const { id } = await world.create({ volumeGb: 10, environment: { GREETING: 'hello' } });
    const service = await world.until(id, 'running');
    expect(service.endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await page(service)).toBe('start hello\n');

    await world.act(id, 'resize', { gpuCount: 0, cpu: 0.75, memoryGb: 0.125 });
    expect(await page(await world.until(id, 'running'))).toBe('start hello\n'.repeat(2));
    await world.act(id, 'restart');
    expect(await page(await world.until(id, 'running'))).toBe('start hello\n'.repeat(3));
    await world.act(id, 'stop');
    expect((await world.until(id, 'paused')).endpoint).toBe(null);
    await world.act(id, 'start');
    const before = await world.until(id, 'running');
    expect(await page(before)).toBe('start hello\n'.repeat(4));

    await world.plane.kill();
    expect(await page(before)).toBe('start hello\n'.repeat(4));
    await world.plane.start();
    expect(await world.until(id, 'running')).toEqual(before);
    expect(await page(before)).toBe('start hello\n'.repeat(4));
  });

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
      `fleetkeeper-net-${await accountId(world)}`,
    ]);
  });

  test('deleting leaves no container, volume or network behind', async () => {
    const world = await World.start(engine());
    const { id, volumeId } = await world.running({ volumeGb: 10 });
    expect(await world.atTheEngine()).toEqual({
      containers: [`fleetkeeper-${id}`],
      volumes: [`fleetkeeper-${volumeId}`],
      networks: [`fleetkeeper-net-${await accountId(world)}`],
    });
    await world.act(id, 'delete');
    await world.untilGone(`/services/${id}`);
    expect(await world.atTheEngine()).toEqual(nothing);
    expect((await world.ok('GET', '/account')).volumes).toEqual([]);
  });

  test('an independent volume is handed from one service to the next, and goes when it is deleted itself', async () => {
    const world = await World.start(engine());
    const volume = await world.ok('POST', '/volumes', { name: 'data', region: 'standard', sizeGb: 10 });
    const volumeIs = (status: string) =>
      eventually(`volume ${status}`, async () => {
        const answer = await world.ok('GET', `/volumes/${volume.id}`);
        return answer.volume.status === status;
      });
    await volumeIs('ready');
    const first = await world.running({ volumeId: volume.id });
    expect(await page(first)).toBe('start \n');
    await world.act(first.id, 'delete');
    await world.untilGone(`/services/${first.id}`);
    const second = await world.running({ volumeId: volume.id });
    expect(await page(second)).toBe('start \n'.repeat(2));

    await world.act(second.id, 'stop');
    await world.until(second.id, 'paused');
    await world.ok('PATCH', `/volumes/${volume.id}`, { revision: await volumeRevision(world), sizeGb: 20 });
    await volumeIs('ready');
    await world.act(second.id, 'start');
    expect(await page(await world.until(second.id, 'running'))).toBe('start \n'.repeat(3));

    await world.act(second.id, 'delete');
    await world.untilGone(`/services/${second.id}`);
    expect((await world.atTheEngine()).volumes).toEqual([`fleetkeeper-${volume.id}`]);
    await world.ok('DELETE', `/volumes/${volume.id}`);
    await world.untilGone(`/volumes/${volume.id}`);
    expect(await world.atTheEngine()).toEqual(nothing);
  });

  test('a patch launches the new image, command and port, and only then', async () => {
    const world = await World.start(engine());
    const { id, revision } = await world.running();
    await world.ok('PATCH', `/services/${id}`, {
      revision,
      patch: { httpPort: 9090, environment: { PORT: '9090', GREETING: 'again' } },
    });
    expect(await page(await world.until(id, 'running'))).toBe('start again\n');
    await world.act(id, 'stop');
    const paused = await world.until(id, 'paused');
    await world.ok('PATCH', `/services/${id}`, {
      revision: paused.revision,
      patch: { command: idler.command },
    });
    expect(await world.logs(id)).toContain('serving');
    await world.act(id, 'start');
    await world.until(id, 'running');
    await eventually('the new command', async () => (await world.logs(id)) === 'idling\n');
  });

  test('logs have both streams in their order, also of a stopped service', async () => {
    const world = await World.start(engine());
    const { id } = await world.running();
    expect(await page((await world.ok('GET', `/services/${id}`)).service)).toBe('start \n');
    expect(await world.logs(id)).toBe('serving\ncomplaining\n');
    await world.act(id, 'stop');
    await world.until(id, 'paused');
    expect(await world.logs(id)).toBe('serving\ncomplaining\nending\n');
  });

  test('of long logs the newest MiB is answered, from the beginning of a line', async () => {
    const world = await World.start(engine());
    const talk = 'yes 0123456789abcdef | head -n 70000; echo last; trap "exit 0" TERM; sleep 1000 & wait';
    const { id } = await world.running({ ...idler, command: ['sh', '-c', talk] });
    const logs = await eventually('the last line', async () => {
      const text = await world.logs(id);
      return text.endsWith('last\n') && text;
    });
    expect(logs.length).toBeGreaterThan(2 ** 20 - 20);
    expect(logs.length).toBeLessThanOrEqual(2 ** 20);
    expect(logs.startsWith('0123456789abcdef\n')).toBe(true);
  });

  test('a browser session shows what the container answers, until it is stopped', async () => {
    const world = await World.start(engine());
    const { id } = await world.running({ volumeGb: 10, environment: { GREETING: 'hello' } });
    const { url } = await world.ok('POST', `/services/${id}/browser-session`);
    const shown = async () => {
      const answer = await fetch(url);
      return `${answer.status} ${await answer.text()}`;
    };
    await eventually('it answers', async () => (await shown()) === '200 start hello\n');
    await world.act(id, 'stop');
    await world.until(id, 'paused');
    expect(await shown()).toMatch(/^409 .*does not run/);
  });

  test('a command answers with its exit code and both outputs', async () => {
    const world = await World.start(engine());
    const { id } = await world.running(idler);
    expect(await world.exec(id, ['sh', '-c', 'echo out; echo err >&2; exit 7'])).toEqual({
      exitCode: 7,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
    });
    expect(await world.exec(id, ['no-such-command'])).toMatchObject({
      exitCode: 127,
      stderr: expect.stringContaining('no-such-command'),
    });
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

async function accountId(world: World): Promise<string> {
  return (await world.ok('GET', '/me')).id;
}

async function volumeRevision(world: World): Promise<number> {
  const { volumes } = await world.ok('GET', '/account');
  return volumes[0].revision;
}
