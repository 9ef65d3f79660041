/**
 * One look at the endpoint of a service (`readiness` of a ContainerService): GET, no credentials, no redirects followed,
 * the body thrown away. The address comes from the API and the path from a document, so a host inside
 * of our own network that was never meant (cloud metadata, ourselves) is not asked: each address that the
 * name resolves to is checked, and the connection goes to a checked one.
 */
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import PQueue from 'p-queue';
import { Agent, request } from 'undici';
import { messageOf, type Clock } from '../base/index.ts';

export type ProbeResult = { readonly ready: true } | { readonly ready: false; readonly message: string };

export interface ProbeTarget {
  readonly url: string;
  readonly timeoutMs: number;
  /** Endpoints on this machine are meant, as those of a control plane that runs on it. */
  readonly loopback: boolean;
}

export interface EndpointProbe {
  /** Never rejects. Ready is an answer with 200 to 399 within `timeoutMs`. */
  look(target: ProbeTarget, signal: AbortSignal): Promise<ProbeResult>;
  close(): Promise<void>;
}

const probesAtOnce = 32;
const bodyBytes = 1024 * 1024;

export function createEndpointProbe(clock: Clock): EndpointProbe {
  const local = door(forbiddenAddresses(true));
  const remote = door(forbiddenAddresses(false));
  const queue = new PQueue({ concurrency: probesAtOnce });
  const look: EndpointProbe['look'] = async ({ url, timeoutMs, loopback }, signal) => {
    const { agent, forbidden } = loopback ? local : remote;
    const problem = addressProblem(url, forbidden);
    if (problem !== undefined) return { ready: false, message: problem };
    const deadline = new AbortController();
    const timer = clock.after(timeoutMs, () => deadline.abort());
    try {
      const response = await request(url, {
        dispatcher: agent,
        signal: AbortSignal.any([signal, deadline.signal]),
      });
      await response.body.dump();
      const { statusCode } = response;
      if (statusCode >= 200 && statusCode < 400) return { ready: true };
      return { ready: false, message: `${url} answers ${statusCode}` };
    } catch (error) {
      const reason = deadline.signal.aborted ? `no answer within ${timeoutMs / 1000} s` : messageOf(error);
      return { ready: false, message: `${url}: ${reason}` };
    } finally {
      timer.cancel();
    }
  };
  return {
    look: (target, signal) => queue.add(() => look(target, signal)),
    close: async () => {
      await Promise.all([local.agent.destroy(), remote.agent.destroy()]);
    },
  };
}

function door(forbidden: BlockList) {
  const connect = { lookup: checkedLookup(forbidden) };
  const agent = new Agent({ connections: 1, pipelining: 1, maxResponseSize: bodyBytes, connect });
  return { agent, forbidden };
}

/** Link-local (cloud metadata), unspecified, multicast, and this machine unless it is meant. */
function forbiddenAddresses(loopback: boolean): BlockList {
  const list = new BlockList();
  list.addSubnet('169.254.0.0', 16, 'ipv4');
  list.addSubnet('0.0.0.0', 8, 'ipv4');
  list.addSubnet('224.0.0.0', 3, 'ipv4');
  list.addSubnet('fe80::', 10, 'ipv6');
  list.addSubnet('ff00::', 8, 'ipv6');
  list.addAddress('::', 'ipv6');
  list.addAddress('fd00:ec2::254', 'ipv6');
  if (loopback) return list;
  list.addSubnet('127.0.0.0', 8, 'ipv4');
  list.addAddress('::1', 'ipv6');
  return list;
}

function addressProblem(url: string, forbidden: BlockList): string | undefined {
  if (!URL.canParse(url)) return 'the endpoint is not an address that can be asked';
  const { protocol, hostname, username, password } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return `the endpoint is not http or https: ${protocol}`;
  if (username || password) return 'the endpoint holds a user name or password, and is not asked';
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) && isForbidden(host, forbidden) ? notAsked(host) : undefined;
}

function isForbidden(address: string, forbidden: BlockList): boolean {
  return forbidden.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

function notAsked(address: string): string {
  return `the endpoint leads to ${address}, which is never asked`;
}

/** Resolves as the system does, and gives only addresses that may be asked. */
function checkedLookup(forbidden: BlockList): LookupFunction {
  return (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) return callback(error, '', undefined);
      const bad = found.find(({ address }) => isForbidden(address, forbidden));
      const [first] = found;
      if (bad || !first) return callback(new Error(notAsked(bad?.address ?? hostname)), '', undefined);
      if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}
