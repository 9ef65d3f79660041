/**
 * What is not the internet: this machine, private and shared networks, link-local addresses (metadata services among
 * them), multicast, benchmarks (RFC 6890), and metadata services that are elsewhere. Forms of IPv6 that stand for an
 * IPv4 address (mapped, 6to4, NAT64) belong to it, because the address that they lead to would not be seen.
 */
import { BlockList, isIPv6 } from 'node:net';

export const privateNetworks4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '168.63.129.16/32',
] as const;

export const privateNetworks6 = [
  '::/127',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
] as const;

const list = new BlockList();
for (const network of privateNetworks4) add(network, 'ipv4');
for (const network of privateNetworks6) if (network !== '::ffff:0:0/96') add(network, 'ipv6');

function add(network: string, family: 'ipv4' | 'ipv6'): void {
  const [address = '', length] = network.split('/');
  list.addSubnet(address, Number(length), family);
}

/** `address`: IPv4, or IPv6 in any notation. IPv4 written as IPv6 (`::ffff:…`) counts as the IPv4 address. */
export function isPrivateAddress(address: string): boolean {
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
