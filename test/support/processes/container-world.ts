/** Control planes with real containers, wherever these run: what tests ask of them. */
import { randomUUID } from 'node:crypto';
import type { ControlPlaneProcess } from './control-plane.ts';
import { fixtureImage } from './podman.ts';
import { eventually } from './processes.ts';

/** Whatever the API answers. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export const keys = { acme: 'key-of-acme-0123456789', bob: 'key-of-bob-0123456789' };
export const accounts = `accounts:
- {name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${keys.acme}]}
- {name: bob, email: b@b.example, balanceMicros: 1000000000, apiKeys: [${keys.bob}]}
`;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: Json;
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

/** What runs containers, as somebody sees it who looks there. */
export interface Site {
  /** Names of what there is, of whoever; `networks`: what separates accounts. */
  objects(): Promise<{ containers: string[]; volumes: string[]; networks: string[] }>;
  networkOf(accountId: string): unknown;
  readonly endpoint: RegExp;
  /** Whether the container of a stopped service stays until its next launch. */
  readonly keepsStopped: boolean;
  /** After a kill -9 of the control plane, its successor does nothing for so long. */
  readonly takeoverMs: number;
}

export class ContainerWorld {
  readonly plane: ControlPlaneProcess;
  readonly site: Site;

  constructor(plane: ControlPlaneProcess, site: Site) {
    this.plane = plane;
    this.site = site;
  }

  /** Of what a control plane does, also of one that was killed a moment ago. */
  get #longestMs(): number {
    return 30_000 + this.site.takeoverMs;
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
  async until(id: string, state: string, key?: string, timeoutMs = this.#longestMs): Promise<Json> {
    let last: Json;
    const isReached = async () => {
      last = (await this.ok('GET', `/services/${id}`, undefined, key)).service;
      return last.state === state && last.operation === null && last;
    };
    return eventually(`service ${state}`, isReached, timeoutMs).catch((error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify(last)}`);
    });
  }

  async untilGone(path: string): Promise<void> {
    const isGone = async () => (await this.call('GET', path)).status === 404;
    await eventually(`${path} gone`, isGone, this.#longestMs);
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

  atTheEngine(): ReturnType<Site['objects']> {
    return this.site.objects();
  }

  async accountId(): Promise<string> {
    return (await this.ok('GET', '/me')).id;
  }
}

export type Start = (options?: { readonly timeScale?: number }) => Promise<ContainerWorld>;

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
