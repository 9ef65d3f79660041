/** The endpoints of a fleet, as the listener of `run` serves them. */
import type { Clock } from '../base/index.ts';
import { endpointsOf, prometheusTargets } from '../kinds/index.ts';
import { serviceFleet } from '../kinds/service-fleet/declaration.ts';
import { objectKey } from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';

/** `store`: undefined on a standby. */
export function shownEndpoints(
  store: StateStore | undefined,
  clock: Clock,
  [namespace, name, format]: readonly [namespace: string, name: string, format: 'json' | 'prometheus'],
): object | 'unknown' | 'standby' {
  if (!store) return 'standby';
  const key = objectKey(serviceFleet.name, namespace, name);
  const endpoints = endpointsOf(store, key, clock.wallMs());
  if (!endpoints) return 'unknown';
  return format === 'json' ? { namespace, name, endpoints } : prometheusTargets(key, endpoints);
}
