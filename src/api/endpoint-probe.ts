/**
 * One probe of the endpoint of a service (`readiness` of a ContainerService, `analysis` of a ServiceFleet): GET, no credentials, no
 * redirects followed, the body discarded unless a text is expected in it. The address comes from the API and the path from a document. So an unintended host in
 * the own network (cloud metadata, this process) is not contacted (addresses.ts).
 */
import type { BlockList } from 'node:net';
import { Agent, request, type Dispatcher } from 'undici';
import { messageOf, type Clock } from '../base/index.ts';
import {
  ForbiddenAddress,
  checkedLookup,
  forbiddenAddress,
  neverConnected,
  neverConnectedFromOutside,
} from './addresses.ts';
import { SharedTurns } from './shared-turns.ts';

export type ProbeResult =
  | { readonly ready: true }
  | {
      readonly ready: false;
      readonly message: string;
      /** The address is none that is ever asked, so nothing is known of the service. */
      readonly isUnasked?: true;
    };

export interface Expectation {
  /** The lowest and the highest status. */
  readonly from: number;
  readonly to: number;
  /** In the first MiB of the answer. */
  readonly contains?: string | undefined;
}

export interface ProbeTarget {
  readonly url: string;
  readonly timeoutMs: number;
  /** Endpoints on this machine are meant, as those of a control plane that runs on it. */
  readonly loopback: boolean;
  /** Default: 200 to 399. */
  readonly expects?: Expectation;
  /** In whose turn it is probed. */
  readonly namespace: string;
  /** Nothing is known of it yet, so it is probed before others of the namespace. */
  readonly isFirst?: boolean;
}

export interface EndpointProbe {
  /** Never rejects. Ready is an answer as expected within `timeoutMs`, which begins when it is its turn. */
  probe(target: ProbeTarget, signal: AbortSignal): Promise<ProbeResult>;
  close(): Promise<void>;
}

/** A service that never answers has a place for as long as its owner has written. */
const probesAtOnce = { inOne: 32, inAll: 256 };
const bodyBytes = 1024 * 1024;
const anyGood: Expectation = { from: 200, to: 399 };

export function createEndpointProbe(clock: Clock): EndpointProbe {
  const local = agentFor(neverConnected);
  const remote = agentFor(neverConnectedFromOutside);
  const turns = new SharedTurns(probesAtOnce);
  const probe: EndpointProbe['probe'] = async ({ url, timeoutMs, loopback, expects = anyGood }, signal) => {
    const { agent, forbidden } = loopback ? local : remote;
    const problem = addressProblem(url, forbidden);
    if (problem !== undefined) return { ready: false, message: problem, isUnasked: true };
    const deadline = new AbortController();
    const timer = clock.after(timeoutMs, () => deadline.abort());
    try {
      const response = await request(url, {
        dispatcher: agent,
        signal: AbortSignal.any([signal, deadline.signal]),
      });
      const other = await unexpected(response, expects);
      return other === undefined ? { ready: true } : { ready: false, message: `${url} ${other}` };
    } catch (error) {
      if (error instanceof ForbiddenAddress)
        return { ready: false, message: `${url}: ${error.message}`, isUnasked: true };
      const reason = deadline.signal.aborted ? `no answer within ${timeoutMs / 1000} s` : messageOf(error);
      return { ready: false, message: `${url}: ${reason}` };
    } finally {
      timer.cancel();
    }
  };
  return {
    probe: (target, signal) =>
      turns.run(target.namespace, () => probe(target, signal), target.isFirst ? 1 : 0),
    close: async () => {
      await Promise.all([local.agent.destroy(), remote.agent.destroy()]);
    },
  };
}

async function unexpected(
  { body, statusCode }: Pick<Dispatcher.ResponseData, 'body' | 'statusCode'>,
  { from, to, contains }: Expectation,
): Promise<string | undefined> {
  const isExpected = statusCode >= from && statusCode <= to;
  if (!isExpected || contains === undefined) await body.dump();
  if (!isExpected) return `answers ${statusCode}`;
  if (contains === undefined || (await body.text()).includes(contains)) return undefined;
  return `answers ${statusCode}, without the text that is expected`;
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
