/**
 * Where tests of fleets run. The project says it (vitest.config.ts, FLEETKEEPER_TEST_WORLD): in real
 * processes, on real sockets and clocks (processes/real-world.ts), or all in one process, on a simulated
 * clock and network (simulated/world.ts).
 */

import type { Clock } from '../../src/base/index.ts';
import type { ControlPlaneConfig } from '../../src/control-plane/domain/config.ts';
import type { Store } from '../../src/control-plane/store/store.ts';
import type { KubernetesApi } from '../../src/kubernetes/index.ts';
import type { KubernetesServer } from './kubernetes/server.ts';
import type { Terminal } from './terminal.ts';

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line at work. Ends with the test. */
export interface Program {
  readonly pid: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly running: boolean;
  /** In a simulated world, of a program whose environment has COLUMNS and LINES. */
  readonly terminal?: Terminal | undefined;
  /** By us, so that it could leave nothing in order. */
  readonly killed: boolean;
  /** The first line of stdout that matches. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  finished(): Promise<Finished>;
  kill(signal: NodeJS.Signals): Promise<Finished>;
}

export interface PlaneSettings {
  /** 0 picks a free one. */
  readonly port: number;
  readonly database: string;
  /** YAML. */
  readonly accounts: string;
  /** YAML; undefined: the configuration that is built in. */
  readonly config?: string | undefined;
  readonly timeScale: number;
}

export interface RunningPlane {
  readonly url: string;
  readonly adminUrl: string;
  close(): Promise<void>;
  /** As kill -9 does. Only a simulated one shares no process with the test. */
  crash?(): void;
  /** Of a simulated one. */
  readonly inside?: { readonly store: Store; readonly config: ControlPlaneConfig };
}

export interface World {
  /** Of the wall clock. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
  /** Before a question is asked again. */
  pause(ms: number): Promise<void>;
  /** As the test. */
  fetch(url: string, init?: RequestInit): Promise<Response>;
  /** Where temporary folders are made. */
  readonly temporary: string;
  launch(args: readonly string[], environment: Readonly<Record<string, string>>): Program;
  startPlane(settings: PlaneSettings): Promise<RunningPlane>;
  /** As the test. */
  connectCluster(kubeconfig: string): Promise<KubernetesApi>;
  /** Only in a simulated one. */
  readonly network?: SimulatedWays;
}

type SimulatedHost = (request: {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}) => Promise<
  | { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }
  | undefined
>;

/** Requests among the servers of a simulated world, for which the test is not waiting by itself. */
export interface SimulatedWays {
  /** Gives the address at which `host` answers. */
  open(this: void, host: SimulatedHost): string;
  /** `host` answers at the endpoints of all services. */
  openEndpoints(this: void, host: SimulatedHost): void;
  fetch(this: void, url: string, init?: RequestInit): Promise<Response>;
  /** The wall clocks of all processes, but not those of the test and of control planes. */
  putClocks(this: void, aheadMs: number): void;
  openCluster(
    create: (options: {
      readonly port: number;
      readonly clock: Clock;
      readonly uid: () => string;
    }) => KubernetesServer,
  ): KubernetesServer;
}

export const isSimulated = process.env['FLEETKEEPER_TEST_WORLD'] === 'simulated';

/** So many services show what holds for any number of them. */
export const manyServices = isSimulated ? 100 : 1000;

/** That of the test which runs. */
export const world: World = isSimulated
  ? (await import('./simulated/world.ts')).simulatedWorld
  : (await import('./processes/real-world.ts')).realWorld;
