/** Real containers, wherever they run: what a service is and does, from the API down to the container and back. */
import { expect, test } from 'vitest';
import { eventually } from '../../support/processes/processes.ts';
import {
  idler,
  nothing,
  page,
  type ContainerWorld,
  type Start,
} from '../../support/processes/container-world.ts';

/** `resizesInPlace`: the same container has other resources then; otherwise another one has them. */
export function testSharedLife(start: Start, { resizesInPlace }: { readonly resizesInPlace: boolean }): void {
  test('a web server answers at its endpoint, and what it wrote survives resize, restart, stop and a kill -9 of the control plane', async () => {
    const world = await start();
    const { id } = await world.create({ volumeGb: 10, environment: { GREETING: 'hello' } });
    const service = await world.until(id, 'running');
    expect(service.endpoint).toMatch(world.site.endpoint);
    expect(await page(service)).toBe('start hello\n');

    await world.act(id, 'resize', { gpuCount: 0, cpu: 0.75, memoryGb: 0.125 });
    const resized = await page(await world.until(id, 'running'));
    expect(resized).toBe('start hello\n'.repeat(resizesInPlace ? 1 : 2));
    const limit = 'cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null';
    expect((await world.exec(id, ['sh', '-c', limit])).stdout.trim()).toBe(String(2 ** 27));
    await world.act(id, 'restart');
    expect(await page(await world.until(id, 'running'))).toBe(`${resized}start hello\n`);
    await world.act(id, 'stop');
    expect((await world.until(id, 'paused')).endpoint).toBe(null);
    await world.act(id, 'start');
    const before = await world.until(id, 'running');
    expect(await page(before)).toBe(`${resized}${'start hello\n'.repeat(2)}`);

    await world.plane.kill();
    expect(await page(before)).toBe(`${resized}${'start hello\n'.repeat(2)}`);
    await world.plane.start();
    expect(await world.until(id, 'running')).toEqual(before);
    expect(await page(before)).toBe(`${resized}${'start hello\n'.repeat(2)}`);
  });

  test('deleting leaves no container, volume or network behind', async () => {
    const world = await start();
    const { id, volumeId } = await world.running({ volumeGb: 10 });
    expect(await world.atTheEngine()).toEqual({
      containers: [`fleetkeeper-${id}`],
      volumes: [`fleetkeeper-${volumeId}`],
      networks: [world.site.networkOf(await world.accountId())],
    });
    await world.act(id, 'delete');
    await world.untilGone(`/services/${id}`);
    expect(await world.atTheEngine()).toEqual(nothing);
    expect((await world.ok('GET', '/account')).volumes).toEqual([]);
  });

  test('an independent volume is handed from one service to the next, and goes when it is deleted itself', async () => {
    const world = await start();
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
    const world = await start();
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
    const world = await start();
    const { id } = await world.running();
    expect(await page((await world.ok('GET', `/services/${id}`)).service)).toBe('start \n');
    expect(await world.logs(id)).toBe('serving\ncomplaining\n');
    await world.act(id, 'stop');
    await world.until(id, 'paused');
    expect(await world.logs(id)).toBe('serving\ncomplaining\nending\n');
  });

  test('of long logs the newest MiB is answered, from the beginning of a line', async () => {
    const world = await start();
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
    const world = await start();
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
    const world = await start();
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
}

async function volumeRevision(world: ContainerWorld): Promise<number> {
  const { volumes } = await world.ok('GET', '/account');
  return volumes[0].revision;
}
