/**
 * What containers may reach, as rules for the firewall of the engine's machine. Pure: it only makes the text.
 *
 * Containers of tenants stand on bridges whose names begin with a prefix of this installation. What comes in by such
 * a bridge passes two chains of the `mangle` table, which neither Docker, podman nor most firewall managers change:
 *
 * | a packet from a container                                   | is                                        |
 * |--------------------------------------------------------------|-------------------------------------------|
 * | of a connection that somebody opened to the container       | let through                               |
 * | to another container on the same bridge                     | let through                               |
 * | to this machine: port 53 (the engine's name server)         | let through                               |
 * | to this machine: anything else, whichever address it uses   | dropped                                   |
 * | to a name server of this machine, port 53                   | let through                               |
 * | to a destination that the operator allows                   | let through                               |
 * | to a destination that the operator denies                   | dropped                                   |
 * | to a private, link-local, shared, multicast or test address | dropped: metadata services, other accounts' containers, the operator's network |
 * | to the internet                                             | let through                               |
 *
 * `let through` means that the engine's own rules decide next.
 */
import { createHash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { privateNetworks4, privateNetworks6 } from '../../containers/private-networks.ts';

/** A destination as `ADDRESS` or `ADDRESS/LENGTH`; without a port: all of them. */
export interface Destination {
  readonly to: string;
  readonly port?: number | undefined;
}

export interface EgressPolicy {
  readonly allow: readonly Destination[];
  readonly deny: readonly Destination[];
  /** Addresses of the name servers that this machine asks. */
  readonly nameServers: readonly string[];
}

/** For one of the two families of addresses. */
export interface EgressRules {
  readonly program: 'iptables' | 'ip6tables';
  /** For `PROGRAM-restore --noflush`: both chains, whole. */
  readonly chains: string;
  /** The rules that lead into them, each as arguments after `-t mangle -A`. */
  readonly jumps: readonly (readonly string[])[];
}

/** The names of interfaces have at most 15 characters. */
const installationDigits = 6;
const accountDigits = 8;

/** What the names of all bridges of an installation begin with. */
export function bridgePrefix(installation: string): string {
  return `f${digits(installation, installationDigits)}`;
}

export function bridgeName(installation: string, accountId: string): string {
  return `${bridgePrefix(installation)}${digits(accountId, accountDigits)}`;
}

function digits(text: string, count: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, count);
}

export function egressRules(installation: string, policy: EgressPolicy): EgressRules[] {
  const prefix = bridgePrefix(installation);
  const chains = { forward: `FLEETKEEPER-${prefix}-FWD`, host: `FLEETKEEPER-${prefix}-HOST` };
  const jumps = [
    ['FORWARD', '-i', `${prefix}+`, '-j', chains.forward],
    ['INPUT', '-i', `${prefix}+`, '-j', chains.host],
  ];
  const families = [
    { program: 'iptables' as const, is: isIPv4, denied: privateNetworks4, neighbours: [] },
    // Without the discovery of neighbours there is no IPv6 at all.
    {
      program: 'ip6tables' as const,
      is: isIPv6,
      denied: privateNetworks6,
      neighbours: [135, 136].map((type) => `-p ipv6-icmp -m icmp6 --icmpv6-type ${type} -j RETURN`),
    },
  ];
  return families.map(({ program, is, denied, neighbours }) => {
    const own = ({ to }: Destination) => is(to.split('/', 1)[0] ?? '');
    const forward = [
      '-m physdev --physdev-is-bridged -j RETURN',
      answers,
      ...policy.nameServers.filter(is).flatMap((to) => ruleFor({ to, port: 53 }, 'RETURN')),
      ...policy.allow.filter(own).flatMap((one) => ruleFor(one, 'RETURN')),
      ...policy.deny.filter(own).flatMap((one) => ruleFor(one, 'DROP')),
      ...denied.flatMap((to) => ruleFor({ to }, 'DROP')),
    ];
    const host = [answers, ...neighbours, ...ruleFor({ port: 53 }, 'RETURN'), '-j DROP'];
    return { program, jumps, chains: restoreText({ [chains.forward]: forward, [chains.host]: host }) };
  });
}

const answers = '-m conntrack --ctstate RELATED,ESTABLISHED -j RETURN';

function ruleFor({ to, port }: Partial<Destination>, verdict: 'RETURN' | 'DROP'): string[] {
  const destination = to === undefined ? [] : [`-d ${to}`];
  const protocols =
    port === undefined ? [[]] : ['tcp', 'udp'].map((name) => [`-p ${name} -m ${name} --dport ${port}`]);
  return protocols.map((protocol) => [...destination, ...protocol, `-j ${verdict}`].join(' '));
}

function restoreText(chains: Readonly<Record<string, readonly string[]>>): string {
  const names = Object.keys(chains);
  const rules = names.flatMap((name) => (chains[name] ?? []).map((rule) => `-A ${name} ${rule}`));
  return ['*mangle', ...names.map((name) => `:${name} - [0:0]`), ...rules, 'COMMIT', ''].join('\n');
}
