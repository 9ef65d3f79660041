/**
 * All that a test of fleets needs, in one process, on a simulated clock and network. Each test has a
 * world of its own.
 */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { onTestFinished } from 'vitest';
import { commandGroups } from '../../../src/cli/commands.ts';
import { connect } from '../../../src/kubernetes/connect.ts';
import type { KubernetesApi } from '../../../src/kubernetes/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { stream } from '../../simulation/random-port.ts';
import { Life } from '../../simulation/scheduler.ts';
import type { World } from '../world.ts';
import { SimulatedFolders } from './folders.ts';
import { SimulatedNetwork } from './network.ts';
import { startPlane } from './plane.ts';
import { SimulatedProgram } from './program.ts';
import { SimulatedTime } from './time.ts';

// What commands load when they are called is there already: loading takes turns of the event loop that
// depend on the machine.
await Promise.all([
  ...Object.values(commandGroups)
    .flat()
    .map(({ load }) => load()),
  import('../../../src/cli/commands/run-operator.ts'),
  import('../../../src/cli/fleet-access.ts'),
  import('log-update'),
  import('../../../src/kubernetes/kubeconfig.ts'),
]);

const epochMs = Date.UTC(2026, 0, 5, 8);
const seed = 1;
const firstPid = 4001;

class SimulatedWorld {
  readonly time = new SimulatedTime(stream(seed, 'order'), epochMs);
  readonly network = new SimulatedNetwork(this.time);
  readonly folders = new SimulatedFolders();
  /** Of the test. */
  readonly clock = new Life(this.time.scheduler, () => this.time.wallMs, 0).clock;
  #processes = 0;

  constructor() {
    this.time.onMoving = () => this.folders.compare();
  }

  launch(args: readonly string[], environment: Readonly<Record<string, string>>): SimulatedProgram {
    const { time, network, folders } = this;
    this.#processes += 1;
    const pid = firstPid + this.#processes;
    const parts = { time, network, folders, pid };
    const program = new SimulatedProgram(args, environment, parts);
    onTestFinished(async () => {
      await program.kill('SIGKILL');
    });
    return program;
  }
}

/** As the test asks it: time passes until the answer is there. */
function driven(api: KubernetesApi, time: SimulatedTime): KubernetesApi {
  return new Proxy(api, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function' || name === 'watch') return member;
      return (...given: unknown[]) => time.drive(member.apply(target, given) as Promise<unknown>);
    },
  });
}

let current: SimulatedWorld | undefined;

/** Made when the test first asks for something of it. */
function here(): SimulatedWorld {
  if (current) return current;
  const made = new SimulatedWorld();
  current = made;
  onTestFinished(() => {
    made.time.end();
    current = undefined;
  });
  return made;
}

export const simulatedWorld: World = {
  nowMs: () => here().time.wallMs,
  sleep: (ms) => here().time.sleep(ms),
  pause: (ms) => here().time.pause(ms),
  fetch: (url, init) => here().time.drive(here().network.fetch(url, init)),
  // In memory, where there is such a folder.
  temporary: existsSync('/dev/shm') ? '/dev/shm' : tmpdir(),
  launch: (args, environment) => here().launch(args, environment),
  connectCluster: async (kubeconfig) => {
    const { time, network, clock } = here();
    const dispatcher = network.dispatcher((delayMs, run) => clock.after(delayMs, run));
    const options = { kubeconfig, environment: {}, clock, metrics: createMetrics(), dispatcher };
    return driven(await connect(options), time);
  },
  startPlane: (settings) => startPlane(settings, here().time, here().network, seed),
  network: {
    open: (host) => here().network.open(host),
    openEndpoints: (host) => here().network.openEndpoints(host),
    fetch: (url, init) => here().network.fetch(url, init),
    putClocks: (aheadMs) => {
      here().time.aheadMs = aheadMs;
    },
    openCluster: (create) => {
      const { network, clock } = here();
      const random = stream(seed, 'cluster');
      const server = create({ port: network.freePort(), clock, uid: () => random.uuid() });
      network.openCluster(server.url, server);
      return server;
    },
  },
};
