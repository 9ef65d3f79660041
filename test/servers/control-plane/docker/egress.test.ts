import { expect, test } from 'vitest';
import {
  bridgeName,
  bridgePrefix,
  egressRules,
} from '../../../../src/control-plane/runtimes/docker/network/egress-rules.ts';
import { Egress, nameServersIn } from '../../../../src/control-plane/runtimes/docker/network/egress.ts';

const policy = {
  allow: [{ to: '10.0.0.9', port: 5432 }, { to: 'fd00::9' }],
  deny: [{ to: '203.0.113.0/24' }],
  nameServers: ['10.255.255.53', 'fd00::53'],
};

test('a bridge has a name that an interface can have, and shares its beginning with those of its installation', () => {
  const name = bridgeName('installation', '0f1e2d3c-0000-4000-8000-000000000001');
  expect(name).toMatch(/^f[0-9a-f]{14}$/);
  expect(name.startsWith(bridgePrefix('installation'))).toBe(true);
  expect(bridgeName('installation', 'another')).not.toBe(name);
  expect(bridgePrefix('another')).not.toBe(bridgePrefix('installation'));
});

test('each family has the rules of its own addresses, what is allowed before what is not', () => {
  const [four, six] = egressRules('installation', policy).map(({ chains }) => chains.split('\n'));
  const at = (lines: string[] | undefined, part: string) =>
    (lines ?? []).findIndex((line) => line.includes(part));
  expect(at(four, '-d 10.0.0.9 -p tcp -m tcp --dport 5432 -j RETURN')).toBeGreaterThan(0);
  expect(at(four, '-d 10.0.0.9 ')).toBeLessThan(at(four, '-d 10.0.0.0/8 -j DROP'));
  expect(at(four, '-d 10.255.255.53 -p udp -m udp --dport 53 -j RETURN')).toBeLessThan(
    at(four, '-d 10.0.0.0/8'),
  );
  expect(at(four, '-d 203.0.113.0/24 -j DROP')).toBeGreaterThan(0);
  expect(at(four, 'fd00::')).toBe(-1);
  expect(at(six, '-d fd00::9 -j RETURN')).toBeLessThan(at(six, '-d fc00::/7 -j DROP'));
  expect(at(six, '10.0.0')).toBe(-1);
});

test('rules that are missing are put back, once', async () => {
  const asked: string[] = [];
  let isThere = false;
  const egress = new Egress(policy, (program, args) => {
    asked.push(`${program} ${args.join(' ')}`);
    if (args.includes('-I')) isThere = true;
    return args.includes('-C') && !isThere ? Promise.reject(new Error('no such rule')) : Promise.resolve();
  });
  expect(await egress.ensure('installation')).toBe(true);
  expect(await egress.ensure('installation')).toBe(false);
  expect(asked.filter((one) => one.includes(' -I ')).length).toBeGreaterThan(0);
});

test('who may not set rules is told so before anything runs', async () => {
  const egress = new Egress(policy, () => Promise.reject(new Error('Permission denied (you must be root)')));
  await expect(egress.check()).rejects.toThrow(/can't restrict what containers may reach.*you must be root/);
});

test('name servers are read from resolv.conf', () => {
  expect(nameServersIn('# x\nnameserver 10.0.0.2\n nameserver fd00::2 \nnameserver bad\nsearch a')).toEqual([
    '10.0.0.2',
    'fd00::2',
  ]);
});
