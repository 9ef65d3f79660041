/**
 * Hostile tenants in Pods: what they may do to the node, to the cluster and to their neighbours. Each refusal of the network stands
 * beside a Pod of nobody's policy, which reaches the same place with the same words.
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { hostile } from '../hostile/hostile.ts';
import {
  clusterKubeconfig,
  isWithoutCluster,
  kubectl,
  startInCluster,
  useCluster,
} from '../support/processes/cluster-world.ts';
import { idler, keys, page, type ContainerWorld, type Json } from '../support/processes/container-world.ts';
import { fixtureImage } from '../support/processes/podman.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';

const bystanders = `hostile-${randomUUID().slice(0, 8)}`;
const metadataAddress = '169.254.169.254';
const systemPath = { PATH: `${process.env['PATH']}:/usr/sbin:/sbin` };
const small = { resources: { gpuCount: 0, cpu: 0.1, memoryGb: 0.0625 } };

async function object(...args: string[]): Promise<Json> {
  return JSON.parse(await kubectl('get', ...args, '-o', 'json'));
}

/** Of the service's Pod. */
async function podOf(id: string): Promise<Json> {
  const { items } = await object('pods', '-A', '--field-selector', `metadata.name=fleetkeeper-${id}`);
  return items[0];
}

const wordsTo = (address: string, port: number) => `nc -w 3 ${address} ${port} < /dev/null > /dev/null`;

async function reaches(world: ContainerWorld, id: string, address: string, port: number): Promise<boolean> {
  return (await world.exec(id, ['sh', '-c', wordsTo(address, port)])).exitCode === 0;
}

