/**
 * The ways out of a process, as far as they are not in `Context`: network, file system events, the log,
 * the state file. A port that is not given is the real one, which each command loads only when it needs
 * it.
 */
import type { EndpointProbe, SinkTerms, SinkTransport, Transport, TransportLimits } from '../api/index.ts';
import type { Clock } from '../base/index.ts';
import type { WatchFolder } from '../desired/index.ts';
import type { createHealthServer } from '../http/index.ts';
import type { ConnectOptions } from '../kubernetes/connect.ts';
import type { giveSigns, lockState, openState } from '../state/index.ts';

export type HealthServer = ReturnType<typeof createHealthServer>;

export interface ListenAddress {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
}

export interface Ports {
  readonly network?: {
    readonly createTransport: (clock: Clock, limits?: TransportLimits) => Transport;
    readonly createEndpointProbe: (clock: Clock) => EndpointProbe;
    /** To sinks of Notifications. */
    readonly createSinkTransport: (clock: Clock, terms: SinkTerms) => SinkTransport;
    /** To clusters. */
    readonly dispatcher: NonNullable<ConnectOptions['dispatcher']>;
  };
  readonly watchFolder?: WatchFolder;
  /** Resolves with the address at which the server answers. */
  readonly listen?: (server: HealthServer, address: ListenAddress) => Promise<string>;
  readonly log?: { write(line: string): void };
  /** What the operating system takes back when the process is killed. */
  readonly stateFiles?: {
    readonly lockState: typeof lockState;
    readonly openState: typeof openState;
    readonly giveSigns: typeof giveSigns;
  };
}
