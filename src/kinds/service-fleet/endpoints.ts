/** Where the replicas of a fleet can be reached: a function of the records. One that drains is not among them. Pure. */
import { isReportedReady } from '../../engine/status/index.ts';
import { objectKey, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, OwnerRevision, StateStore } from '../../state/index.ts';
import { containerService } from '../container-service/declaration.ts';
import { availableAt } from './replica.ts';
import { revisionName } from './revisions.ts';
import { childName } from './roster.ts';
import type { FleetState, RosterEntry } from './state.ts';

export interface FleetEndpoint {
  readonly slot: number;
  readonly url: string;
  /** It has been Ready for `minReadySeconds`, at the revision that it is to have. */
  readonly ready: boolean;
  /** The one that it was observed to have; absent: none, or not known. */
  readonly revision?: string;
}

/** Undefined: there is no such fleet. */
export function endpointsOf(
  store: Pick<StateStore, 'record' | 'revisions'>,
  fleet: ObjectKey,
  nowMs: number,
): FleetEndpoint[] | undefined {
  const record: ObjectRecord<FleetState> | undefined = store.record(fleet);
  if (!record) return undefined;
  const { namespace, name } = parseObjectKey(fleet);
  const revisions = store.revisions(fleet);
  const minReadyMs = minReadySecondsOf(record) * 1000;
  return (record.kind.roster ?? []).flatMap((entry): FleetEndpoint[] => {
    const child = store.record(objectKey(containerService.name, namespace, childName(name, entry.slot)));
    const url = child?.status?.['endpoint'];
    const isOwn = child?.derived?.owner === fleet && child.externalId !== undefined;
    if (entry.phase !== 'wanted' || !isOwn || typeof url !== 'string') return [];
    const has = revisions.find(({ digest }) => digest === child.derived?.settled);
    const ready = isAvailable(child, minReadyMs, nowMs) && isAsItIsToBe(entry, revisions, child);
    const revision = has ? { revision: revisionName(has.number) } : {};
    return [{ slot: entry.slot, url, ready, ...revision }];
  });
}

function isAvailable(record: ObjectRecord, minReadyMs: number, nowMs: number): boolean {
  const { ready } = record.report ?? {};
  if (!ready || !isReportedReady(record)) return false;
  return availableAt(ready.since, minReadyMs, nowMs) === undefined;
}

function isAsItIsToBe(entry: RosterEntry, revisions: readonly OwnerRevision[], child: ObjectRecord): boolean {
  const wanted = revisions.find(({ number }) => number === entry.revision);
  return wanted === undefined || child.derived?.settled === wanted.digest;
}

function minReadySecondsOf({ manifest: { spec } }: ObjectRecord): number {
  const { update } = spec as { readonly update?: { readonly minReadySeconds?: number } };
  return update?.minReadySeconds ?? 0;
}

/** For the HTTP service discovery of Prometheus. */
export function prometheusTargets(fleet: ObjectKey, endpoints: readonly FleetEndpoint[]): object[] {
  const { namespace, name } = parseObjectKey(fleet);
  return endpoints.flatMap(({ slot, url, ready, revision }) => {
    const address = URL.parse(url.includes('://') ? url : `http://${url}`);
    if (!address) return [];
    const labels = {
      __scheme__: address.protocol.slice(0, -1),
      __meta_fleetkeeper_namespace: namespace,
      __meta_fleetkeeper_fleet: name,
      __meta_fleetkeeper_slot: String(slot),
      __meta_fleetkeeper_ready: String(ready),
      ...(revision === undefined ? {} : { __meta_fleetkeeper_revision: revision }),
    };
    return [{ targets: [address.host], labels }];
  });
}
