/**
 * What surrounds the Pods of an account: its namespace, with bounds of what all of them have together, a ServiceAccount
 * without rights, and what they may reach.
 *
 * | who | reaches whom |
 * |---|---|
 * | a Pod | Pods of its account; DNS of the cluster; the internet; what `containers.egress.allow` adds |
 * | a Pod | no Pod of another account, no node, no private or link-local address (metadata, the cluster's API) |
 * | Pods of tenants | Pods of their own account only |
 * | everybody else | the Pod, as an ingress controller or a node has to |
 *
 * The cluster's network has to enforce that: not every one does, and none reports it.
 */
import type { ContainersConfig } from '../../domain/config.ts';
import type { Quota } from '../../domain/quotas.ts';
import { privateNetworks4, privateNetworks6 } from '../containers/private-networks.ts';
import { accountLabels, labels, namespaceName, tenantName } from './names.ts';

/** Of one kind in a namespace, beyond what services and volumes need: nobody fills the cluster's store. */
const spareObjects = 100;
const nameOfAll = 'fleetkeeper';

interface Surroundings {
  readonly installation: string;
  readonly accountId: string;
  readonly quota: Pick<Quota, 'services' | 'cpu' | 'memoryGb' | 'storageGb'>;
  readonly egress: ContainersConfig['egress'];
  /** As `ADDRESS/LENGTH`. */
  readonly podNetworks: readonly string[];
  readonly nodeAddresses: readonly string[];
}

/** In the order in which they are applied. */
export function surroundingsOf(parts: Surroundings): object[] {
  return [namespaceOf(parts), serviceAccountOf(parts), quotaOf(parts), limitRangeOf(parts), policyOf(parts)];
}

function namespaceOf({ installation, accountId }: Surroundings): object {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: namespaceName(installation, accountId),
      labels: {
        ...accountLabels(installation, accountId),
        'pod-security.kubernetes.io/enforce': 'baseline',
        'pod-security.kubernetes.io/enforce-version': 'latest',
      },
    },
  };
}

function serviceAccountOf(parts: Surroundings): object {
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { ...metadataOf(parts), name: tenantName },
    automountServiceAccountToken: false,
  };
}

/** The control plane refuses first. This holds, too, where somebody else writes into the namespace. */
function quotaOf(parts: Surroundings): object {
  const { services, cpu, memoryGb, storageGb } = parts.quota;
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: metadataOf(parts),
    spec: {
      hard: {
        pods: whole(services),
        'limits.cpu': whole(cpu),
        'limits.memory': `${whole(memoryGb)}Gi`,
        'requests.storage': `${whole(storageGb)}Gi`,
        services: whole(services + spareObjects),
        'count/secrets': whole(2 * services + spareObjects),
        'count/configmaps': whole(spareObjects),
      },
    },
  };
}

function limitRangeOf(parts: Surroundings): object {
  const least = { cpu: '10m', memory: '8Mi' };
  return {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: metadataOf(parts),
    // Of a Pod that states nothing, which is none of the control plane.
    spec: { limits: [{ type: 'Container', default: least, defaultRequest: least }] },
  };
}

function policyOf(parts: Surroundings): object {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadataOf(parts),
    spec: {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [ownPods, ...ingressFrom(parts)] }],
      egress: [{ to: [ownPods] }, dns, ...allowed(parts), { to: outside(parts) }],
    },
  };
}

const ownPods = { podSelector: {} };
const dns = {
  to: [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
      podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
    },
  ],
  ports: [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ],
};

/** Nodes and what is outside; and namespaces that are no account's. */
function ingressFrom({ podNetworks }: Surroundings): object[] {
  return [
    { namespaceSelector: { matchExpressions: [{ key: labels.account, operator: 'DoesNotExist' }] } },
    { ipBlock: blockOf('0.0.0.0/0', podNetworks.filter(isFour)) },
    {
      ipBlock: blockOf(
        '::/0',
        podNetworks.filter((network) => !isFour(network)),
      ),
    },
  ];
}

function allowed({ egress }: Surroundings): object[] {
  return egress.allow.map(({ to, port }) => ({
    to: [{ ipBlock: { cidr: networkOf(to) } }],
    ...(port !== undefined && {
      ports: [
        { protocol: 'TCP', port },
        { protocol: 'UDP', port },
      ],
    }),
  }));
}

/** IPv4 written as IPv6. The API server reads it as IPv4, which is in the other block. */
const mapped = '::ffff:0:0/96';

function outside({ egress, podNetworks, nodeAddresses }: Surroundings): object[] {
  const closed = [...egress.deny.map(({ to }) => to), ...podNetworks, ...nodeAddresses].map(networkOf);
  const four = [...privateNetworks4, ...closed.filter(isFour)];
  const six = [
    ...privateNetworks6.filter((network) => network !== mapped),
    ...closed.filter((network) => !isFour(network)),
  ];
  return [{ ipBlock: blockOf('0.0.0.0/0', four) }, { ipBlock: blockOf('::/0', six) }];
}

function blockOf(cidr: string, except: readonly string[]): object {
  return except.length === 0 ? { cidr } : { cidr, except: [...new Set(except)] };
}

function isFour(network: string): boolean {
  return !network.includes(':');
}

function networkOf(to: string): string {
  return to.includes('/') ? to : `${to}/${isFour(to) ? 32 : 128}`;
}

function metadataOf({ installation, accountId }: Surroundings) {
  const namespace = namespaceName(installation, accountId);
  return { name: nameOfAll, namespace, labels: accountLabels(installation, accountId) };
}

function whole(amount: number): string {
  return String(Math.ceil(amount));
}
