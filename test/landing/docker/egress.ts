/**
 * Hostile containers: what they may reach of this machine and of its network. Each refusal stands beside a control
 * that shows that the same words do get through where they may.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { idler, keys, page } from '../../support/processes/container-world.ts';
import { World, type Engine } from '../../support/processes/docker-world.ts';

const metadata = '169.254.169.254';
/** Another machine of the operator's network, and one of the internet (TEST-NET-3): a network namespace has both. */
const other = { name: 'fleetkeeper-other', private: '10.99.77.2', public: '203.0.113.77' };

const systemPath = { PATH: `${process.env['PATH']}:/usr/sbin:/sbin` };

function sh(script: string): void {
  execFileSync('sh', ['-euc', script], { env: systemPath, stdio: 'pipe' });
}

export function testEgress(engine: () => Engine): void {
  describe('what a container may reach', () => {
    const servers: Server[] = [];
    let port = 0;
    let outside: ChildProcess | undefined;

    beforeAll(async () => {
      sh(`ip addr add ${metadata}/32 dev lo
        ip netns add ${other.name}
        ip link add fk-other type veth peer name inside netns ${other.name}
        ip addr add 10.99.77.1/24 dev fk-other; ip link set fk-other up
        ip route add ${other.public}/32 via ${other.private}
        ip netns exec ${other.name} sh -c '
          ip link set lo up; ip link set inside up
          ip addr add ${other.private}/24 dev inside; ip addr add ${other.public}/32 dev lo
          ip route add default via 10.99.77.1'`);
      const host = createServer((socket) => socket.end('reached\n'));
      servers.push(host);
      await new Promise<void>((resolve) => {
        host.listen(0, '::', resolve);
      });
      ({ port } = host.address() as AddressInfo);
      const serve = `require('net').createServer((s) => s.end('reached\\n')).listen(${port}, () => console.log('up'))`;
      outside = spawn('ip', ['netns', 'exec', other.name, process.execPath, '-e', serve], {
        env: systemPath,
      });
      const { stdout } = outside;
      if (stdout) await once(stdout, 'data');
    });
    afterAll(() => {
      for (const server of servers) server.close();
      outside?.kill('SIGKILL');
      sh(`ip netns del ${other.name}
        ip link del fk-other 2> /dev/null || true
        ip addr del ${metadata}/32 dev lo`);
    });

    const reach = async (world: World, id: string, address: string, at = port) => {
      const script = `nc -w 2 ${address} ${at} < /dev/null | head -n 1`;
      return (await world.exec(id, ['sh', '-c', script])).stdout.trim();
    };
    const gatewayOf = (world: World, id: string) => {
      const format = '{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}';
      return world.podman.run('container', 'inspect', '--format', format, `fleetkeeper-${id}`);
    };

    test('is the internet: neither this machine, nor metadata services, nor the network that it stands in', async () => {
      const world = await World.start(engine());
      const { id } = await world.running(idler);
      const gateway = await gatewayOf(world, id);
      const places = { gateway, metadata, private: other.private, public: other.public };
      const reached = await Promise.all(
        Object.entries(places).map(async ([name, address]) => [name, await reach(world, id, address)]),
      );
      expect(Object.fromEntries(reached)).toEqual({
        gateway: '',
        metadata: '',
        private: '',
        public: 'reached',
      });
    });

    test('is more when the operator says so, and all of it without rules', async () => {
      const allowed = await World.start(engine(), {
        config: `, egress: {allow: [{to: ${other.private}, port: ${port}}], deny: [{to: ${other.public}}]}`,
      });
      const { id } = await allowed.running(idler);
      expect(await reach(allowed, id, other.private)).toBe('reached');
      expect(await reach(allowed, id, other.public)).toBe('');
      expect(await reach(allowed, id, await gatewayOf(allowed, id))).toBe('');
      const open = await World.start(engine(), { egress: 'open' });
      const { id: free } = await open.running(idler);
      expect(await reach(open, free, metadata)).toBe('reached');
      expect(await reach(open, free, await gatewayOf(open, free))).toBe('reached');
    });

    test('still includes the services of its own account by their addresses, and answers to whoever asks it', async () => {
      const world = await World.start(engine());
      const [one, two, foreign] = await Promise.all([
        world.running(),
        world.running(),
        world.running({}, keys.bob),
      ]);
      await Promise.all([one, two, foreign].map(page));
      const addressOf = (id: string) => {
        const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
        return world.podman.run('container', 'inspect', '--format', format, `fleetkeeper-${id}`);
      };
      const get = async (address: string) => {
        const script = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 ${address} 8080 | tail -n 1`;
        return (await world.exec(one.id, ['sh', '-c', script])).stdout;
      };
      expect(await get(await addressOf(two.id))).toBe('start \n');
      expect(await get(await addressOf(foreign.id))).toBe('');
    });

    test('is restricted again soon after a firewall has forgotten the rules, before anything else is launched', async () => {
      const world = await World.start(engine());
      const { id } = await world.running(idler);
      sh('iptables -w -t mangle -F; ip6tables -w -t mangle -F');
      expect(await reach(world, id, metadata)).toBe('reached');
      await world.running(idler);
      expect(await reach(world, id, metadata)).toBe('');
    });
  });
}
