/** Real containers, wherever they run: what goes wrong with them and with the control plane. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { idler, page, web, type Start } from '../../support/processes/container-world.ts';

/** Five of them fit on a small machine. */
const small = { resources: { gpuCount: 0, cpu: 0.1, memoryGb: 0.0625 } };

const sh = (script: string) => ({ ...idler, command: ['sh', '-c', script] });

export function testSharedTrouble(start: Start): void {
  describe('a container that ends', () => {
    test('by itself leaves its service in error with the exit code, and a restart mends it', async () => {
      const world = await start();
      const { id } = await world.running();
      // Not waited for: the command may end with the container.
      void world.call('POST', `/services/${id}/exec`, { command: ['kill', '-INT', '1'] });
      const broken = await world.until(id, 'error');
      expect(broken).toMatchObject({ endpoint: null, error: 'the container ended with exit code 130' });
      expect((await world.events(id)).at(-1)).toBe('error: the container ended with exit code 130');
      expect(await world.logs(id)).toContain('serving');
      await world.act(id, 'restart');
      expect(await page(await world.until(id, 'running'))).toBe('start \n');
    });

    test('right at its start does so, too', async () => {
      const world = await start();
      const { id } = await world.create(sh('echo no; exit 5'));
      expect((await world.until(id, 'error')).error).toBe('the container ended with exit code 5');
      expect(await world.logs(id)).toBe('no\n');
    });

    test('for lack of memory says so', async () => {
      const world = await start();
      const { id } = await world.create(sh('x=aaaaaaaa; while true; do x=$x$x; done'));
      expect((await world.until(id, 'error')).error).toMatch(/exit code 137.*0\.0625 GB of memory/);
    });
  });

  test('a launch that can not be is mended by a patch', async () => {
    const world = await start();
    const { id } = await world.create({ image: 'localhost/none:1' });
    const { revision } = await world.until(id, 'error');
    await world.ok('PATCH', `/services/${id}`, { revision, patch: { image: web.image } });
    expect(await page(await world.until(id, 'running'))).toBe('start \n');
  });

  describe('a kill -9 of the control plane', () => {
    test('in the midst of a launch starts no container twice', async () => {
      const world = await start();
      const pages: string[] = [];
      for (const afterMs of [0, 80, 160, 240, 360]) {
        const { id } = await world.create({ ...small, volumeGb: 10 });
        await delay(afterMs);
        await world.crash();
        pages.push(await page(await world.until(id, 'running')));
      }
      expect(pages).toEqual(Array(5).fill('start \n'));
      expect((await world.atTheEngine()).containers).toHaveLength(5);
      // In a cluster each of the five waits for the Lease of the one before.
    }, 300_000);

    test('in the midst of a stop, a restart and a deletion is made good', async () => {
      const world = await start();
      const [stopped, restarted, deleted] = await Promise.all([
        world.running(),
        world.running(),
        world.running(),
      ]);
      await Promise.all([stopped, restarted, deleted].map(page));
      await world.act(stopped.id, 'stop');
      await world.act(restarted.id, 'restart');
      await world.act(deleted.id, 'delete');
      await world.crash();
      await world.until(stopped.id, 'paused');
      await page(await world.until(restarted.id, 'running'));
      await world.untilGone(`/services/${deleted.id}`);
      const { containers } = await world.atTheEngine();
      const kept = world.site.keepsStopped ? [`fleetkeeper-${stopped.id}`] : [];
      const expected = [...kept, `fleetkeeper-${restarted.id}`];
      expect(containers.toSorted()).toEqual(expected.toSorted());
    });
  });

  test('an end of the control plane leaves containers running, also in the midst of a launch', async () => {
    const world = await start();
    const service = await world.running();
    const { id } = await world.create();
    expect(await world.plane.end()).toBe(0);
    expect(await page(service)).toBe('start \n');
    await world.plane.start();
    expect(await page(await world.until(id, 'running'))).toBe('start \n');
    expect(await world.until(service.id, 'running')).toEqual(service);
  });
}
