/**
 * `control-plane --runtime kubernetes`, on the cluster of `KUBECONFIG`: what is demanded of Docker and podman, by the same
 * tests. Skipped where no node has the image.
 */
import { describe, expect, test } from 'vitest';
import { eventually } from '../support/processes/processes.ts';
import {
  clusterKubeconfig,
  isWithoutCluster,
  startInCluster,
  useCluster,
} from '../support/processes/cluster-world.ts';
import { idler, page } from '../support/processes/container-world.ts';
import { testConformance } from './docker/conformance.ts';
import { testSharedLife } from './docker/shared-life.ts';
import { testSharedTrouble } from './docker/shared-trouble.ts';

describe.skipIf(isWithoutCluster)('real Pods', () => {
  useCluster();
  testSharedLife(startInCluster, { resizesInPlace: true });
  testSharedTrouble(startInCluster);
  testConformance(() => ['--runtime', 'kubernetes', '--kubeconfig', clusterKubeconfig()]);

  test('get what was asked for, no privileges and no token', async () => {
    const world = await startInCluster();
    const environment = { TOKEN: 'a b=c"d$(HOME)', EMPTY: '' };
    const { id } = await world.running({ ...idler, environment, volumeGb: 10 });
    const script =
      'echo "$TOKEN[$EMPTY]"; ls /var/run/secrets/kubernetes.io 2>&1; grep -i -E "nonewprivs|capbnd" /proc/1/status';
    const { stdout } = await world.exec(id, ['sh', '-c', script]);
    expect(stdout).toContain('a b=c"d$(HOME)[]\n');
    expect(stdout).toMatch(/No such file/i);
    expect(stdout).toMatch(/NoNewPrivs:\s+1/);
  });

  test('are resized in place: what runs is not interrupted', async () => {
    const world = await startInCluster();
    const { id, endpoint } = await world.running();
    const script =
      'cat /proc/1/stat | cut -d " " -f 22; cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null';
    const seen = async () => (await world.exec(id, ['sh', '-c', script])).stdout.trim().split('\n');
    const [startedAt] = await seen();
    await world.act(id, 'resize', { gpuCount: 0, cpu: 0.75, memoryGb: 0.25 });
    expect((await world.until(id, 'running')).endpoint).toBe(endpoint);
    expect(await seen()).toEqual([startedAt, String(2 ** 28)]);
    await world.act(id, 'restart');
    await world.until(id, 'running');
    const [restartedAt, bytes] = await seen();
    expect(restartedAt).not.toBe(startedAt);
    expect(bytes).toBe(String(2 ** 28));
  });

  test('of a launch that can not be say why', async () => {
    const world = await startInCluster();
    const specs = {
      'a registry that does not exist': { image: 'registry.invalid/acme/app:1' },
      'an image of the cluster that is not there': { image: 'localhost/none:1' },
      'a command that is not there': { command: ['no-such-command'] },
    };
    const errors = await Promise.all(
      Object.entries(specs).map(async ([what, spec]) => {
        const { id } = await world.create(spec);
        return [what, (await world.until(id, 'error')).error];
      }),
    );
    expect(Object.fromEntries(errors)).toEqual({
      'a registry that does not exist': expect.stringMatching(
        /^the image can not be pulled: its registry did not serve it/,
      ),
      'an image of the cluster that is not there': expect.stringMatching(
        /^the image is not among the control plane's own images/,
      ),
      'a command that is not there': expect.stringMatching(/^the command was not found in the image/),
    });
  });

  test('are measured by the kubelet where that is allowed, fall asleep when idle, and wake', async () => {
    const world = await startInCluster({ timeScale: 30 });
    const { id } = await world.running({ volumeGb: 10, sleepAfterMinutes: 1 });
    // A kubelet measures a Pod every ten seconds, and whoever is not measured is not idle.
    await world.until(id, 'sleeping', undefined, 120_000);
    expect((await world.atTheEngine()).containers).toEqual([]);
    expect((await world.events(id)).slice(-2)).toEqual(['falling asleep: idle for 1 min', 'sleeping']);
    const metrics = await world.ok('GET', `/services/${id}/metrics?minutes=15`);
    expect(metrics.note).toContain('measured by the kubelets');
    await world.ok('PATCH', `/services/${id}/sleep`, { sleepAfterMinutes: null });
    await world.act(id, 'start');
    expect(await page(await world.until(id, 'running'))).toBe('start \n'.repeat(2));
    await eventually(
      'a sample',
      async () => {
        const { samples } = await world.ok('GET', `/services/${id}/metrics?minutes=15`);
        return samples.length > 0;
      },
      60_000,
    );
  });
});
