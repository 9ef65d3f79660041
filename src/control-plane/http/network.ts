import { isIPv6 } from 'node:net';

/** Whom an address belongs to, about: an IPv4 address, or the 64 bits of an IPv6 address that are handed out together. */
export function networkOf(address: string | undefined): string {
  if (address === undefined || !isIPv6(address)) return address ?? 'unknown';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? [];
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - after.length;
  const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...after];
  return `${all
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}
