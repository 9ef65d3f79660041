/** What the API serves beside objects, over the network: logs, commands in containers, measurements. */
import type { ClientOptions } from './client.ts';
import { Connection, defaultLimits, type Question } from './connection.ts';
import { runCommand } from './exec-socket.ts';
import { brokenOff } from './failures.ts';
import { collectionPath, describeScope, describeTarget, objectPath, queryOf } from './paths.ts';
import type { ExecEnd, ExecPiece, PodApi, ResourceType, Target } from './types.ts';

export function createPodClient({ limits, ...options }: ClientOptions): PodApi {
  const connection = new Connection({ ...options, limits: { ...defaultLimits, ...limits } });
  return new PodClient(connection, options.access.server);
}

const nodes: ResourceType = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };

class PodClient implements PodApi {
  readonly #connection: Connection;
  readonly #server: string;

  constructor(connection: Connection, server: string) {
    this.#connection = connection;
    this.#server = server;
  }

  logs(pod: Target, container: string, follow: boolean, signal: AbortSignal): AsyncIterable<Buffer> {
    const query = queryOf({ container, follow: follow ? 'true' : undefined });
    const question: Question = {
      verb: 'get',
      what: `${describeTarget(pod)} (its log)`,
      method: 'GET',
      path: `${objectPath(pod, 'log')}${query}`,
      accept: '*/*',
    };
    return this.#connection.bytes(question, signal);
  }

  async exec(
    pod: Target,
    container: string,
    command: readonly string[],
    onPiece: (piece: ExecPiece) => void,
    signal: AbortSignal,
  ): Promise<ExecEnd> {
    const query = new URLSearchParams({ container, stdout: 'true', stderr: 'true' });
    for (const word of command) query.append('command', word);
    const path = `${objectPath(pod, 'exec')}?${query.toString()}`;
    const attempt = { verb: 'create', what: `${describeTarget(pod)} (its exec)` } as const;
    try {
      return await runCommand((protocol) => this.#connection.socket(path, protocol), onPiece, signal);
    } catch (error) {
      throw brokenOff(attempt, this.#server, error);
    }
  }

  async nodeSummary(node: string): Promise<object> {
    const question: Question = {
      verb: 'get',
      what: `the statistics of the node ${node}`,
      method: 'GET',
      path: `${objectPath({ type: nodes, namespace: undefined, name: node }, 'proxy')}/stats/summary`,
      accept: 'application/json',
    };
    const text = await this.#connection.exchange(question);
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === 'object' && value !== null) return value;
    } catch (error) {
      throw brokenOff(question, this.#server, error, 'the answer is no JSON');
    }
    throw brokenOff(question, this.#server, undefined, 'the answer is no object');
  }

  async removeAll(type: ResourceType, namespace: string, labelSelector: string): Promise<void> {
    await this.#connection.exchange({
      verb: 'delete',
      what: describeScope(type, namespace),
      method: 'DELETE',
      path: `${collectionPath(type, namespace)}${queryOf({ labelSelector })}`,
      accept: 'application/json',
    });
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}
