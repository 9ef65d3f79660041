/**
 * One message to a sink of a Notification: POST, no redirects followed, its answer neither kept nor shown. Whoever may write a Secret gives
 * the address, so an unintended host in the own network is not contacted (addresses.ts).
 *
 * | address                                   | by default | with `--notify-allow-private` | with `--notify-allow-loopback` |
 * |-------------------------------------------|------------|-------------------------------|--------------------------------|
 * | public, https                             | yes        | yes                           | yes                            |
 * | private (RFC 1918, RFC 6598, unique local), https | no | yes                           | no                             |
 * | this machine, https or http               | no         | no                            | yes                            |
 * | http to any other                         | no         | no                            | no                             |
 * | metadata services, link-local, unspecified, multicast, forms of IPv6 that stand for IPv4 | no | no | no           |
 *
 * A name is checked when it is resolved for a connection, and each message has a connection of its own. So a name that leads elsewhere later
 * is noticed.
 */
import { isIP } from 'node:net';
import { Agent, request, type Dispatcher } from 'undici';
import { parseRetryAfter, type Clock } from '../base/index.ts';
import {
  ForbiddenAddress,
  checkedLookup,
  forbiddenAddress,
  neverBeside,
  neverButLoopback,
  type AllowedRanges,
  type Lookup,
} from './addresses.ts';

/** What the person who starts the process allows. */
export type SinkTerms = AllowedRanges;

export interface SinkRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Nothing of an answer but its status, and after how long it wants to be asked again (`Retry-After`, between 1 s and 1 h). `failed`: no
 * complete head of an answer, or none at all.
 */
export type SinkReply =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterMs?: number }
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'failed'; readonly isTimeout: boolean };

export interface SinkTransport {
  /** Never rejects. */
  post(request: SinkRequest, signal: AbortSignal): Promise<SinkReply>;
  close(): Promise<void>;
}

export const sinkTimeoutMs = 10_000;
/** How much of the text of an answer, which is discarded, is awaited: some servers end their work when a connection ends. */
const textBytes = 64 * 1024;
const textMs = 1000;
const atOnce = 4;

/** Undefined: it may be asked, as far as its text shows. */
export function sinkProblem(url: string, terms: SinkTerms): string | undefined {
  if (!URL.canParse(url)) return 'it is not an address';
  const { protocol, username, password } = new URL(url);
  if (username || password) return 'it holds a user name or password';
  if (protocol === 'http:') {
    if (!terms.allowLoopback) return 'it is not https';
    return isOnThisMachine(url) ? undefined : 'it is http, and not of this machine';
  }
  if (protocol !== 'https:') return 'it is not https';
  return forbiddenAddress(url, neverBeside(terms)) === undefined ? undefined : 'its address is not public';
}

function isOnThisMachine(url: string): boolean {
  const { hostname } = new URL(url);
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  return isAddress ? forbiddenAddress(url, neverButLoopback) === undefined : hostname === 'localhost';
}

/** Also with names that the system resolves for the connection. */
export function createSinkTransport(clock: Clock, terms: SinkTerms, lookup?: Lookup): SinkTransport {
  const agents = new Map<string, Agent>();
  const agentFor = (protocol: string): Agent => {
    const known = agents.get(protocol);
    if (known) return known;
    const never = protocol === 'http:' ? neverButLoopback : neverBeside(terms);
    const connect = { lookup: checkedLookup(never, () => 'forbidden', lookup) };
    const made = new Agent({ connections: atOnce, pipelining: 0, maxResponseSize: textBytes, connect });
    agents.set(protocol, made);
    return made;
  };
  return {
    async post({ url, headers, body }, signal) {
      if (sinkProblem(url, terms) !== undefined) return { kind: 'forbidden' };
      const deadline = new AbortController();
      const timer = clock.after(sinkTimeoutMs, () => deadline.abort());
      try {
        const {
          statusCode,
          headers: head,
          body: text,
        } = await request(url, {
          method: 'POST',
          headers,
          body,
          reset: true,
          dispatcher: agentFor(new URL(url).protocol),
          signal: AbortSignal.any([signal, deadline.signal]),
        });
        // Its status counts, whether the rest arrives or not.
        await discarded(text, clock);
        const wanted = head['retry-after'];
        const retryAfterMs = parseRetryAfter(Array.isArray(wanted) ? wanted[0] : wanted, clock.wallMs());
        const answered = { kind: 'answered', status: statusCode } as const;
        return retryAfterMs === undefined ? answered : { ...answered, retryAfterMs };
      } catch (error) {
        if (error instanceof ForbiddenAddress) return { kind: 'forbidden' };
        return { kind: 'failed', isTimeout: deadline.signal.aborted };
      } finally {
        timer.cancel();
      }
    },
    close: async () => {
      await Promise.all(Array.from(agents.values(), (agent) => agent.destroy()));
    },
  };
}

/** Whoever sends a byte each second keeps no other message waiting. */
async function discarded(text: Dispatcher.ResponseData['body'], clock: Clock): Promise<void> {
  const late = clock.after(textMs, () => text.destroy());
  await text.dump({ limit: textBytes }).catch(() => undefined);
  late.cancel();
}
