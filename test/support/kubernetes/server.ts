/**
 * A Kubernetes API server in this process: for tests, and to see how small one can be.
 *
 *   request ─> http.ts ─> faults.ts, access.ts ─> resources.ts ─┬─> reads.ts ─────┐
 *                                                               ├─> writes.ts ────┼─> store.ts ─┬─> watches.ts
 *                                                               └─> removals.ts ──┘             └─> housekeeping.ts
 *   what a write goes through: admission.ts, patches.ts, managed-fields.ts, metadata.ts
 *   which kinds there are: kinds.ts, built-in.ts, definitions.ts (schema/: validation, defaults, CEL)
 *   how objects are shown: forms.ts, table.ts, discovery.ts, openapi.ts
 *
 * Like the real one:
 *   - one counter of resource versions; lists in pages at one version; watches with bookmarks, initial events and time-outs;
 *     410 for pages and watches from before a compaction; label and field selectors; tables and metadata only
 *   - create, replace, JSON, merge and strategic patches, server-side apply with managed fields and conflicts, dry run, status
 *     apart from the rest, generation, preconditions, no event for a write that changes nothing
 *   - finalizers, propagation policies, owner references, namespaces that terminate
 *   - CustomResourceDefinitions: structural schemas, pruning, defaults, validation, CEL rules with ratcheting, selectable
 *     fields, printer columns, several versions without conversion
 *   - bearer tokens of service accounts, impersonation, RBAC from the Roles and bindings that are stored
 *
 * Not like the real one:
 *   - everything is lost when the process ends
 *   - a node is only played (node.ts): it runs no container, and shows recorded states
 *   - objects of built-in kinds are not validated against a schema, and get few defaults; no controller but the end of
 *     namespaces and garbage collection runs, so a Deployment never gets a Pod
 *   - no admission webhooks, no conversion, no TLS (kubectl sends no token without, but it does send --as), no bodies in
 *     protobuf (recent kubectl sends them in `create` and `auth can-i`), no eviction, and a scale
 *     for custom resources only
 *   - costs of CEL rules are not estimated; quantities, IP addresses and formats are missing from its library
 *   - patterns are JavaScript's regular expressions, not RE2
 *   - writes of roles are not checked for escalation; non-resource paths are open to everybody
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { stringify } from 'yaml';
import { systemClock, type Clock } from '../../../src/base/index.ts';
import { Access } from './access.ts';
import { followDefinitions } from './definitions.ts';
import { Faults } from './faults.ts';
import { Housekeeping } from './housekeeping.ts';
import { HttpSide, type Request } from './http.ts';
import { Kinds } from './kinds.ts';
import { timestamp } from './objects.ts';
import { PlayedNode } from './node.ts';
import { Resources } from './resources.ts';
import { Store } from './store.ts';
import { Watches } from './watches.ts';
import { Writes, type Stamps } from './writes.ts';

export interface KubernetesServerOptions {
  readonly host?: string;
  /** 0, the default: any free one. */
  readonly port?: number;
  /** Refuses requests without a token; otherwise they are the administrator's. */
  readonly requireToken?: boolean;
  /** Whether namespaces end and garbage is collected. Default: yes. */
  readonly controllers?: boolean;
  readonly bookmarkIntervalMs?: number;
  /** How many changes of a kind are remembered at least. */
  readonly historyLength?: number;
  readonly clock?: Clock;
  /** Whether there is a node, so that Pods run and claims are bound. Default: no. */
  readonly node?: boolean;
  /** Of new objects. */
  readonly uid?: () => string;
}

const namespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

export class KubernetesServer {
  readonly faults = new Faults();
  readonly #node: PlayedNode | undefined;
  readonly #options: KubernetesServerOptions;
  readonly #store: Store;
  readonly #access: Access;
  readonly #watches: Watches;
  readonly #http: HttpSide;
  #server: Server | undefined;
  #port: number;

