/** Which `Host` headers are those of this server. Pure. */
import { isIP } from 'node:net';
import { Denied } from './access.ts';

export interface HostRule {
  /** In lower case, without a port. */
  readonly names: ReadonlySet<string>;
  /** It listens everywhere: then any address will do, since only names can be rebound. */
  readonly anyAddress: boolean;
}

const loopbackNames = ['localhost', '127.0.0.1', '::1'];
const everywhere = new Set(['0.0.0.0', '::', '']);

/** Addresses that only this machine reaches. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** `given`: of `--page-host`. */
export function hostRule(listen: string, given: readonly string[]): HostRule {
  const own = listen.toLowerCase();
  const names = new Set(given.map((name) => name.toLowerCase()));
  if (everywhere.has(own)) return { names: new Set([...names, ...loopbackNames]), anyAddress: true };
  return {
    names: new Set([...names, own, ...(isLoopbackHost(own) ? loopbackNames : [])]),
    anyAddress: false,
  };
}

export function isOwnHost({ names, anyAddress }: HostRule, header: string | undefined): boolean {
  const host = hostIn(header);
  return host !== undefined && (names.has(host) || (anyAddress && isIP(host) !== 0));
}

/** Throws a `Denied`. */
export function checkHost(rule: HostRule, header: string | undefined): void {
  if (isOwnHost(rule, header)) return;
  throw new Denied(421, 'wrong_host', 'this server has another name; --page-host names it', 'host');
}

/** A `Host` that names this machine. */
export function isLoopbackHeader(header: string | undefined): boolean {
  return isLoopbackHost(hostIn(header) ?? '');
}

/** Without port, brackets and the dot at the end. */
function hostIn(header: string | undefined): string | undefined {
  const match = /^(?:\[(?<address>[0-9a-fA-F:.]+)\]|(?<name>[^:[\]\s/@]+))(?::\d{1,5})?$/.exec(header ?? '');
  const { address, name } = match?.groups ?? {};
  return (address ?? name)?.toLowerCase().replace(/\.$/, '');
}
