/**
 * One transport for each origin: accounts of one provider share its connections and TLS sessions. Each account's limiter
 * bounds its requests, and heartbeats have connections of their own (api/transport.ts).
 *
 *     open ──> shared by one, by several ── each closes its own share ──> the last one closes the transport
 *
 * A closed share sends nothing more, even if somebody still uses it. Its exchanges under way are finished first.
 *
 * Large answers are handed over in turns of the event loop, since those of all accounts may come at once. The wait counts as time of the
 * request, as does any other wait for this process. It holds its place at the limiter, and no closing waits for it.
 */
import {
  IdleConnections,
  createTransport,
  defaultTransportLimits,
  mostIdleConnections,
  type HttpReply,
  type Transport,
} from '../api/index.ts';
import { Turns, type Clock } from '../base/index.ts';
import { AccountClock } from './account-clock.ts';

/** Reading one takes a millisecond or more. */
const largeBytes = 32 * 1024;

interface Shared {
  readonly transport: Transport;
  users: number;
}

/** Makes the transports of all origins. Together they keep a bounded number of idle connections. */
export function transportsOfProcess(): (clock: Clock) => Transport {
  const idle = new IdleConnections(mostIdleConnections);
  return (clock) => createTransport(clock, defaultTransportLimits, idle);
}

export class SharedTransports {
  readonly #create: () => Transport;
  readonly #clock: Clock;
  readonly #turns: Turns;
  readonly #shared = new Map<string, Shared>();

  constructor(create: (clock: Clock) => Transport, clock: Clock) {
    this.#clock = clock;
    this.#create = () => create(clock);
    this.#turns = new Turns(clock);
  }

  /** `origin`: scheme, host and port. */
  open(origin: string): Transport & { readonly time: AccountClock } {
    const shared = this.#shared.get(origin) ?? { transport: this.#create(), users: 0 };
    this.#shared.set(origin, shared);
    shared.users += 1;
    const underWay = new Set<Promise<HttpReply>>();
    let closing: Promise<void> | undefined;
    const time = new AccountClock(this.#clock);
    const share = time.watch({
      exchange: async (request, signal) => {
        if (closing) return { kind: 'not-sent', reason: 'the account is no longer in use' };
        const exchange = shared.transport.exchange(request, signal);
        underWay.add(exchange);
        try {
          const reply = await exchange;
          if (isLarge(reply)) await this.#turns.next();
          return reply;
        } finally {
          underWay.delete(exchange);
        }
      },
      close: () => {
        closing ??= Promise.allSettled(underWay).then(() => this.#leave(origin, shared));
        return closing;
      },
    });
    return { ...share, time };
  }

  async #leave(origin: string, shared: Shared): Promise<void> {
    shared.users -= 1;
    if (shared.users > 0) return;
    if (this.#shared.get(origin) === shared) this.#shared.delete(origin);
    await shared.transport.close();
  }
}

function isLarge(reply: HttpReply): boolean {
  return reply.kind === 'reply' && reply.body.length > largeBytes;
}
