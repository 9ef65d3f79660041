/** What nodes show of themselves. */
import type { KubernetesObject } from '../../../kubernetes/index.ts';
import { amountOf } from './quantity.ts';
import { gigabyte } from './pod.ts';

interface Node extends KubernetesObject {
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly podCIDR?: string;
    readonly podCIDRs?: readonly string[];
  };
  readonly status?: {
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly addresses?: readonly { readonly type?: string; readonly address?: string }[];
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
    readonly runtimeHandlers?: readonly {
      readonly name?: string;
      readonly features?: { readonly userNamespaces?: boolean };
    }[];
  };
}

/** So many addresses of nodes and networks of Pods are kept from tenants by name; `containers.egress.deny` has room for networks. */
const mostNodes = 200;
const addressForm = /^[0-9a-f.:]+$/i;

export interface NodeNetworks {
  readonly podNetworks: readonly string[];
  readonly nodeAddresses: readonly string[];
}

export function networksOf(nodes: Iterable<KubernetesObject>, configured: readonly string[]): NodeNetworks {
  const all = [...(nodes as Iterable<Node>)].slice(0, mostNodes);
  const ofNodes = all.flatMap(({ spec }) => spec?.podCIDRs ?? spec?.podCIDR ?? []);
  const addresses = all.flatMap(({ status }) => status?.addresses ?? []);
  return {
    podNetworks: [...new Set([...configured, ...ofNodes])],
    nodeAddresses: addresses.flatMap(({ address = '' }) =>
      addressForm.test(address) && /[.:]/.test(address) ? [address] : [],
    ),
  };
}

/** Whether all nodes can give a Pod users of its own, with the handler of the runtime class. */
export function haveUserNamespaces(
  nodes: Iterable<KubernetesObject>,
  runtimeClass: string | undefined,
): boolean {
  const all = [...(nodes as Iterable<Node>)];
  // How a class names its handler is not read. Without one, it is the handler without a name.
  if (all.length === 0 || runtimeClass !== undefined) return false;
  return all.every(({ status }) =>
    status?.runtimeHandlers?.some(({ name = '', features }) => name === '' && features?.userNamespaces),
  );
}

export interface Amounts {
  readonly cpu: number;
  readonly memoryGb: number;
  /** Each is one Pod, of which a node takes a bounded number. */
  readonly services: number;
}

/** What decides how much there is for Pods: the same text while that does not change. */
export function sizesOf(nodes: Iterable<KubernetesObject>): string {
  const sizes = [...(nodes as Iterable<Node>)].map(({ metadata: { name, labels }, spec, status }) => [
    name,
    Object.entries(labels ?? {}).toSorted(([left], [right]) => (left < right ? -1 : 1)),
    spec?.unschedulable === true,
    isReady(status),
    ['cpu', 'memory', 'pods'].map((what) => status?.allocatable?.[what]),
  ]);
  return JSON.stringify(sizes.toSorted(([left], [right]) => (String(left) < String(right) ? -1 : 1)));
}

function isReady(status: Node['status']): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}

/** What the nodes with these labels have for Pods, without what foreign Pods on them have asked for. */
export function freeOf(
  nodes: readonly KubernetesObject[],
  foreignPods: readonly KubernetesObject[],
  selector: Readonly<Record<string, string>>,
): Amounts {
  const chosen = (nodes as readonly Node[]).filter(
    ({ metadata, spec, status }) =>
      spec?.unschedulable !== true &&
      isReady(status) &&
      Object.entries(selector).every(([name, value]) => metadata.labels?.[name] === value),
  );
  const names = new Set(chosen.map(({ metadata }) => metadata.name));
  const foreign = (foreignPods as readonly ForeignPod[]).filter(
    ({ spec, status }) => names.has(spec?.nodeName ?? '') && !hasEnded.has(status?.phase ?? ''),
  );
  const asked = foreign.flatMap(({ spec }) => spec?.containers ?? []);
  const sum = (name: 'cpu' | 'memory') =>
    total(chosen.map(({ status }) => status?.allocatable?.[name])) -
    total(asked.map(({ resources }) => resources?.requests?.[name]));
  return {
    cpu: Math.max(0, Math.round(sum('cpu') * 1000) / 1000),
    memoryGb: Math.max(0, Math.floor((1000 * sum('memory')) / gigabyte) / 1000),
    services: Math.max(0, total(chosen.map(({ status }) => status?.allocatable?.['pods'])) - foreign.length),
  };
}

interface ForeignPod extends KubernetesObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly {
      readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
    }[];
  };
  readonly status?: { readonly phase?: string };
}

const hasEnded = new Set(['Succeeded', 'Failed']);

function total(quantities: readonly (string | undefined)[]): number {
  return quantities.reduce((sum, quantity) => sum + amountOf(quantity), 0);
}
