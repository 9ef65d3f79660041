/** What leads to a service with a port, and the address under which it is shown. */
import type { EndpointConfig } from '../../domain/config.ts';
import type { RuntimeRequest } from '../../domain/runtime.ts';
import type { KubernetesObject } from '../../../kubernetes/index.ts';
import { labels, namespaceName, serviceLabels, serviceName } from './names.ts';

const portName = 'http';

/** A Service, and what the configuration wants beside it. */
export function routeOf(
  installation: string,
  request: RuntimeRequest,
  httpPort: number,
  config: EndpointConfig,
): object[] {
  const metadata = {
    name: serviceName(request.subjectId),
    namespace: namespaceName(installation, request.accountId),
    labels: serviceLabels(installation, request),
  };
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: {
      type: config.kind === 'nodePort' ? 'NodePort' : 'ClusterIP',
      selector: {
        [labels.installation]: installation,
        [labels.service]: request.subjectId,
      },
      ports: [{ name: portName, port: httpPort, targetPort: httpPort, protocol: 'TCP' }],
    },
  };
  if (config.kind === 'ingress') return [service, { ...ingressOf(request, config), metadata }];
  if (config.kind === 'gateway') return [service, { ...httpRouteOf(request, httpPort, config), metadata }];
  return [service];
}

function ingressOf(
  { subjectId }: RuntimeRequest,
  config: Extract<EndpointConfig, { kind: 'ingress' }>,
): object {
  const backend = { service: { name: serviceName(subjectId), port: { name: portName } } };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    spec: {
      ...(config.className !== undefined && { ingressClassName: config.className }),
      rules: [
        {
          host: hostOf(subjectId, config.domain),
          http: { paths: [{ path: '/', pathType: 'Prefix', backend }] },
        },
      ],
    },
  };
}

function httpRouteOf(
  { subjectId }: RuntimeRequest,
  port: number,
  { gateway, domain }: Extract<EndpointConfig, { kind: 'gateway' }>,
): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    spec: {
      parentRefs: [gateway],
      hostnames: [hostOf(subjectId, domain)],
      rules: [{ backendRefs: [{ name: serviceName(subjectId), port }] }],
    },
  };
}

export interface ServiceObject extends KubernetesObject {
  readonly spec?: {
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly port?: number; readonly nodePort?: number }[];
  };
}

/** Undefined while the cluster has not given an address yet. `hostIp`: of the Pod's node. */
export function endpointOf(
  serviceId: string,
  { spec }: ServiceObject,
  hostIp: string | undefined,
  config: EndpointConfig,
): string | undefined {
  const port = spec?.ports?.[0];
  switch (config.kind) {
    case 'cluster':
      return addressOf(spec?.clusterIP, port?.port);
    case 'nodePort':
      return addressOf(config.host ?? hostIp, port?.nodePort);
    case 'ingress':
    case 'gateway':
      return `${config.scheme}://${hostOf(serviceId, config.domain)}`;
  }
}

function addressOf(host: string | undefined, port: number | undefined): string | undefined {
  if (!host || host === 'None' || port === undefined) return undefined;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function hostOf(serviceId: string, domain: string): string {
  return `${serviceId}.${domain}`;
}
