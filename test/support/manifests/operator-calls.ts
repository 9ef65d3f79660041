/** What the operator asks of the Kubernetes API, from reading its code. */
import { managedKinds, resourceTypes } from '../../../src/resources/index.ts';
import type { Verb } from '../kubernetes/paths.ts';
import type { Call } from './access.ts';

export interface Operator {
  /** Its own. */
  readonly namespace: string;
  /** Undefined: all of them. */
  readonly watched: string | undefined;
  /** Without `--owner`, it reads the identity of the cluster. */
  readonly readsClusterIdentity: boolean;
  readonly leases: readonly string[];
}

const group = 'fleetkeeper.dev';

export function operatorCalls({ namespace, watched, readsClusterIdentity, leases }: Operator): Call[] {
  const fleet = watched ?? 'shop';
  return [
    ...readsOf(watched, fleet),
    ...managedKinds.flatMap((kind) => {
      const { plural } = resourceTypes[kind];
      return [
        // src/state/cluster-store.ts: the finalizer, the status, and both again after a conflict.
        call('get', group, plural, fleet, 'one'),
        call('patch', group, plural, fleet, 'one'),
        { ...call('patch', group, plural, fleet, 'one'), subresource: 'status' },
      ];
    }),
    // src/jobs/job-protection.ts: server-side apply of what is not there counts as a creation.
    call('create', group, 'protectedtasks', fleet),
    call('patch', group, 'protectedtasks', fleet, 'job-one'),
    call('delete', group, 'protectedtasks', fleet, 'job-one'),
    // src/manager/owned-resources.ts
    call('create', group, 'containerservices', fleet),
    call('delete', group, 'containerservices', fleet, 'llm-0'),
    call('create', group, 'storagevolumes', fleet),
    call('delete', group, 'storagevolumes', fleet, 'llm-data-0'),
    // src/manager/endpoint-maps.ts
    call('create', '', 'configmaps', fleet),
    call('patch', '', 'configmaps', fleet, 'llm-endpoints'),
    call('delete', '', 'configmaps', fleet, 'llm-endpoints'),
    // src/state/cluster-revisions.ts
    call('list', 'apps', 'controllerrevisions', fleet),
    call('create', 'apps', 'controllerrevisions', fleet),
    call('get', 'apps', 'controllerrevisions', fleet, 'llm-r1'),
    call('delete', 'apps', 'controllerrevisions', fleet, 'llm-r1'),
    // src/desired/cluster/cluster-data.ts
    call('get', '', 'secrets', fleet, 'named'),
    call('get', '', 'configmaps', fleet, 'named'),
    // src/kubernetes/recorder.ts
    call('create', '', 'events', fleet),
    call('patch', '', 'events', fleet, 'one.1'),
    // src/kubernetes/election.ts
    call('create', 'coordination.k8s.io', 'leases', namespace),
    // src/manager/divisions.ts
    call('list', 'coordination.k8s.io', 'leases', namespace),
    ...leases.flatMap((name) => [
      call('get', 'coordination.k8s.io', 'leases', namespace, name),
      call('update', 'coordination.k8s.io', 'leases', namespace, name),
    ]),
    // src/state/cluster-identity.ts
    call('get', '', 'secrets', namespace, 'fleetkeeper-state'),
    call('create', '', 'secrets', namespace),
    ...(readsClusterIdentity ? [call('get', '', 'namespaces', undefined, 'kube-system')] : []),
  ];
}

export interface ShownPage {
  /** Its own, in which the operators have their Leases. */
  readonly namespace: string;
  /** With --page-kubernetes-auth. */
  readonly asksWho: boolean;
  /** With --watch-namespaces. */
  readonly watched?: string;
  readonly leases?: readonly string[];
}

/** What the page asks, which has a ServiceAccount of its own. */
export function pageCalls({ namespace, asksWho, watched, leases = ['fleetkeeper'] }: ShownPage): Call[] {
  const listed = [
    ...managedKinds.map((kind) => [group, resourceTypes[kind].plural] as const),
    ['', 'events'],
  ];
  return [
    // src/manager/shown-cluster/
    ...listed.flatMap(([of = '', plural = '']) => [
      call('list', of, plural, watched),
      call('watch', of, plural, watched),
    ]),
    ...leases.map((name) => call('get', 'coordination.k8s.io', 'leases', namespace, name)),
    // src/kubernetes/reviews.ts
    ...(asksWho
      ? [
          call('create', 'authentication.k8s.io', 'tokenreviews', undefined),
          call('create', 'authorization.k8s.io', 'subjectaccessreviews', undefined),
        ]
      : []),
  ];
}

/** src/desired/cluster/cluster-source.ts and src/jobs/. */
function readsOf(watched: string | undefined, fleet: string): Call[] {
  const ours = managedKinds.map((kind) => [group, resourceTypes[kind].plural] as const);
  const workloads = [['batch', 'jobs'] as const, ['', 'pods'] as const];
  return [
    ...[...ours, ...workloads].flatMap(([of, plural]) => [
      call('list', of, plural, watched),
      call('watch', of, plural, watched),
    ]),
    ...workloads.map(([of, plural]) => call('get', of, plural, fleet, 'one')),
  ];
}

function call(verb: Verb, of: string, plural: string, namespace: string | undefined, name?: string): Call {
  return { verb, group: of, plural, namespace, name, subresource: undefined };
}
