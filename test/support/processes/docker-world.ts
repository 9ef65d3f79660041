/** Control planes with real containers, on a podman of their own. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, onTestFinished } from 'vitest';
import { ControlPlaneProcess } from './control-plane.ts';
import { fixtureImage, Podman, whatPodmanNeeds } from './podman.ts';
import { eventually, temporaryFolder } from './processes.ts';
import { Registry } from './registry.ts';

/** Whatever the API answers. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export const keys = { acme: 'key-of-acme-0123456789', bob: 'key-of-bob-0123456789' };
const accounts = `accounts:
- {name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${keys.acme}]}
- {name: bob, email: b@b.example, balanceMicros: 1000000000, apiKeys: [${keys.bob}]}
`;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: Json;
}

export interface Engine {
  readonly podman: Podman;
  readonly registry: Registry;
}

/** Whether no container can be run here. That is said loudly, and fails where containers are required. */
export const isWithoutContainers = await findOut();

async function findOut(): Promise<boolean> {
  const need = await whatPodmanNeeds();
  if (need === undefined) return false;
  if (process.env['FLEETKEEPER_REQUIRE_PODMAN'] === '1') throw new Error(`containers are required: ${need}`);
  process.stderr.write(`\n*** SKIPPED: no test runs a real container here: ${need} ***\n`);
  return true;
}

/**
 * A podman and a registry for all tests of a `describe`; after each test nothing is left of its containers. Only one file may use it: its end
 * takes away the rules of every control plane on this machine, and the egress tests empty the firewall.
 */
export function useEngine(): () => Engine {
  let engine: Engine;
  beforeAll(async () => {
    const registry = new Registry();
    const podman = new Podman(await registry.listen());
    engine = { podman, registry };
    await podman.start();
    await podman.importFixture();
  });
  afterEach(async () => {
    await engine.podman.run('rm', '--all', '--force', '--time', '0');
    await engine.podman.run('volume', 'prune', '--force');
    await engine.podman.run('network', 'prune', '--force');
  });
  afterAll(async () => {
    await engine.podman[Symbol.asyncDispose]();
    forgetEgressRules();
    await engine.registry[Symbol.asyncDispose]();
  });
  return () => engine;
}

/** They outlive their control planes on purpose. */
function forgetEgressRules(): void {
  const env = { PATH: `${process.env['PATH']}:/usr/sbin:/sbin` };
  const script =
    'for f in iptables ip6tables; do $f-save -t mangle | grep -v FLEETKEEPER- | $f-restore; done';
  execFileSync('sh', ['-euc', script], { env });
}

export const web = {
  name: 'web',
  region: 'standard',
  image: fixtureImage,
  resources: { gpuCount: 0, cpu: 0.5, memoryGb: 0.0625 },
  httpPort: 8080,
};

/** A service that stays and does nothing; its command ends when it is told to. */
export const idler = {
  ...web,
  name: 'idler',
  httpPort: undefined,
  command: ['sh', '-c', 'trap "exit 0" TERM; echo idling; sleep 1000 & wait'],
};

/** The machine that runs the tests may be smaller than what they declare together. */
export const unbounded = '{cpu: null, memoryGb: null, storageGb: null}';

export class World {
  readonly podman: Podman;
  readonly plane: ControlPlaneProcess;

  private constructor(podman: Podman, plane: ControlPlaneProcess) {
    this.podman = podman;
    this.plane = plane;
  }

  static async start(
    { podman, registry }: Engine,
    { timeScale = 1, config = '', egress = 'enforce', capacity = unbounded } = {},
  ): Promise<World> {
    const file = join(await temporaryFolder(), 'config.yaml');
    const containers = `{registries: ['${registry.host}'], capacity: ${capacity}${config}}`;
    await writeFile(file, `browserEnabled: true\ncontainers: ${containers}\n`);
    const more = [
      '--runtime',
      'docker',
      '--docker-socket',
      podman.socket,
      '--config',
      file,
      '--egress',
      egress,
    ];
    const plane = new ControlPlaneProcess(await temporaryFolder(), { timeScale, accounts }, more);
    await plane.start();
    return new World(podman, plane);
  }

  /** As kill -9 and a new start. */
  async crash(): Promise<void> {
    await this.plane.kill();
    await this.plane.start();
  }

  async call(method: string, path: string, body?: unknown, key = keys.acme): Promise<Answer> {
    const response = await fetch(`${this.plane.url}/api${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(method !== 'GET' && { 'idempotency-key': randomUUID() }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, text, body: isJson ? JSON.parse(text) : undefined };
  }

  async ok(method: string, path: string, body?: unknown, key?: string): Promise<Json> {
    const answer = await this.call(method, path, body, key);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  create(spec: object = {}, key?: string): Promise<Json> {
    return this.ok('POST', '/services', { ...web, ...spec }, key);
  }

  async running(spec: object = {}, key?: string): Promise<Json> {
    return this.until((await this.create(spec, key)).id, 'running', key);
  }

  act(id: string, action: string, resources?: object): Promise<Json> {
    return this.ok('POST', `/services/${id}/actions`, { action, ...(resources && { resources }) });
  }

  /** Waits until the service has that state, and nothing is under way. */
  async until(id: string, state: string, key?: string): Promise<Json> {
    let last: Json;
    return eventually(`service ${state}`, async () => {
      last = (await this.ok('GET', `/services/${id}`, undefined, key)).service;
      return last.state === state && last.operation === null && last;
    }).catch((error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify(last)}`);
    });
  }

  async untilGone(path: string): Promise<void> {
    await eventually(`${path} gone`, async () => (await this.call('GET', path)).status === 404);
  }

  /** Runs a command in a service. */
  exec(id: string, command: readonly string[], more: object = {}): Promise<Json> {
    return this.ok('POST', `/services/${id}/exec`, { command, ...more });
  }

  async logs(id: string): Promise<string> {
    return (await this.call('GET', `/services/${id}/logs`)).text;
  }

  /** The messages, oldest first. */
  async events(id: string): Promise<string[]> {
    const { events } = await this.ok('GET', `/services/${id}/events`);
    return events.map(({ message }: Json) => message).toReversed();
  }

  /** What is at the engine, of whoever: `{containers, volumes, networks}` by their names. */
  async atTheEngine(): Promise<{ containers: string[]; volumes: string[]; networks: string[] }> {
    const networks = await this.podman.lines('network', 'ls', '--format', '{{.Name}}');
    return {
      containers: await this.podman.lines('ps', '--all', '--format', '{{.Names}}'),
      volumes: await this.podman.lines('volume', 'ls', '--format', '{{.Name}}'),
      networks: networks.filter((name) => name !== 'podman'),
    };
  }
}

/** What the web server of a service answers. */
export async function page({ endpoint }: { endpoint: string }): Promise<string> {
  return eventually(`an answer of ${endpoint}`, async () => {
    try {
      const response = await fetch(endpoint);
      return response.ok && (await response.text());
    } catch {
      return false;
    }
  });
}

export const nothing = { containers: [], volumes: [], networks: [] };

/** Stops the engine until the end of the test at the latest. */
export async function withoutEngine(podman: Podman, during: () => Promise<void>): Promise<void> {
  await podman.stop();
  onTestFinished(() => podman.start());
  await during();
  await podman.start();
}
