/**
 * One probe of the endpoint of a service (`readiness` of a ContainerService): GET, no credentials, no redirects
 * followed, the body discarded. The address comes from the API and the path from a document. So an unintended host in
 * the own network (cloud metadata, this process) is not contacted (addresses.ts).
 */
import type { BlockList } from 'node:net';
import PQueue from 'p-queue';
import { Agent, request } from 'undici';
import { messageOf, type Clock } from '../base/index.ts';
import { checkedLookup, forbiddenAddress, neverConnected, neverConnectedFromOutside } from './addresses.ts';

export type ProbeResult = { readonly ready: true } | { readonly ready: false; readonly message: string };

export interface ProbeTarget {
  readonly url: string;
  readonly timeoutMs: number;
  /** Endpoints on this machine are meant, as those of a control plane that runs on it. */
  readonly loopback: boolean;
}

export interface EndpointProbe {
  /** Never rejects. Ready is an answer with 200 to 399 within `timeoutMs`. */
  probe(target: ProbeTarget, signal: AbortSignal): Promise<ProbeResult>;
  close(): Promise<void>;
}

const probesAtOnce = 32;
const bodyBytes = 1024 * 1024;

export function createEndpointProbe(clock: Clock): EndpointProbe {
  const local = agentFor(neverConnected);
  const remote = agentFor(neverConnectedFromOutside);
  const queue = new PQueue({ concurrency: probesAtOnce });
  const probe: EndpointProbe['probe'] = async ({ url, timeoutMs, loopback }, signal) => {
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
    probe: (target, signal) => queue.add(() => probe(target, signal)),
    close: async () => {
      await Promise.all([local.agent.destroy(), remote.agent.destroy()]);
    },
  };
}

function agentFor(forbidden: BlockList) {
  const connect = { lookup: checkedLookup(forbidden, notAsked) };
  const agent = new Agent({ connections: 1, pipelining: 1, maxResponseSize: bodyBytes, connect });
  return { agent, forbidden };
}

function addressProblem(url: string, forbidden: BlockList): string | undefined {
  if (!URL.canParse(url)) return 'the endpoint is not an address that can be asked';
  const { protocol, username, password } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return `the endpoint is not http or https: ${protocol}`;
  if (username || password) return 'the endpoint holds a user name or password, and is not asked';
  const address = forbiddenAddress(url, forbidden);
  return address === undefined ? undefined : notAsked(address);
}

function notAsked(address: string): string {
  return `the endpoint leads to ${address}, which is never asked`;
}
