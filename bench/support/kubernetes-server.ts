/** The Kubernetes API of the tests as a process of its own, which tells what it was asked for. `api-server.ts` starts it. */
import { KubernetesServer } from '../../test/support/kubernetes/server.ts';
import { askedIn, type Asked, type CountedRequests } from './asked.ts';

const writing = new Set(['create', 'update', 'patch', 'delete']);

function ask(): Asked {
  const requests = server.requests().map(({ verb, resource, status }): CountedRequests => ({
    isWrite: writing.has(verb),
    group: resource?.group ?? '',
    plural: resource?.plural ?? '',
    subresource: resource?.subresource ?? '',
    status: status ?? 0,
    count: 1,
  }));
  server.forgetRequests();
  return askedIn(requests);
}

const server = new KubernetesServer();
await server.start();
process.on('message', () => process.send?.(ask()));
process.send?.(server.kubeconfig(process.argv[2] ?? ''));
