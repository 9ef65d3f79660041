/**
 * Bounds how many idle connections a process keeps open, whatever their origins are. A connection with which nothing is under way is idle.
 *
 *     busy ── nothing is under way any more ──> idle ── a request ──> busy
 *                                                └── too many are, and this one has been for longest ──> closed
 *
 * It is closed in the turn of the event loop in which it is found idle. So no request is lost with it: the next one opens another connection.
 */
import type { Socket } from 'node:net';
import { Agent, Client, Pool } from 'undici';

interface Connection {
  readonly client: Client;
  readonly socket: Socket;
}

export class IdleConnections {
  readonly #limit: number;
  /** Those that were idle when they were last checked. The one that has been idle for longest comes first. */
  readonly #idle = new Map<Client, Connection>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Its idle connections count here. */
  agent(options: Agent.Options): Agent {
    const openClient = (origin: URL, given: Client.Options) => this.#client(origin, given);
    const openPool = (origin: string | URL, given: Pool.Options) =>
      new Pool(origin, { ...given, factory: openClient });
    return new Agent({ ...options, factory: openPool });
  }

  /** It has one connection at a time. */
  #client(origin: URL, { connect, ...options }: Client.Options): Client {
    if (typeof connect !== 'function') throw new TypeError('a pool connects by a function');
    let socket: Socket | null = null;
    const client = new Client(origin, {
      ...options,
      connect: (to, done) =>
        connect(to, (...opened) => {
          [, socket] = opened;
          done(...opened);
        }),
    });
    // What waits in the pool is given to the client in the same turn. After that, it is known whether it is idle.
    client.on('drain', () =>
      queueMicrotask(() => {
        this.#idle.delete(client);
        if (socket) this.#idle.set(client, { client, socket });
        this.#closeMost();
      }),
    );
    return client;
  }

  #closeMost(): void {
    for (const [client, connection] of this.#idle) if (!isIdle(connection)) this.#idle.delete(client);
    for (const [client, { socket }] of this.#idle) {
      if (this.#idle.size <= this.#limit) return;
      this.#idle.delete(client);
      socket.destroy();
    }
  }
}

function isIdle({ client, socket }: Connection): boolean {
  return !socket.destroyed && client.stats.size === 0;
}
