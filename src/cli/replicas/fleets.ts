/** ServiceFleets and their replicas, as people name them on a command line. */
import { UserError } from '../../base/index.ts';
import { serviceFleet } from '../../kinds/service-fleet/declaration.ts';
import type { ServiceFleetSpec } from '../../kinds/service-fleet/schema.ts';
import type { FleetState, RosterEntry } from '../../kinds/service-fleet/state.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
import { objectKey, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';
import { didYouMean } from '../account/connection.ts';
import { namedTarget } from '../selection.ts';

export interface FoundFleet {
  readonly key: ObjectKey;
  readonly name: string;
  readonly record: ObjectRecord<FleetState>;
  /** As it was applied last. */
  readonly spec: ServiceFleetSpec;
}

export interface FoundReplica {
  readonly fleet: FoundFleet;
  readonly name: string;
  readonly entry: RosterEntry;
  /** Of its object. */
  readonly uid: string;
}

/** `NAME`, or `KIND/NAME`. Throws a `UserError` if the state has no such fleet. */
export function findFleet(store: StateStore, text: string, namespace: string): FoundFleet {
  const name = nameIn(text, serviceFleet.name);
  const found = fleetNamed(store, name, namespace);
  if (found) return found;
  const names = fleetNames(store, namespace);
  if (store.record(objectKey(containerService.name, namespace, name))?.derived) {
    const [, owner = ''] = /^(.*)-\d+$/.exec(name) ?? [];
    throw new UserError(`${name} is a replica, not a ${serviceFleet.name}`, `its fleet is ${owner}`);
  }
  throw new UserError(
    `the state has no ${serviceFleet.name} ${name} in the namespace ${namespace}`,
    names.length > 0 ? didYouMean(name, names) : 'it is there after `fleetkeeper apply` or `fleetkeeper run`',
  );
}

/** `NAME-SLOT`. */
export function findReplica(store: StateStore, text: string, namespace: string): FoundReplica {
  const name = nameIn(text, containerService.name);
  const [, owner, digits] = /^(.+)-(\d+)$/.exec(name) ?? [];
  const fleet = owner === undefined ? undefined : fleetNamed(store, owner, namespace);
  if (!fleet) {
    const isFleet = fleetNamed(store, name, namespace) !== undefined;
    const names = fleetNames(store, namespace);
    throw new UserError(
      `${name} is no replica of a ${serviceFleet.name}`,
      isFleet
        ? `name one of its replicas, such as ${name}-0`
        : names.length > 0
          ? `write NAME-SLOT, such as ${names[0]}-0; fleets are ${names.slice(0, 10).join(', ')}`
          : 'the state has no fleet; check --source and --namespace',
    );
  }
  const slot = Number(digits);
  const roster = fleet.record.kind.roster ?? [];
  const entry = roster.find((one) => one.slot === slot);
  const uid = store.record(objectKey(containerService.name, namespace, `${fleet.name}-${slot}`))?.uid;
  if (entry && uid !== undefined) return { fleet, name: `${fleet.name}-${slot}`, entry, uid };
  throw new UserError(
    `${fleet.name} has no replica ${digits}`,
    roster.length === 0 ? 'it has none' : `it has the numbers ${slotsText(roster.map((one) => one.slot))}`,
  );
}

function nameIn(text: string, kind: string): string {
  const target = namedTarget(text);
  if (target.kind === undefined || target.kind === kind) return target.name;
  throw new UserError(`${text} is no ${kind}`, `write NAME, or ${kind}/NAME; the namespace is that of -n`);
}

export function fleetNamed(store: StateStore, name: string, namespace: string): FoundFleet | undefined {
  const key = objectKey(serviceFleet.name, namespace, name);
  const record: ObjectRecord<FleetState> | undefined = store.record(key);
  return record && { key, name, record, spec: record.manifest.spec as unknown as ServiceFleetSpec };
}

export function fleetNames(store: StateStore, namespace: string): string[] {
  return store
    .recordsOfKind(serviceFleet.name)
    .map(({ key }) => parseObjectKey(key))
    .filter((object) => object.namespace === namespace)
    .map(({ name }) => name)
    .sort();
}

/** `0 to 5, 7`. */
function slotsText(slots: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const slot of [...slots].sort((left, right) => left - right)) {
    const run = runs.at(-1);
    if (run && run[1] === slot - 1) run[1] = slot;
    else runs.push([slot, slot]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first} to ${last}`)).join(', ');
}
