/**
 * Addresses that are never connected to, because whoever names one wants access from this process's place in the
 * network, and not a control API or a service: the metadata services of clouds, link-local, unspecified and multicast
 * addresses, and forms of IPv6 that stand for them. Anybody who may write into one namespace may write an Account,
 * and the API names the endpoint of a service.
 *
 * An address in the text of a URL is checked directly. A name is checked when it is resolved for a connection, which
 * then uses the checked address. IPv4 written as IPv6 (`::ffff:…`) is matched by the rules for IPv4.
 */
import { lookup as systemLookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';

/** Not for anybody. */
export const neverConnected = addresses({ loopback: true });
/** The same, and not this machine either. */
export const neverConnectedFromOutside = addresses({ loopback: false });

function addresses({ loopback }: { readonly loopback: boolean }): BlockList {
  const list = new BlockList();
  list.addSubnet('0.0.0.0', 8, 'ipv4');
  list.addSubnet('169.254.0.0', 16, 'ipv4');
  list.addSubnet('224.0.0.0', 3, 'ipv4');
  list.addAddress('::', 'ipv6');
  list.addSubnet('fe80::', 10, 'ipv6');
  list.addSubnet('ff00::', 8, 'ipv6');
  // IPv4 within IPv6, as 6to4 and NAT64 have it: the address that it leads to would not be seen.
  list.addSubnet('2002::', 16, 'ipv6');
  list.addSubnet('64:ff9b::', 96, 'ipv6');
  list.addSubnet('64:ff9b:1::', 48, 'ipv6');
  // Metadata services that are not link-local: Alibaba, Azure, Oracle; Amazon and Google by IPv6.
  list.addAddress('100.100.100.200', 'ipv4');
  list.addAddress('168.63.129.16', 'ipv4');
  list.addAddress('192.0.0.192', 'ipv4');
  list.addAddress('fd00:ec2::254', 'ipv6');
  list.addAddress('fd20:ce::254', 'ipv6');
  if (loopback) return list;
  list.addSubnet('127.0.0.0', 8, 'ipv4');
  list.addAddress('::1', 'ipv6');
  return list;
}

/** What is never connected to. */
export interface Never {
  check(address: string, family: 'ipv4' | 'ipv6'): boolean;
}

const loopback = listOf('127.0.0.0/8', '::1/128');
/** RFC 1918, RFC 6598, unique local, site-local; for protocols and benchmarks. */
const privateRanges = listOf(
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '192.0.0.0/24',
  '198.18.0.0/15',
  'fc00::/7',
  'fec0::/10',
);

function listOf(...subnets: string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address = '', bits] = subnet.split('/');
    list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** What a person allows beside public addresses. */
export interface AllowedRanges {
  readonly allowLoopback: boolean;
  readonly allowPrivate: boolean;
}

/** All but public addresses and what is allowed. */
export function neverBeside({ allowLoopback, allowPrivate }: AllowedRanges): Never {
  const lists = [
    neverConnected,
    ...(allowLoopback ? [] : [loopback]),
    ...(allowPrivate ? [] : [privateRanges]),
  ];
  return {
    check: (address, family) => lists.some((list) => list.check(address, family)),
  };
}

/** All but this machine. */
export const neverButLoopback: Never = {
  check: (address, family) => !loopback.check(address, family),
};

/** The address in the URL `url`, if it has one in the place of a name and it is among `never`. */
export function forbiddenAddress(url: string, never: Never): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && isForbidden(host, never) ? host : undefined;
}

function isForbidden(address: string, never: Never): boolean {
  return never.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** The system's resolver, or that of a test. */
export type Lookup = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/** A name leads to an address that is never connected to. */
export class ForbiddenAddress extends Error {}

/** Resolves as the system does, and fails with `refusal` when one of the addresses is among `never`. */
export function checkedLookup(
  never: Never,
  refusal: (address: string) => string,
  lookup: Lookup = systemLookup,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '', undefined);
      const bad = found.find(({ address }) => isForbidden(address, never));
      const [first] = found;
      if (bad || !first)
        return callback(new ForbiddenAddress(refusal(bad?.address ?? hostname)), '', undefined);
      if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}