  constructor(options: KubernetesServerOptions = {}) {
    const {
      requireToken = false,
      controllers = true,
      bookmarkIntervalMs = 60_000,
      historyLength = 20_000,
      clock = systemClock,
      uid = randomUUID,
    } = options;
    const stamps: Stamps = { uid, time: () => timestamp(new Date(clock.wallMs())) };
    this.#options = options;
    this.#port = options.port ?? 0;
    const kinds = new Kinds();
    this.#store = new Store(historyLength);
    followDefinitions(this.#store, kinds);
    this.#access = new Access(this.#store, requireToken);
    this.#watches = new Watches(this.#store, bookmarkIntervalMs, clock);
    this.#node = options.node ? new PlayedNode(this.#store) : undefined;
    const resources = new Resources(this.#store, kinds, this.#access, stamps, this.#node);
    this.#http = new HttpSide({
      kinds,
      access: this.#access,
      resources,
      watches: this.#watches,
      faults: this.faults,
      clock,
      node: this.#node,
      store: this.#store,
    });
    createNamespaces(new Writes(this.#store, kinds, stamps), kinds);
    // Housekeeping lives as long as the store that it listens to.
    void new Housekeeping(this.#store, kinds, controllers);
  }

  /** Also after `stop`: on the same port, with what was stored; with `compact` in between, as one that lost its watch cache. */
  async start(): Promise<void> {
    this.#server = createServer((incoming, response) => void this.handle(incoming, response));
    this.#server.on('upgrade', (incoming, socket) => this.#http.upgrade(incoming, socket));
    this.#server.keepAliveTimeout = 180_000;
    this.#server.requestTimeout = 0;
    this.#server.listen(this.#port, this.#options.host ?? '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** One request, wherever it comes from. */
  handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    return this.#http.handle(incoming, response);
  }

  /** Ends watches properly; `abruptly`: breaks all connections instead. */
  async stop({ abruptly = false }: { readonly abruptly?: boolean } = {}): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    const closed = once(server, 'close');
    server.close();
    if (!abruptly) this.#watches.end();
    server.closeAllConnections();
    await closed;
  }

  get node(): PlayedNode {
    if (!this.#node) throw new Error('this server has no node');
    return this.#node;
  }

  get url(): string {
    return `http://${this.#options.host ?? '127.0.0.1'}:${this.#port}`;
  }

  /** All requests so far, oldest first. */
  requests(): readonly Request[] {
    return this.#http.journal;
  }

  forgetRequests(): void {
    this.#http.journal.length = 0;
  }

  /** A token under which the service account acts, whether it exists or not. */
  tokenOf(namespace: string, serviceAccount: string): string {
    return this.#access.tokenOf(namespace, serviceAccount);
  }

  /** Writes `kubeconfig` to the folder, and returns its path. Without a token: the administrator's. */
  kubeconfig(folder: string, { token = this.#access.adminToken, namespace = 'default' } = {}): string {
    const name = 'test';
    const file = path.join(folder, 'kubeconfig');
    mkdirSync(folder, { recursive: true });
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server: this.url } }],
      users: [{ name, user: { token } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace } }],
      'current-context': name,
    };
    writeFileSync(file, stringify(config), { mode: 0o600 });
    return file;
  }

  get resourceVersion(): number {
    return this.#store.revision;
  }

  get openWatches(): number {
    return this.#watches.count;
  }

  /** Forgets the past: pages and watches that begin before now are 410. */
  compact(): void {
    this.#store.compact();
  }

  /** Open watches stay open and say nothing more; `andNew`: nor do those to come, until `hearWatches`. */
  silenceWatches({ andNew = false }: { readonly andNew?: boolean } = {}): void {
    this.#watches.silence();
    this.#watches.startsSilent = andNew;
  }

  hearWatches(): void {
    this.#watches.startsSilent = false;
  }

  /** Breaks all connections, and goes on. */
  resetConnections(): void {
    this.#server?.closeAllConnections();
  }
}

function createNamespaces(writes: Writes, kinds: Kinds): void {
  const kind = kinds.find('', 'v1', 'namespaces');
  if (!kind) return;
  const write = {
    kind,
    namespace: undefined,
    subresource: undefined,
    fieldManager: 'kube-apiserver',
    fieldValidation: 'Ignore',
    isDryRun: false,
    warnings: [],
  };
  for (const name of namespaces)
    writes.create(write, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
}
