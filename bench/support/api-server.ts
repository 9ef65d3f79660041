/**
 * The API server that an operator is measured before: that of the tests, or a real one out of `KUBEBUILDER_ASSETS`. A real one counts requests
 * in its own metric. It counts those of this process, too.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { KubeConfig } from '@kubernetes/client-node';
import { setup } from '../../test/support/processes/kubebuilder.ts';
import { askedIn, type Asked, type CountedRequests } from './asked.ts';

export interface ApiServer {
  /** For the table. */
  readonly name: string;
  readonly kubeconfig: string;
  /** Since the last question. */
  asked(): Promise<Asked>;
  end(): Promise<void>;
}

/** `folder`: for its kubeconfig. */
export async function apiServerOfTests(folder: string): Promise<ApiServer> {
  const server = fork(path.join(import.meta.dirname, 'kubernetes-server.ts'), [folder]);
  process.once('exit', () => server.kill('SIGKILL'));
  const [kubeconfig] = (await once(server, 'message')) as [string];
  return {
    name: 'the API server of the tests',
    kubeconfig,
    asked: async () => {
      server.send('ask');
      const [answer] = (await once(server, 'message')) as [Asked];
      return answer;
    },
    end: async () => {
      server.kill('SIGKILL');
    },
  };
}

/** Undefined: there is none. */
export async function realApiServer(): Promise<ApiServer | undefined> {
  const stop = await setup();
  const kubeconfig = process.env['KUBECONFIG'];
  if (!stop || kubeconfig === undefined) return undefined;
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  let before = new Map<string, number>();
  const { gitVersion } = JSON.parse(await get(config, '/version')) as { gitVersion: string };
  return {
    name: `kube-apiserver ${gitVersion}`,
    kubeconfig,
    asked: async () => {
      const counts = seriesIn(await get(config, '/metrics'));
      const requests = Array.from(counts, ([labels, count]) =>
        counted(labels, count - (before.get(labels) ?? 0)),
      );
      before = counts;
      return askedIn(requests);
    },
    end: stop,
  };
}

async function get(config: KubeConfig, where: string): Promise<string> {
  const options: RequestOptions = { headers: {} };
  await config.applyToHTTPSOptions(options);
  const asked = httpsRequest(`${config.getCurrentCluster()?.server}${where}`, options);
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const body = await text(answer);
  if (answer.statusCode !== 200) throw new Error(`${where} was answered with ${answer.statusCode}: ${body}`);
  return body;
}

/** By their labels. */
function seriesIn(metrics: string): Map<string, number> {
  const lines = metrics.matchAll(/^apiserver_request_total\{(.*)\} ([\d.e+]+)$/gm);
  return new Map(Array.from(lines, ([, labels = '', count]) => [labels, Number(count)]));
}

const reading = new Set(['GET', 'LIST', 'WATCH', 'CONNECT']);

function counted(labels: string, count: number): CountedRequests {
  const of = Object.fromEntries(
    Array.from(labels.matchAll(/(\w+)="([^"]*)"/g), ([, name, value]) => [name, value]),
  );
  const { verb = '', group = '', resource = '', subresource = '', code } = of as Record<string, string>;
  return {
    isWrite: !reading.has(verb),
    group,
    plural: resource,
    subresource,
    status: Number(code),
    count,
  };
}