describe.skipIf(isWithoutCluster)('a hostile container', () => {
  useCluster();

  test('has no token, no right, and gains nothing on its node', async () => {
    const world = await startInCluster();
    const { id } = await world.running({ ...idler, ...small });
    const attempts = {
      'a token': 'cat /var/run/secrets/kubernetes.io/serviceaccount/token',
      mounting: 'busybox mount -t tmpfs none /tmp',
      'a file of a device': 'busybox mknod /tmp/disk b 8 0 && busybox dd if=/tmp/disk of=/dev/null count=1',
      'the name of its host': 'busybox hostname evil',
      'the memory of the kernel': 'test -n "$(head -c 1 /proc/kcore)"',
      'settings of the kernel': 'echo 1 > /proc/sys/kernel/panic',
      'a module of the kernel':
        'busybox insmod /tmp/none.ko 2>&1 | grep -v "Operation not permitted" | grep -q permitted',
      'processes of the node':
        'busybox nsenter -t 1 -m -p ls / 2>&1 && test "$(ls /proc | grep -c "^[0-9]")" -gt 20',
      'control groups': 'cd /sys/fs/cgroup/memory || cd /sys/fs/cgroup; mkdir evil',
      'a socket of the container runtime': 'ls /run/containerd /var/run/docker.sock',
      'other names of users': 'busybox chroot / busybox unshare -U true',
    };
    const done = await Promise.all(
      Object.entries(attempts).map(async ([what, script]) => {
        const { exitCode } = await world.exec(id, ['sh', '-c', `(${script}) > /dev/null 2>&1`]);
        return [what, exitCode === 0 ? 'was possible' : 'refused'];
      }),
    );
    const refused = Object.fromEntries(Object.keys(attempts).map((what) => [what, 'refused']));
    expect(Object.fromEntries(done)).toEqual(refused);

    const { metadata, spec } = await podOf(id);
    expect(spec.automountServiceAccountToken).toBe(false);
    const user = `system:serviceaccount:${metadata.namespace}:${spec.serviceAccountName}`;
    const may = async (...what: string[]) => {
      const asked = ['auth', 'can-i', ...what, '--as', user, '-n', metadata.namespace];
      return (await kubectl(...asked).catch((error: Json) => String(error.stdout))).trim();
    };
    const rights = [
      ['list', 'pods'],
      ['get', 'secrets'],
      ['create', 'pods'],
      ['create', 'pods/exec'],
      ['get', 'nodes'],
    ];
    expect(await Promise.all(rights.map((right) => may(...right)))).toEqual(rights.map(() => 'no'));
  });

  test('has the processor and the memory that it was given, and no more', async () => {
    const world = await startInCluster();
    const { id } = await world.running({ ...idler, ...small });
    const spin = 'for i in 1 2 3; do (while :; do :; done) & done; sleep 4; kill $(jobs -p); times';
    const { stdout } = await world.exec(id, ['sh', '-c', spin], { timeoutSeconds: 60 });
    // `times` has two lines: of the shell, and of what it waited for.
    const seconds = [...String(stdout).matchAll(/(\d+)m([\d.]+)s/g)].map(
      ([, minutes, rest]) => 60 * Number(minutes) + Number(rest),
    );
    expect(seconds.length).toBeGreaterThan(0);
    expect(Math.max(...seconds)).toBeLessThan(2);
    const groups = 'cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null';
    expect((await world.exec(id, ['sh', '-c', groups])).stdout.trim()).toBe(String(2 ** 26));
  });

  describe('on a network that enforces policies', () => {
    beforeAll(async () => {
      await kubectl('create', 'namespace', bystanders);
      return () => kubectl('delete', 'namespace', bystanders, '--timeout=120s').then(() => undefined);
    }, 180_000);

    /** Where the node is of this machine, it plays a metadata service; gives the port. */
    const metadataService = async (): Promise<number> => {
      const server = createServer((socket) => socket.end());
      await new Promise<void>((resolve) => {
        server.listen(0, '0.0.0.0', resolve);
      });
      const ip = (verb: string) =>
        execFileSync('ip', ['addr', verb, `${metadataAddress}/32`, 'dev', 'lo'], {
          env: systemPath,
          stdio: 'pipe',
        });
      ip('add');
      onTestFinished(() => {
        ip('del');
        server.close();
      });
      return (server.address() as AddressInfo).port;
    };

    /** Whether a Pod of this machine's administrator gets there. */
    const bystanderReaches = async (address: string, port: number, labels: object = {}): Promise<boolean> => {
      const name = `probe-${randomUUID().slice(0, 8)}`;
      const overrides = {
        metadata: { labels },
        spec: {
          restartPolicy: 'Never',
          containers: [
            {
              name,
              image: fixtureImage,
              imagePullPolicy: 'Never',
              // Policies reach a Pod a moment after it began.
              args: ['sh', '-c', `sleep 2; ${wordsTo(address, port)}`],
            },
          ],
        },
      };
      const more = ['--image', fixtureImage, '--restart=Never', '--overrides', JSON.stringify(overrides)];
      await kubectl('-n', bystanders, 'run', name, ...more);
      const phase = await eventually(
        'the end of a probe',
        async () => {
          const { status } = await object('pod', name, '-n', bystanders);
          return ['Succeeded', 'Failed'].includes(status.phase) && status.phase;
        },
        60_000,
      );
      return phase === 'Succeeded';
    };

    test('reaches neither the API, nor the node, nor the metadata address, nor another tenant', async (context) => {
      const world = await startInCluster();
      const [attacker, own, foreign] = await Promise.all([
        world.running({ ...idler, ...small }),
        world.running(small),
        world.running(small, keys.bob),
      ]);
      await Promise.all([own, foreign].map(page));
      const addressOf = async (id: string): Promise<string> => (await podOf(id)).status.podIP;
      const { items: nodes } = await object('nodes');
      const node = nodes[0].status.addresses.find(({ type }: Json) => type === 'InternalIP').address;
      const api = (await object('service', 'kubernetes', '-n', 'default')).spec.clusterIP;
      const places: [string, string, number][] = [
        ['the API', api, 443],
        ['the kubelet', node, 10_250],
        ['another tenant', await addressOf(foreign.id), 8080],
        ['the endpoint of another tenant', new URL(foreign.endpoint).hostname, 8080],
        ['the metadata address', metadataAddress, await metadataService()],
      ];
      const denied = {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name: 'none' },
        spec: { podSelector: { matchLabels: { closed: 'yes' } }, policyTypes: ['Egress'], egress: [] },
      };
      const file = path.join(await temporaryFolder(), 'denied.json');
      await writeFile(file, JSON.stringify(denied));
      await kubectl('-n', bystanders, 'apply', '-f', file);
      if (await bystanderReaches(node, 10_250, { closed: 'yes' })) {
        process.stderr.write('\n*** SKIPPED: the network of this cluster enforces no NetworkPolicy ***\n');
        context.skip();
      }
      const asBystander = await Promise.all(
        places.map(async ([what, address, port]) => [what, await bystanderReaches(address, port)]),
      );
      // Ingress of a tenant is open to Pods that are no tenant's.
      expect(Object.fromEntries(asBystander)).toEqual(
        Object.fromEntries(places.map(([what]) => [what, true])),
      );
      const asTenant = await Promise.all(
        places.map(async ([what, address, port]) => [what, await reaches(world, attacker.id, address, port)]),
      );
      expect(Object.fromEntries(asTenant)).toEqual(Object.fromEntries(places.map(([what]) => [what, false])));
      expect(await reaches(world, attacker.id, await addressOf(own.id), 8080)).toBe(true);
    });
  });

  test('makes Pods without end, and the Pods, changes and reads of another tenant are not the worse for it', async () => {
    const report = await hostile({
      quietMs: 5_000,
      attackMs: 24_000,
      folder: await temporaryFolder(),
      // The node and its Pods share the processor with the server and with other tests: a server that waits for them
      // while it answers would take longer than that.
      quietFloorMs: 300,
      longestP99Ms: 3_000,
      pods: { kubeconfig: clusterKubeconfig(), image: fixtureImage },
    });
    expect(report.violations).toEqual([]);
    expect(report.pods?.podsOfAttacker.all).toBeGreaterThan(0);
    expect(Object.keys(report.answers)).toEqual(expect.arrayContaining(['POST 400', 'POST 201', 'POST 409']));
  }, 420_000);
});
