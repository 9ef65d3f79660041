/** A server for each test, and the few requests that the tests are made of. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { KubernetesServer, type KubernetesServerOptions } from '../../support/kubernetes/server.ts';
import type { Schema } from '../../support/kubernetes/schema/schema.ts';

/** Loose on purpose: tests look at what they asked for. */
export interface Answered {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: Metadata;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: unknown;
  readonly data: Readonly<Record<string, string>>;
  readonly items: readonly Answered[];
  readonly message: string;
  readonly reason: string;
  readonly details: { readonly causes?: readonly { readonly field: string; readonly message: string }[] };
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: Answered }[];
  readonly columnDefinitions: readonly { readonly name: string }[];
}

interface Metadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly object[];
  readonly managedFields?: readonly { readonly manager: string; readonly fieldsV1: object }[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Answered;
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export class Client {
  readonly server: KubernetesServer;
  readonly #token: string | undefined;

  constructor(server: KubernetesServer, token?: string) {
    this.server = server;
    this.#token = token;
  }

  get(path: string, accept = 'application/json'): Promise<Reply> {
    return this.#send('GET', path, undefined, { accept });
  }

  post(path: string, body: object): Promise<Reply> {
    return this.#send('POST', path, body, { 'content-type': 'application/json' });
  }

  put(path: string, body: object): Promise<Reply> {
    return this.#send('PUT', path, body, { 'content-type': 'application/json' });
  }

  patch(path: string, type: keyof typeof patchTypes, body: object): Promise<Reply> {
    return this.#send('PATCH', path, body, { 'content-type': patchTypes[type] });
  }

  delete(path: string, body?: object): Promise<Reply> {
    return this.#send('DELETE', path, body, {});
  }

  async #send(
    method: string,
    path: string,
    body: object | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<Reply> {
    const response = await fetch(this.server.url + path, {
      method,
      headers: { ...headers, ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Answered };
  }

  /** Its lines, as they come. */
  async watch(path: string): Promise<WatchLines> {
    const request = httpRequest(this.server.url + path).end();
    onTestFinished(() => void request.destroy());
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return new WatchLines(response);
  }
}

export interface WatchLine {
  readonly type: string;
  readonly object: Answered;
}

export class WatchLines {
  readonly #lines: AsyncIterator<string>;

  constructor(response: IncomingMessage) {
    response.on('error', () => undefined);
    this.#lines = createInterface({ input: response })[Symbol.asyncIterator]();
  }

  /** Undefined when it has ended, or its connection is broken. */
  async next(): Promise<WatchLine | undefined> {
    const line = await this.#lines.next().catch(() => undefined);
    return line === undefined || line.done === true ? undefined : (JSON.parse(line.value) as WatchLine);
  }

  /** `TYPE name` of the next lines. */
  async take(count: number): Promise<readonly string[]> {
    const taken: string[] = [];
    while (taken.length < count) {
      const line = await this.next();
      taken.push(line ? `${line.type} ${line.object.metadata.name ?? ''}`.trim() : 'end');
    }
    return taken;
  }
}

export async function startServer(options: KubernetesServerOptions = {}): Promise<Client> {
  const server = new KubernetesServer(options);
  await server.start();
  onTestFinished(() => server.stop({ abruptly: true }));
  return new Client(server);
}

export const configMaps = '/api/v1/namespaces/default/configmaps';
export const widgets = '/apis/example.dev/v1/namespaces/default/widgets';
export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export function configMap(name: string, rest: object = {}, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, ...rest };
}

export function widget(name: string, spec: object = {}, metadata: object = {}): object {
  return { apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { name, ...metadata }, spec };
}

/** Of Widgets, with this schema of `spec`. */
export function definition(spec: Schema, version: object = {}): object {
  const properties = { spec, status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.dev' },
    spec: {
      group: 'example.dev',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties } },
          ...version,
        },
      ],
    },
  };
}

/** A server that has Widgets. */
export async function startWithWidgets(spec: Schema, version: object = {}): Promise<Client> {
  const client = await startServer();
  const { status, body } = await client.post(definitions, definition(spec, version));
  if (status !== 201) throw new Error(body.message);
  return client;
}

/** Asks again until it is so; as often as the test's time allows. */
export async function eventually(passes: () => Promise<boolean>): Promise<void> {
  while (!(await passes())) await new Promise(setImmediate);
}
