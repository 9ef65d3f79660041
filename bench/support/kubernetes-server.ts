/** The Kubernetes API of the tests as a process of its own, which tells what it was asked for. `operator-world.ts` starts it. */
import { KubernetesServer } from '../../test/support/kubernetes/server.ts';

/** Requests since the last question. */
export interface Asked {
  readonly reads: number;
  /** Status of everything but Accounts. */
  readonly statusWrites: number;
  /** Of our kinds, beside their status. */
  readonly finalizerWrites: number;
  /** Status and finalizer. */
  readonly accountWrites: number;
  readonly eventWrites: number;
  /** Leases and the Secret of the operator. */
  readonly otherWrites: number;
  /** Of all of these writes, those that were refused with 409. */
  readonly conflicts: number;
}

const nothing = {
  reads: 0,
  statusWrites: 0,
  finalizerWrites: 0,
  accountWrites: 0,
  eventWrites: 0,
  otherWrites: 0,
  conflicts: 0,
};

type Count = Exclude<keyof Asked, 'reads' | 'conflicts'>;

const writing = new Set(['create', 'update', 'patch', 'delete']);

function ask(): Asked {
  const asked = { ...nothing };
  for (const { verb, resource, status } of server.requests()) {
    if (!writing.has(verb)) {
      asked.reads += 1;
      continue;
    }
    asked[countOf(resource)] += 1;
    if (status === 409) asked.conflicts += 1;
  }
  server.forgetRequests();
  return asked;
}

function countOf(resource: ReturnType<typeof server.requests>[number]['resource']): Count {
  if (resource?.plural === 'events') return 'eventWrites';
  if (resource?.group !== 'fleetkeeper.dev') return 'otherWrites';
  if (resource.plural === 'accounts') return 'accountWrites';
  return resource.subresource === 'status' ? 'statusWrites' : 'finalizerWrites';
}

const server = new KubernetesServer();
await server.start();
process.on('message', () => process.send?.(ask()));
process.send?.(server.kubeconfig(process.argv[2] ?? ''));
