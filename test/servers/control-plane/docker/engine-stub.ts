/**
 * The Engine API as Docker speaks it, over a socket of its own, without containers behind it: for what a real engine
 * can't be made to do on demand. It answers in Docker's statuses.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { temporaryFile } from '../../../support/temporary.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

interface Container {
  readonly id: string;
  readonly name: string;
  readonly spec: Json;
  status: 'created' | 'running' | 'exited';
}

interface Refusal {
  readonly status: number;
  readonly message: string;
  /** It was done nevertheless: by this request, or by an earlier one of the same words. */
  readonly isDone?: true;
}

export class EngineStub implements AsyncDisposable {
  readonly socketPath = temporaryFile('docker.sock');
  readonly containers = new Map<string, Container>();
  /** `METHOD path` of each request, with its query. */
  readonly requests: string[] = [];
  /** What it says of its machine. */
  info: Json = { NCPU: 8, MemTotal: 16 * 2 ** 30, DockerRootDir: '/' };
  /** Limits that this engine drops without a word. */
  readonly dropped = new Set<string>();
  readonly #refusals = new Map<string, Refusal[]>();
  readonly #networks = new Set<string>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(this.socketPath, resolve);
    });
    return this;
  }

  /** The next requests of this kind (`create`, `start`, `network`, `volume` …) are answered so. */
  refuse(kind: string, ...refusals: Refusal[]): void {
    this.#refusals.set(kind, refusals);
  }

  add(name: string, spec: Json): Container {
    const container: Container = { id: `id-of-${name}`, name, spec, status: 'created' };
    this.containers.set(container.id, container);
    return container;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://engine');
    this.requests.push(`${request.method} ${request.url}`);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body: Json = text.startsWith('{') ? JSON.parse(text) : undefined;
    const kind = kindOf(request.method ?? '', url.pathname);
    if (kind === 'events') return response.writeHead(200).flushHeaders();
    const refusal = this.#refusals.get(kind)?.shift();
    const done = !refusal || refusal.isDone ? this.#carryOut(kind, url, body) : undefined;
    const [status, answer] = refusal ? [refusal.status, { message: refusal.message }] : (done ?? [500]);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(answer === undefined ? '' : JSON.stringify(answer));
  }

  #carryOut(kind: string, url: URL, body: Json): [number, Json] {
    const [, , id = ''] = url.pathname.split('/');
    const container = this.containers.get(id);
    switch (kind) {
      case 'ping':
        return [200, undefined];
      case 'info':
        return [200, this.info];
      case 'list':
        return [200, [...this.containers.values()].filter((one) => matches(one, url)).map(listed)];
      case 'create':
        return [201, { Id: this.add(url.searchParams.get('name') ?? '', body).id, Warnings: [] }];
      case 'network':
        if (this.#networks.has(body.Name)) return [409, { message: 'network already exists' }];
        this.#networks.add(body.Name);
        return [201, { Id: body.Name }];
      case 'all volumes':
        return [200, { Volumes: [] }];
      case 'volume':
        return [201, { Name: body.Name }];
    }
    if (!container) return [404, { message: `no such container: ${id}` }];
    if (kind === 'start') container.status = 'running';
    if (kind === 'stop') container.status = 'exited';
    if (kind === 'remove') this.containers.delete(id);
    return kind === 'inspect' ? [200, this.#inspection(container)] : [204, undefined];
  }

  #inspection({ spec, status }: Container): Json {
    const limits = Object.entries(spec.HostConfig).map(([name, value]) => [
      name,
      this.dropped.has(name) ? 0 : value,
    ]);
    return {
      State: {
        Running: status === 'running',
        ExitCode: 0,
        StartedAt: status === 'created' ? '0001-01-01T00:00:00Z' : '2026-01-01T00:00:00Z',
      },
      HostConfig: Object.fromEntries(limits),
      NetworkSettings: { Ports: { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '32768' }] } },
    };
  }
}

function kindOf(method: string, path: string): string {
  const kinds: [string, RegExp][] = [
    ['ping', /^GET \/_ping/],
    ['info', /^GET \/info/],
    ['events', /^GET \/events/],
    ['list', /^GET \/containers\/json/],
    ['create', /^POST \/containers\/create/],
    ['inspect', /^GET \/containers\/[^/]+\/json/],
    ['start', /^POST \/containers\/[^/]+\/start/],
    ['stop', /^POST \/containers\/[^/]+\/stop/],
    ['remove', /^DELETE \/containers\//],
    ['network', /^POST \/networks\/create/],
    ['volume', /^POST \/volumes\/create/],
    ['all volumes', /^GET \/volumes$/],
  ];
  return kinds.find(([, form]) => form.test(`${method} ${path}`))?.[0] ?? 'other';
}

function matches({ spec }: Container, url: URL): boolean {
  const { label = [] }: { label?: string[] } = JSON.parse(url.searchParams.get('filters') ?? '{}');
  return label.every((pair) => {
    const [name = '', value] = pair.split('=');
    return name in spec.Labels && (value === undefined || spec.Labels[name] === value);
  });
}

function listed({ id, spec, status }: Container): Json {
  return { Id: id, Labels: spec.Labels, State: status };
}
