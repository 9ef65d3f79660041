/** All Jobs, or all Pods, as far as anybody here wants to know: who they are, and whether they ask for protection. */
import type { Clock, Random } from '../base/index.ts';
import {
  Reflector,
  type Change,
  type KubernetesApi,
  type KubernetesObject,
  type ReflectorOptions,
} from '../kubernetes/index.ts';
import { annotations } from '../resources/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { workloadTypes, type WorkloadKind } from './workload.ts';

export interface WatchOptions {
  readonly api: KubernetesApi;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** One reflector for each namespace, or one for all. */
export function reflectorsOf(
  options: WatchOptions,
  make: (namespace: string | undefined) => Pick<ReflectorOptions, 'type' | 'scope' | 'keep' | 'onChange'>,
): Reflector[] {
  const { api, namespaces, clock, random, logger, metrics } = options;
  const scopes = namespaces.length === 0 ? [undefined] : namespaces;
  return scopes.map(
    (namespace) => new Reflector({ api, clock, random, logger, metrics, ...make(namespace) }),
  );
}

/** Metadata only, and little of that: a cluster may have tens of thousands of Pods. */
export function workloadReflectors(
  options: WatchOptions,
  kind: WorkloadKind,
  onChange: (change: Change) => void,
): Reflector[] {
  const type = workloadTypes[kind];
  return reflectorsOf(options, (namespace) => ({
    type,
    scope: { namespace, metadataOnly: true },
    keep: identityOf,
    onChange,
  }));
}

/** Those that watch the namespace. Others may never be. */
export function areListed(reflectors: readonly Reflector[], namespace: string): boolean {
  return reflectors.every((each) => each.hasSynced || (each.namespace ?? namespace) !== namespace);
}

export function itemOf(
  reflectors: readonly Reflector[],
  namespace: string,
  name: string,
): KubernetesObject | undefined {
  for (const { items } of reflectors) {
    const item = items.get(`${namespace}/${name}`);
    if (item) return item;
  }
  return undefined;
}

function identityOf({ apiVersion, kind, metadata }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  const wanted = metadata.annotations?.[annotations.protects];
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid,
      resourceVersion,
      ...(wanted === undefined ? {} : { annotations: { [annotations.protects]: wanted } }),
    },
  };
}
